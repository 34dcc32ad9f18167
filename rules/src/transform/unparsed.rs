//! Lines that no parse rule accepted, a few of each batch, for whoever wants to write a rule for
//! them.
//!
//! Invariant: they are bounded in number and bytes, and are what is left of a line behind the
//! redact stop. Next stop: the pipeline, which keeps the latest.

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
}

/// Keeps a line if there is room.
pub(super) fn keep(kept: &mut Vec<UnparsedLine>, offset: i64, index: u32, message: &str) {
    if kept.len() < UNPARSED_LINES_MAX {
        let end = message.floor_char_boundary(UNPARSED_BYTES_MAX);
        let (text, cut) = (message[..end].to_owned(), end < message.len());
        kept.push(UnparsedLine { offset, index, text, cut });
    }
}
