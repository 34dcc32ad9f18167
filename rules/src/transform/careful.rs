//! Taking lines carefully: what is done with a batch on which the program failed. Each event, each
//! line and each record is tried by itself, and the one that fails again is a dead letter.
//!
//! Invariant: what failed leaves nothing behind but its dead letter: no half document, no scratch
//! space of unknown state, and what is known of the partition is as it was before. Next stop:
//! `event`, the buffer it is written to.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::encode::position;
use super::{Line, Lines, Record, Seen, Transformer};
use crate::event::{DeadReason, Disposition, Event, EventBuffer};
use crate::origin::write_id_index;

/// Where a failure is looked for; what tests make fail.
#[cfg(feature = "mutations")]
pub type Trap = fn(Stop, &[u8]);

/// A place of the trip.
#[cfg(feature = "mutations")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A record begins: its key.
    Record,
    /// A line comes: its bytes.
    Line,
    /// An event is made: its text.
    Event,
}

impl Transformer {
    /// From now on nothing that fails by a panic takes anything else with it: it becomes a dead
    /// letter. Slower; for a batch that failed. It counts for this transformer as long as it lives.
    pub fn set_careful(&mut self) {
        self.is_careful = true;
    }

    /// Fails where a test wants it.
    #[cfg(feature = "mutations")]
    pub fn set_trap(&mut self, trap: Option<Trap>) {
        self.trap = trap;
    }

    #[cfg(feature = "mutations")]
    pub(super) fn spring(&self, stop: Stop, bytes: &[u8]) {
        if let Some(trap) = self.trap {
            trap(stop, bytes);
        }
    }

    /// Does the work of a record, from the line `index` on, carefully; false when it failed, and
    /// the record is one dead letter.
    pub fn try_record(
        &mut self,
        (record, index): (&Record<'_>, u32),
        out: &mut EventBuffer,
        work: impl FnOnce(&mut Transformer, &mut EventBuffer),
    ) -> bool {
        self.attempt(record, (index, DeadReason::RecordPanicked), out, work)
    }

    /// As [`Transformer::try_record`], of a line.
    pub(super) fn try_line(&mut self, record: &Record<'_>, line: &Line<'_>, out: &mut EventBuffer) {
        let failed = (line.index, DeadReason::Panicked);
        let is_done = self.attempt(record, failed, out, |this, out| this.take(record, line, out));
        if !is_done {
            self.begin_record(record);
        }
    }

    /// As [`Transformer::try_record`], of what may be a piece of a line; a piece that failed counts
    /// as taken.
    pub(super) fn try_piece(
        &mut self,
        record: &Record<'_>,
        index: u32,
        out: &mut EventBuffer,
    ) -> bool {
        let mut is_taken = false;
        let failed = (index, DeadReason::Panicked);
        let is_done = self.attempt(record, failed, out, |this, out| {
            is_taken = this.take_piece(record, index, out);
        });
        if !is_done {
            self.note_taken(record.offset, index);
        }
        !is_done || is_taken
    }

    /// As [`Transformer::try_record`], of an event whose lines are complete: those that are joined
    /// are one dead letter.
    pub(super) fn try_event(
        &mut self,
        record: &Record<'_>,
        line: &Seen<'_>,
        lines: Lines,
        out: &mut EventBuffer,
    ) {
        let mark = out.mark();
        // Of the partition an event changes the rates alone.
        let rates = self.partition.rates.clone();
        let work = AssertUnwindSafe(|| self.take_event(record, line, lines, out));
        if catch_unwind(work).is_ok() {
            return;
        }
        out.truncate(mark);
        let partition = std::mem::take(&mut self.partition);
        // Whoever makes the event may be about to take more lines out of these.
        let pieces = std::mem::take(&mut self.pieces);
        self.renew();
        (self.partition, self.pieces) = (partition, pieces);
        self.partition.rates = rates;
        self.begin_record(record);
        self.fail(record, (line.index, DeadReason::Panicked), lines, out);
    }

    pub(super) fn take_event(
        &mut self,
        record: &Record<'_>,
        line: &Seen<'_>,
        lines: Lines,
        out: &mut EventBuffer,
    ) {
        #[cfg(feature = "mutations")]
        self.spring(Stop::Event, line.message.as_bytes());
        self.event(record, line, lines, out);
    }

    fn attempt(
        &mut self,
        record: &Record<'_>,
        (index, reason): (u32, DeadReason),
        out: &mut EventBuffer,
        work: impl FnOnce(&mut Transformer, &mut EventBuffer),
    ) -> bool {
        let (mark, partition) = (out.mark(), self.partition.clone());
        if catch_unwind(AssertUnwindSafe(|| work(self, out))).is_ok() {
            return true;
        }
        out.truncate(mark);
        self.renew();
        self.partition = partition;
        let lines = Lines { joined: None, last_offset: record.offset };
        self.fail(record, (index, reason), lines, out);
        false
    }

    /// Everything but what was set and counted is made anew: nobody knows what state it is in.
    fn renew(&mut self) {
        let mut fresh = Transformer::new(Arc::clone(&self.plan));
        fresh.set_tables(&self.tables);
        if let Some(ticks) = self.parse.ticks() {
            fresh.set_ticks(ticks);
        }
        fresh.set_pieces(self.pieces.envelope());
        fresh.line_bytes_max = self.line_bytes_max;
        fresh.is_careful = self.is_careful;
        #[cfg(feature = "mutations")]
        fresh.set_trap(self.trap);
        fresh.counters = std::mem::take(&mut self.counters);
        fresh.unparsed = std::mem::take(&mut self.unparsed);
        *self = fresh;
    }

    /// Appends the event of a dead letter, with a document that says its id alone.
    fn fail(
        &mut self,
        record: &Record<'_>,
        (index, reason): (u32, DeadReason),
        lines: Lines,
        out: &mut EventBuffer,
    ) {
        self.counters.panicked += 1;
        self.encoded.update(record);
        let start = position(&out.bytes);
        out.bytes.extend_from_slice(br#"{"event_id":""#);
        let id = position(&out.bytes);
        out.bytes.extend_from_slice(&self.encoded.id_head);
        out.bytes.extend_from_slice(&self.encoded.id_tail);
        write_id_index(&mut out.bytes, index, lines.joined);
        let id = (id, position(&out.bytes));
        out.bytes.push(b'"');
        let message_at = position(&out.bytes);
        out.bytes.extend_from_slice(b"}\n");
        let targets = out.targets.len() as u32;
        out.events.push(Event {
            action_at: start,
            doc: (start, message_at + 1),
            message_at,
            id,
            level: None,
            targets: (targets, targets),
            disposition: Disposition::DeadLetter(reason),
            first_offset: record.offset,
            last_offset: lines.last_offset,
            index,
            record_time_ms: record.time_ms,
            time_ns: record.received_ns,
            joined: lines.joined,
        });
    }
}
