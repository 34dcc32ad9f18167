//! Reads the sections of a file into drafts: values that are right by themselves, with the places
//! of everything that other sections must agree with. Invariant: `type` is dispatched by hand, so
//! every problem keeps its own place. Next stop: `compile.rs` and `checks.rs`, which take the
//! drafts together.

mod dead_letter;
mod formats;
mod http;
mod join;
mod kafka_properties;
mod numbers;
mod paths;
mod prefix;
mod redact;
mod rules;
mod s3;
mod sinks;
mod sources;
mod tests;
mod tls;
mod transform;

pub(crate) use dead_letter::DeadLetterDraft;
pub(crate) use formats::ShapeDraft;
pub(crate) use join::{JoinDraft, JoinRuleDraft};
pub(crate) use numbers::NumbersDraft;
pub(crate) use redact::{RedactDraft, RedactPatternDraft};
pub(crate) use rules::{
    HostsDraft, IdentityDraft, LabelDraft, ParseDraft, RouteDraft, TimeDraft, TimeSettings,
};
pub(crate) use sinks::SinkDraft;
pub(crate) use sources::SourceDraft;
pub(crate) use tests::TestDraft;
pub(crate) use transform::{LookupDraft, Pair, ReparseDraft, ShapeOfStep, StepDraft};

use crate::declare::{self, Variant};
use crate::diagnostic::{Counts, Place};
use crate::document::{Entry, Node, Table, Text, Value};
use crate::reader::{Context, Reader};
use crate::settings::{BatchSettings, GeneralSettings, HttpSettings, ObjectSettings};
use crate::suggest;
use riverhog_parsers::peel::Layers;

/// Everything a file says, section by section.
pub(crate) struct Drafts {
    pub(crate) general: GeneralSettings,
    /// `keep`, `dead_letter` or `drop`, and where that stands.
    pub(crate) unparsed: (&'static str, Place),
    pub(crate) sources: Vec<SourceDraft>,
    pub(crate) time: TimeSettings,
    pub(crate) hosts: HostsDraft,
    pub(crate) labels: Vec<LabelDraft>,
    pub(crate) identity: IdentityDraft,
    pub(crate) peel: Layers,
    pub(crate) join: Option<JoinDraft>,
    pub(crate) parse: Vec<ParseDraft>,
    pub(crate) numbers: NumbersDraft,
    pub(crate) steps: Vec<StepDraft>,
    pub(crate) redact: RedactDraft,
    pub(crate) routes: Vec<RouteDraft>,
    /// There is a `route`, but not as an array.
    pub(crate) routes_unread: bool,
    pub(crate) sinks: Vec<SinkDraft>,
    /// Also of those that could not be read.
    pub(crate) sink_names: Vec<String>,
    pub(crate) dead_letter: Option<DeadLetterDraft>,
    pub(crate) http: HttpSettings,
    pub(crate) tests: Vec<TestDraft>,
}

impl Drafts {
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            sources: self.sources.len(),
            parsers: self.parse.len(),
            routes: self.routes.len(),
            sinks: self.sinks.len(),
        }
    }
}

/// Reads every section.
pub(crate) fn read(context: &Context<'_>, root: &Table, top: &Place) -> Drafts {
    let reader = Reader::new(context, "", top, &declare::ROOT, Some(root))
        .beside(declare::PARTS.iter().map(|part| part.key));
    let general = read_general(&reader);
    let unparsed = (reader.choice("unparsed"), reader.place_of("unparsed"));
    reader.reject_unknown();
    let top_level = TopLevel { context, root, top };
    // Own watermarks stand in commits in the order of the sinks, labels in documents in theirs.
    for key in ["sources", "labels", "sinks"] {
        let names: Vec<&str> = top_level.named(key).iter().map(|it| it.key.as_str()).collect();
        context.note(key, format!("{names:?}"));
    }
    Drafts {
        general,
        unparsed,
        sources: sources::read(&top_level),
        time: rules::read_time(&top_level),
        hosts: rules::read_hosts(&top_level),
        labels: rules::read_labels(&top_level),
        identity: rules::read_identity(&top_level),
        peel: join::read_peel(&top_level),
        join: join::read_join(&top_level),
        parse: rules::read_parse(&top_level),
        numbers: numbers::read(&top_level),
        steps: transform::read(&top_level),
        redact: redact::read(&top_level),
        routes: rules::read_routes(&top_level),
        routes_unread: root
            .get("route")
            .is_some_and(|it| !matches!(it.node.value, Value::Array(_))),
        sinks: sinks::read(&top_level),
        sink_names: top_level.named("sinks").iter().map(|entry| entry.key.clone()).collect(),
        dead_letter: dead_letter::read(&top_level),
        http: http::read(&top_level.one("http", &declare::HTTP)),
        tests: tests::read(&top_level),
    }
}

fn read_general(reader: &Reader<'_>) -> GeneralSettings {
    GeneralSettings {
        memory_bytes: reader.bytes("memory"),
        stop_deadline_ms: reader.duration_ms("stop_deadline"),
        ahead_max_ms: reader.duration_ms("ahead_max"),
        stall_after_ms: reader.duration_ms("stall_after"),
    }
}

/// The top of the tree, and how its keys are filled.
pub(crate) struct TopLevel<'a> {
    pub(crate) context: &'a Context<'a>,
    root: &'a Table,
    pub(crate) top: &'a Place,
}

impl<'a> TopLevel<'a> {
    /// The key is there, whatever it holds.
    fn has(&self, key: &str) -> bool {
        self.root.get(key).is_some()
    }

    /// `[key]`; absent, it gives its defaults.
    fn one(&self, key: &'static str, section: &'static declare::Section) -> Reader<'a> {
        let entry = self.root.get(key);
        let table = entry.and_then(|entry| self.as_table(entry, &format!("write `[{key}]`")));
        let place = entry.map_or(self.top, |entry| &entry.key_place);
        Reader::new(self.context, key, place, section, table)
    }

    /// `[key]` with `type`.
    fn one_of(&self, key: &'static str, variants: &'static [Variant]) -> Option<Reader<'a>> {
        let entry = self.root.get(key)?;
        let table = self.as_table(entry, &format!("write `[{key}]`"))?;
        self.variant(key, &entry.key_place, table, variants)
    }

    /// The names of `[key.NAME]`.
    fn named(&self, key: &str) -> &'a [Entry] {
        let help = format!("write `[{key}.NAME]`");
        match self.root.get(key).and_then(|entry| self.as_table(entry, &help)) {
            Some(table) => &table.entries,
            None => &[],
        }
    }

    /// `[[key]]`, each with its path.
    fn list(&self, key: &'static str, section: &'static declare::Section) -> Vec<Reader<'a>> {
        let Some(entry) = self.root.get(key) else { return Vec::new() };
        let Value::Array(nodes) = &entry.node.value else {
            let message = format!("`{key}` is {}, expected `[[{key}]]`", entry.node.value.kind());
            let help = format!("write `[[{key}]]`, with two brackets on each side");
            self.context.error(&entry.key_place, message, help);
            return Vec::new();
        };
        let readers = nodes.iter().enumerate().filter_map(|(index, node)| match &node.value {
            Value::Table(table) => {
                let path = format!("{key}[{index}]");
                Some(Reader::new(self.context, path, &node.place, section, Some(table)))
            }
            other => {
                let message = format!("`{key}` holds {}, expected tables", other.kind());
                self.context.error(&node.place, message, format!("write `[[{key}]]`"));
                None
            }
        });
        readers.collect()
    }

    /// `[key.NAME]` with `type`; also checks the name.
    fn variant_of(
        &self,
        key: &str,
        entry: &'a Entry,
        variants: &'static [Variant],
    ) -> Option<Reader<'a>> {
        self.check_name(key, entry);
        let table = self.as_table(entry, &format!("write `[{key}.{}]`", entry.key))?;
        self.variant(&format!("{key}.{}", entry.key), &entry.key_place, table, variants)
    }

    fn variant(
        &self,
        path: &str,
        place: &Place,
        table: &'a Table,
        variants: &'static [Variant],
    ) -> Option<Reader<'a>> {
        let words: Vec<&str> = variants.iter().map(|variant| variant.word).collect();
        let Some(entry) = table.get("type") else {
            if !self.context.broken {
                let help = format!("add `type = …`, one of {}", suggest::list(&words));
                self.context.error(place, format!("`{path}.type` is missing"), help);
            }
            return None;
        };
        let Value::Text(text) = &entry.node.value else {
            let kind = entry.node.value.kind();
            let message = format!("`{path}.type` is {kind}, expected a string");
            let help = format!("write {}, in quotes", suggest::list(&words));
            self.context.error(&entry.node.place, message, help);
            return None;
        };
        let Some(variant) = variants.iter().find(|variant| variant.word == text.value) else {
            let message = format!("`{path}.type` cannot be \"{}\"", text.shown());
            let help = match suggest::closest(text.shown(), words.iter().copied()) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("write {}", suggest::list(&words)),
            };
            self.context.error(&text.place, message, help);
            return None;
        };
        self.context.note(format!("{path}.type"), variant.word);
        let reader = Reader::new(self.context, path, place, variant.section, Some(table));
        Some(reader.chosen_by(variant.word))
    }

    fn as_table(&self, entry: &'a Entry, help: &str) -> Option<&'a Table> {
        if let Value::Table(table) = &entry.node.value {
            return Some(table);
        }
        let message = format!("`{}` is {}, expected a table", entry.key, entry.node.value.kind());
        self.context.error(&entry.key_place, message, help);
        None
    }

    /// Names of sources and sinks stand in metrics, groups and archive footers.
    fn check_name(&self, key: &str, entry: &Entry) {
        let allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
        if entry.key.is_empty() || entry.key.len() > 64 || !entry.key.chars().all(allowed) {
            let message = format!("`{}` cannot be a name in `{key}`", entry.key);
            let help = "use 1 to 64 letters, digits, `_` and `-`";
            self.context.error(&entry.key_place, message, help);
        }
    }
}

/// Strings of a node that may be one string or an array of them.
fn one_or_more(reader: &Reader<'_>, key: &str, node: &Node) -> Vec<Text> {
    let name = reader.name_of(key);
    match &node.value {
        Value::Array(nodes) if nodes.is_empty() => {
            reader.context.error(&node.place, format!("`{name}` is empty"), "give at least one");
            Vec::new()
        }
        Value::Array(nodes) => nodes.iter().filter_map(|it| reader.element(&name, it)).collect(),
        _ => reader.element(&name, node).into_iter().collect(),
    }
}

/// The defaults of a section: what its reader makes of an empty table.
fn defaults<T>(section: &'static declare::Section, read: impl Fn(&Reader<'_>) -> T) -> T {
    let context = Context::new(std::path::Path::new(""), true);
    let file = crate::diagnostic::SourceFile::new(String::new(), String::new(), 0);
    let file = std::sync::Arc::new(file);
    read(&Reader::new(&context, "", &Place::new(&file, 0..0), section, None))
}

impl Default for GeneralSettings {
    fn default() -> Self {
        defaults(&declare::ROOT, read_general)
    }
}

impl Default for HttpSettings {
    fn default() -> Self {
        defaults(&declare::HTTP, http::read)
    }
}

impl Default for BatchSettings {
    fn default() -> Self {
        defaults(&declare::BATCH, sinks::read_batch)
    }
}

impl Default for ObjectSettings {
    fn default() -> Self {
        defaults(&declare::OBJECT, sinks::read_object)
    }
}
