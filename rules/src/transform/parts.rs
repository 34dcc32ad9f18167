//! The parts of a line: one line of the input may be several events, or have much that was written
//! over.
//!
//! Invariant: a line that is one part keeps its own index, and each of several parts has one that
//! no whole line has; so an id names the same text under every configuration, or is another id.
//! Next stop: `parse`, by way of the joiner.
use super::{Line, Record, Transformer};
use crate::event::EventBuffer;
use crate::origin::part_index;

impl Transformer {
    /// Takes one line of the record begun last. It becomes an event at the end of `out`, or several
    /// where it has several parts, unless it is held for a record of several lines; records that it
    /// completes become events before it.
    pub fn line(&mut self, record: &Record<'_>, line: &Line<'_>, out: &mut EventBuffer) {
        if !self.partition.pieces.open.is_empty() {
            self.end_pieces(record, out);
        }
        // Nothing else of the transformer is asked for parts while these are used.
        let mut parts = std::mem::take(&mut self.parts);
        let is_split = parts.split(line.raw, self.plan.peel);
        let count = parts.count();
        let is_named = count == 1 || part_index(line.index, count as u32).is_some();
        if !is_split || !is_named {
            self.part(record, line, out);
        } else {
            self.counters.overwritten_frames += parts.overwritten();
            for number in 0..count {
                let part = part_index(line.index, number as u32 + 1).filter(|_| count > 1);
                let index = part.unwrap_or(line.index);
                let raw = parts.get(line.raw, number);
                self.part(record, &Line { raw, index, ..*line }, out);
            }
        }
        self.parts = parts;
    }
}
