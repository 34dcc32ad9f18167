//! The classic form of training pipelines: `2024-05-15T10:23:45.123Z INFO Trainer: …`.
//!
//! Invariant: the time is ISO 8601 with its `T`, and a component ends at a colon. Next on the trip:
//! [`super::stdlib`], which reads the same with a space in the time.

use nom::Parser as _;
use nom::character::complete::char;
use nom::sequence::{preceded, terminated};

use super::contents;
use super::line::Line;
use super::stamp::Form;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

type Header<'t> = (&'t str, &'t str, &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let stamp = words::stamp(line)?;
    if stamp.form != Form::Iso {
        return Err(Reason::NoMatch);
    }
    let (level, name, content) = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("component", name)?;
    contents::read(writer, content)?;
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = preceded(words::spaces, words::level).parse(text)?;
    let (text, name) = preceded(words::spaces, terminated(words::name, char(':'))).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, name, content)))
}
