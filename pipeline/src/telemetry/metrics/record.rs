//! The calls that count: what happened, in the words of the rooms that tell it.
//!
//! Invariant: each call adds to one or two series and takes a short lock at most; it is made per
//! batch, request or tick. Next stop: [`super`], where each metric is declared.

use std::sync::MutexGuard;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;

use super::{Hold, Metrics, Partition, State, lock};

/// Every value of the label `outcome` of `riverhog_sink_lines_total`.
const SINK_LINE_OUTCOMES: [&str; 6] = ["done", "known", "retry", "refused", "given_up", "skipped"];

impl Metrics {
    /// Starts the counters of a topic at zero, so that a first increase is seen as one.
    pub fn declare_topic(&self, topic: &str) {
        let source = &self.inner.source;
        for counter in [
            &source.records,
            &source.lines,
            &source.bytes,
            &source.tombstones,
            &source.cut_lines,
            &source.overwritten_frames,
            &source.lost_lines,
        ] {
            add(counter, 0, [("topic", topic)]);
        }
    }

    /// Starts the counters of a sink at zero, so that a first increase is seen as one.
    pub fn declare_sink(&self, sink: &str) {
        for outcome in SINK_LINE_OUTCOMES {
            self.sink_lines(sink, outcome, 0);
        }
        self.sink_bytes(sink, 0);
        self.sink_in_flight(sink, 0);
    }

    /// Starts the counters of these reasons for dead letters at zero, so that the very first dead
    /// letter raises an alert.
    pub fn declare_dead_letters(&self, reasons: &[&str]) {
        for reason in reasons {
            self.dead_letter_lines(reason, 0);
        }
    }

    /// Kafka records read from a topic, tombstones among them.
    pub fn source_records(&self, topic: &str, records: u64) {
        add(&self.inner.source.records, records, [("topic", topic)]);
    }

    /// Raw lines the records of a topic were split into.
    pub fn source_lines(&self, topic: &str, lines: u64) {
        add(&self.inner.source.lines, lines, [("topic", topic)]);
    }

    /// Bytes of the values of records read from a topic.
    pub fn source_bytes(&self, topic: &str, bytes: u64) {
        add(&self.inner.source.bytes, bytes, [("topic", topic)]);
    }

    /// Records without a value: skipped.
    pub fn source_tombstones(&self, topic: &str, records: u64) {
        add(&self.inner.source.tombstones, records, [("topic", topic)]);
    }

    /// Lines cut at the longest line the configuration allows.
    pub fn source_cut_lines(&self, topic: &str, lines: u64) {
        add(&self.inner.source.cut_lines, lines, [("topic", topic)]);
    }

    /// Counts frames of progress bars that are in no event.
    pub fn overwritten_frames(&self, topic: &str, frames: u64) {
        add(&self.inner.source.overwritten_frames, frames, [("topic", topic)]);
    }

    /// Offsets that the broker had dropped before they were read.
    pub fn source_lost_lines(&self, topic: &str, lines: u64) {
        add(&self.inner.source.lost_lines, lines, [("topic", topic)]);
    }

    /// One change of the assignment: `assigned`, `revoked` or `lost`.
    pub fn rebalances(&self, kind: &'static str) {
        add(&self.inner.source.rebalances, 1, [("kind", kind)]);
    }

    /// Lines tried by a parser; `outcome` is `matched`, or why it was unmatched.
    pub fn parse_lines(&self, parser: &str, outcome: &str, lines: u64) {
        let labels = [("parser", parser), ("outcome", outcome)];
        add(&self.inner.source.parse_lines, lines, labels);
    }

    /// Lines taken by a transform step: `applied`, `failed` or `dropped`.
    pub fn transform_lines(&self, step: &str, outcome: &'static str, lines: u64) {
        let labels = [("step", step), ("outcome", outcome)];
        add(&self.inner.source.transform_lines, lines, labels);
    }

    /// The program failed on a batch, which is taken again line by line.
    pub fn transform_panics(&self, topic: &str) {
        add(&self.inner.source.transform_panics, 1, [("topic", topic)]);
    }

    /// Records closed by the clock, at the end of their partition.
    pub fn records_closed_early(&self, records: u64) {
        add(&self.inner.source.records_closed_early, records, []);
    }

    /// How long a parser took for one line that it accepted, its time and level included.
    pub fn parse_seconds(&self, parser: &str, seconds: f64) {
        self.inner.source.parse_seconds.record(seconds, &labels([("parser", parser)]));
    }

    /// Lines whose host is not in the table of hosts.
    pub fn unknown_hosts(&self, lines: u64) {
        add(&self.inner.source.unknown_host_lines, lines, []);
    }

    /// Lines that no parser accepted.
    pub fn unparsed(&self, lines: u64) {
        add(&self.inner.source.unparsed_lines, lines, []);
    }

    /// Values of lines that were redacted: a kind that riverhog knows, or the name of a pattern.
    pub fn redacted_values(&self, kind: &str, values: u64) {
        add(&self.inner.source.redacted_values, values, [("kind", kind)]);
    }

    /// Lines a sink is through with: `done` (delivered), `known` (the store held them already),
    /// `retry` (to be sent again), `refused` (dead letters), `given_up` (to be read again) or
    /// `skipped` (below the sink's own watermark).
    pub fn sink_lines(&self, sink: &str, outcome: &'static str, lines: u64) {
        add(&self.inner.sink.lines, lines, [("sink", sink), ("outcome", outcome)]);
    }

    /// Bytes of request bodies sent, as they went over the wire.
    pub fn sink_bytes(&self, sink: &str, bytes: u64) {
        add(&self.inner.sink.bytes, bytes, [("sink", sink)]);
    }

    /// One request answered, or given up, with this outcome.
    pub fn sink_requests(&self, sink: &str, outcome: &'static str) {
        add(&self.inner.sink.requests, 1, [("sink", sink), ("outcome", outcome)]);
    }

    /// How long one request took, from the first byte sent to the last byte of the answer.
    pub fn sink_request_seconds(&self, sink: &str, seconds: f64) {
        self.inner.sink.request_seconds.record(seconds, &labels([("sink", sink)]));
    }

    /// A destination is halted for a reason, or no longer: its series is there while it lasts.
    pub fn sink_halted(&self, sink: &str, destination: &str, reason: &str, halted: bool) {
        let key = (sink.to_owned(), destination.to_owned(), reason.to_owned());
        let mut state = self.state();
        if halted {
            state.halted.insert(key);
        } else {
            state.halted.remove(&key);
        }
    }

    /// Adds to the requests a sink has in flight; negative when they end.
    pub fn sink_in_flight(&self, sink: &str, requests: i64) {
        self.inner.sink.in_flight.add(requests, &labels([("sink", sink)]));
    }

    /// How many requests a sink may have in flight.
    pub fn sink_in_flight_limit(&self, sink: &str, requests: usize) {
        self.inner.sink.in_flight_limit.record(requests as u64, &labels([("sink", sink)]));
    }

    /// An address of a store, as logs may show it, is in turn or set aside.
    pub fn sink_address_up(&self, sink: &str, address: &str, is_up: bool) {
        let labels = labels([("sink", sink), ("address", address)]);
        self.inner.sink.address_up.record(u64::from(is_up), &labels);
    }

    /// Age of the oldest line a sink holds unsettled, by record time; 0 when it holds none.
    pub fn sink_oldest_seconds(&self, sink: &str, seconds: f64) {
        self.inner.sink.oldest_seconds.record(seconds, &labels([("sink", sink)]));
    }

    /// Lines stored as dead letters.
    pub fn dead_letter_lines(&self, reason: &str, lines: u64) {
        add(&self.inner.sink.dead_letter_lines, lines, [("reason", reason)]);
    }

    /// One object written, of this compressed size, and why it was closed.
    pub fn archive_object(&self, sink: &str, close_reason: &'static str, bytes: u64) {
        let archive = &self.inner.archive;
        archive.object_bytes.record(bytes, &labels([("sink", sink)]));
        add(&archive.objects, 1, [("sink", sink), ("reason", close_reason)]);
    }

    /// Footers that could not be read, and counted as holding no ids.
    pub fn archive_unread_footers(&self, sink: &str, objects: u64) {
        add(&self.inner.archive.unread_footers, objects, [("sink", sink)]);
    }

    /// Appends that found their number taken.
    pub fn archive_conflicts(&self, sink: &str, objects: u64) {
        add(&self.inner.archive.conflicts, objects, [("sink", sink)]);
    }

    /// Prefixes with an open object.
    pub fn archive_live_prefixes(&self, sink: &str, prefixes: u64) {
        self.inner.archive.live_prefixes.record(prefixes, &labels([("sink", sink)]));
    }

    /// How far an assigned partition is behind its end: in lines (offsets; below 0 counts as 0),
    /// and in seconds of record time.
    pub fn partition_lag(&self, topic: &str, partition: i32, lag_lines: i64, lag_seconds: f64) {
        self.partition(topic, partition, |state| {
            state.lag_lines = Some(lag_lines.max(0));
            state.lag_seconds = Some(lag_seconds.max(0.0));
        });
    }

    /// Time since the committed offset of an assigned partition last moved.
    pub fn partition_commit_age(&self, topic: &str, partition: i32, seconds: f64) {
        self.partition(topic, partition, |state| {
            state.commit_age_seconds = Some(seconds.max(0.0));
        });
    }

    /// What the watermark of a partition waits for; `None` when it waits for nothing.
    pub fn partition_held(&self, topic: &str, partition: i32, hold: Option<Hold>) {
        self.partition(topic, partition, |state| state.held = hold);
    }

    /// Whether a partition with lag has stood still for too long.
    pub fn partition_stalled(&self, topic: &str, partition: i32, is_stalled: bool) {
        self.partition(topic, partition, |state| state.stalled = Some(u8::from(is_stalled)));
    }

    /// A partition is no longer ours: all its series end. To be called after the last of the other
    /// `partition_` calls for it, which would bring them back.
    pub fn partition_gone(&self, topic: &str, partition: i32) {
        self.state().partitions.remove(&(topic.to_owned(), partition));
    }

    /// Commits by outcome, one for each partition in it.
    pub fn commits(&self, outcome: &'static str, partitions: u64) {
        add(&self.inner.process.commits, partitions, [("outcome", outcome)]);
    }

    /// Times the tables were read again because one had changed: `done` or `failed`.
    pub fn table_reloads(&self, outcome: &'static str, times: u64) {
        add(&self.inner.process.table_reloads, times, [("outcome", outcome)]);
    }

    /// Times the configuration was loaded again: `done` or `failed`.
    pub fn config_reloads(&self, outcome: &'static str, times: u64) {
        add(&self.inner.process.config_reloads, times, [("outcome", outcome)]);
    }

    /// The number of the configuration that runs, from 1.
    pub fn config_generation(&self, generation: u64) {
        self.inner.process.config_generation.record(generation, &[]);
    }

    /// No destination is halted any more, as far as is known: the sinks are new.
    pub fn forget_halted(&self) {
        self.state().halted.clear();
    }

    /// Bytes held by a part of the process, as counted against `memory`.
    pub fn memory(&self, part: &'static str, bytes: u64) {
        self.inner.process.memory_bytes.record(bytes, &labels([("part", part)]));
    }

    /// The setting `memory`.
    pub fn memory_limit(&self, bytes: u64) {
        self.inner.process.memory_limit_bytes.record(bytes, &[]);
    }

    /// Assignment generations that are open.
    pub fn generations(&self, generations: u64) {
        self.inner.process.generations.record(generations, &[]);
    }

    fn partition(&self, topic: &str, partition: i32, update: impl FnOnce(&mut Partition)) {
        update(self.state().partitions.entry((topic.to_owned(), partition)).or_default());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

pub(super) fn add<const N: usize>(
    counter: &Counter<u64>,
    count: u64,
    pairs: [(&'static str, &str); N],
) {
    counter.add(count, &labels(pairs));
}

pub(super) fn labels<const N: usize>(pairs: [(&'static str, &str); N]) -> [KeyValue; N] {
    pairs.map(|(name, value)| KeyValue::new(name, value.to_owned()))
}
