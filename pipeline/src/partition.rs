//! One held partition: its generation, the queue of its batches, and the dispatcher that takes them
//! in order from the transform to the sinks.
//!
//! Invariant: batches are transformed on any worker and dispatched in the order they were read;
//! when the generation ends its dispatcher is stopped. Next stop: [`crate::dispatch`].

use std::collections::VecDeque;
use std::sync::Arc;

use riverhog_rules::event::{Event, EventTarget};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::commit;
use crate::dispatch::{Dispatch, Part};
use crate::generation::Generation;
use crate::source::{CommitEntry, RecordBatch};
use crate::transform::{BatchTransform, Position, Transformed};

/// Parts of one batch on their way at once: a record of a million lines is taken to the sinks piece
/// by piece, whatever the budget says of its raw bytes.
const PARTS_MAX: usize = 2;

/// A batch on its way: transformed already or being transformed, or waiting for the one before.
enum Work {
    /// Runs on its own worker.
    Running(JoinHandle<(RecordBatch, Transformed)>),
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
    /// When the committed offset last moved, milliseconds by the wall clock.
    pub(crate) moved_at_ms: i64,
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
        let is_serial = transform.carry().is_some();
        let dispatcher =
            tokio::spawn(run(Arc::clone(&generation), Arc::clone(&transform), dispatch, work));
        HeldPartition {
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
                let transformed = transform.transform(&batch, &lineage, None, Position::default());
                (batch, transformed)
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

    fn commit_entry(&self, fingerprint: &str, start_time_ms: Option<i64>) -> CommitEntry {
        let ledger = self.generation.ledger();
        let offset = ledger.watermark();
        let watermarks: Vec<i64> = (0..self.generation.own_watermarks.len())
            .map(|sink| ledger.sink_watermark(sink).max(self.generation.own_watermarks[sink]))
            .collect();
        let own = (!self.plain_metadata).then_some(&watermarks[..]);
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
        self.times.front().map(|(_, time)| *time)
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
    while let Some((sequence, work)) = work.recv().await {
        let (mut records, mut transformed) = match work {
            Work::Running(worker) => match worker.await {
                Ok(done) => done,
                Err(failure) => {
                    // A panic in a parser is a bug; its lines stay unsettled rather than lost.
                    tracing::error!(
                        partition = %generation.partition, %failure, "transform failed"
                    );
                    return;
                }
            },
            Work::InTurn(records) => {
                let lineage = &generation.lineage;
                let transformed =
                    transform.transform(&records, lineage, carry.as_mut(), Position::default());
                (records, transformed)
            }
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

/// Bytes that a part's events take.
fn held_bytes(transformed: &Transformed) -> usize {
    let events = &transformed.events;
    events.bytes.capacity() + events.events.len() * (size_of::<Event>() + size_of::<EventTarget>())
}
