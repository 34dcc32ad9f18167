//! What the tests of envelopes share: a check, and a writer of protobuf.
//!
//! The invariant: an envelope is shown as one line, so that all of it is compared. Next:
//! `tests/many.rs`.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use crate::envelope::{EnvelopeKind, Unwrapper};
use crate::lines::to_text;

/// Each envelope as `kind host time "message" path=value …`; none for a raw line.
pub(super) fn shown(kind: EnvelopeKind, value: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    let found = Unwrapper::new().run(kind, value, &mut |envelope| {
        let host = envelope.host.as_deref().unwrap_or("-");
        let time = envelope.time_ns.map_or("-".to_owned(), |time_ns| time_ns.to_string());
        let mut line = format!("{} {host} {time} {:?}", envelope.kind, to_text(&envelope.message));
        for (path, value) in envelope.fields.iter() {
            write!(line, " {path}={value}").unwrap();
        }
        all.push(line);
        ControlFlow::Continue(())
    });
    assert_eq!(found, !all.is_empty());
    all
}

#[track_caller]
pub(super) fn check(value: &str, expect: &[&str]) {
    check_kind(EnvelopeKind::Auto, value, expect);
}

#[track_caller]
pub(super) fn check_kind(kind: EnvelopeKind, value: &str, expect: &[&str]) {
    assert_eq!(shown(kind, value.as_bytes()), expect, "{value}");
}

/// A field of a message: texts and messages by their bytes.
pub(super) fn bytes(number: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

/// A field of eight bytes.
pub(super) fn fixed(number: u8, value: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
}

/// A field of a small number.
pub(super) fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// An attribute with a text.
pub(super) fn attribute(number: u8, key: &str, value: &str) -> Vec<u8> {
    bytes(number, [bytes(1, key), bytes(2, bytes(1, value))].concat())
}
