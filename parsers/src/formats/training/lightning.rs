//! The progress bar of Lightning:
//! `Epoch 0:  35%|███▌ | 7/20 [00:01<00:02,  5.00it/s, train_loss=2.3]`.
//!
//! Invariant: one bar a line, closed by its bracket; a line with more is left to be split first.
//! Next on the trip: [`super::bar`].

use super::bar;
use super::line::Line;
use super::numbers;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if line.stamp.is_some() || !bar::is_likely(line.text) {
        return Err(Reason::NoMatch);
    }
    let description = bar::read(writer, line.text)?;
    let epoch = description.strip_prefix("Epoch ");
    let starts = ["Sanity Checking", "Training", "Validation", "Testing"];
    if epoch.is_none() && !starts.iter().any(|start| description.starts_with(start)) {
        return Err(Reason::NoMatch);
    }
    // `Epoch 3`, `Epoch 3/10`
    if let Some(epoch) = epoch {
        numbers::add(writer, "epoch", epoch)?;
    }
    writer.part("content", line.text)
}
