//! Hands each sink its part of a routed batch, and tells the ledger who owes what.
//!
//! Invariant: the ledger knows a batch's debts before any sink does, and an event is skipped for a
//! sink only if all its lines lie below that sink's own watermark, or the sink is another group's.
//! Next stop: [`crate::sink`].

use std::sync::Arc;

use riverhog_rules::event::{DeadReason, Disposition, EventBuffer};
use tokio::sync::OwnedSemaphorePermit;

use crate::generation::Generation;
use crate::ledger::{LedgerEvent, RoutedPart};
use crate::share::Share;
use crate::sink::dead_letter::{DeadLetter, DeadLetters};
use crate::sink::{Batch, Delivery, SinkHandle, SinkMessage};
use crate::source::RecordBatch;
use crate::telemetry::metrics::Metrics;
use crate::transform::Transformed;

/// Where a dispatcher sends.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// The sinks, in the configuration's order.
    pub sinks: Arc<[SinkHandle]>,
    /// The dead-letter writer; its number in the ledger comes after the last sink's.
    pub dead_letters: Option<DeadLetters>,
    /// Which of them are this process's.
    pub share: Share,
    /// Counters.
    pub metrics: Metrics,
}

/// A batch to dispatch, or the next part of it.
#[derive(Debug)]
pub struct Part {
    /// Its number in the generation's ledger.
    pub sequence: u64,
    /// The ledger's number of its first event.
    pub first_event: u32,
    /// What it was made of.
    pub records: Arc<RecordBatch>,
    /// Its place among the parts of its batch that may be on their way at once.
    pub place: Option<OwnedSemaphorePermit>,
}

/// A line that goes to the dead letters without meeting a sink.
struct Dead {
    event: u32,
    sink: Option<usize>,
    reason: &'static str,
}

/// Who owes what of a batch.
struct Debts {
    events: Vec<LedgerEvent>,
    deliveries: Vec<Vec<(u32, u32)>>,
    skipped: Vec<u64>,
    dead: Vec<Dead>,
}

impl Dispatch {
    /// Dispatches a batch, or the next part of it; waits while a sink's queue is full. Returns the
    /// ledger's number of the first event after it.
    pub async fn dispatch(
        &self,
        generation: &Arc<Generation>,
        part: Part,
        transformed: Transformed,
    ) -> u32 {
        let Transformed { events, open_from, pieces_from, rest } = transformed;
        let Part { sequence, first_event, records, place } = part;
        let debts = self.debts(&events, generation.own_watermarks());
        let (events_of_part, is_last) = (&debts.events[..], rest.is_none());
        let routed = RoutedPart { events: events_of_part, open_from, pieces_from, is_last };
        generation.routed(sequence, routed);
        let next_event = first_event + debts.events.len() as u32;
        let generation = Arc::clone(generation);
        let batch = Arc::new(Batch { sequence, first_event, generation, events, records, place });
        for (sink, events) in self.sinks.iter().zip(debts.deliveries) {
            if events.is_empty() {
                continue;
            }
            let delivery = Delivery { batch: Arc::clone(&batch), events };
            if sink.queue.send(SinkMessage::Deliver(delivery)).await.is_err() {
                tracing::debug!(sink = &*sink.name, "the sink has gone");
            }
        }
        for (sink, skipped) in self.sinks.iter().zip(debts.skipped) {
            if skipped > 0 {
                self.metrics.sink_lines(&sink.name, "skipped", skipped);
            }
        }
        for dead in debts.dead {
            self.bury(&batch, &dead).await;
        }
        next_event
    }

    fn debts(&self, buffer: &EventBuffer, own_watermarks: &[i64]) -> Debts {
        let sink_count = self.sinks.len();
        let mut debts = Debts {
            events: Vec::with_capacity(buffer.events.len()),
            deliveries: vec![Vec::new(); sink_count],
            skipped: vec![0; sink_count],
            dead: Vec::new(),
        };
        for (index, event) in buffer.events.iter().enumerate() {
            let index = index as u32;
            let mut sinks = 0u64;
            match event.disposition {
                Disposition::Dropped(_) => {}
                Disposition::DeadLetter(reason) => {
                    let is_here = self.share.has_unrouted();
                    if is_here && event.last_offset >= own_watermarks[sink_count] {
                        sinks = 1 << sink_count;
                        debts.dead.push(Dead { event: index, sink: None, reason: word(reason) });
                    }
                }
                Disposition::Routed => {
                    let range = event.targets.0 as usize..event.targets.1 as usize;
                    for target in &buffer.targets[range] {
                        let sink = usize::from(target.sink);
                        if !self.share.has(sink) {
                            continue;
                        }
                        if event.last_offset < own_watermarks[sink] {
                            debts.skipped[sink] += 1;
                            continue;
                        }
                        sinks |= 1 << sink;
                        match target.result {
                            Ok(destination) => debts.deliveries[sink].push((index, destination)),
                            Err(reason) => {
                                let reason = word(reason);
                                debts.dead.push(Dead { event: index, sink: Some(sink), reason });
                            }
                        }
                    }
                }
            }
            let (first_offset, last_offset) = (event.first_offset, event.last_offset);
            debts.events.push(LedgerEvent { first_offset, last_offset, sinks });
        }
        debts
    }

    async fn bury(&self, batch: &Arc<Batch>, dead: &Dead) {
        let Some(dead_letters) = &self.dead_letters else {
            tracing::error!(
                partition = %batch.records.partition, reason = dead.reason,
                "a line needs a dead letter and there is no [dead_letter]: the partition stands still"
            );
            return;
        };
        let letter = DeadLetter {
            batch: Arc::clone(batch),
            event: dead.event,
            sink: dead.sink.unwrap_or(self.sinks.len()),
            sink_name: dead.sink.map(|sink| Arc::clone(&self.sinks[sink].name)),
            destination: String::new(),
            reason: dead.reason,
            detail: String::new(),
        };
        dead_letters.send(letter).await;
    }
}

/// The metric word of a reason.
fn word(reason: DeadReason) -> &'static str {
    reason.as_str()
}
