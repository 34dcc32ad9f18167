//! Who is given envelopes, and what is asked before a text is looked into.
//!
//! Invariant: every message is given once, as a piece or as a whole. Next on the trip: whoever
//! splits messages into lines, with [`crate::lines`].

use std::ops::ControlFlow;

use super::Envelope;

/// What container runtimes say of a text: they write long lines in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Piece {
    /// Nothing: it is whole.
    #[default]
    Whole,
    /// The line goes on with the next text of its stream.
    Open,
    /// The line ends with it; it is whole where no piece came before it.
    Last,
}

/// Who is given envelopes.
pub trait Taker {
    /// An envelope whose message may be a piece of a line. `None` leaves it: it is looked into, and
    /// given to [`Taker::take`], as any other.
    fn piece(&mut self, envelope: &Envelope) -> Option<ControlFlow<()>>;

    /// An envelope; a break ends it.
    fn take(&mut self, envelope: &Envelope) -> ControlFlow<()>;
}

/// Takes pieces for whole.
pub(super) struct Whole<'e>(pub(super) &'e mut dyn FnMut(&Envelope) -> ControlFlow<()>);

impl Taker for Whole<'_> {
    fn piece(&mut self, _: &Envelope) -> Option<ControlFlow<()>> {
        None
    }

    fn take(&mut self, envelope: &Envelope) -> ControlFlow<()> {
        (self.0)(envelope)
    }
}
