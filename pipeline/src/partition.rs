//! One held partition: its generation, the queue of its batches, and the dispatcher that takes them
//! in order from the transform to the sinks.
//!
//! Invariant: batches are transformed on any worker and dispatched in the order they were read;
//! when the generation ends its dispatcher is stopped. Next stop: [`crate::dispatch`].

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use riverhog_rules::event::{Event, EventTarget};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::clock;
use crate::commit;
use crate::dispatch::{Dispatch, Part};
use crate::generation::Generation;
use crate::source::{CommitEntry, RecordBatch};
use crate::transform::{Ahead, BatchTransform, Carry, Position, Transformed};
use crate::watch::Watch;

/// Parts of one batch on their way at once: a record of a million lines is taken to the sinks piece
/// by piece, whatever the budget says of its raw bytes.
const PARTS_MAX: usize = 2;

/// A batch on its way: transformed already or being transformed, or waiting for the one before.
enum Work {
    /// Runs on its own worker.
    Running(JoinHandle<(RecordBatch, Ahead)>),
    /// Transformed by the dispatcher, after the batch before it.
    InTurn(RecordBatch),
}

/// See the module documentation.
pub(crate) struct HeldPartition {
    pub(crate) generation: Arc<Generation>,
    queue: mpsc::Sender<(u64, Work)>,
    dispatcher: JoinHandle<()>,
    transform: Arc<dyn BatchTransform>,
    is_serial: bool,
    /// Offset and record time of each batch not yet below the watermark, for the lag in seconds.
    times: VecDeque<(i64, i64)>,
    /// What was committed last.
    pub(crate) last_commit: Option<(i64, String)>,
    /// The broker refused own watermarks: they are left out from now on.
    pub(crate) plain_metadata: bool,
    /// Lines below may have been routed by tables that were swapped since: own watermarks are left
    /// out until the common one has come here.
    plain_until: i64,
    /// When the committed offset last moved, milliseconds by the wall clock.
    pub(crate) moved_at_ms: i64,
    /// Whether anything moves.
    pub(crate) watch: Watch,
    /// The source was told to read no further.
    pub(crate) is_held: bool,
}

impl HeldPartition {
    /// Holds a partition from now on.
    pub(crate) fn new(
        generation: Arc<Generation>,
        transform: Arc<dyn BatchTransform>,
        dispatch: Dispatch,
        queue_batches: usize,
        now_ms: i64,
    ) -> HeldPartition {
        let (queue, work) = mpsc::channel(queue_batches);
        let is_serial = !transform.runs_ahead();
        let dispatcher =
            tokio::spawn(run(Arc::clone(&generation), Arc::clone(&transform), dispatch, work));
        HeldPartition {
            plain_until: generation.start,
            watch: Watch::new((generation.start, 0), clock::instant()),
            is_held: false,
            generation,
            queue,
            dispatcher,
            transform,
            is_serial,
            times: VecDeque::new(),
            last_commit: None,
            plain_metadata: false,
            moved_at_ms: now_ms,
        }
    }

    /// A batch was read.
    pub(crate) async fn take(&mut self, batch: RecordBatch) {
        let Some(first) = batch.records.first() else { return };
        let sequence = self.generation.read(first.offset, batch.next_offset);
        self.times.push_back((first.offset, first.time_ms));
        if batch.end_offset >= 0 {
            self.generation.set_end_offset(batch.end_offset);
        }
        let work = if self.is_serial {
            Work::InTurn(batch)
        } else {
            let transform = Arc::clone(&self.transform);
            let lineage = Arc::clone(&self.generation.lineage);
            Work::Running(tokio::spawn(async move {
                let ahead = transform.ahead(&batch, &lineage);
                (batch, ahead)
            }))
        };
        // The queue has room for every batch the memory budget allows, so this waits only for
        // sources without permits.
        if self.queue.send((sequence, work)).await.is_err() {
            tracing::debug!(partition = %self.generation.partition, "the dispatcher has gone");
        }
    }

    /// What to commit now; `None` when it was committed already.
    pub(crate) fn commit(
        &self,
        fingerprint: &str,
        start_time_ms: Option<i64>,
    ) -> Option<CommitEntry> {
        let entry = self.commit_entry(fingerprint, start_time_ms);
        let same = |(offset, metadata): &(i64, String)| {
            *offset == entry.offset && *metadata == entry.metadata
        };
        (!self.last_commit.as_ref().is_some_and(same)).then_some(entry)
    }

    /// Tables are about to be swapped: what was read until now may be routed by either.
    pub(crate) fn swap_tables(&mut self) {
        self.generation.forget_own_watermarks();
        self.plain_until = self.generation.ledger().next_offset();
    }

    /// The common watermark, and those of the sinks while they are of one fingerprint.
    pub(crate) fn watermarks(&self) -> (i64, Option<Vec<i64>>) {
        let ledger = self.generation.ledger();
        let offset = ledger.watermark();
        let before = self.generation.own_watermarks().iter().enumerate();
        let own = before.map(|(sink, before)| ledger.sink_watermark(sink).max(*before));
        (offset, (offset >= self.plain_until).then(|| own.collect()))
    }

    /// As [`HeldPartition::commit`], whether it was committed or not.
    pub(crate) fn commit_entry(
        &self,
        fingerprint: &str,
        start_time_ms: Option<i64>,
    ) -> CommitEntry {
        let (offset, own) = self.watermarks();
        let own = own.as_deref().filter(|_| !self.plain_metadata);
        let metadata = commit::encode(offset, fingerprint, own, start_time_ms);
        let partition = self.generation.partition.clone();
        CommitEntry { partition, epoch: self.generation.epoch, offset, metadata }
    }

    /// Record time of the oldest line not settled; `None` when everything read is settled.
    pub(crate) fn oldest_time_ms(&mut self, watermark: i64) -> Option<i64> {
        while self.times.get(1).is_some_and(|(first, _)| *first <= watermark) {
            self.times.pop_front();
        }
        if watermark >= self.generation.ledger().next_offset() {
            return None;
        }
        // Records of files have no time.
        self.times.front().map(|(_, time)| *time).filter(|time| *time > 0)
    }

    /// Record time of the newest batch that was read and is not yet below the watermark.
    pub(crate) fn newest_time_ms(&self) -> Option<i64> {
        self.times.back().map(|(_, time)| *time).filter(|time| *time > 0)
    }

    /// First offset that was not read.
    pub(crate) fn next_offset(&self) -> i64 {
        self.generation.ledger().next_offset()
    }

    /// Takes no more batches and stops dispatching those it has.
    pub(crate) fn stop_intake(&self) {
        self.dispatcher.abort();
    }

    /// The generation is over: nothing of it settles or commits any more.
    pub(crate) fn end(&self) {
        self.stop_intake();
        self.generation.end();
    }
}

async fn run(
    generation: Arc<Generation>,
    transform: Arc<dyn BatchTransform>,
    dispatch: Dispatch,
    mut work: mpsc::Receiver<(u64, Work)>,
) {
    let mut carry = transform.carry();
    loop {
        let close_after = carry.as_ref().and_then(|carry| transform.close_after(carry));
        let (sequence, work) = match next(&mut work, close_after, &generation).await {
            Next::Work(sequence, work) => (sequence, work),
            Next::Close => {
                close(&generation, &*transform, &dispatch, carry.as_mut()).await;
                continue;
            }
            Next::Gone => return,
        };
        let (mut records, ahead) = match work {
            Work::Running(worker) => match worker.await {
                Ok((records, ahead)) => (records, Some(ahead)),
                Err(failure) => {
                    // A panic in a parser is a bug; its lines stay unsettled rather than lost.
                    tracing::error!(
                        partition = %generation.partition, %failure, "transform failed"
                    );
                    return;
                }
            },
            Work::InTurn(records) => (records, None),
        };
        if ahead.is_some() && !generation.rules().pieces_reach_the_next_batch {
            carry = transform.carry();
        }
        let (lineage, from) = (&generation.lineage, Position::default());
        // As on a worker of its own: the partition stands still, and the log says why.
        let work = AssertUnwindSafe(|| match ahead {
            Some(ahead) => transform.accept(&records, lineage, &mut carry, ahead),
            None => transform.transform(&records, lineage, carry.as_mut(), from),
        });
        let Ok(mut transformed) = catch_unwind(work) else {
            tracing::error!(partition = %generation.partition, "transform failed");
            return;
        };
        let held = records.bytes.capacity() + held_bytes(&transformed);
        records.permit.shrink_to(held as u64);
        let records = Arc::new(records);
        let places = Arc::new(Semaphore::new(PARTS_MAX));
        let mut first_event = 0;
        loop {
            // Never closed, so an error cannot come.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            if !generation.is_alive() {
                return;
            }
            let rest = transformed.rest;
            let records_of_part = Arc::clone(&records);
            let part = Part { sequence, first_event, records: records_of_part, place };
            first_event = dispatch.dispatch(&generation, part, transformed).await;
            let Some(rest) = rest else { break };
            transformed = transform.transform(&records, &generation.lineage, carry.as_mut(), rest);
        }
    }
}

/// What a dispatcher does next.
enum Next {
    /// A batch has come.
    Work(u64, Work),
    /// The partition was read to its end, and waited: what is held of it is complete.
    Close,
    /// No batch will come any more.
    Gone,
}

async fn next(
    work: &mut mpsc::Receiver<(u64, Work)>,
    close_after: Option<Duration>,
    generation: &Generation,
) -> Next {
    loop {
        let is_over = generation.is_read_out();
        let wait = if is_over { close_after.map(|_| Duration::ZERO) } else { close_after };
        let waited = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            received = work.recv() => return match received {
                Some((sequence, work)) => Next::Work(sequence, work),
                None => Next::Gone,
            },
            () = generation.read_out(), if !is_over => {}
            () = waited => if is_over || generation.is_at_end() {
                return Next::Close;
            }
        }
    }
}

/// Makes events of what is held, as a batch without records of its own.
async fn close(
    generation: &Arc<Generation>,
    transform: &dyn BatchTransform,
    dispatch: &Dispatch,
    carry: Option<&mut Carry>,
) {
    let Some(carry) = carry else { return };
    let end = generation.ledger().next_offset();
    let mut records = RecordBatch::empty(generation.partition.clone());
    (records.epoch, records.next_offset) = (generation.epoch, end);
    let transformed = transform.close(&records, &generation.lineage, carry);
    let sequence = generation.read_nothing();
    let records = Arc::new(records);
    let part = Part { sequence, first_event: 0, records, place: None };
    dispatch.dispatch(generation, part, transformed).await;
}

/// Bytes that a part's events take.
fn held_bytes(transformed: &Transformed) -> usize {
    let events = &transformed.events;
    let events_bytes = events.events.len() * (size_of::<Event>() + size_of::<EventTarget>());
    events.bytes.capacity() + events_bytes + events.joined_bytes
}

#[cfg(test)]
mod tests {
    use riverhog_config::EnvelopeKind;
    use riverhog_rules::join::Join;
    use riverhog_rules::plan::Plan;
    use tokio::sync::Notify;

    use super::*;
    use crate::delivery_rules::DeliveryRules;
    use crate::ledger::{LedgerEvent, RoutedPart};
    use crate::share::Share;
    use crate::source::{Assigned, Partition, RecordEntry};
    use crate::telemetry::metrics::Metrics;
    use crate::transform::PlanTransform;

    /// A partition with one sink, which is ahead by 30 lines, and the dead letters.
    fn held() -> HeldPartition {
        held_by(Plan::default(), EnvelopeKind::None)
    }

    fn held_by(plan: Plan, envelope: EnvelopeKind) -> HeldPartition {
        let assigned = Assigned {
            partition: Partition { topic: Arc::from("train"), number: 3 },
            epoch: 1,
            position: 100,
            metadata: Vec::new(),
            end_offset: -1,
            incarnation: None,
        };
        let (lineage, rules) = (Arc::from("c0ffee00"), DeliveryRules::all());
        let settled = Arc::new(Notify::new());
        let generation = Generation::new(&assigned, lineage, vec![130, 100], settled, rules);
        let metrics = Metrics::new();
        let transform =
            Arc::new(PlanTransform::new(Arc::new(plan), envelope, 1 << 20, metrics.clone()));
        let dispatch = Dispatch {
            sinks: Vec::new().into(),
            dead_letters: None,
            share: Share::all(0),
            metrics,
        };
        HeldPartition::new(Arc::new(generation), transform, dispatch, 4, 0)
    }

    /// Reads the lines `first..next`; all of them are owed to the sink.
    fn read(held: &HeldPartition, first: i64, next: i64) -> u64 {
        let sequence = held.generation.read(first, next);
        let event = |offset| LedgerEvent { first_offset: offset, last_offset: offset, sinks: 1 };
        let events: Vec<LedgerEvent> = (first..next).map(event).collect();
        let part =
            RoutedPart { events: &events, open_from: None, pieces_from: None, is_last: true };
        held.generation.routed(sequence, part);
        sequence
    }

    /// Offset and metadata of the commit under `fingerprint`.
    #[track_caller]
    fn check(held: &HeldPartition, fingerprint: &str, expect: (i64, &str)) {
        let entry = held.commit_entry(fingerprint, None);
        assert_eq!((entry.offset, entry.metadata.as_str()), expect);
    }

    #[tokio::test]
    async fn a_swap_of_tables_leaves_own_watermarks_out_until_all_read_before_is_settled() {
        let mut held = held();
        check(&held, "old", (100, "rh1;f=old;w=u,0"));
        let before = read(&held, 100, 110);
        held.swap_tables();
        assert_eq!(held.generation.own_watermarks(), [100, 100]);
        check(&held, "new", (100, "rh1"));
        let after = read(&held, 110, 120);
        held.generation.settle(after, 0, 0..10);
        held.generation.settle(before, 0, 0..9);
        check(&held, "new", (109, "rh1"));
        assert_eq!(held.watermarks(), (109, None));
        held.generation.settle(before, 0, 9..10);
        check(&held, "new", (120, "rh1;f=new;w=0,0"));
        read(&held, 120, 130);
        check(&held, "new", (120, "rh1;f=new;w=0,a"));
    }

    /// A partition whose lines are joined, held from offset 100 and read to 102.
    async fn holding_a_traceback() -> HeldPartition {
        let plan = Plan { join: Some(Join::builtin()), ..Plan::default() };
        let mut held = held_by(plan, EnvelopeKind::None);
        read_two(&mut held, 100, ["Traceback (most recent call last):", "  File \"a\""]).await;
        held
    }

    /// Reads two records, the last that there are.
    async fn read_two(held: &mut HeldPartition, first: i64, texts: [&str; 2]) {
        let mut batch = RecordBatch::empty(held.generation.partition.clone());
        for (offset, text) in (first..).zip(texts) {
            let start = batch.bytes.len() as u32;
            batch.bytes.extend_from_slice(text.as_bytes());
            let value = Some((start, batch.bytes.len() as u32));
            let entry = RecordEntry { offset, time_ms: 1, key: None, value, headers: (0, 0) };
            batch.records.push(entry);
        }
        (batch.next_offset, batch.end_offset) = (first + 2, first + 2);
        held.take(batch).await;
    }

    /// Batches of it are transformed ahead, and again where a line is open in the one before.
    #[tokio::test(start_paused = true)]
    async fn pieces_of_a_line_are_held_as_lines_of_a_record_are() {
        let mut held = held_by(Plan::default(), EnvelopeKind::Auto);
        let piece = |tag: &str| format!("2024-05-15T10:23:45Z stdout {tag} x");
        let (open, last) = (piece("P"), piece("F"));
        read_two(&mut held, 100, [&last, &open]).await;
        read_two(&mut held, 102, [&open, &open]).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(held.generation.ledger().watermark(), 101);
        assert!(held.generation.ledger().owes_nothing());
        read_two(&mut held, 104, [&last, &open]).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(held.generation.ledger().watermark(), 105);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(held.generation.ledger().is_settled());
    }

    /// What is held keeps the watermark at its first line until the clock closes it at the end.
    #[tokio::test(start_paused = true)]
    async fn the_clock_closes_what_is_open_at_the_end_of_a_partition() {
        let held = holding_a_traceback().await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(held.generation.ledger().watermark(), 100);
        // Nobody waits for it at a stop.
        assert!(held.generation.ledger().owes_nothing());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(held.generation.ledger().is_settled());
        assert_eq!(held.generation.ledger().watermark(), 102);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_finite_source_closes_what_is_open_at_once() {
        let held = holding_a_traceback().await;
        held.generation.set_read_out();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(held.generation.ledger().is_settled());
    }

    /// More may still be there than was read.
    #[tokio::test(start_paused = true)]
    async fn the_clock_closes_nothing_in_the_middle_of_a_partition() {
        let held = holding_a_traceback().await;
        held.generation.set_end_offset(500);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(held.generation.ledger().watermark(), 100);
    }

    #[tokio::test]
    async fn a_swap_with_nothing_unsettled_changes_the_fingerprint_only() {
        let mut held = held();
        held.swap_tables();
        check(&held, "new", (100, "rh1;f=new;w=0,0"));
    }
}
