//! From records to events: the stops `unwrap` → (peel, join) → `transform` of a batch, run on any
//! worker. The work itself is in the rooms `parsers` and `rules`; this file feeds a batch through
//! it and counts.
//!
//! Invariant: what comes out depends on the batch alone, never on the clock, chance or what the
//! process did before, so that a batch read twice gives the same events. Next stop:
//! [`crate::dispatch`].

use std::any::Any;
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
        Transformed {
            events: EventBuffer::new().into(),
            open_from: None,
            pieces_from: None,
            rest: None,
        }
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
        let (version, mut transformer) = self.take();
        let mut events = self.buffer(batch);
        if let Some(state) = carry.downcast_mut::<PartitionState>() {
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
        }
        self.count_parsed(&batch.partition.topic, &transformer.take_counters());
        self.metrics.records_closed_early(events.events.len() as u64);
        self.give_back(version, transformer);
        Transformed { events, open_from: None, pieces_from: None, rest: None }
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
}

impl PlanTransform {
    fn set_pieces(&self, transformer: &mut Transformer, is_known: bool) {
        // Nobody would know what is left of a batch whose partition is not known.
        transformer.set_pieces((is_known && self.has_pieces()).then_some(self.envelope));
    }

    /// Makes events of a batch from a place on; stops early at [`PART_BYTES`].
    fn part(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        from: Position,
    ) -> (Transformed, Tally) {
        let (version, mut transformer) = self.take();
        let mut state = carry.and_then(|carry| carry.downcast_mut::<PartitionState>());
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
        self.give_back(version, transformer);
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
        let feed = Feed {
            record,
            transformer: &mut work.transformer,
            events: &mut work.events,
            part_bytes: PART_BYTES,
            from_line,
            keeps_envelope: false,
        };
        let fed = feed.run(&mut work.unwrapper, self.envelope, batch.slice(value));
        let Fed { lines, rest, .. } = fed;
        work.tally.lines += lines;
        rest
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
mod piece_tests;

#[cfg(test)]
mod tests {
    use std::num::{NonZeroI64, NonZeroU64};
    use std::sync::Arc;

    use riverhog_parsers::grok::{Grok, GrokOptions};
    use riverhog_rules::Disposition;
    use riverhog_rules::hosts::{HostRule, HostTable};
    use riverhog_rules::names::{Names, Stage};
    use riverhog_rules::plan::{LineParser, ParseRule};
    use riverhog_rules::selector::Selector;
    use riverhog_rules::step::{Action, RateLimit, Step};

    use super::*;
    use crate::source::Partition;

    fn batch(values: &[Option<&[u8]>]) -> RecordBatch {
        let partition = Partition { topic: Arc::from("train"), number: 3 };
        let mut batch = RecordBatch::empty(partition);
        batch.next_offset = values.len() as i64;
        for (offset, value) in values.iter().enumerate() {
            let start = batch.bytes.len() as u32;
            batch.bytes.extend_from_slice(value.unwrap_or_default());
            let end = batch.bytes.len() as u32;
            batch.records.push(RecordEntry {
                offset: offset as i64,
                time_ms: 1_700_000_000_000,
                key: None,
                value: value.map(|_| (start, end)),
                headers: (0, 0),
            });
        }
        batch
    }

    /// All parts of a batch: per part, its events' offset and index.
    fn parts(batch: &RecordBatch) -> Vec<Vec<(i64, u32)>> {
        let metrics = Metrics::new();
        let plan = Arc::new(Plan::default());
        let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics);
        let mut parts = Vec::new();
        let mut from = Position::default();
        loop {
            let part = transform.transform(batch, "c0ffee00", None, from);
            assert!(part.events.bytes.len() < PART_BYTES + (64 << 10));
            parts.push(part.events.events.iter().map(|e| (e.first_offset, e.index)).collect());
            match part.rest {
                Some(rest) => from = rest,
                None => return parts,
            }
        }
    }

    /// A transform of a plan whose hosts are the records' keys.
    fn with_hosts(table: &str) -> PlanTransform {
        let mut plan = Plan::default();
        let names = Names::new().columns(["rack"]).at(Stage::Hosts);
        let from = vec![Selector::compile("key", &names).expect("a name")];
        plan.hosts = HostRule { from };
        plan.tables = hosts(table);
        PlanTransform::new(Arc::new(plan), EnvelopeKind::None, 1 << 20, Metrics::new())
    }

    fn hosts(table: &str) -> Tables {
        let table = HostTable::from_csv(table).expect("a table");
        Tables { hosts: Some(Arc::new(table)), ..Tables::default() }
    }

    /// The document of a line `x` with the key `x`.
    fn document(transform: &PlanTransform, change: impl FnOnce(&mut RecordBatch)) -> String {
        let mut batch = batch(&[Some(b"x")]);
        batch.records[0].key = Some((0, 1));
        change(&mut batch);
        let part = transform.transform(&batch, "c0ffee00", None, Position::default());
        let document = part.events.document(&part.events.events[0]);
        String::from_utf8(document.to_vec()).expect("JSON is UTF-8")
    }

    #[test]
    fn what_is_redacted_is_counted_by_kind() {
        let metrics = Metrics::new();
        let plan = Arc::new(Plan::default());
        let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
        let batch = batch(&[Some(b"password=hunter2 token=None\npassword=hunter3")]);
        let part = transform.transform(&batch, "c0ffee00", None, Position::default());
        let document = part.events.document(&part.events.events[0]);
        let document = std::str::from_utf8(document).expect("JSON is UTF-8");
        assert!(document.contains("password=[redacted:password] token=None"), "{document}");
        let counted = "riverhog_redacted_values_total{kind=\"password\"} 2\n";
        assert!(metrics.render().contains(counted), "{}", metrics.render());
    }

    #[test]
    fn rates_are_known_by_partition_from_batch_to_batch() {
        let step = Step {
            name: "flood".to_owned(),
            when: None,
            action: Action::RateLimit(RateLimit {
                lines: NonZeroU64::MIN,
                per_ns: NonZeroI64::new(60_000_000_000).expect("a minute"),
                key: Vec::new(),
            }),
        };
        let plan = Plan { steps: vec![step], ..Plan::default() };
        let metrics = Metrics::new();
        let plan = Arc::new(plan);
        let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
        let batch = batch(&[Some(b"a\nb")]);
        let dropped = |carry: &mut Carry| {
            let from = Position::default();
            let part = transform.transform(&batch, "c0ffee00", Some(carry), from);
            let events = part.events.events.iter();
            events.filter(|event| matches!(event.disposition, Disposition::Dropped(_))).count()
        };
        let mut one = transform.carry().expect("rates are known by partition");
        let mut other = transform.carry().expect("rates are known by partition");
        assert_eq!((dropped(&mut one), dropped(&mut one), dropped(&mut other)), (1, 2, 1));
        let counted = "riverhog_transform_lines_total{outcome=\"dropped\",step=\"flood\"} 4\n";
        assert!(metrics.render().contains(counted), "{}", metrics.render());
    }

    #[test]
    fn lines_without_a_parser_are_kept_for_a_look() {
        let metrics = Metrics::new();
        let plan = Arc::new(Plan::default());
        let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
        let batch = batch(&[Some(b"a"), None, Some(b"b\npassword=hunter2 is secret")]);
        transform.transform(&batch, "c0ffee00", None, Position::default());
        let kept = metrics.unparsed_lines().to_json();
        let kept: Vec<String> = kept["lines"]
            .as_array()
            .expect("a list of lines")
            .iter()
            .map(|line| format!("{} {} {}", line["offset"], line["index"], line["line"]))
            .collect();
        // The latest is first.
        let secret = r#"2 1 "password=[redacted:password] is secret""#;
        assert_eq!(kept, [secret, r#"2 0 "b""#, r#"0 0 "a""#]);
    }

    #[test]
    fn one_line_in_64_is_measured() {
        let metrics = Metrics::new();
        let parser =
            LineParser::Grok(Grok::compile("%{WORD:word}", &GrokOptions::default()).unwrap());
        let name = "word".to_owned();
        let rule = ParseRule { name, when: None, field: None, parser, time: None, numbers: false };
        let plan = Arc::new(Plan { parse: vec![rule], ..Plan::default() });
        let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
        let values = [Some(&b"x"[..]); 200];
        transform.transform(&batch(&values), "c0ffee00", None, Position::default());
        let page = metrics.render();
        assert!(page.contains("riverhog_parse_seconds_count{parser=\"word\"} 3\n"), "{page}");
    }

    #[test]
    fn a_swapped_table_counts_from_the_next_batch() {
        let transform = with_hosts("host,rack\nx,r1\n");
        let rack = |rack: &str| {
            let document = document(&transform, |_| {});
            assert!(
                document.contains(&format!(r#""host":{{"name":"x","rack":"{rack}"}}"#)),
                "{document}"
            );
        };
        // Two workers that are idle when the tables are swapped.
        let (first, second) = (transform.take(), transform.take());
        transform.give_back(first.0, first.1);
        transform.give_back(second.0, second.1);
        rack("r1");
        transform.offer_tables(hosts("host,rack\nx,r2\n"));
        rack("r1");
        transform.swap_tables();
        transform.swap_tables();
        rack("r2");
        let busy = transform.take();
        assert_eq!(busy.0, 1);
        rack("r2");
        let fresh = transform.take();
        rack("r2");
        transform.offer_tables(hosts("host,rack\nx,r3\n"));
        transform.swap_tables();
        // They worked while the tables were swapped.
        transform.give_back(busy.0, busy.1);
        transform.give_back(fresh.0, fresh.1);
        rack("r3");
    }

    #[test]
    fn records_without_a_time_are_received_when_their_batch_says() {
        let transform = with_hosts("host,rack\n");
        let file = |batch: &mut RecordBatch| {
            batch.stamp = StampKind::None;
            batch.records[0].time_ms = 0;
            batch.received_ms = 1_557_138_225_250;
        };
        let unstamped = document(&transform, file);
        let expect = r#""received":"2019-05-06T10:23:45.250000000Z","received_source":"file""#;
        assert!(unstamped.contains(expect), "{unstamped}");
        assert!(unstamped.contains(r#""event_id":"c0ffee00-train-3-0-0-0""#), "{unstamped}");
        let later = |batch: &mut RecordBatch| {
            file(batch);
            batch.received_ms += 1;
        };
        assert!(document(&transform, later).contains(r#""event_id":"c0ffee00-train-3-0-0-0""#));
        let stamped = document(&transform, |batch| batch.received_ms = 5);
        assert!(stamped.contains(r#""received":"2023-11-14T22:13:20.000000000Z""#), "{stamped}");
    }

    #[test]
    fn lines_are_counted_through_all_envelopes_of_a_record() {
        let mut plan = Plan::default();
        let names = Names::new().at(Stage::Hosts);
        plan.hosts =
            HostRule { from: vec![Selector::compile("envelope.host", &names).expect("a name")] };
        let transform =
            PlanTransform::new(Arc::new(plan), EnvelopeKind::Auto, 1 << 20, Metrics::new());
        let two = br#"{"streams":[{"stream":{"host":"a"},"values":[["1","x\ny"]]},
            {"stream":{"host":"b"},"values":[["2","z"],["3",""]]}]}"#;
        let batch = batch(&[Some(two), Some(b"{'no': 'envelope'}\nz")]);
        let shown = |from| {
            let part = transform.transform(&batch, "c0ffee00", None, from);
            let events = part.events.events.iter().map(|event| {
                let document: serde_json::Value =
                    serde_json::from_slice(part.events.document(event)).expect("JSON");
                let host = document["host"]["name"].as_str().expect("a host").to_owned();
                (event.first_offset, event.index, host)
            });
            events.collect::<Vec<_>>()
        };
        let line = |offset, index, host: &str| (offset, index, host.to_owned());
        let expect = [
            line(0, 0, "a"),
            line(0, 1, "a"),
            line(0, 2, "b"),
            line(0, 3, "b"),
            line(1, 0, "unknown"),
            line(1, 1, "unknown"),
        ];
        assert_eq!(shown(Position::default()), expect);
        assert_eq!(shown(Position { record: 0, line: 3 }), expect[3..]);
    }

    #[test]
    fn a_record_of_very_many_lines_comes_in_parts() {
        let many = b"\n".repeat(100_000);
        let parts = parts(&batch(&[Some(b"one"), Some(&many), None, Some(b"a\r\nb")]));
        assert!(parts.len() > 2, "{} parts", parts.len());
        let events: Vec<(i64, u32)> = parts.concat();
        let mut expected = vec![(0, 0)];
        expected.extend((0..100_000).map(|index| (1, index)));
        expected.extend([(3, 0), (3, 1)]);
        assert_eq!(events, expected);
    }
}
