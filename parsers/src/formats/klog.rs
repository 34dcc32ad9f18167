//! What Kubernetes components and glog write: `I0102 15:04:05.000000 1234 file.go:12] content`.
//!
//! Invariant: the content begins behind the first `] `. Next on the trip: [`crate::fields`].

use nom::bytes::complete::{take_until1, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, one_of, space0, space1};
use nom::combinator::{opt, recognize, rest, verify};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser as _};

use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind};
use crate::grok::Reason;

/// The fields it gives; `component` is the source file.
pub(super) const NAMES: [&str; 6] = ["level", "time", "thread", "component", "line", "content"];

struct Line<'t> {
    level: &'t str,
    time: &'t str,
    thread: &'t str,
    file: &'t str,
    number: &'t str,
    content: &'t str,
}

/// Reads a line; a date of four digits has no year, one of eight has.
pub(super) fn read(writer: &mut Writer<'_>) -> Read {
    let (_, line) = line(writer.text).map_err(|_| Reason::NoMatch)?;
    writer.part("level", line.level)?;
    writer.part("time", line.time)?;
    for (name, number) in [("thread", line.thread), ("line", line.number)] {
        let value = writer.piece(number);
        let name = crate::fields::Piece::Fixed(name);
        writer.add(name, value, FieldKind::Int, Duplicates::All)?;
    }
    writer.part("component", line.file)?;
    writer.part("content", line.content)
}

fn line(text: &str) -> IResult<&str, Line<'_>> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let date = verify(take_while_m_n(4, 8, is_digit), |date: &str| matches!(date.len(), 4 | 8));
    let clock = take_while1(|letter: char| letter.is_ascii_digit() || ":.".contains(letter));
    let (text, level) = recognize(one_of("IWEFD")).parse(text)?;
    let (text, time) = recognize((date, char(' '), clock)).parse(text)?;
    let (text, thread) = delimited(space1, digit1, space1).parse(text)?;
    let place = separated_pair(take_until1(":"), char(':'), digit1);
    let (text, (file, number)) =
        verify(place, |(file, _): &(&str, &str)| !file.contains([' ', ']'])).parse(text)?;
    let (text, _) = preceded(take_while(|letter| letter == ' '), char(']')).parse(text)?;
    let (text, content) = preceded(opt(char(' ')), rest).parse(text)?;
    let (text, _) = space0(text)?;
    Ok((text, Line { level, time, thread, file, number, content }))
}
