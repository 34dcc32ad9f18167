//! Messages of several lines that have the same header each and end in a return, but for the last:
//! vLLM writes `\r\n` and the header again for each line break of a message.
//!
//! Invariant: without a return nothing is joined, since many messages of one second have the same
//! header; and with one only lines of the very same header are. Next stop: `open`.
use super::Step;
use crate::hash::hash_bytes;

/// A header has fewer bytes.
const HEADER_BYTES_MAX: usize = 128;

/// The header that all lines of a message have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    length: usize,
    hash: u64,
}

impl Header {
    /// `INFO 08-02 10:27:03 [api_utils.py:339] `
    pub(super) fn of(text: &str) -> Option<Header> {
        let head = &text[..text.floor_char_boundary(HEADER_BYTES_MAX)];
        let (level, _) = head.split_once(' ')?;
        let level = riverhog_parsers::level::Level::parse(level);
        let length = level.and_then(|_| head.find(".py:")).and_then(|file| {
            let end = head[file..].find(']')?;
            Some(file + end + 1)
        })?;
        Some(Header { length, hash: hash_bytes(&head.as_bytes()[..length]) })
    }

    pub(super) fn next(self, text: &str, returns: bool) -> Step {
        let header = text.as_bytes().get(..self.length);
        if header.is_none_or(|header| hash_bytes(header) != self.hash) {
            return Step::No;
        }
        // The blank behind it belongs to it.
        let behind = text[self.length..].strip_prefix(' ').map_or(self.length, |_| self.length + 1);
        Step::Behind(behind, returns)
    }
}
