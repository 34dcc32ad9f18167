//! Lines that no parse rule accepted, a few of each batch, for whoever wants to write a rule for
//! them.
//!
//! Invariant: they are bounded in number and bytes, and are what is left of a line behind the
//! redact stop. Next stop: the pipeline, which keeps the latest.

use super::view::View;
use crate::plan::Plan;

/// Lines that are kept until they are taken: the first of a batch. A few of each batch show more
/// kinds of lines than all of one.
pub const UNPARSED_LINES_MAX: usize = 8;
/// Bytes that are kept of a line.
pub const UNPARSED_BYTES_MAX: usize = 1024;

/// A line that no parse rule accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnparsedLine {
    /// Offset of its record, or of the first of several.
    pub offset: i64,
    /// Its index within the record, from 0.
    pub index: u32,
    /// Its text, redacted, at most [`UNPARSED_BYTES_MAX`] bytes.
    pub text: String,
    /// The text is longer.
    pub cut: bool,
    /// Its label `project`, where there is one: who may see it.
    pub project: Option<String>,
}

/// Keeps a line if there is room.
pub(super) fn keep(
    kept: &mut Vec<UnparsedLine>,
    (offset, index): (i64, u32),
    plan: &Plan,
    view: &View<'_>,
) {
    if kept.len() < UNPARSED_LINES_MAX {
        let message = view.message;
        let end = message.floor_char_boundary(UNPARSED_BYTES_MAX);
        let (text, cut) = (message[..end].to_owned(), end < message.len());
        let project = view.label(plan, "project").map(str::to_owned);
        kept.push(UnparsedLine { offset, index, text, cut, project });
    }
}
