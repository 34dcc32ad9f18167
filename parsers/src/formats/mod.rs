//! The built-in formats: lines whose shape needs no pattern.
//!
//! What it is for: each format is a file of this folder, compiled once with its options; a line
//! then gives names and values in [`Fields`]. Invariant: work grows with the line and no faster,
//! nesting, names and fields are bounded, and a line is *matched* whole or *unmatched* with a
//! reason. Next on the trip: `rules` makes event fields of what was found.

mod cri;
mod delimited;
mod dissect;
mod escape;
mod json;
mod key_value;
mod klog;
mod logfmt;
mod splitter;
mod syslog;
mod training;
mod writer;

use std::fmt;
use std::ops::Range;

pub use delimited::{Delimited, DelimitedOptions};
pub use dissect::{Dissect, DissectSlip};
pub(crate) use json::number_end;
pub use json::{Json, JsonOptions};
pub use key_value::{KeyValue, KeyValueOptions, LetterCase, Whitespace};
pub use training::{Training, TrainingFormat};

use crate::fields::{FieldKind, Fields, TEXT_BYTES_MAX};
use crate::grok::{Outcome, Reason};
use writer::{Names, Writer};

/// A format with its options.
#[derive(Clone, Debug)]
pub enum Format {
    /// A mapping of delimiters and fields.
    Dissect(Dissect),
    /// A JSON object.
    Json(Json),
    /// `name=value` anywhere in the line.
    KeyValue(KeyValue),
    /// Values in columns.
    Delimited(Delimited),
    /// `name=value` and nothing else.
    Logfmt,
    /// RFC 5424 and RFC 3164.
    Syslog,
    /// What container runtimes write.
    Cri,
    /// What Kubernetes components and glog write.
    Klog,
    /// What training writes: all formats of it, or one.
    Training(Training),
}

/// A field's type: what its text is converted to where it can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldConversion {
    /// A whole number.
    Int,
    /// A number.
    Float,
}

impl FieldConversion {
    /// Reads `int` and `float`.
    pub fn parse(word: &str) -> Option<FieldConversion> {
        match word {
            "int" => Some(FieldConversion::Int),
            "float" => Some(FieldConversion::Float),
            _ => None,
        }
    }
}

/// A format and the types of its fields.
#[derive(Clone, Debug)]
pub struct FormatParser {
    format: Format,
    /// Sorted by name.
    types: Vec<(String, FieldConversion)>,
}

/// Why a format's options cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The option: `mapping`, `field_split`, `columns`.
    pub option: &'static str,
    /// Bytes of that option's text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

impl FormatParser {
    /// A format whose fields of these names are converted; a text that is no such number stays.
    pub fn new(
        format: Format,
        types: impl IntoIterator<Item = (String, FieldConversion)>,
    ) -> FormatParser {
        let mut types: Vec<_> = types.into_iter().collect();
        types.sort_by(|one, other| one.0.cmp(&other.0));
        FormatParser { format, types }
    }

    /// The format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Reads a line. Clears `out`, then pushes the fields in the order in which they stand; after
    /// `Unmatched` there are none.
    pub fn run(&self, text: &str, out: &mut Fields) -> Outcome {
        out.clear();
        if text.len() > TEXT_BYTES_MAX {
            return Outcome::Unmatched(Reason::Limit);
        }
        let names = match &self.format {
            Format::Training(_) => training::NAMES,
            _ => Names::ALONE,
        };
        let mut writer = Writer { text, fields: &mut *out, types: &self.types, names };
        let result = match &self.format {
            Format::Dissect(dissect) => dissect.read(&mut writer),
            Format::Json(json) => json.read(&mut writer),
            Format::KeyValue(key_value) => key_value.read(&mut writer),
            Format::Delimited(delimited) => delimited.read(&mut writer),
            Format::Logfmt => logfmt::read(&mut writer),
            Format::Syslog => syslog::read(&mut writer),
            Format::Cri => cri::read(&mut writer),
            Format::Klog => klog::read(&mut writer),
            Format::Training(training) => training.read(&mut writer),
        };
        match result {
            Ok(()) => Outcome::Matched,
            Err(reason) => {
                out.clear();
                Outcome::Unmatched(reason)
            }
        }
    }
}

impl Format {
    /// The words that [`Format::named`] takes, beside the names of [`Training::formats`].
    pub const NAMES: [&str; 8] =
        ["json", "kv", "csv", "logfmt", "syslog", "cri", "klog", "training"];

    /// A format by its name, with the options it has where none are given.
    pub fn named(name: &str) -> Option<Format> {
        Some(match name {
            "json" => Format::Json(Json::new(&JsonOptions::default())),
            "kv" => Format::KeyValue(KeyValue::compile(&KeyValueOptions::default()).ok()?),
            "csv" => Format::Delimited(Delimited::compile(&DelimitedOptions::default()).ok()?),
            "logfmt" => Format::Logfmt,
            "syslog" => Format::Syslog,
            "cri" => Format::Cri,
            "klog" => Format::Klog,
            "training" => Format::Training(Training::all()),
            name => Format::Training(Training::named(name)?),
        })
    }

    /// The field that holds the time and how it is written, where the format says so itself.
    pub fn time(&self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Format::Syslog => Some(("time", &syslog::TIMES)),
            Format::Cri => Some(("time", &["ISO8601"])),
            Format::Klog => Some(("time", &["MMdd HH:mm:ss.SSSSSS", "yyyyMMdd HH:mm:ss.SSSSSS"])),
            Format::Training(_) => Some(("log_time", &training::TIMES)),
            _ => None,
        }
    }

    /// The names of its fields, as far as the format or its options say them; `None` where a line
    /// may bring any name.
    pub fn names(&self) -> Option<Vec<&str>> {
        match self {
            Format::Dissect(dissect) => dissect.names(),
            Format::Syslog
            | Format::Json(_)
            | Format::KeyValue(_)
            | Format::Logfmt
            | Format::Training(_) => None,
            Format::Delimited(delimited) => delimited.names(),
            Format::Cri => Some(cri::NAMES.to_vec()),
            Format::Klog => Some(klog::NAMES.to_vec()),
        }
    }
}

/// Says how many bytes a search went over: tests see that work grows with the line and no faster.
#[cfg(test)]
use tests::count as looked_at;

#[cfg(not(test))]
fn looked_at(_bytes: usize) {}

#[cfg(test)]
mod tests;
