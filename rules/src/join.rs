//! Joining: lines that belong together become one record, decided by what they say.
//!
//! Only a line that opens a record is held; all others are complete at once and wait for nobody. A
//! record ends with the first line of its stream that does not continue it, at its limits, or when
//! record time has gone on by more than the gap. Invariant: what becomes of a line depends on the
//! lines of its partition in their order and on their record times alone; every line is in exactly
//! one record. Next stop: `transform`, which makes one event of a record. Stops here: `kind`, which
//! knows the forms, and `open`, the records that are not yet complete.
mod closed;
mod kind;
mod open;
mod own;
mod python;
mod repeated;
mod stack;

use riverhog_parsers::peel::Marks;

use crate::selector::Selector;
pub use closed::{Closed, LineOf, OwnedMarks, OwnedRecord, PartOf};
pub use open::{Held, Joiner};
pub use own::{JoinRule, JoinRuleError};

/// Records of one partition that may be open at once; beyond them the oldest is closed.
pub const OPEN_MAX: usize = 256;
/// Bytes that the open records of one partition may hold; beyond them the oldest is closed.
pub const OPEN_BYTES_MAX: usize = 1 << 20;

/// How lines are joined.
#[derive(Debug)]
pub struct Join {
    /// What tells the streams of a partition apart, besides rank and worker: all values count.
    pub stream: Vec<Selector>,
    /// The forms that riverhog knows are joined.
    pub builtin: bool,
    /// Forms of one's own; they come first.
    pub rules: Vec<JoinRule>,
    /// Lines that a record has at most; at least 2.
    pub lines_max: usize,
    /// Bytes that a record has at most, line ends included.
    pub bytes_max: usize,
    /// A record ends when a later record of its partition has a record time that is more than this
    /// many milliseconds after its last line's.
    pub gap_ms: i64,
}

impl Join {
    /// The forms that riverhog knows, under the usual limits, in one stream.
    pub fn builtin() -> Join {
        Join {
            stream: Vec::new(),
            builtin: true,
            rules: Vec::new(),
            lines_max: 1000,
            bytes_max: 256 << 10,
            gap_ms: 5000,
        }
    }
}

/// What an open record makes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// It belongs to it.
    Take,
    /// It belongs to it and ends it.
    End,
    /// It belongs to it without so many bytes at its front; ends it unless true.
    Behind(usize, bool),
    /// It belongs to it if a later line does.
    Maybe,
    /// It does not.
    No,
}

/// What tells the processes of one stream apart.
fn process_of(marks: &Marks<'_>) -> Option<u64> {
    let none = Marks { node: None, role: None, ..*marks };
    if none.is_empty() {
        return None;
    }
    let number = |it: Option<u32>| it.map_or(u64::MAX, u64::from);
    let mut hasher = crate::step::Hasher::new("");
    for part in [marks.rank, marks.local_rank, marks.pid, marks.task] {
        hasher.push(Some(&number(part).to_le_bytes()));
    }
    hasher.push(marks.worker.map(str::as_bytes));
    hasher.push(marks.node.map(str::as_bytes));
    Some(hasher.finish())
}

#[cfg(test)]
mod tests;
