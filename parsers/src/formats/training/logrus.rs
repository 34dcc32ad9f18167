//! logrus, as containerd and other Go programs write it: `time="…" level=error msg="…" error="…"`.
//!
//! Invariant: the line is pairs from end to end and begins with its time. Next on the trip:
//! `formats/logfmt.rs`, whose pairs these are.

use super::line::Line;
use super::numbers::key;
use super::stamp::{Form, date_time};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::formats::logfmt;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let mut rest = line.text;
    let mut is_first = true;
    while !rest.is_empty() {
        let (name, value, after) = logfmt::pair(writer, rest)?;
        if std::mem::take(&mut is_first) {
            let time = (name == "time").then(|| writer.fields.show(value, writer.text));
            if time.and_then(date_time).is_none_or(|(_, rest)| !rest.is_empty()) {
                return Err(Reason::NoMatch);
            }
        }
        let name = match name {
            "time" => {
                writer.fields.time_format = Some(Form::Iso as u8);
                Piece::Fixed("log_time")
            }
            "level" => Piece::Fixed("level"),
            "msg" => Piece::Fixed("content"),
            "module" | "component" | "logger" => Piece::Fixed("component"),
            name => key(writer, name, "")?,
        };
        writer.add(name, value, FieldKind::Text, Duplicates::All)?;
        rest = after;
    }
    Ok(())
}
