//! Second stop: takes the envelopes off a record's value; whoever takes what is inside splits it
//! into raw lines.
//!
//! Invariant: every line of the value comes once, in order; of a value that is no envelope, every
//! byte is in exactly one line, but for the line ends. Next stop: [`crate::transform`].

use riverhog_parsers::envelope::{EnvelopeKind, Taker, Unwrapper};

/// Who takes raw values too.
pub trait Raw: Taker {
    /// A value that is no envelope.
    fn raw(&mut self, value: &[u8]);
}

/// Gives `taker` the envelopes of a value, until it breaks, or the value itself.
pub fn unwrap(unwrapper: &mut Unwrapper, kind: EnvelopeKind, value: &[u8], taker: &mut impl Raw) {
    if !unwrapper.run_pieces(kind, value, taker) {
        taker.raw(value);
    }
}
