//! `nvidia-smi --query-gpu=… --format=csv`: `2024/05/15 10:23:45.613, 0, 69, 68 %, 61234 MiB, …`,
//! and the header row before it.
//!
//! Invariant: a line alone does not say what its columns are; they are named by their numbers and
//! units (`column4_percent`). Next on the trip: [`super::numbers`]; names are for `as = "csv"`.

use std::fmt::Write as _;

use super::line::Line;
use super::numbers;
use super::stamp::Form;
use super::words;
use crate::fields::{Duplicates, FieldKind};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// `--query-gpu` knows fewer.
const COLUMNS_MAX: usize = 100;

/// Reads a row or the header.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if line.text.starts_with("timestamp, ") {
        return writer.part("content", line.text);
    }
    let stamp = words::stamp(line)?;
    let columns = line.rest.strip_prefix(", ").ok_or(Reason::NoMatch)?;
    if line.is_bracketed || !matches!(stamp.form, Form::Slashes | Form::SlashesPoint) {
        return Err(Reason::NoMatch);
    }
    writer.log_time(stamp)?;
    for (index, value) in columns.split(", ").enumerate() {
        if index == COLUMNS_MAX {
            return Err(Reason::NoMatch);
        }
        column(writer, index + 2, value.trim_end())?;
    }
    writer.part("content", line.text)
}

fn column(writer: &mut Writer<'_>, number: usize, value: &str) -> Read {
    let found = numbers::with_unit(value);
    let unit = found.as_ref().map_or("", |(_, unit)| unit);
    let name = writer.fields.compose(|buffer| {
        let written = write!(buffer, "column{number}");
        debug_assert!(written.is_ok(), "a String takes everything");
        numbers::add_unit(buffer, unit);
    });
    if let Some((number, _)) = found {
        return numbers::write(writer, name, &number);
    }
    let value = writer.piece(value);
    writer.add(name, value, FieldKind::Text, Duplicates::All)
}
