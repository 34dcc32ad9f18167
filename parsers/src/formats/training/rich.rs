//! The handler of rich, used by launchers and ColossalAI's console:
//! `[05/15/24 10:23:45] INFO     …`, by Accelerate's with `[10:23:45] INFO     …`, by some with
//! `05/15 [10:23:45] INFO     | >> …`.
//!
//! Invariant: the source file at the right edge is part of the header, not of the content, nor are
//! the blank columns in front of further lines; a clock without a date is a field `clock`, since it
//! names no time. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::character::complete::char;
use nom::sequence::preceded;

use super::line::Line;
use super::stamp::{Form, Stamp, has_shape};
use super::words::{self, Part};
use crate::fields::{Duplicates, FieldKind, Piece};
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
    // The source stands at the edge of the first line only.
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    let first = match edge(first) {
        Some((first, place)) => {
            writer.source(place)?;
            first
        }
        None => first.trim_end(),
    };
    if rest.is_empty() {
        return writer.part("content", first);
    }
    let content = writer.fields.compose(|content| {
        content.push_str(first);
        for line in rest.lines() {
            content.push('\n');
            content.push_str(line.trim());
        }
    });
    writer.add(Piece::Fixed("content"), content, FieldKind::Text, Duplicates::All)
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
