//! Docker's `json-file`, for whoever ships those files line by line.
//!
//! Invariant: see the folder. Next on the trip: [`super::journald`].

use super::flat::{Flat, Slot};
use super::{Piece, Taken, stamp};

pub(super) const KIND: &str = "docker";

/// A program may well write `log`, `stream` and `time`; the driver writes them and nothing else.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    flat.text(Slot::Log)?;
    let time = flat.raw(Slot::Time).and_then(|text| std::str::from_utf8(text).ok());
    let time_ns = time.and_then(stamp::stamp);
    let is_marked = time_ns.is_some()
        && is_of_stream(flat)
        && flat.has_only(&["log", "stream", "time", "attrs"]);
    if !is_marked && !forced {
        return None;
    }
    Some(Taken { kind: KIND, line: Slot::Log, host: None, time_ns })
}

/// A line's end is part of `log`: where it is missing, the line goes on with the next object of its
/// stream.
pub(super) fn piece(flat: &Flat<'_>, taken: &Taken, message: &[u8]) -> Piece {
    if taken.time_ns.is_none() || !is_of_stream(flat) {
        return Piece::Whole;
    }
    match memchr::memchr(b'\n', message) {
        None if message.is_empty() => Piece::Whole,
        None => Piece::Open,
        Some(_) if message.ends_with(b"\n") => Piece::Last,
        // The driver writes no end but the last: this was written by somebody else.
        Some(_) => Piece::Whole,
    }
}

fn is_of_stream(flat: &Flat<'_>) -> bool {
    matches!(flat.raw(Slot::Stream), Some(b"stdout" | b"stderr"))
}
