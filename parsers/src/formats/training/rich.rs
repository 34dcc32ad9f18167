//! The handler of rich, used by launchers and ColossalAI's console:
//! `[05/15/24 10:23:45] INFO     …`, by Accelerate's with `[10:23:45] INFO     …`, by some with
//! `05/15 [10:23:45] INFO     | >> …`.
//!
//! Invariant: the source file at the right edge is part of the header, not of the content; a clock
//! without a date is a field `clock`, since it names no time. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::character::complete::char;
use nom::sequence::preceded;

use super::line::Line;
use super::stamp::{Form, Stamp, has_shape};
use super::words::{self, Part};
use crate::fields::Piece;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// What the line begins with.
enum Time<'t> {
    Whole(Stamp<'t>),
    /// The date, the clock.
    Parted(&'t str, &'t str),
    Clock(&'t str),
}

/// Reads a line of any of the three.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (time, rest) = time(line.text).ok_or(Reason::NoMatch)?;
    let (level, content) = words::matched(message(rest))?;
    match time {
        Time::Whole(stamp) => writer.log_time(stamp)?,
        Time::Parted(date, clock) => {
            let parts = [writer.piece(date), Piece::Fixed(" "), writer.piece(clock)];
            writer.composed_time(&parts, Form::SlashesNoYear)?;
        }
        Time::Clock(clock) => writer.part("clock", clock)?,
    }
    writer.part("level", level)?;
    let content = match edge(content) {
        Some((content, place)) => {
            writer.source(place)?;
            content
        }
        None => content.trim_end(),
    };
    writer.part("content", content)
}

fn time(text: &str) -> Option<(Time<'_>, &str)> {
    let bytes = text.as_bytes();
    if has_shape(bytes, b"[99/99/99 99:99:99]") {
        let stamp = Stamp { text: &text[1..18], form: Form::SlashesYearLast };
        return Some((Time::Whole(stamp), &text[19..]));
    }
    if has_shape(bytes, b"[99:99:99]") {
        return Some((Time::Clock(&text[1..9]), &text[10..]));
    }
    let is_parted = has_shape(bytes, b"99/99 [99:99:99]");
    is_parted.then(|| (Time::Parted(&text[..5], &text[7..15]), &text[16..]))
}

fn message(text: &str) -> Part<'_, (&str, &str)> {
    let (text, level) = preceded(char(' '), words::level).parse(text)?;
    let (text, _) = words::spaces(text)?;
    Ok(("", (level, text)))
}

/// `…      trainer.py:12` at the end of a content.
fn edge(content: &str) -> Option<(&str, (&str, &str))> {
    let content = content.trim_end();
    let (before, last) = content.rsplit_once("  ").or_else(|| content.rsplit_once(' '))?;
    let (rest, place) = words::place(last.trim_start()).ok()?;
    let is_file = rest.is_empty() && place.0.contains('.');
    is_file.then(|| (before.trim_end(), place))
}
