//! `[[parse]]`, `[time]`, `[hosts]`, `[labels]`, `[identity]`, `[[route]]`. Texts are only read
//! here; `compile.rs` compiles them once all names are known. Next: `dead_letter.rs`.

use super::TopLevel;
use super::formats::{self, ShapeDraft};
use crate::declare;
use crate::diagnostic::Place;
use crate::document::{Text, Value};
use crate::reader::Reader;
use riverhog_parsers::formats::FieldConversion;
use riverhog_parsers::grok::PatternSet;
use std::path::PathBuf;

pub(crate) struct ParseDraft {
    pub(crate) name: Option<Text>,
    /// As TOML names it: `parse[0]`.
    pub(crate) path: String,
    pub(crate) shape: ShapeDraft,
    /// Types of fields that are numbers.
    pub(crate) types: Vec<(String, FieldConversion)>,
    pub(crate) set: PatternSet,
    pub(crate) keep_empty_captures: bool,
    /// Only the first expression that matches is run.
    pub(crate) break_on_match: bool,
    /// The field that the fields of a grok expression stand in.
    pub(crate) target: Option<Text>,
    /// Name, the place of the name, regular expression.
    pub(crate) patterns: Vec<(String, Place, Text)>,
    /// Files or folders of patterns, joined to the folder of the file.
    pub(crate) pattern_files: Vec<(PathBuf, Text)>,
    pub(crate) time: Option<TimeDraft>,
    /// Whether its numbers are metrics, and where that stands.
    pub(crate) numbers: Option<(bool, Place)>,
    pub(crate) when: Option<Text>,
    pub(crate) field: Option<Text>,
}

/// `time` of a parse rule.
pub(crate) struct TimeDraft {
    pub(crate) field: Option<Text>,
    pub(crate) formats: Vec<Text>,
    pub(crate) zone: Option<Text>,
    pub(crate) zone_field: Option<Text>,
    pub(crate) locale: Option<Text>,
}

/// `[time]`
pub(crate) struct TimeSettings {
    pub(crate) zone: Option<Text>,
    pub(crate) skew_max_ms: u64,
    pub(crate) skew_tag_ms: u64,
    pub(crate) boot: Vec<Text>,
}

/// `[identity]`
pub(crate) struct IdentityDraft {
    /// Names of presets.
    pub(crate) presets: Vec<&'static str>,
    /// 0 where it is not known.
    pub(crate) ranks_per_node: u64,
}

/// `[hosts]`
pub(crate) struct HostsDraft {
    pub(crate) from: Vec<Text>,
    pub(crate) table: Option<(PathBuf, Text)>,
}

pub(crate) struct LabelDraft {
    pub(crate) name: String,
    pub(crate) from: Vec<Text>,
    pub(crate) default: Option<String>,
}

pub(crate) struct RouteDraft {
    pub(crate) name: Option<String>,
    pub(crate) place: Place,
    pub(crate) when: Option<Text>,
    pub(crate) sinks: Vec<Text>,
}

pub(super) fn read_parse(top: &TopLevel<'_>) -> Vec<ParseDraft> {
    top.list("parse", &declare::PARSE).iter().map(read_one_parser).collect()
}

fn read_one_parser(reader: &Reader<'_>) -> ParseDraft {
    let (name, when) = (reader.text("name"), reader.text("when"));
    let draft = ParseDraft { name, when, ..read_parser(reader, &["target"]) };
    reader.reject_unknown();
    draft
}

/// Everything that a parser says but its name and its condition. `for_grok`: options that only grok
/// has here.
pub(super) fn read_parser(reader: &Reader<'_>, for_grok: &[&str]) -> ParseDraft {
    let shape = formats::read(reader, for_grok);
    let types = formats::read_types(reader);
    let patterns = reader
        .text_map("patterns")
        .into_iter()
        .map(|(entry, text)| (entry.key.clone(), entry.key_place.clone(), text))
        .collect();
    let pattern_files = reader.paths("pattern_files");
    let set = match reader.chosen("set") {
        Some("ecs-v1") => PatternSet::EcsV1,
        _ => PatternSet::Legacy,
    };
    let keep_empty_captures = reader.flag("keep_empty_captures").unwrap_or(false);
    let break_on_match = reader.flag("break_on_match").unwrap_or(true);
    let target = reader.text("target");
    let time = match reader.section("time") {
        Some(inner) if reader.has("time") => {
            let field = inner.text("field");
            let (formats, zone) = (inner.texts("formats"), inner.text("zone"));
            let zone_field = inner.text("zone_field");
            let locale = inner.text("locale");
            inner.reject_unknown();
            Some(TimeDraft { field, formats, zone, zone_field, locale })
        }
        _ => None,
    };
    let field = reader.text("field");
    let numbers = reader.flag("numbers").map(|flag| (flag, reader.place_of("numbers")));
    let path = reader.path.clone();
    let (name, when) = (None, None);
    ParseDraft {
        name,
        path,
        shape,
        types,
        set,
        keep_empty_captures,
        break_on_match,
        target,
        patterns,
        pattern_files,
        time,
        numbers,
        when,
        field,
    }
}

pub(super) fn read_time(top: &TopLevel<'_>) -> TimeSettings {
    let reader = top.one("time", &declare::TIME);
    let zone = reader.text("zone");
    let skew_max_ms = reader.duration_ms("skew_max");
    let skew_tag_ms = reader.duration_ms("skew_tag");
    let boot = reader.texts("boot");
    reader.reject_unknown();
    TimeSettings { zone, skew_max_ms, skew_tag_ms, boot }
}

pub(super) fn read_identity(top: &TopLevel<'_>) -> IdentityDraft {
    let reader = top.one("identity", &declare::IDENTITY);
    let presets = reader.choices("presets");
    let ranks_per_node = reader.integer("ranks_per_node");
    reader.reject_unknown();
    IdentityDraft { presets, ranks_per_node }
}

pub(super) fn read_hosts(top: &TopLevel<'_>) -> HostsDraft {
    let reader = top.one("hosts", &declare::HOSTS);
    let from = reader.texts("from");
    let table = reader.path("table");
    reader.reject_unknown();
    HostsDraft { from, table }
}

pub(super) fn read_labels(top: &TopLevel<'_>) -> Vec<LabelDraft> {
    let read = |entry| read_label(top, entry);
    top.named("labels").iter().filter_map(read).collect()
}

fn read_label(top: &TopLevel<'_>, entry: &crate::document::Entry) -> Option<LabelDraft> {
    let name = entry.key.clone();
    if !riverhog_rules::Names::is_label(&name) {
        let message = format!("`{name}` cannot be the name of a label");
        let help = if riverhog_rules::Names::is_reserved(&name) {
            "it already has a meaning in conditions and templates; take another word"
        } else {
            "begin with a letter; up to 64 letters, digits, `_` and `-`"
        };
        top.context.error(&entry.key_place, message, help);
    }
    let Value::Table(table) = &entry.node.value else {
        let kind = entry.node.value.kind();
        let message = format!("`labels.{name}` is {kind}, expected a table");
        let help = format!("write `{name} = {{ from = [\"header.{name}\"], default = \"…\" }}`");
        top.context.error(&entry.node.place, message, help);
        return None;
    };
    let path = format!("labels.{name}");
    let reader = Reader::new(top.context, path, &entry.key_place, &declare::LABEL, Some(table));
    let from = reader.texts("from");
    let default = reader.text("default").map(|text| text.value);
    reader.reject_unknown();
    Some(LabelDraft { name, from, default })
}

pub(super) fn read_routes(top: &TopLevel<'_>) -> Vec<RouteDraft> {
    let read = |reader: &Reader<'_>| {
        let name = reader.text("name").map(|text| text.value);
        let (when, sinks) = (reader.text("when"), reader.texts("sinks"));
        reader.reject_unknown();
        RouteDraft { name, place: reader.place.clone(), when, sinks }
    };
    top.list("route", &declare::ROUTE).iter().map(read).collect()
}
