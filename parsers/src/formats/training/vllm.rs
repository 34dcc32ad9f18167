//! vLLM: `INFO 05-15 10:23:45 [core.py:93] …`, in older versions
//! `INFO 05-15 10:23:45 core.py:93] …`.
//!
//! Invariant: the time has no year. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::character::complete::char;
use nom::combinator::opt;
use nom::sequence::{delimited, terminated};

use super::line::Line;
use super::llama_factory::no_time;
use super::stamp::{self, Form, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, Stamp<'t>, (&'t str, &'t str), &'t str);

/// Reads a line of either form.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (level, stamp, place, content) = words::matched(header(line.text))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.source(place)?;
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = terminated(words::level, char(' ')).parse(text)?;
    if !stamp::has_shape(text.as_bytes(), b"99-99 99:99:99 ") {
        return Err(no_time(text));
    }
    let stamp = Stamp { text: &text[..14], form: Form::Dashes };
    let (text, place) = delimited(opt(char('[')), words::place, char(']')).parse(&text[15..])?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, stamp, place, content)))
}
