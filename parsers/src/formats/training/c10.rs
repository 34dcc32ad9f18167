//! PyTorch's C++ log: `[rank3]:[E515 10:23:45.123456789 ProcessGroupNCCL.cpp:632] …`.
//!
//! Three generations: without a time, with the rank before it, with a time whose month has no
//! leading zero. Invariant: the rank is that of the prefix, else that of the brackets which the
//! content begins with. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::{take_while_m_n, take_while1};
use nom::character::complete::char;
use nom::combinator::{opt, recognize, verify};
use nom::sequence::{delimited, terminated};

use super::line::Line;
use super::stamp::{self, Form, Stamp};
use super::words::{self, Part};
use crate::fields::Piece;
use crate::formats::writer::{Read, Writer};

/// A bracket that names a rank is not longer.
const BRACKET_BYTES_MAX: usize = 160;

struct Header<'t> {
    level: &'t str,
    time: Option<&'t str>,
    place: (&'t str, &'t str),
    content: &'t str,
}

/// Reads a line of any generation.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let header = words::matched(header(line.text))?;
    match header.time {
        // `515 10:…`: a month of one digit.
        Some(time) if time.as_bytes()[3] == b' ' => {
            let parts = [Piece::Fixed("0"), writer.piece(time)];
            writer.composed_time(&parts, Form::MonthDay)?;
        }
        Some(time) => writer.log_time(Stamp { text: time, form: Form::MonthDay })?,
        None => {}
    }
    writer.part("level", header.level)?;
    writer.source(header.place)?;
    if let Some(rank) = rank(header.content) {
        writer.rank(rank)?;
    }
    writer.part("content", header.content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let clock = take_while1(|letter: char| letter.is_ascii_digit() || ":.".contains(letter));
    let clock = verify(clock, |clock: &str| {
        stamp::has_shape(clock.as_bytes(), b"99:99:99.") && clock.len() <= 18
    });
    let date = take_while_m_n(3, 4, |letter: char| letter.is_ascii_digit());
    let time = recognize((date, char(' '), clock));
    let place = verify(words::place, |(file, _): &(&str, &str)| file.contains('.'));
    let header = (words::letter, opt(time), char(' '), place);
    let (text, (level, time, _, place)) = delimited(char('['), header, char(']')).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, Header { level, time, place, content }))
}

/// The rank in `[Rank 2] `, `[PG 2 Rank 1] ` or `[PG ID 0 PG GUID 0(default_pg) Rank 3] `.
fn rank(content: &str) -> Option<&str> {
    let head = &content[..content.floor_char_boundary(BRACKET_BYTES_MAX)];
    let end = head.strip_prefix('[')?.find(']')? + 1;
    let (_, rank) = head[1..end].rsplit_once("Rank ")?;
    rank.bytes().all(|byte| byte.is_ascii_digit()).then_some(rank).filter(|it| !it.is_empty())
}

/// Used where a rank stands in brackets at the front of a content.
pub(super) fn rank_in_brackets(text: &str) -> Part<'_, &str> {
    let word = nom::branch::alt((words::word("[Rank "), words::word("[RANK ")));
    let rank = delimited(word, words::whole, char(']'));
    terminated(rank, opt(char(' '))).parse(text)
}
