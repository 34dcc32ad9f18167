//! loguru: `2024-05-15 10:23:45.575 | INFO     | __main__:train:88 - …`.
//!
//! Invariant: module, function and line stand before the dash. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::opt;
use nom::sequence::{preceded, terminated};

use super::contents;
use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, (&'t str, &'t str, &'t str), &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let stamp = words::stamp(line)?;
    let (level, (module, function, number), content) = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("component", module)?;
    writer.part("function", function)?;
    writer.whole("line", number)?;
    contents::read(writer, content)?;
    writer.part("content", content)
}

/// The padded level between two bars; fairseq has the same.
pub(super) fn level_in_bars(text: &str) -> Part<'_, &str> {
    let (text, level) = preceded(tag(" | "), words::level).parse(text)?;
    let (text, _) = (opt(words::spaces), tag("| ")).parse(text)?;
    Ok((text, level))
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = level_in_bars(text)?;
    let function = take_while1(|letter: char| letter > ' ' && letter != ':');
    let place = (
        terminated(words::name, char(':')),
        terminated(function, char(':')),
        terminated(digit1, tag(" -")),
    );
    let (text, place) = { place }.parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, place, content)))
}
