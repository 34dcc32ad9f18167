//! The parts that headers of log lines are made of: levels, names, places in source files.
//!
//! Invariant: a part is taken as long as it goes and is bounded by its line; none looks further
//! than its own end. Next on the trip: the formats of this folder.

use nom::bytes::complete::{tag, take, take_till, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{opt, recognize, rest, value, verify};
use nom::error::{Error, ErrorKind};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser as _};

use super::line::{Line, skip_color};
use super::stamp::{Form, Stamp};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;
use crate::level::Level;

/// What one part of a line gives.
pub(super) type Part<'t, T> = IResult<&'t str, T>;

/// The longest name of a logger or file.
const NAME_BYTES_MAX: usize = 256;

/// Bytes of a name: no spaces, and none of the signs that part a header.
static NAMES: [bool; 256] = {
    let mut names = [true; 256];
    let (mut byte, mut sign) = (0, 0);
    while byte <= b' ' as usize {
        names[byte] = false;
        byte += 1;
    }
    let signs = b"[](){}:|\"'=,<>";
    while sign < signs.len() {
        names[signs[sign] as usize] = false;
        sign += 1;
    }
    names
};

/// A level as a word: `INFO`, `warning`, `debug2`.
pub(super) fn level(text: &str) -> Part<'_, &str> {
    let word = take_while_m_n(3, 12, |letter: char| letter.is_ascii_alphanumeric());
    let is_word = |word: &&str| !word.as_bytes()[0].is_ascii_digit();
    verify(word, |word: &str| is_word(&word) && Level::parse(word).is_some()).parse(text)
}

/// A level as glog has it: one letter.
pub(super) fn letter(text: &str) -> Part<'_, &str> {
    recognize(one_of("IWEFDVC")).parse(text)
}

/// A name without spaces, brackets, colons and bars: a logger, a module, a host.
pub(super) fn name(text: &str) -> Part<'_, &str> {
    let bytes = text.as_bytes().iter().take(NAME_BYTES_MAX + 1);
    let length = bytes.take_while(|byte| NAMES[usize::from(**byte)]).count();
    if length == 0 || length > NAME_BYTES_MAX {
        return Err(nom::Err::Error(Error::new(text, ErrorKind::TakeWhile1)));
    }
    let (name, rest) = text.split_at(length);
    Ok((rest, name))
}

/// `file.py:12`
pub(super) fn place(text: &str) -> Part<'_, (&str, &str)> {
    (terminated(name, char(':')), digit1).parse(text)
}

/// Digits with a minus before them or none.
pub(super) fn whole(text: &str) -> Part<'_, &str> {
    recognize((opt(char('-')), digit1)).parse(text)
}

/// A time that the line began with.
pub(super) fn stamp<'t>(line: &Line<'t>) -> Result<Stamp<'t>, Reason> {
    line.stamp.ok_or(Reason::NoMatch)
}

/// What is left, without one space before it and without colours.
pub(super) fn content(text: &str) -> Part<'_, &str> {
    preceded((color, opt(char(' ')), color), rest).parse(text)
}

/// Colour codes, or nothing.
pub(super) fn color(text: &str) -> Part<'_, ()> {
    // Codes are ASCII, so that characters are bytes.
    let length = text.len() - skip_color(text).len();
    value((), take(length)).parse(text)
}

/// Spaces, at least one; how many does not matter.
pub(super) fn spaces(text: &str) -> Part<'_, &str> {
    take_while1(|letter| letter == ' ')(text)
}

/// `[…]` without brackets inside.
pub(super) fn bracketed(text: &str) -> Part<'_, &str> {
    let inner = take_till(|letter| letter == ']' || letter == '[');
    delimited(char('['), inner, char(']')).parse(text)
}

/// `[…]` that holds this.
pub(super) fn in_brackets<'t, T>(
    inner: impl nom::Parser<&'t str, Output = T, Error = nom::error::Error<&'t str>>,
) -> impl nom::Parser<&'t str, Output = T, Error = nom::error::Error<&'t str>> {
    delimited(char('['), inner, char(']'))
}

/// `], ` behind a time in brackets: the bracket, and a space where there is one.
pub(super) fn closed(text: &str) -> Part<'_, ()> {
    let (text, _) = (char(']'), take_while(|letter| letter == ' ')).parse(text)?;
    Ok((text, ()))
}

/// A word that must stand here.
pub(super) fn word<'t>(word: &'static str) -> impl Fn(&'t str) -> Part<'t, &'t str> {
    move |text| tag(word)(text)
}

/// An error of nom's is a line that does not match.
pub(super) fn matched<T>(result: Part<'_, T>) -> Result<T, Reason> {
    result.map(|(_, found)| found).map_err(|_| Reason::NoMatch)
}

/// As [`matched`], with what follows.
pub(super) fn split<T>(result: Part<'_, T>) -> Result<(&str, T), Reason> {
    result.map_err(|_| Reason::NoMatch)
}

impl Writer<'_> {
    /// The time of the line.
    pub(super) fn log_time(&mut self, stamp: Stamp<'_>) -> Read {
        self.fields.time_format = Some(stamp.form.index(stamp.text) as u8);
        self.part("log_time", stamp.text)
    }

    /// A time that does not stand in the line as it is read.
    pub(super) fn composed_time(&mut self, parts: &[Piece], form: Form) -> Read {
        self.fields.time_format = Some(form as u8);
        let value = self.fields.join(parts, self.text);
        self.add(Piece::Fixed("log_time"), value, FieldKind::Text, Duplicates::All)
    }

    /// The rank, unless a prefix has said it. Before the processes know each other it is -1, which
    /// is none.
    pub(super) fn rank(&mut self, rank: &str) -> Read {
        if rank.starts_with('-') {
            return Ok(());
        }
        let value = self.piece(rank);
        let kind = if rank.parse::<i64>().is_ok() { FieldKind::Int } else { FieldKind::Text };
        self.add(Piece::Fixed("rank"), value, kind, Duplicates::First)
    }

    /// A source file as the component, and its line.
    pub(super) fn source(&mut self, (file, line): (&str, &str)) -> Read {
        self.part("component", file)?;
        self.whole("line", line)
    }
}
