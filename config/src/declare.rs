//! Every setting, declared once: name, type, unit, limits, default and text. Invariant: known keys,
//! "did you mean", defaults, docs/reference.md and config/schema.json all come from these tables,
//! and nothing is read that does not stand in them (`reader.rs` checks). Next stop: `reader.rs`.

mod formats;
mod general;
mod identity;
mod join;
mod numbers;
mod redact;
mod rules;
mod sinks;
mod sources;
mod transform;

pub(crate) use general::{HTTP, ROOT};
pub(crate) use identity::IDENTITY;
pub(crate) use join::{JOIN, PEEL};
pub(crate) use numbers::NUMBERS;
pub(crate) use redact::REDACT;
pub(crate) use rules::{HOSTS, LABEL, PARSE, ROUTE, TEST, TIME};
pub(crate) use sinks::{
    BASIC_AUTH, BATCH, DEAD_LETTER_KAFKA, DEAD_LETTER_LOCAL, DEAD_LETTER_S3, ELASTICSEARCH, OBJECT,
    SINK_LOCAL, SINK_S3,
};
pub(crate) use sources::{SOURCE_FILE, SOURCE_KAFKA, SOURCE_STDIN};
pub(crate) use transform::TRANSFORM;

/// What a setting's value is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A string.
    Text,
    /// A string that is never shown.
    Secret,
    /// A path; a relative one starts at the folder of the file.
    Path,
    /// A string with `{name}` placeholders.
    Template,
    /// A condition.
    Condition,
    /// A grok expression or an array of them.
    Grok,
    /// `earliest`, `latest`, a time, `group:NAME`.
    Start,
    /// An array of strings, at least one.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A count.
    Integer { min: u64, max: u64 },
    /// A size, in bytes.
    Bytes { min: u64, max: u64 },
    /// A duration, in milliseconds.
    Duration { min: u64, max: u64 },
    /// One of these words.
    Choice(&'static [Choice]),
    /// An array of these words.
    Choices(&'static [Choice]),
    /// A table of strings.
    TextMap,
    /// A table of arrays of strings.
    TextLists,
    /// A table of librdkafka properties.
    Properties,
    /// A table of names and the values expected of them.
    Expectations,
    /// A table of settings.
    Section(&'static Section),
    /// An array of tables of settings.
    Sections(&'static Section),
}

/// A word that a setting may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) word: &'static str,
    pub(crate) doc: &'static str,
    /// What to use until a later version brings it.
    pub(crate) later: Option<&'static str>,
}

/// A word that can be used.
const fn word(word: &'static str, doc: &'static str) -> Choice {
    Choice { word, doc, later: None }
}

/// A word that a later version brings.
const fn later(word: &'static str, instead: &'static str) -> Choice {
    Choice { word, doc: "arrives with a later version", later: Some(instead) }
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// As the file would have it, without quotes.
    pub(crate) default: Option<&'static str>,
    /// What an absent setting means, where that is no fixed value.
    pub(crate) absent: Option<&'static str>,
    /// An empty string means something.
    pub(crate) may_be_empty: bool,
    /// It may decide what is read, an event's id, its document, where it goes or what a chain
    /// holds: then it is part of the fingerprint. Whoever declares a setting need say nothing to
    /// be on the safe side.
    pub(crate) bears_on_events: bool,
    pub(crate) doc: &'static str,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            default: None,
            absent: None,
            may_be_empty: false,
            bears_on_events: true,
            doc,
        }
    }

    /// It can change no event: instances that differ in it alone are of one fingerprint.
    const fn beside_events(self) -> Self {
        Self { bears_on_events: false, ..self }
    }

    const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn or_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }

    const fn absent(self, absent: &'static str) -> Self {
        Self { absent: Some(absent), ..self }
    }
}

/// Settings that stand together.
#[derive(Debug)]
pub(crate) struct Section {
    /// How it is called in messages, such as "an `s3` sink".
    pub(crate) title: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) settings: &'static [Setting],
    /// TOML that can be copied.
    pub(crate) example: &'static str,
}

impl Section {
    pub(crate) fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

/// A section chosen by `type = "…"`.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) word: &'static str,
    pub(crate) section: &'static Section,
}

/// How a top-level key is filled.
#[derive(Debug)]
pub(crate) enum Shape {
    /// `[key]`
    One(&'static Section),
    /// `[key]` with `type`
    OneOf(&'static [Variant]),
    /// `[key.NAME]`
    Named(&'static Section),
    /// `[key.NAME]` with `type`
    NamedOf(&'static [Variant]),
    /// `[[key]]`
    List(&'static Section),
}

/// A top-level key that holds sections.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) doc: &'static str,
}

/// The kinds of `[sources.NAME]`.
pub(crate) static SOURCES: [Variant; 3] = [
    Variant { word: "kafka", section: &SOURCE_KAFKA },
    Variant { word: "file", section: &SOURCE_FILE },
    Variant { word: "stdin", section: &SOURCE_STDIN },
];

/// The kinds of `[sinks.NAME]`.
pub(crate) static SINKS: [Variant; 3] = [
    Variant { word: "elasticsearch", section: &ELASTICSEARCH },
    Variant { word: "s3", section: &SINK_S3 },
    Variant { word: "local", section: &SINK_LOCAL },
];

/// The kinds of `[dead_letter]`.
pub(crate) static DEAD_LETTERS: [Variant; 3] = [
    Variant { word: "kafka", section: &DEAD_LETTER_KAFKA },
    Variant { word: "local", section: &DEAD_LETTER_LOCAL },
    Variant { word: "s3", section: &DEAD_LETTER_S3 },
];

/// The sections of a file, in the order of a line's trip.
pub(crate) static PARTS: [Part; 16] = [
    Part {
        key: "sources",
        shape: Shape::NamedOf(&SOURCES),
        doc: "Where lines come from. At least one; NAME is yours and appears in metrics.",
    },
    Part {
        key: "peel",
        shape: Shape::One(&PEEL),
        doc: "What transports put in front of a line comes off in layers before it is joined and \
              parsed. Without this section nothing does.",
    },
    Part {
        key: "join",
        shape: Shape::One(&JOIN),
        doc: "Which lines are one record. Without this section each line is an event of its own.",
    },
    Part {
        key: "parse",
        shape: Shape::List(&PARSE),
        doc: "How a line becomes fields. Parsers are tried in the order of the file; the first \
              that accepts the line wins.",
    },
    Part {
        key: "numbers",
        shape: Shape::One(&NUMBERS),
        doc: "Which numbers of a line are its metrics, and how they are called; see \
              docs/numbers.md. Formats of training logs give metrics; other parsers do with \
              `numbers = true`.",
    },
    Part {
        key: "transform",
        shape: Shape::List(&TRANSFORM),
        doc: "How an event is changed, or dropped, once it is parsed. Steps run in the order of \
              the file.",
    },
    Part {
        key: "time",
        shape: Shape::One(&TIME),
        doc: "How times are read and when they are believed.",
    },
    Part {
        key: "hosts",
        shape: Shape::One(&HOSTS),
        doc: "Which host a line comes from, and what is known about it.",
    },
    Part {
        key: "labels",
        shape: Shape::Named(&LABEL),
        doc: "Words that events are routed and stored by. The first candidate that is present \
              wins. In conditions and templates a label is named plainly, as NAME.",
    },
    Part {
        key: "identity",
        shape: Shape::One(&IDENTITY),
        doc: "Which job, role and rank a line is of, where its platform says so. Without this \
              section only `[labels]` counts.",
    },
    Part {
        key: "redact",
        shape: Shape::One(&REDACT),
        doc: "Which values leave a line before any of it is stored or decides where it goes. \
              Without this section secrets are masked and all else stays; see docs/redaction.md.",
    },
    Part {
        key: "route",
        shape: Shape::List(&ROUTE),
        doc: "Which sinks an event goes to: the union of all routes that match.",
    },
    Part {
        key: "sinks",
        shape: Shape::NamedOf(&SINKS),
        doc: "Where events go. At least one, at most 64; NAME is yours and appears in metrics. \
              The archive keeps it in its objects: renaming an archive sink halts it.",
    },
    Part {
        key: "dead_letter",
        shape: Shape::OneOf(&DEAD_LETTERS),
        doc: "Where a line goes that no sink may hold: refused by a store, taken by no route, or \
              without a value that a template needs. Required where that can happen.",
    },
    Part { key: "http", shape: Shape::One(&HTTP), doc: "Metrics and health." },
    Part {
        key: "tests",
        shape: Shape::List(&TEST),
        doc: "Lines and what must become of them; run by `riverhog test`.",
    },
];
