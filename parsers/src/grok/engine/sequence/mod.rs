//! Tier 0: a fixed sequence of matchers at the start of the text.
//!
//! What it is for: the shape of most log lines (a timestamp, a word, a run of characters, a literal
//! between each two, and the rest) needs no search. Invariant: each part can end in one place only,
//! so that a text accepted at its very start has one parse, and neither greed nor the order of
//! alternatives has a say in it; a text that is not accepted says nothing and goes to
//! [`super::backtrack`]. What makes the end of a part unique stands at each matcher. Next on the
//! trip: [`super::Engine`].

mod build;
mod timestamp;
mod words;

use super::Slot;
use crate::grok::regex::Regex;
use words::Words;

/// Which bytes may stand somewhere.
type Table = [bool; 256];

/// A compiled sequence.
pub(super) struct Sequence {
    parts: Vec<Part>,
}

struct Part {
    matcher: Matcher,
    /// The groups that capture just this part.
    slots: Vec<usize>,
}

enum Matcher {
    /// These bytes.
    Literal(Box<[u8]>),
    /// Bytes of a table, at least `min`, then a literal whose byte at `inside` is the first that is
    /// not in the table. The run's greatest extent fixes its end: the bytes of the literal before
    /// `inside` are the run's last, that byte is the first after them.
    Run { table: Box<Table>, min: usize, inside: usize, literal: Box<[u8]> },
    /// Bytes of a table, at least `min`, as many as there are. Only last and only greedy: nothing
    /// after it can make it give some back.
    LastRun { table: Box<Table>, min: usize },
    /// One of some words. What follows cannot begin with a letter of any of them, so that the word
    /// is all letters from here on.
    Words(Words),
    /// The stock `TIMESTAMP_ISO8601` in its usual form. What follows cannot begin with what could
    /// belong to it.
    Timestamp,
}

impl Sequence {
    /// Compiles an expression whose final `.*` was cut off, if it had one, or says why it is no
    /// sequence.
    pub(super) fn compile(regex: &Regex) -> Result<Sequence, &'static str> {
        build::build(regex)
    }

    /// The end of the match at the start of the text, with the slots filled; `None` says nothing
    /// about the text.
    pub(super) fn run(&self, text: &[u8], slots: &mut [Slot]) -> Option<usize> {
        let mut at = 0;
        for part in &self.parts {
            let (end, next) = part.matcher.run(text, at)?;
            for slot in &part.slots {
                slots[*slot] = (at as u32, end as u32);
            }
            at = next;
        }
        Some(at)
    }
}

impl Matcher {
    /// The end of the part, and where the next one begins.
    #[inline]
    fn run(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let rest = &text[at..];
        match self {
            Matcher::Literal(literal) => {
                let end = at + literal.len();
                rest.starts_with(literal).then_some((end, end))
            }
            Matcher::Run { table, min, inside, literal } => {
                let length = run_length(rest, table).checked_sub(*inside)?;
                let next = at + length + literal.len();
                (length >= *min && rest[length..].starts_with(literal))
                    .then_some((at + length, next))
            }
            Matcher::LastRun { table, min } => {
                let length = run_length(rest, table);
                (length >= *min).then_some((at + length, at + length))
            }
            Matcher::Words(words) => {
                let end = at + words.match_length(rest)?;
                Some((end, end))
            }
            Matcher::Timestamp => {
                let end = at + timestamp::match_length(rest)?;
                Some((end, end))
            }
        }
    }
}

#[inline]
fn run_length(text: &[u8], table: &Table) -> usize {
    text.iter().position(|byte| !table[usize::from(*byte)]).unwrap_or(text.len())
}
