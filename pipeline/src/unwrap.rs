//! Second stop: takes the envelope off a record's value and splits what is inside into raw lines.
//!
//! Invariant: every byte of the value is in exactly one line, but for the line ends. Next stop:
//! [`crate::transform`].

use riverhog_parsers::envelope::{Envelope, EnvelopeKind, unwrap_envelope};
use riverhog_parsers::lines::{Lines, split_lines};

/// A record without its envelope.
pub struct Unwrapped<'a> {
    /// What the envelope said, when there was one.
    pub envelope: Option<Envelope>,
    /// What was inside.
    pub message: Message<'a>,
}

/// Where the raw lines are.
pub enum Message<'a> {
    /// The record's value is the text itself.
    Value(&'a [u8]),
    /// The text is in the envelope.
    Enveloped,
}

/// Takes the envelope off.
pub fn unwrap(kind: EnvelopeKind, value: &[u8]) -> Unwrapped<'_> {
    match unwrap_envelope(kind, value) {
        Some(envelope) => Unwrapped { envelope: Some(envelope), message: Message::Enveloped },
        None => Unwrapped { envelope: None, message: Message::Value(value) },
    }
}

impl Message<'_> {
    /// The raw lines.
    pub fn lines<'b>(&'b self, envelope: Option<&'b Envelope>) -> Lines<'b> {
        match (self, envelope) {
            (Message::Value(value), _) => split_lines(value),
            (Message::Enveloped, Some(envelope)) => split_lines(envelope.message.as_bytes()),
            (Message::Enveloped, None) => split_lines(b""),
        }
    }
}
