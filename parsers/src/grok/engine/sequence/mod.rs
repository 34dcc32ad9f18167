//! Tier 0: matchers one after the other at the start of the text.
//!
//! What it is for: the shape of most log lines (a timestamp, a word, a number, a run of characters,
//! a literal between each two, and the rest) needs no search. Invariant: each part takes what
//! backtracking would try first, and a text is accepted only if no part has to try again. That is
//! the first way that backtracking finds, whatever greed, order and atomic groups say. A text that
//! is not accepted goes to [`super::backtrack`], unless no part could have been taken otherwise and
//! a match can start nowhere else. Next on the trip: [`super::Engine`].

mod build;
mod finish;
mod timestamp;
mod words;

pub(super) use build::describe;

use memchr::memmem::{self, Finder};

use super::{ABSENT, Slot};
use crate::grok::regex::{Assert, Regex};
use words::Words;

/// Which bytes may stand somewhere.
type Table = [bool; 256];

/// A compiled sequence.
pub(super) struct Sequence {
    parts: Box<[Part]>,
    /// The groups that a match may leave out.
    optional: Box<[usize]>,
}

struct Part {
    matcher: Matcher,
    /// The groups that begin with this part, and those that end with it.
    opens: Box<[usize]>,
    closes: Box<[usize]>,
    /// What it means that this part fails: an earlier one may have another way.
    miss: Miss,
}

/// Why a part takes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Miss {
    /// Backtracking would find nothing from this start either.
    No,
    /// It might.
    Unknown,
}

enum Matcher {
    /// These bytes.
    Literal(Box<[u8]>),
    /// Bytes of a table, as many as there are between `min` and `max`.
    Run { table: Box<Table>, min: usize, max: usize },
    /// Bytes of a table, at least `min`, then a literal whose byte at `inside` is the first that is
    /// not in the table. The run's greatest extent fixes its end: the bytes of the literal before
    /// `inside` are the run's last, that byte is the first after them.
    RunTo { table: Box<Table>, min: usize, inside: usize, literal: Box<[u8]> },
    /// Bytes of a table, at least `min`, up to the last place of a literal that lies in the table:
    /// as many as leave it the literal.
    RunToLast { table: Box<Table>, min: usize, literal: Box<[u8]> },
    /// Bytes of a table, at least `min`, as few as there are before a literal.
    RunToFirst { table: Box<Table>, takes_all: bool, min: usize, literal: Box<Finder<'static>> },
    /// One of some words. What follows cannot begin with a letter of any of them, so that the word
    /// is all letters from here on.
    Words(Words),
    /// The stock `TIMESTAMP_ISO8601` in its usual form. What follows cannot begin with what could
    /// belong to it.
    Timestamp,
    /// The first of these that can be taken.
    Either(Box<[Branch]>),
    /// Whether bytes of these tables stand right here, or right before; takes nothing.
    Look { behind: bool, negated: bool, tables: Box<[Table]> },
    /// A condition on the position; takes nothing.
    Check(Assert),
}

struct Branch {
    parts: Box<[Part]>,
    /// The groups in it: none of them when it fails.
    slots: Box<[usize]>,
}

impl Sequence {
    /// Compiles an expression whose final `.*` was cut off, if it had one, or says why it is no
    /// sequence.
    pub(super) fn compile(regex: &Regex) -> Result<Sequence, &'static str> {
        build::build(regex)
    }

    /// The end of the match at the start of the text, with the slots filled, or what it means that
    /// there is none.
    #[inline]
    pub(super) fn run(&self, text: &[u8], slots: &mut [Slot]) -> Result<usize, Miss> {
        for slot in &self.optional {
            slots[*slot] = (ABSENT, ABSENT);
        }
        run(&self.parts, text, 0, slots)
    }
}

#[inline]
fn run(parts: &[Part], text: &[u8], from: usize, slots: &mut [Slot]) -> Result<usize, Miss> {
    let mut at = from;
    for part in parts {
        let (end, next) = match part.matcher.run(text, at, slots) {
            Ok(taken) => taken,
            Err(Miss::No) => return Err(part.miss),
            Err(Miss::Unknown) => return Err(Miss::Unknown),
        };
        for slot in &part.opens {
            slots[*slot].0 = at as u32;
        }
        for slot in &part.closes {
            slots[*slot].1 = end as u32;
        }
        at = next;
    }
    Ok(at)
}

impl Matcher {
    /// The end of the part, and where the next one begins.
    #[inline]
    fn run(&self, text: &[u8], at: usize, slots: &mut [Slot]) -> Result<(usize, usize), Miss> {
        let rest = &text[at..];
        let taken = match self {
            Matcher::Literal(literal) => begins(rest, literal).then_some(literal.len()),
            Matcher::Run { table, min, max } => {
                let length = run_length(&rest[..rest.len().min(*max)], table);
                (length >= *min).then_some(length)
            }
            Matcher::RunTo { table, min, inside, literal } => {
                let length = run_length(rest, table).checked_sub(*inside).ok_or(Miss::No)?;
                let is_there = length >= *min && begins(&rest[length..], literal);
                return to_literal(is_there.then_some(length), at, literal.len());
            }
            Matcher::RunToLast { table, min, literal } => {
                let found = memmem::rfind(&rest[..run_length(rest, table)], literal);
                return to_literal(found.filter(|length| length >= min), at, literal.len());
            }
            Matcher::RunToFirst { table, takes_all, min, literal } => {
                let found = rest.get(*min..).and_then(|rest| literal.find(rest));
                let found = found.map(|found| found + min);
                let fits =
                    |length: &usize| *takes_all || run_length(&rest[..*length], table) == *length;
                return to_literal(found.filter(fits), at, literal.needle().len());
            }
            Matcher::Words(words) => words.match_length(rest),
            Matcher::Timestamp => Some(timestamp::match_length(rest).ok_or(Miss::Unknown)?),
            Matcher::Either(branches) => return either(branches, text, at, slots),
            Matcher::Look { behind, negated, tables } => {
                let place = if *behind { at.checked_sub(tables.len()) } else { Some(at) };
                let bytes = place.and_then(|place| text.get(place..place + tables.len()));
                let is_there = bytes.is_some_and(|bytes| {
                    bytes.iter().zip(tables).all(|(byte, table)| table[usize::from(*byte)])
                });
                (is_there != *negated).then_some(0)
            }
            Matcher::Check(assert) => holds(*assert, text, at)?.then_some(0),
        };
        let end = at + taken.ok_or(Miss::No)?;
        Ok((end, end))
    }
}

#[inline]
fn to_literal(
    length: Option<usize>,
    at: usize,
    literal_length: usize,
) -> Result<(usize, usize), Miss> {
    let end = at + length.ok_or(Miss::No)?;
    Ok((end, end + literal_length))
}

fn either(
    branches: &[Branch],
    text: &[u8],
    at: usize,
    slots: &mut [Slot],
) -> Result<(usize, usize), Miss> {
    for branch in branches {
        match run(&branch.parts, text, at, slots) {
            Ok(end) => return Ok((end, end)),
            Err(Miss::Unknown) => return Err(Miss::Unknown),
            Err(Miss::No) => {
                for slot in &branch.slots {
                    slots[*slot] = (ABSENT, ABSENT);
                }
            }
        }
    }
    Err(Miss::No)
}

/// Whether a condition holds. What is a word beyond ASCII is not known here.
fn holds(assert: Assert, text: &[u8], at: usize) -> Result<bool, Miss> {
    let before = at.checked_sub(1).map(|before| text[before]);
    let after = text.get(at).copied();
    Ok(match assert {
        Assert::TextStart | Assert::SearchStart => at == 0,
        Assert::LineStart => at == 0 || before == Some(b'\n') && after.is_some(),
        Assert::LineEnd => after.is_none_or(|after| after == b'\n'),
        Assert::TextEnd => after.is_none(),
        Assert::TextEndOrLineFeed => &text[at..] == b"\n" || after.is_none(),
        Assert::WordBoundary { .. } | Assert::NotWordBoundary { .. } => {
            if before.into_iter().chain(after).any(|byte| !byte.is_ascii()) {
                return Err(Miss::Unknown);
            }
            let is_word =
                |byte: Option<u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_');
            let is_boundary = is_word(before) != is_word(after);
            is_boundary == matches!(assert, Assert::WordBoundary { .. })
        }
    })
}

/// Most literals are one byte, for which no function needs to be called.
#[inline]
fn begins(text: &[u8], literal: &[u8]) -> bool {
    match literal {
        [one] => text.first() == Some(one),
        _ => text.starts_with(literal),
    }
}

#[inline]
fn run_length(text: &[u8], table: &Table) -> usize {
    text.iter().position(|byte| !table[usize::from(*byte)]).unwrap_or(text.len())
}
