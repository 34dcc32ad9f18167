//! Second stop: takes the envelopes off a record's value and splits what is inside into raw lines.
//!
//! Invariant: every line of the value comes once, in order; of a value that is no envelope, every
//! byte is in exactly one line, but for the line ends. Next stop: [`crate::transform`].

use std::ops::ControlFlow;

use riverhog_parsers::envelope::{Envelope, EnvelopeKind, Unwrapper};
use riverhog_parsers::lines::{Lines, split_lines};

/// Gives `each` the raw lines of a value, with the envelope they came in; once for every envelope,
/// until it breaks.
pub fn unwrap(
    unwrapper: &mut Unwrapper,
    kind: EnvelopeKind,
    value: &[u8],
    mut each: impl FnMut(Option<&Envelope>, Lines<'_>) -> ControlFlow<()>,
) {
    let is_enveloped = unwrapper
        .run(kind, value, &mut |envelope| each(Some(envelope), split_lines(&envelope.message)));
    if !is_enveloped {
        let _end: ControlFlow<()> = each(None, split_lines(value));
    }
}
