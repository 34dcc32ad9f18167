//! Takes the settings of one section out of the tree. Invariant: a key is read only by its declared
//! name and kind, every declared key is read, and what is left over is reported; a value that is
//! wrong is reported and replaced by its default, so reading goes on. Next stop: `sections/`.

mod values;

use crate::declare::{self, Kind, Section, Setting};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::{Entry, Table, Text, Value};
use crate::suggest;
use std::cell::RefCell;
use std::path::Path;

/// What all readers of one configuration share.
pub(crate) struct Context<'a> {
    /// Relative paths start here.
    pub(crate) folder: &'a Path,
    /// The TOML itself is broken: what is missing may only be unread.
    pub(crate) broken: bool,
    problems: RefCell<Vec<Diagnostic>>,
    resolved: RefCell<Vec<(String, String)>>,
    /// What bears on no event, without secrets.
    beside: RefCell<Vec<(String, String)>>,
    secrets: RefCell<Vec<Place>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(folder: &'a Path, broken: bool) -> Self {
        let (problems, resolved) = (RefCell::default(), RefCell::default());
        let (beside, secrets) = (RefCell::default(), RefCell::default());
        Self { folder, broken, problems, resolved, beside, secrets }
    }

    pub(crate) fn report(&self, problem: Diagnostic) {
        self.problems.borrow_mut().push(problem);
    }

    pub(crate) fn error(&self, place: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.report(Diagnostic::error(place, message, help));
    }

    pub(crate) fn warn(&self, place: &Place, message: impl Into<String>, help: impl Into<String>) {
        self.report(Diagnostic::warning(place, message, help));
    }

    /// Remembers a resolved value for the fingerprint.
    pub(crate) fn note(&self, path: impl Into<String>, value: impl Into<String>) {
        self.resolved.borrow_mut().push((path.into(), value.into()));
    }

    /// Remembers a stretch of a file that must not be printed.
    pub(crate) fn hide(&self, place: &Place) {
        self.secrets.borrow_mut().push(place.clone());
    }

    pub(crate) fn take_secrets(&self) -> Vec<Place> {
        self.secrets.take()
    }

    pub(crate) fn take_problems(&self) -> Vec<Diagnostic> {
        self.problems.take()
    }

    pub(crate) fn take_resolved(&self) -> Vec<(String, String)> {
        self.resolved.take()
    }

    /// Resolved values that bear on no event, without secrets.
    pub(crate) fn take_beside(&self) -> Vec<(String, String)> {
        self.beside.take()
    }
}

/// The settings of one section.
pub(crate) struct Reader<'a> {
    pub(crate) context: &'a Context<'a>,
    /// As TOML names it: `sinks.archive.object`, `parse[0]`.
    pub(crate) path: String,
    /// The header, or the inline table.
    pub(crate) place: Place,
    section: &'static Section,
    table: Option<&'a Table>,
    /// Keys that others read: `type`, which chose this section; the sections below the top.
    others: Vec<&'static str>,
    word: &'static str,
    read: RefCell<Vec<&'static str>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        path: impl Into<String>,
        place: &Place,
        section: &'static Section,
        table: Option<&'a Table>,
    ) -> Self {
        let (path, place, read) = (path.into(), place.clone(), RefCell::default());
        Self { context, path, place, section, table, others: Vec::new(), word: "", read }
    }

    /// Says that these keys may stand in the table and are read by others.
    pub(crate) fn beside(mut self, keys: impl IntoIterator<Item = &'static str>) -> Self {
        self.others.extend(keys);
        self
    }

    /// Says which `type` chose this section.
    pub(crate) fn chosen_by(mut self, word: &'static str) -> Self {
        self.word = word;
        self.beside(["type"])
    }

    /// The `type` that chose this section.
    pub(crate) fn word(&self) -> &'static str {
        self.word
    }

    /// How a setting is named in messages.
    pub(crate) fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Where a setting stands: its key, or the section where it is absent.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.find(key).map_or_else(|| self.place.clone(), |entry| entry.key_place.clone())
    }

    /// The setting is in the file, whatever its value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<&'a Entry> {
        self.table.and_then(|table| table.get(key))
    }

    /// The declaration of a key and what the file says; reports what is required and absent.
    fn take(&self, key: &str) -> (&'static Setting, Option<&'a Entry>) {
        let setting = self.section.setting(key).expect("only declared settings are read");
        self.read.borrow_mut().push(setting.name);
        let entry = self.find(key);
        if entry.is_none() && setting.required && !self.context.broken {
            let message = format!("`{}` is missing", self.name_of(key));
            let help = format!("add `{key} = {}` ({})", skeleton(&setting.kind), gist(setting.doc));
            self.context.error(&self.place, message, help);
        }
        (setting, entry)
    }

    /// Remembers a resolved value for the fingerprint, unless its setting bears on no event. What
    /// follows the setting's name, an index or the name of an entry, may stand in `key` too.
    pub(crate) fn note(&self, key: &str, value: impl Into<String>) {
        let name = key.split(['[', '.']).next().unwrap_or(key);
        if self.section.setting(name).is_none_or(|setting| setting.bears_on_events) {
            self.context.note(self.name_of(key), value);
        } else {
            self.context.beside.borrow_mut().push((self.name_of(key), value.into()));
        }
    }

    /// Reports a value that is not of the declared kind.
    fn mismatch(&self, entry: &Entry, expected: &str, help: impl Into<String>) {
        let (name, kind) = (self.name_of(&entry.key), entry.node.value.kind());
        let message = format!("`{name}` is {kind}, expected {expected}");
        self.context.error(&entry.node.place, message, help);
    }

    /// A nested section; an absent one is read from an empty table, which gives its defaults.
    pub(crate) fn section(&self, key: &str) -> Option<Reader<'a>> {
        let (setting, entry) = self.take(key);
        let Kind::Section(section) = &setting.kind else {
            unreachable!("declared as a section");
        };
        let path = self.name_of(key);
        let Some(entry) = entry else {
            return Some(Reader::new(self.context, path, &self.place, section, None));
        };
        if let Value::Table(table) = &entry.node.value {
            return Some(Reader::new(self.context, path, &entry.key_place, section, Some(table)));
        }
        let help = format!("write `{key} = {}`", table_skeleton(section));
        self.mismatch(entry, "a table", help);
        None
    }

    /// Nested sections, `[[key]]`; none when absent.
    pub(crate) fn sections(&self, key: &str) -> Vec<Reader<'a>> {
        let (setting, entry) = self.take(key);
        let Kind::Sections(section) = setting.kind else {
            unreachable!("declared as an array of sections");
        };
        let Some(entry) = entry else { return Vec::new() };
        let path = self.name_of(key);
        let help = format!("write `[[{path}]]`, with two brackets on each side");
        let Value::Array(nodes) = &entry.node.value else {
            self.mismatch(entry, "an array of tables", help);
            return Vec::new();
        };
        let readers = nodes.iter().enumerate().filter_map(|(index, node)| {
            let Value::Table(table) = &node.value else {
                let message = format!("`{path}` holds {}, expected tables", node.value.kind());
                self.context.error(&node.place, message, help.clone());
                return None;
            };
            let path = format!("{path}[{index}]");
            Some(Reader::new(self.context, path, &node.place, section, Some(table)))
        });
        readers.collect()
    }

    /// Reports what was not read. To be called when all has been read.
    pub(crate) fn reject_unknown(&self) {
        debug_assert!(
            self.section.settings.iter().all(|it| self.read.borrow().contains(&it.name)),
            "{}: every declared setting is read: {:?}",
            self.section.title,
            self.read.borrow(),
        );
        let Some(table) = self.table else { return };
        for entry in &table.entries {
            let known = self.section.setting(&entry.key).is_some();
            if known || self.others.contains(&entry.key.as_str()) {
                continue;
            }
            let message = if self.path.is_empty() {
                format!("unknown key `{}`", entry.key)
            } else {
                format!("unknown key `{}` in [{}]", entry.key, self.path)
            };
            self.context.error(&entry.key_place, message, self.unknown_key_help(&entry.key));
        }
    }

    fn unknown_key_help(&self, key: &str) -> String {
        let mut known: Vec<&str> = self.section.settings.iter().map(|it| it.name).collect();
        known.extend(&self.others);
        if let Some(candidate) = suggest::closest(key, known.iter().copied()) {
            return format!("did you mean `{candidate}`?");
        }
        if declare::ROOT.setting(key).is_some() {
            return format!("`{key}` stands at the top of the file, above the first section");
        }
        let elsewhere = [&declare::SOURCES[..], &declare::SINKS, &declare::DEAD_LETTERS]
            .into_iter()
            .filter(|variants| variants.iter().any(|it| std::ptr::eq(it.section, self.section)))
            .flatten()
            .find(|variant| variant.section.setting(key).is_some());
        match elsewhere {
            Some(variant) => format!(
                "`{key}` belongs to {}, not to {}",
                variant.section.title, self.section.title
            ),
            None => format!("{} knows {}", self.section.title, suggest::list_all(&known)),
        }
    }
}

/// The first sentence as part of another.
fn gist(doc: &str) -> String {
    let end = ["; ", ": ", ". "].iter().filter_map(|stop| doc.find(stop)).min();
    let doc = doc[..end.unwrap_or(doc.len())].trim_end_matches('.');
    let mut letters = doc.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What a value of this kind looks like.
fn skeleton(kind: &Kind) -> String {
    match kind {
        Kind::Text | Kind::Secret | Kind::Path | Kind::Template => "\"…\"".to_owned(),
        Kind::Condition | Kind::Grok => "'…'".to_owned(),
        Kind::Start => "\"earliest\"".to_owned(),
        Kind::Texts | Kind::Choices(_) => "[\"…\"]".to_owned(),
        Kind::Flag => "true".to_owned(),
        Kind::Integer { min, .. } => min.to_string(),
        Kind::Bytes { .. } => "\"16MiB\"".to_owned(),
        Kind::Duration { .. } => "\"10s\"".to_owned(),
        Kind::Choice(words) => format!("\"{}\"", words.first().map_or("…", |it| it.word)),
        Kind::TextMap | Kind::Properties => "{ \"…\" = \"…\" }".to_owned(),
        Kind::TextLists => "{ \"…\" = [\"…\"] }".to_owned(),
        Kind::Expectations => "{ level = \"error\" }".to_owned(),
        Kind::Section(section) => table_skeleton(section),
        Kind::Sections(section) => format!("[{}]", table_skeleton(section)),
    }
}

fn table_skeleton(section: &Section) -> String {
    let parts: Vec<String> = section
        .settings
        .iter()
        .map(|it| match it.default {
            Some(default) if !matches!(it.kind, Kind::Texts | Kind::Integer { .. }) => {
                format!("{} = \"{default}\"", it.name)
            }
            _ => format!("{} = {}", it.name, skeleton(&it.kind)),
        })
        .collect();
    format!("{{ {} }}", parts.join(", "))
}

/// The value a setting has without a file, as a text at the section's place.
fn default_text(setting: &Setting, place: &Place) -> Option<Text> {
    setting.default.map(|value| Text::fixed(value, place))
}
