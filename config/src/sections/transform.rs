//! `[[transform]]`. Texts are only read here; `compile/transform.rs` compiles them. Invariant: a
//! step has exactly one action. Next: `redact.rs`.

use super::TopLevel;
use super::rules::{ParseDraft, read_parser};
use crate::declare;
use crate::diagnostic::Place;
use crate::document::Text;
use crate::reader::Reader;
use std::path::PathBuf;

pub(crate) struct StepDraft {
    pub(crate) name: Option<Text>,
    /// As TOML names it: `transform[0]`.
    pub(crate) path: String,
    pub(crate) place: Place,
    pub(crate) when: Option<Text>,
    /// Absent where none, or more than one, is there.
    pub(crate) shape: Option<ShapeOfStep>,
}

/// What a step does.
pub(crate) enum ShapeOfStep {
    /// `set`, `rename`, `convert`, `split`, `join`, `truncate`.
    Pairs(&'static str, Vec<Pair>),
    /// `remove`, `keep`, `lowercase`, `uppercase`, `trim`, `tag`, `untag`.
    Names(&'static str, Vec<Text>),
    Gsub {
        field: Option<Text>,
        regex: Option<Text>,
        with: String,
    },
    Lookup(LookupDraft),
    Fingerprint {
        from: Vec<Text>,
        into: Option<Text>,
    },
    Parse(Box<ReparseDraft>),
    Drop(Text),
    Sample {
        keep: Option<Text>,
        key: Vec<Text>,
    },
    RateLimit {
        lines: u64,
        per_ms: u64,
        key: Vec<Text>,
    },
}

/// A key and its value.
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Text,
}

/// `lookup`
pub(crate) struct LookupDraft {
    pub(crate) from: Option<Text>,
    pub(crate) table: Option<(PathBuf, Text)>,
    /// Columns and targets; all columns where it is absent.
    pub(crate) into: Option<Vec<Pair>>,
    pub(crate) default: Option<String>,
}

/// `parse`
pub(crate) struct ReparseDraft {
    pub(crate) parse: ParseDraft,
    pub(crate) overwrite: Vec<Text>,
    pub(crate) target: Option<Text>,
}

const PAIRS: [&str; 6] = ["set", "rename", "convert", "split", "join", "truncate"];
const NAMES: [&str; 7] = ["remove", "keep", "lowercase", "uppercase", "trim", "tag", "untag"];
const TABLES: [&str; 6] = ["gsub", "lookup", "fingerprint", "parse", "sample", "rate_limit"];

pub(super) fn read(top: &TopLevel<'_>) -> Vec<StepDraft> {
    top.list("transform", &declare::TRANSFORM).iter().map(read_one).collect()
}

fn read_one(reader: &Reader<'_>) -> StepDraft {
    let (name, when) = (reader.text("name"), reader.text("when"));
    let mut shapes = Vec::new();
    for key in PAIRS {
        let pairs = read_pairs(reader, key);
        if reader.has(key) {
            shapes.push((key, Some(ShapeOfStep::Pairs(key, pairs))));
        }
    }
    for key in NAMES {
        let names = reader.texts(key);
        if reader.has(key) {
            shapes.push((key, Some(ShapeOfStep::Names(key, names))));
        }
    }
    let share = reader.text("drop");
    if reader.has("drop") {
        shapes.push(("drop", share.map(ShapeOfStep::Drop)));
    }
    for key in TABLES {
        let inner = reader.section(key);
        if reader.has(key) {
            shapes.push((key, inner.map(|inner| read_table(key, &inner))));
        }
    }
    check_one(reader, &shapes.iter().map(|shape| shape.0).collect::<Vec<_>>());
    reader.reject_unknown();
    let shape = if shapes.len() == 1 { shapes.pop().and_then(|shape| shape.1) } else { None };
    let (path, place) = (reader.path.clone(), reader.place.clone());
    StepDraft { name, path, place, when, shape }
}

fn check_one(reader: &Reader<'_>, found: &[&str]) {
    let path = &reader.path;
    match found {
        [] if !reader.context.broken => {
            let message = format!("`{path}` has no action");
            let help = "add one, such as `remove = [\"fields.pid\"]` or `drop = \"100%\"`";
            reader.context.error(&reader.place, message, help);
        }
        [first, second, ..] => {
            let message = format!("`{path}` has both `{first}` and `{second}`");
            let help = "make two steps of them: their order counts";
            reader.context.error(&reader.place_of(second), message, help);
        }
        _ => {}
    }
}

fn read_pairs(reader: &Reader<'_>, key: &str) -> Vec<Pair> {
    let pairs = reader.text_map(key).into_iter().map(|(entry, value)| Pair {
        key: entry.key.clone(),
        key_place: entry.key_place.clone(),
        value,
    });
    let pairs: Vec<Pair> = pairs.collect();
    if !pairs.is_empty() {
        // Each sees what the one before it did.
        let order: Vec<&str> = pairs.iter().map(|pair| pair.key.as_str()).collect();
        reader.context.note(format!("{}.{key}", reader.path), format!("{order:?}"));
    } else if reader.has(key) {
        let message = format!("`{}` is empty", reader.name_of(key));
        reader.context.error(&reader.place_of(key), message, "name at least one value");
    }
    pairs
}

fn read_table(key: &str, inner: &Reader<'_>) -> ShapeOfStep {
    let shape = match key {
        "gsub" => ShapeOfStep::Gsub {
            field: inner.text("field"),
            regex: inner.text("regex"),
            with: inner.text("with").map(|text| text.value).unwrap_or_default(),
        },
        "lookup" => {
            let (from, table) = (inner.text("from"), inner.path("table"));
            let into = read_pairs(inner, "into");
            let into = inner.has("into").then_some(into);
            let default = inner.text("default").map(|text| text.value);
            ShapeOfStep::Lookup(LookupDraft { from, table, into, default })
        }
        "fingerprint" => {
            ShapeOfStep::Fingerprint { from: inner.texts("from"), into: inner.text("into") }
        }
        "parse" => {
            let overwrite = inner.texts("overwrite");
            let mut parse = read_parser(inner, &[]);
            let target = parse.target.take();
            ShapeOfStep::Parse(Box::new(ReparseDraft { parse, overwrite, target }))
        }
        "sample" => ShapeOfStep::Sample { keep: inner.text("keep"), key: inner.texts("key") },
        _ => ShapeOfStep::RateLimit {
            lines: inner.integer("lines"),
            per_ms: inner.duration_ms("per"),
            key: inner.texts("key"),
        },
    };
    inner.reject_unknown();
    shape
}
