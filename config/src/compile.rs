//! From drafts to a plan: names are collected, then every condition, template, selector, grok
//! expression and time format is compiled. Invariant: a problem inside a string is reported at its
//! own place in the file; the plan's targets keep the order of the sinks. Next stop: `checks.rs`.

mod identity;
mod join;
mod numbers;
mod parse;
mod patterns;
mod redact;
mod tables;
mod transform;

use crate::document::Text;
use crate::reader::Context;
use crate::sections::{Drafts, SinkDraft};
use crate::settings::SinkKind;
use crate::suggest;
use riverhog_rules::plan::PIECES_GAP_MS;
use riverhog_rules::{
    ActionForm, Condition, HostRule, LabelRule, Names, Plan, Route, Selector, Stage, Target,
    TargetKind, Template, UnparsedPolicy, Zone,
};
use std::cell::Cell;
use std::ops::Range;
pub(crate) use tables::TableFiles;

/// What compiling gives.
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    pub(crate) names: Names,
    pub(crate) tables: TableFiles,
}

/// Compiles everything; what does not compile is reported and left out.
pub(crate) fn compile(context: &Context<'_>, drafts: &Drafts) -> Compiled {
    let tables = TableFiles::read(context, drafts);
    let labels = drafts.labels.iter().map(|label| label.name.clone());
    let added = identity::added_labels(drafts).map(str::to_owned);
    let mut names = Names::new().labels(labels.chain(added));
    let hosts = &tables.tables.hosts;
    if let Some(table) = hosts {
        names = names.columns(table.columns().iter().cloned());
    }
    let hosts_unread = drafts.hosts.table.is_some() && hosts.is_none();
    let compiler = Compiler { context, names, hosts_unread, files: Cell::new(0) };
    let zone = compiler.zone(drafts);
    let plan = Plan {
        peel: drafts.peel,
        join: drafts.join.as_ref().map(|draft| join::compile(&compiler, draft)),
        pieces_gap_ms: PIECES_GAP_MS,
        parse: parse::compile(&compiler, drafts),
        numbers: numbers::compile(&compiler, &drafts.numbers),
        labels: compiler.labels(drafts),
        rank: identity::rank(drafts),
        hosts: HostRule {
            from: compiler.selectors(&drafts.hosts.from, "hosts.from", Stage::Hosts),
        },
        steps: transform::compile(&compiler, drafts, &tables),
        tables: tables.tables.clone(),
        routes: compiler.routes(drafts),
        targets: drafts.sinks.iter().map(|draft| compiler.target(draft)).collect(),
        zone,
        skew_max_ns: as_ns(drafts.time.skew_max_ms),
        skew_tag_ns: as_ns(drafts.time.skew_tag_ms),
        boot: compiler.boot(&drafts.time.boot),
        unparsed: match drafts.unparsed.0 {
            "dead_letter" => UnparsedPolicy::DeadLetter,
            "drop" => UnparsedPolicy::Drop,
            _ => UnparsedPolicy::Keep,
        },
        redact: redact::compile(&compiler, &drafts.redact),
    };
    Compiled { plan, names: compiler.names, tables }
}

fn as_ns(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}

const ESCAPE: &str = "escape what is meant literally with `\\`";

const RECORD_ONLY: &str =
    "before parsing there are `message`, `topic`, `key`, `header.NAME`, `envelope.PATH`, labels";

/// A problem inside a string, in the words of the room that compiles it.
struct Inside {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

struct Compiler<'a> {
    context: &'a Context<'a>,
    names: Names,
    /// There is a host table whose columns could not be learnt.
    hosts_unread: bool,
    /// How many files of patterns have been read.
    files: Cell<usize>,
}

impl Compiler<'_> {
    /// A number for one more file beside the configuration's own, by which its problems are sorted.
    fn next_file(&self, first: usize) -> usize {
        first + self.files.replace(self.files.get() + 1)
    }

    /// Reports a problem at its place inside a string. What came from outside is not shown.
    fn report(&self, name: &str, text: &Text, inside: Inside, fallback: &str) {
        let at = text.value.get(inside.span.clone()).unwrap_or_default();
        if self.hosts_unread && at.starts_with("host.") {
            return;
        }
        let place = text.place_of(inside.span);
        if text.is_secret() {
            let message = format!("`{name}` does not compile here; it holds values from outside");
            let help = format!("{fallback}; put the value in to see more");
            self.context.error(&place, message, help);
            return;
        }
        let help = inside.help.unwrap_or_else(|| fallback.to_owned());
        self.context.error(&place, format!("`{name}`: {}", inside.message), help);
    }

    fn condition(&self, name: &str, text: &Text, stage: Stage) -> Option<Condition> {
        match Condition::compile(&text.value, &self.names.at(stage)) {
            Ok(condition) => Some(condition),
            Err(error) => {
                let (span, message, help) = (error.span, error.message, error.help);
                let fallback = match stage {
                    _ if message.contains("regular expression") => ESCAPE,
                    Stage::Parse if message.contains("no value before") => RECORD_ONLY,
                    _ => "conditions look like `project == \"nlp\" and level >= \"warn\"`",
                };
                self.report(name, text, Inside { span, message, help }, fallback);
                None
            }
        }
    }

    fn selector(&self, name: &str, text: &Text, stage: Stage) -> Option<Selector> {
        match Selector::compile(&text.value, &self.names.at(stage)) {
            Ok(selector) => Some(selector),
            Err(error) => {
                let span = 0..text.value.len();
                let (message, help) = (error.message, error.help);
                let fallback = match stage {
                    Stage::Parse => RECORD_ONLY,
                    _ => "candidates are `header.NAME`, `key`, `topic`, `envelope.PATH`, …",
                };
                self.report(name, text, Inside { span, message, help }, fallback);
                None
            }
        }
    }

    fn selectors(&self, texts: &[Text], name: &str, stage: Stage) -> Vec<Selector> {
        texts.iter().filter_map(|text| self.selector(name, text, stage)).collect()
    }

    /// `[time] boot`, which is read where a line has no metrics yet.
    fn boot(&self, texts: &[Text]) -> Vec<Selector> {
        let is_there = |text: &&Text| {
            if !text.value.starts_with("metrics.") {
                return true;
            }
            let span = 0..text.value.len();
            let message = format!("`{}` has no value before the time is found", text.value);
            let help =
                Some("candidates are `host.COLUMN`, `header.NAME`, `fields.NAME`".to_owned());
            self.report("time.boot", text, Inside { span, message, help }, "");
            false
        };
        let texts = texts.iter().filter(is_there);
        texts.filter_map(|text| self.selector("time.boot", text, Stage::Labels)).collect()
    }

    fn template(&self, name: &str, text: &Text, stage: Stage) -> Option<Template> {
        match Template::compile(&text.value, &self.names.at(stage)) {
            Ok(template) => Some(template),
            Err(error) => {
                let (span, message, help) = (error.span, error.message, error.help);
                let fallback = "placeholders look like `{task}` or `{timestamp:%Y.%m.%d}`";
                self.report(name, text, Inside { span, message, help }, fallback);
                None
            }
        }
    }

    fn zone(&self, drafts: &Drafts) -> Zone {
        let Some(text) = &drafts.time.zone else { return Zone::UTC };
        match Zone::parse(&text.value) {
            Ok(zone) => zone,
            Err(error) => {
                let span = 0..text.value.len();
                let inside = Inside { span, message: error.message, help: error.help };
                self.report("time.zone", text, inside, "write an IANA name or `+08:00`");
                Zone::UTC
            }
        }
    }

    fn labels(&self, drafts: &Drafts) -> Vec<LabelRule> {
        let rule = |draft: &crate::sections::LabelDraft| LabelRule {
            name: draft.name.clone(),
            from: self.selectors(
                &draft.from,
                &format!("labels.{}.from", draft.name),
                Stage::Labels,
            ),
            presets: identity::candidates(drafts, &draft.name),
            default: draft.default.clone(),
        };
        let added = identity::added_labels(drafts).map(|name| identity::label(drafts, name));
        drafts.labels.iter().map(rule).chain(added).collect()
    }

    fn routes(&self, drafts: &Drafts) -> Vec<Route> {
        let bit = |name: &str| drafts.sinks.iter().position(|it| it.sink.name == name);
        let names: Vec<&str> = drafts.sink_names.iter().map(String::as_str).collect();
        let route = |(index, draft): (usize, &crate::sections::RouteDraft)| Route {
            name: draft.name.clone(),
            when: draft.when.as_ref().and_then(|text| {
                self.condition(&format!("route[{index}].when"), text, Stage::Route)
            }),
            sinks: draft.sinks.iter().fold(0, |bits, text| {
                if !names.contains(&text.value.as_str()) {
                    self.unknown_sink(text, &names);
                }
                bits | bit(&text.value).map_or(0, |bit| 1 << bit)
            }),
        };
        drafts.routes.iter().enumerate().map(route).collect()
    }

    fn unknown_sink(&self, text: &Text, sinks: &[&str]) {
        let message = format!("the route names the unknown sink \"{}\"", text.shown());
        let help = if text.is_secret() {
            suggest::help("", sinks, "sink")
        } else {
            suggest::help(&text.value, sinks, "sink")
        };
        self.context.error(&text.place, message, help);
    }

    fn target(&self, draft: &SinkDraft) -> Target {
        let name = draft.sink.name.clone();
        let mut action = ActionForm::default();
        let (kind, keys, omit_message) = match &draft.sink.kind {
            SinkKind::Elasticsearch(sink) => {
                let (routing, pipeline) = (sink.routing.is_some(), sink.pipeline.is_some());
                action = ActionForm { op: sink.op, routing, pipeline };
                let keys = [("index", true), ("routing", routing), ("pipeline", pipeline)];
                let keys = keys.into_iter().filter(|key| key.1).map(|key| key.0).collect();
                (TargetKind::Index, keys, sink.omit_message)
            }
            SinkKind::S3(_) | SinkKind::Local(_) => {
                (TargetKind::Path, vec!["bucket", "prefix"], false)
            }
        };
        let compile = |(key, text): (&&str, &Text)| {
            let template = self.template(&format!("sinks.{name}.{key}"), text, Stage::Route);
            if let (Some(template), &"index") = (&template, key) {
                self.check_index(&format!("sinks.{name}.{key}"), text, template);
            }
            template.or_else(|| Template::compile("", &self.names).ok())
        };
        let destinations = keys.iter().zip(&draft.templates).filter_map(compile).collect();
        Target { name, destinations, action, omit_message, kind }
    }

    /// What a store refuses in the fixed parts of an index name.
    fn check_index(&self, name: &str, text: &Text, template: &Template) {
        let odd =
            |it: char| it.is_uppercase() || it.is_whitespace() || "\\/*?\"<>|,#:".contains(it);
        for literal in template.literals() {
            let Some(letter) = literal.chars().find(|it| odd(*it)) else { continue };
            let span = text.value.find(letter).map_or(0..0, |at| at..at + letter.len_utf8());
            let message = format!("an index name cannot hold `{letter}`");
            let help = if letter.is_uppercase() {
                format!("write `{}`", letter.to_lowercase())
            } else {
                "use lower-case letters, digits, `-`, `_` and `.`".to_owned()
            };
            self.report(name, text, Inside { span, message, help: Some(help) }, "see `index`");
            return;
        }
        if text.value.starts_with(['-', '_', '+']) {
            let message = format!("an index name cannot begin with `{}`", &text.value[..1]);
            let help = Some("begin it with a letter or a digit".to_owned());
            self.report(name, text, Inside { span: 0..1, message, help }, "see `index`");
        }
    }
}
