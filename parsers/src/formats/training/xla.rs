//! TensorFlow and XLA from C++: `2024-05-15 10:23:45.123456: W external/xla/a.cc:760] …`.
//!
//! Invariant: the header ends at the first `] ` behind the source file. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::sequence::{delimited, terminated};

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, (&'t str, &'t str), &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let stamp = words::stamp(line)?;
    let (level, place, content) = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.source(place)?;
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = delimited(tag(": "), words::letter, char(' ')).parse(text)?;
    let (text, place) = terminated(words::place, char(']')).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, place, content)))
}
