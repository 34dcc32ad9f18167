//! Docker's `json-file`, for whoever ships those files line by line.
//!
//! Invariant: see the folder. Next on the trip: [`super::journald`].

use super::flat::{Flat, Slot};
use super::{Taken, stamp};

/// A program may well write `log`, `stream` and `time`; the driver writes them and nothing else.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    flat.text(Slot::Log)?;
    let time = flat.raw(Slot::Time).and_then(|text| std::str::from_utf8(text).ok());
    let time_ns = time.and_then(stamp::stamp);
    let is_marked = time_ns.is_some()
        && matches!(flat.raw(Slot::Stream), Some(b"stdout" | b"stderr"))
        && flat.has_only(&["log", "stream", "time", "attrs"]);
    if !is_marked && !forced {
        return None;
    }
    Some(Taken { kind: "docker", line: Slot::Log, host: None, time_ns })
}
