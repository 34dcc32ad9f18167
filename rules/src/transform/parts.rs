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
        if self.is_careful {
            self.try_line(record, line, out);
        } else {
            self.take(record, line, out);
        }
    }

    pub(super) fn take(&mut self, record: &Record<'_>, line: &Line<'_>, out: &mut EventBuffer) {
        #[cfg(feature = "mutations")]
        self.spring(super::Stop::Line, line.raw);
        if !self.partition.pieces.open.is_empty() {
            self.end_pieces(record, out);
        }
        let can_have = |count: usize| part_index(line.index, count as u32).is_some();
        self.each_part(line.raw, can_have, |this, raw, number, is_last| {
            let index = part_index(line.index, number).unwrap_or(line.index);
            let returns = line.returns && is_last;
            this.part(record, &Line { raw, index, returns, ..*line }, out);
        });
    }

    /// Gives `take` each part of a line, with its number from 1, or 0 where it is the only one, and
    /// whether it is the last. A line that cannot have so many parts is one.
    pub(super) fn each_part(
        &mut self,
        raw: &[u8],
        can_have: impl FnOnce(usize) -> bool,
        mut take: impl FnMut(&mut Transformer, &[u8], u32, bool),
    ) {
        // Nothing else of the transformer is asked for parts while these are used.
        let mut parts = std::mem::take(&mut self.parts);
        let count = if parts.split(raw, self.plan.peel) { parts.count() } else { 0 };
        if count == 0 || (count > 1 && !can_have(count)) {
            take(self, raw, 0, true);
        } else {
            self.counters.overwritten_frames += parts.overwritten();
            for number in 0..count {
                let of_several = if count > 1 { number as u32 + 1 } else { 0 };
                take(self, parts.get(raw, number), of_several, number + 1 == count);
            }
        }
        self.parts = parts;
    }
}
