//! The logger of transformers: `[INFO|trainer.py:2134] 2024-05-15 10:23:45,123 >> …`, and its
//! verbose form `INFO [transformers.trainer:2134] 2024-05-15 10:23:45,123 …`.
//!
//! Invariant: the time stands behind the source file. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::opt;
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use super::contents;
use super::line::Line;
use super::stamp;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

type Header<'t> = (&'t str, (&'t str, &'t str));

/// Reads a line of either form.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let is_short = line.text.starts_with('[');
    let header = if is_short { short(line.text) } else { long(line.text) };
    let (rest, (level, place)) = header.map_err(|_| Reason::NoMatch)?;
    let (stamp, rest) = match stamp::date_time(rest) {
        Some((stamp, rest)) => (Some(stamp), rest),
        None if is_short => (None, rest),
        None => return Err(Reason::NoMatch),
    };
    let arrow = preceded(opt(char(' ')), tag(">>"));
    let (rest, arrow) = words::split(opt(arrow).parse(rest))?;
    if arrow.is_none() && is_short {
        return Err(Reason::NoMatch);
    }
    if let Some(stamp) = stamp {
        writer.log_time(stamp)?;
    }
    writer.part("level", level)?;
    writer.source(place)?;
    let content = words::matched(words::content(rest))?;
    contents::read(writer, content)?;
    writer.part("content", content)
}

/// `[INFO|trainer.py:2134] `
fn short(text: &str) -> Part<'_, Header<'_>> {
    let inner = separated_pair(words::level, char('|'), words::place);
    terminated(delimited(char('['), inner, char(']')), opt(char(' '))).parse(text)
}

/// `INFO [transformers.trainer:2134] `
fn long(text: &str) -> Part<'_, Header<'_>> {
    let place = terminated(words::in_brackets(words::place), char(' '));
    separated_pair(words::level, words::spaces, place).parse(text)
}
