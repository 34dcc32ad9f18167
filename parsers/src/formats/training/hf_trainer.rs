//! The Trainer of transformers, and everything else that prints its metrics as a Python dictionary:
//! `{'loss': 2.104, 'grad_norm': 0.87}`, with quoted numbers since its version 5.
//!
//! Invariant: a whole dictionary with at least one number, else the line is none. Next on the trip:
//! [`super::dict`].

use super::dict;
use super::line::Line;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if dict::read(writer, line.text)? == 0 {
        return Err(Reason::NoMatch);
    }
    writer.part("content", line.text)
}
