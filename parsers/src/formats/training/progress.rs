//! Progress bars by themselves:
//! `Loading checkpoint shards:  50%|█████ | 2/4 [00:07<00:07,  3.61s/it]`.
//!
//! Invariant: the content is the bar, whose description stands in `description` too. Next on the
//! trip: [`super::bar`].

use super::bar;
use super::line::Line;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if line.stamp.is_some() || !bar::is_likely(line.text) {
        return Err(Reason::NoMatch);
    }
    let description = bar::read(writer, line.text)?;
    if !description.is_empty() {
        writer.part("description", description)?;
    }
    writer.part("content", line.text)
}
