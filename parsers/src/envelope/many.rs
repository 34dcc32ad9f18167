//! Envelopes that hold many lines: given away one after the other, out of one that is used again.
//!
//! Invariant: what a group of lines has in common is held once, and what one line says is gone
//! before the next, so that a record costs what its bytes are, whatever it repeats. Next on the
//! trip: [`super::loki`], [`super::otlp`].

use std::ops::ControlFlow;

use super::{Each, EnvelopeKind, FIELDS_MAX, Piece, Unwrapper};
use crate::fields::NAME_BYTES_MAX;

/// See the module documentation.
pub(super) struct Many<'u, 'e> {
    pub(super) unwrapper: &'u mut Unwrapper,
    pub(super) kind: EnvelopeKind,
    pub(super) depth: usize,
    pub(super) each: &'u mut Each<'e>,
}

/// What was known at some point.
pub(super) struct Mark {
    fields: usize,
    host: Option<String>,
    time_ns: Option<i64>,
}

impl Many<'_, '_> {
    /// What is known now.
    pub(super) fn mark(&self) -> Mark {
        let envelope = &self.unwrapper.envelope;
        let (fields, host) = (envelope.fields.len(), envelope.host.clone());
        Mark { fields, host, time_ns: envelope.time_ns }
    }

    /// Forgets what was found since.
    pub(super) fn restore(&mut self, mark: &Mark) {
        let envelope = &mut self.unwrapper.envelope;
        envelope.fields.truncate(mark.fields);
        envelope.time_ns = mark.time_ns;
        if envelope.host != mark.host {
            envelope.host.clone_from(&mark.host);
        }
    }

    /// Adds a field.
    pub(super) fn push(&mut self, prefix: &str, name: &str, value: &str) {
        let fields = &mut self.unwrapper.envelope.fields;
        if fields.len() < FIELDS_MAX && prefix.len() + name.len() <= NAME_BYTES_MAX {
            let path = &mut self.unwrapper.path;
            path.clear();
            path.push_str(prefix);
            path.push_str(name);
            fields.push(path, value);
        }
    }

    pub(super) fn set_host(&mut self, host: &str) {
        self.unwrapper.set_host(host);
    }

    /// Sets the time, if there is one.
    pub(super) fn set_time(&mut self, time_ns: Option<i64>) {
        let envelope = &mut self.unwrapper.envelope;
        envelope.time_ns = time_ns.or(envelope.time_ns);
    }

    /// Gives away the line that `write` appends.
    pub(super) fn give(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> ControlFlow<()> {
        self.give_piece(Piece::Whole, write)
    }

    /// The same of what may be a piece of a line.
    pub(super) fn give_piece(
        &mut self,
        piece: Piece,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> ControlFlow<()> {
        self.unwrapper.envelope.piece = piece;
        let mut message = self.unwrapper.take_buffer();
        write(&mut message);
        self.unwrapper.give(self.kind, message, self.depth, self.each)
    }
}
