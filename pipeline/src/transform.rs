//! From records to events: the stops `unwrap` → (peel, join) → `transform` of a batch, run on any
//! worker. The work itself is in the rooms `parsers` and `rules`; this file feeds a batch through
//! it and counts.
//!
//! Invariant: what comes out depends on the batch alone, never on the clock, chance or what the
//! process did before, so that a batch read twice gives the same events. Next stop:
//! [`crate::dispatch`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use riverhog_parsers::envelope::{EnvelopeKind, Unwrapper};
use riverhog_parsers::grok::Reason;
use riverhog_rules::counters::Counters;
use riverhog_rules::event::EventBuffer;
use riverhog_rules::plan::{Plan, Tables};
use riverhog_rules::transform::{
    PartitionState, ReceivedSource, Record, Transformer, UnparsedLine,
};

use crate::buffers::{EventBuffers, Events};
use crate::clock;
use crate::feed::{Fed, Feed};
use crate::source::{RecordBatch, RecordEntry, StampKind};
use crate::telemetry::metrics::Metrics;

/// Bytes of documents after which a part of a batch ends: a record of a million empty lines must
/// not become half a gigabyte at once.
pub const PART_BYTES: usize = 8 << 20;

/// What a batch, or a part of it, became.
#[derive(Debug)]
pub struct Transformed {
    /// The events.
    pub events: Events,
    /// Offset of the oldest line a joining stage still holds.
    pub open_from: Option<i64>,
    /// Offset of the oldest piece of a line that is still held.
    pub pieces_from: Option<i64>,
    /// Where the next part begins; `None` after the last.
    pub rest: Option<Position>,
}

impl Transformed {
    /// Events behind which nothing is held and nothing is left.
    fn all_of(events: Events) -> Transformed {
        Transformed { events, open_from: None, pieces_from: None, rest: None }
    }
}

/// A place in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Number of the record.
    pub record: usize,
    /// Number of the line in it.
    pub line: usize,
}

/// What a stage keeps between the batches of one partition.
pub type Carry = Box<dyn Any + Send>;

/// What a batch became whose predecessors were not waited for.
pub struct Ahead {
    transformed: Transformed,
    carry: Option<Carry>,
    tally: Tally,
}

/// The seam between the driver and what makes events of records.
pub trait BatchTransform: Send + Sync + 'static {
    /// A stage that keeps something between batches of a partition starts with this. `None`:
    /// batches are independent.
    fn carry(&self) -> Option<Carry>;

    /// True when many batches of a partition are transformed at once, each as if nothing was kept
    /// of those before it ([`BatchTransform::ahead`]): something seldom is. False: one after the
    /// other.
    fn runs_ahead(&self) -> bool;

    /// Makes events of a batch as if nothing was kept of those before it; counts nothing yet.
    fn ahead(&self, batch: &RecordBatch, lineage: &str) -> Ahead;

    /// The batch's turn has come: what it became counts if nothing was kept of those before it,
    /// and what is kept of it is the partition's; else it is transformed again.
    fn accept(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: &mut Option<Carry>,
        ahead: Ahead,
    ) -> Transformed;

    /// Makes events of a batch, from a place on; stops early at [`PART_BYTES`].
    fn transform(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        from: Position,
    ) -> Transformed;

    /// How long a partition that was read to its end waits until [`BatchTransform::close`] may end
    /// what is held of it; `None` while nothing is.
    fn close_after(&self, _carry: &Carry) -> Option<Duration> {
        None
    }

    /// Makes events of everything that is held of a partition. `batch` is an empty one of it.
    fn close(&self, _batch: &RecordBatch, _lineage: &str, _carry: &mut Carry) -> Transformed {
        Transformed::all_of(EventBuffer::new().into())
    }

    /// Whoever commits has taken note that tables change: batches begun from now on use those
    /// offered last. Nothing to do where there are none.
    fn swap_tables(&self) {}
}

/// The real one: a compiled configuration.
pub struct PlanTransform {
    plan: Arc<Plan>,
    envelope: EnvelopeKind,
    line_bytes_max: usize,
    metrics: Metrics,
    tables: Mutex<Versions>,
    /// Idle workers' scratch space, with the version of the tables each has; as many as ever worked
    /// at once.
    idle: Mutex<Vec<(u64, Transformer)>>,
    buffers: EventBuffers,
    /// Bytes of documents for eight bytes of records, as of the last batch.
    growth_eighths: AtomicUsize,
    #[cfg(test)]
    trap: Option<riverhog_rules::transform::Trap>,
}

/// The tables.
struct Versions {
    /// Counts the swaps.
    version: u64,
    current: Tables,
    /// Taken over by the next swap.
    offered: Option<Tables>,
}

impl PlanTransform {
    /// Runs `plan` over records in `envelope`, cutting lines at `line_bytes_max`.
    pub fn new(
        plan: Arc<Plan>,
        envelope: EnvelopeKind,
        line_bytes_max: usize,
        metrics: Metrics,
    ) -> PlanTransform {
        let tables = Versions { version: 0, current: plan.tables.clone(), offered: None };
        let (tables, idle) = (Mutex::new(tables), Mutex::new(Vec::new()));
        let growth_eighths = AtomicUsize::new(32);
        let buffers = EventBuffers::default();
        PlanTransform {
            plan,
            envelope,
            line_bytes_max,
            metrics,
            tables,
            idle,
            buffers,
            growth_eighths,
            #[cfg(test)]
            trap: None,
        }
    }

    /// Offers other tables, with the columns of those before; see
    /// [`BatchTransform::swap_tables`].
    pub fn offer_tables(&self, tables: Tables) {
        self.tables().offered = Some(tables);
    }

    fn tables(&self) -> MutexGuard<'_, Versions> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer of the size that batches have had: growing by doubling copies everything again.
    fn buffer(&self, batch: &RecordBatch) -> Events {
        let factor = self.growth_eighths.load(Ordering::Relaxed);
        let bytes = batch.bytes.len() / 8 * factor + 4096;
        let mut buffer = self.buffers.take(bytes.min(PART_BYTES + PART_BYTES / 8));
        buffer.events.reserve(batch.records.len());
        buffer.targets.reserve(batch.records.len());
        buffer
    }

    fn take(&self) -> (u64, Transformer) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (mut version, mut transformer) = idle.unwrap_or_else(|| {
            let mut transformer = Transformer::new(Arc::clone(&self.plan));
            transformer.set_ticks(clock::ticks_ns);
            transformer.set_line_bytes_max(self.line_bytes_max);
            (0, transformer)
        });
        let tables = self.tables();
        if version != tables.version {
            version = tables.version;
            let current = tables.current.clone();
            drop(tables);
            transformer.set_tables(&current);
        }
        (version, transformer)
    }

    fn begin(&self, is_careful: bool) -> (u64, Transformer) {
        let (version, mut transformer) = self.take();
        if is_careful {
            transformer.set_careful();
        }
        #[cfg(test)]
        transformer.set_trap(self.trap);
        (version, transformer)
    }

    fn give_back(&self, version: u64, transformer: Transformer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((version, transformer));
    }

    fn count(&self, batch: &RecordBatch, from: Position, tally: Tally) {
        let topic = &batch.partition.topic;
        if from == Position::default() {
            self.metrics.source_records(topic, batch.records.len() as u64);
            self.metrics.source_bytes(topic, batch.bytes.len() as u64);
        }
        self.metrics.source_lines(topic, tally.lines);
        if tally.tombstones > 0 {
            self.metrics.source_tombstones(topic, tally.tombstones);
        }
        self.count_parsed(topic, &tally.counters);
        self.metrics.unparsed_lines().add(&batch.partition, tally.unparsed);
    }

    /// True when values may be pieces of lines.
    fn has_pieces(&self) -> bool {
        matches!(self.envelope, EnvelopeKind::Auto | EnvelopeKind::Cri | EnvelopeKind::Docker)
    }

    fn count_parsed(&self, topic: &str, counters: &Counters) {
        if counters.cut > 0 {
            self.metrics.source_cut_lines(topic, counters.cut);
        }
        if counters.overwritten_frames > 0 {
            self.metrics.overwritten_frames(topic, counters.overwritten_frames);
        }
        for (rule, parser) in self.plan.parse.iter().zip(&counters.parsers) {
            self.metrics.parse_lines(&rule.name, "matched", parser.matched);
            for (reason, lines) in Reason::ALL.iter().zip(parser.unmatched) {
                if lines > 0 {
                    self.metrics.parse_lines(&rule.name, reason.as_str(), lines);
                }
            }
        }
        for (step, counts) in self.plan.steps.iter().zip(&counters.steps) {
            self.metrics.transform_lines(&step.name, "applied", counts.applied);
            self.metrics.transform_lines(&step.name, "failed", counts.failed);
            self.metrics.transform_lines(&step.name, "dropped", counts.dropped);
        }
        for time in &counters.parse_times {
            if let Some(rule) = self.plan.parse.get(usize::from(time.rule)) {
                self.metrics.parse_seconds(&rule.name, time.ns as f64 / 1e9);
            }
        }
        if counters.unknown_hosts > 0 {
            self.metrics.unknown_hosts(counters.unknown_hosts);
        }
        if counters.unparsed > 0 {
            self.metrics.unparsed(counters.unparsed);
        }
        let kinds = self.plan.redact.iter().flat_map(|redact| redact.kinds());
        for (kind, values) in kinds.zip(&counters.redacted).filter(|(_, values)| **values > 0) {
            self.metrics.redacted_values(kind, *values);
        }
    }
}

/// What is to be counted of a batch once it is clear that it came to that.
#[derive(Default)]
struct Tally {
    lines: u64,
    tombstones: u64,
    counters: Counters,
    unparsed: Vec<UnparsedLine>,
}

impl BatchTransform for PlanTransform {
    fn carry(&self) -> Option<Carry> {
        let keeps = self.plan.knows_partitions() || self.has_pieces();
        keeps.then(|| Box::<PartitionState>::default() as Carry)
    }

    fn runs_ahead(&self) -> bool {
        // Joins are open at the end of many batches, and rates always are.
        !self.plan.knows_partitions()
    }

    fn ahead(&self, batch: &RecordBatch, lineage: &str) -> Ahead {
        let mut carry = self.carry();
        let (transformed, tally) = self.part(batch, lineage, carry.as_mut(), Position::default());
        Ahead { transformed, carry, tally }
    }

    fn accept(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: &mut Option<Carry>,
        ahead: Ahead,
    ) -> Transformed {
        let state = carry.as_ref().and_then(|carry| carry.downcast_ref::<PartitionState>());
        if state.is_some_and(|state| state.held_from().is_some()) {
            return self.transform(batch, lineage, carry.as_mut(), Position::default());
        }
        self.count(batch, Position::default(), ahead.tally);
        *carry = ahead.carry;
        ahead.transformed
    }

    fn transform(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        from: Position,
    ) -> Transformed {
        let (transformed, tally) = self.part(batch, lineage, carry, from);
        self.count(batch, from, tally);
        transformed
    }

    fn close_after(&self, carry: &Carry) -> Option<Duration> {
        let state = carry.downcast_ref::<PartitionState>()?;
        state.held_from().map(|_| Duration::from_millis(self.plan.gap_ms().unsigned_abs()))
    }

    fn close(&self, batch: &RecordBatch, lineage: &str, carry: &mut Carry) -> Transformed {
        let Some(state) = carry.downcast_mut::<PartitionState>() else {
            return Transformed::all_of(EventBuffer::new().into());
        };
        let before = state.clone();
        let work = AssertUnwindSafe(|| self.try_close(batch, lineage, state, false));
        if let Ok(closed) = catch_unwind(work) {
            return closed;
        }
        self.tell_panic(batch, batch.next_offset);
        *state = before;
        self.try_close(batch, lineage, state, true)
    }

    fn swap_tables(&self) {
        let mut tables = self.tables();
        if let Some(offered) = tables.offered.take() {
            tables.current = offered;
            tables.version += 1;
        }
    }
}

/// What is made of a part.
struct Work {
    transformer: Transformer,
    unwrapper: Unwrapper,
    events: Events,
    tally: Tally,
    /// Lines of the first record that an earlier part has.
    from_line: usize,
    /// What fails is a dead letter by itself.
    is_careful: bool,
}

impl PlanTransform {
    fn set_pieces(&self, transformer: &mut Transformer, is_known: bool) {
        // Nobody would know what is left of a batch whose partition is not known.
        transformer.set_pieces((is_known && self.has_pieces()).then_some(self.envelope));
    }

    fn tell_panic(&self, batch: &RecordBatch, offset: i64) {
        self.metrics.transform_panics(&batch.partition.topic);
        tracing::error!(
            partition = %batch.partition, offset, next_offset = batch.next_offset,
            "a bug: the program failed on these records; they are taken again one by one, and the \
             line it fails on becomes a dead letter"
        );
    }

    fn try_close(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        state: &mut PartitionState,
        is_careful: bool,
    ) -> Transformed {
        let (version, mut transformer) = self.begin(is_careful);
        let mut events = self.buffer(batch);
        let record = Record {
            lineage,
            topic: &batch.partition.topic,
            partition: batch.partition.number,
            offset: batch.next_offset,
            time_ms: 0,
            key: None,
            headers: &[],
            received_ns: 0,
            received_source: received_source(batch.stamp),
            envelope: None,
        };
        transformer.exchange_partition(state);
        self.set_pieces(&mut transformer, true);
        transformer.close_records(&record, &mut events);
        transformer.exchange_partition(state);
        self.count_parsed(&batch.partition.topic, &transformer.take_counters());
        self.metrics.records_closed_early(events.events.len() as u64);
        if !is_careful {
            self.give_back(version, transformer);
        }
        Transformed::all_of(events)
    }

    /// Makes events of a batch from a place on; stops early at [`PART_BYTES`]. When the program
    /// fails on it, it is done once more, and what fails again is a dead letter.
    fn part(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        from: Position,
    ) -> (Transformed, Tally) {
        let mut state = carry.and_then(|carry| carry.downcast_mut::<PartitionState>());
        // Little, but where many lines are open.
        let before = state.as_deref().cloned();
        let work =
            AssertUnwindSafe(|| self.try_part(batch, lineage, (state.as_deref_mut(), from), false));
        if let Ok(done) = catch_unwind(work) {
            return done;
        }
        self.tell_panic(batch, batch.records[from.record].offset);
        if let (Some(state), Some(before)) = (&mut state, before) {
            **state = before;
        }
        self.try_part(batch, lineage, (state, from), true)
    }

    fn try_part(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        (mut state, from): (Option<&mut PartitionState>, Position),
        is_careful: bool,
    ) -> (Transformed, Tally) {
        let (version, mut transformer) = self.begin(is_careful);
        if let Some(state) = &mut state {
            transformer.exchange_partition(state);
        }
        self.set_pieces(&mut transformer, state.is_some());
        let mut work = Work {
            transformer,
            unwrapper: Unwrapper::new(),
            events: self.buffer(batch),
            tally: Tally::default(),
            from_line: from.line,
            is_careful,
        };
        let mut headers: Vec<(&str, &[u8])> = Vec::new();
        let mut rest = None;
        for (number, entry) in batch.records.iter().enumerate().skip(from.record) {
            headers.clear();
            let of_record = &batch.headers[entry.headers.0 as usize..entry.headers.1 as usize];
            headers.extend(of_record.iter().map(|h| (batch.header_name(h), batch.slice(h.value))));
            if let Some(line) = self.record(batch, lineage, entry, &headers, &mut work) {
                rest = Some(Position { record: number, line });
                break;
            }
        }
        let Work { mut transformer, events, mut tally, .. } = work;
        tally.counters = transformer.take_counters();
        let held = transformer.partition();
        let (open_from, pieces_from) = (held.open_from(), held.pieces_from());
        if let Some(state) = state {
            transformer.exchange_partition(state);
        }
        tally.unparsed = transformer.take_unparsed();
        if !is_careful {
            self.give_back(version, transformer);
        }
        let factor = events.bytes.len() * 8 / batch.bytes.len().max(1) + 1;
        self.growth_eighths.store(factor, Ordering::Relaxed);
        (Transformed { events, open_from, pieces_from, rest }, tally)
    }

    /// Makes events of one record; returns the line to go on with when the part is full.
    fn record(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        entry: &RecordEntry,
        headers: &[(&str, &[u8])],
        work: &mut Work,
    ) -> Option<usize> {
        let from_line = std::mem::take(&mut work.from_line);
        let Some(value) = entry.value else {
            work.tally.tombstones += 1;
            return None;
        };
        let record = Record {
            lineage,
            topic: &batch.partition.topic,
            partition: batch.partition.number,
            offset: entry.offset,
            time_ms: entry.time_ms,
            key: entry.key.map(|key| batch.slice(key)),
            headers,
            received_ns: received_ms(batch, entry).saturating_mul(1_000_000),
            received_source: received_source(batch.stamp),
            envelope: None,
        };
        let Work { transformer, unwrapper, events, tally, is_careful, .. } = work;
        let mut fed = Fed::default();
        let mut take = |transformer: &mut Transformer, events: &mut EventBuffer| {
            let feed = Feed {
                record,
                transformer,
                events,
                part_bytes: PART_BYTES,
                first: 0,
                from_line,
                keeps_envelope: false,
            };
            fed = feed.run(unwrapper, self.envelope, batch.slice(value));
        };
        if !*is_careful {
            take(transformer, events);
        } else if !transformer.try_record((&record, from_line as u32), events, take) {
            *unwrapper = Unwrapper::new();
            fed = Fed { lines: 1, ..Fed::default() };
        }
        tally.lines += fed.lines;
        fed.rest
    }
}

fn received_ms(batch: &RecordBatch, entry: &RecordEntry) -> i64 {
    match batch.stamp {
        StampKind::LogAppendTime | StampKind::CreateTime => entry.time_ms,
        StampKind::None => batch.received_ms,
    }
}

fn received_source(stamp: StampKind) -> ReceivedSource {
    match stamp {
        StampKind::LogAppendTime => ReceivedSource::LogAppendTime,
        StampKind::CreateTime => ReceivedSource::CreateTime,
        StampKind::None => ReceivedSource::File,
    }
}

#[cfg(test)]
mod panic_tests;
#[cfg(test)]
mod piece_tests;

#[cfg(test)]
mod tests;
