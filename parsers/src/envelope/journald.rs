//! The journal's JSON, as `journalctl -o json` and those who read the journal write it.
//!
//! Invariant: a message of bytes is those bytes. Next on the trip: [`super::pack`].

use super::fields::EnvelopeFields;
use super::flat::{Flat, Slot};
use super::text::Span;
use super::{FIELDS_MAX, Taken, stamp};
use crate::fields::NAME_BYTES_MAX;
use crate::lines::to_text;

/// The journal's own time has a name of its own, in microseconds.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    let time_ns = flat.raw(Slot::JournalTime).and_then(|text| {
        let micros = std::str::from_utf8(text).ok()?;
        let is_micros = micros.len() <= 18 && micros.bytes().all(|byte| byte.is_ascii_digit());
        if is_micros { micros.parse::<i64>().ok()?.checked_mul(1000) } else { None }
    });
    let is_text = flat.text(Slot::JournalMessage).is_some();
    let is_bytes = flat.journal_bytes.is_some_and(|array| bytes(flat, array).is_some());
    if (time_ns.is_none() && !forced) || !(is_text || is_bytes) {
        return None;
    }
    let host = flat.host(&[Slot::JournalHost]);
    let time_ns = time_ns.or_else(|| flat.scalar(Slot::AtTimestamp).and_then(stamp::stamp));
    Some(Taken { kind: "journald", line: Slot::JournalMessage, host, time_ns })
}

/// What is no text stands as an array of its bytes; `None` when the array is none of bytes.
pub(super) fn bytes(flat: &Flat<'_>, array: Span) -> Option<Vec<u8>> {
    if !flat.source.is_array(array) {
        return None;
    }
    let byte = |element: Span| {
        let digits = &flat.source.bytes[element.start..element.end];
        std::str::from_utf8(digits).ok()?.parse::<u8>().ok()
    };
    flat.source.elements(array).map(byte).collect()
}

/// Adds the fields that stand as arrays of their bytes.
pub(super) fn push_bytes(flat: &Flat<'_>, fields: &mut EnvelopeFields) {
    if !flat.has_arrays {
        return;
    }
    let others = flat.source.members(flat.object);
    for (key, value) in others.filter(|(key, _)| flat.source.raw(*key) != b"MESSAGE") {
        let path = flat.source.to_string(key);
        let fits = fields.len() < FIELDS_MAX && path.len() <= NAME_BYTES_MAX;
        let bytes = bytes(flat, value).filter(|bytes| fits && !bytes.is_empty());
        if let Some(bytes) = bytes {
            fields.push(&path, &to_text(&bytes));
        }
    }
}
