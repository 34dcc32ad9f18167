//! Sinks: where events go. This file is the seam between the driver and a sink; a sink is a task
//! that takes [`Delivery`]s from a bounded channel and settles them in the generation's ledger.
//!
//! Invariant: a sink settles a line only after the store or the dead-letter target has it, or gives
//! it up to be read again; it never drops one. Next stop: [`crate::ledger`], by way of
//! [`crate::generation::Generation::settle`].

pub mod archive;
pub mod dead_letter;
pub mod destination;
pub mod elasticsearch;
pub mod outcome;
pub(crate) mod refusals;
#[cfg(test)]
pub(crate) mod test_server;
pub mod tls;

use std::sync::Arc;
use std::time::Duration;

use riverhog_rules::step::Share;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::backoff::{Backoff, Jitter};
use crate::buffers::Events;
use crate::delivery_rules::DeliveryRules;
use crate::generation::{Generation, SinkNumber};
use crate::memory::Memory;
use crate::source::RecordBatch;
use crate::telemetry::health::Health;
use crate::telemetry::metrics::Metrics;

/// Deliveries waiting in front of a sink; bytes are bounded by the memory budget.
pub const QUEUE_BATCHES: usize = 16;

/// A routed batch, or one part of it, shared by the sinks that owe its events.
#[derive(Debug)]
pub struct Batch {
    /// Its number in the generation's ledger.
    pub sequence: u64,
    /// The ledger's number of this part's first event.
    pub first_event: u32,
    /// The generation it was read for.
    pub generation: Arc<Generation>,
    /// Documents, ids and targets.
    pub events: Events,
    /// The records they were made of, kept for dead letters.
    pub records: Arc<RecordBatch>,
    /// Held until every sink has let go of this part; see [`crate::partition`].
    pub place: Option<OwnedSemaphorePermit>,
}

impl Batch {
    /// Events of this part, by number in it, are settled in a sink.
    pub fn settle(&self, sink: SinkNumber, events: impl IntoIterator<Item = u32>) {
        let events = events.into_iter().map(|event| self.first_event + event);
        self.generation.settle(self.sequence, sink, events);
    }
}

/// What one sink owes of a batch.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The batch.
    pub batch: Arc<Batch>,
    /// Events by number, ascending, each with its destination (see
    /// [`riverhog_rules::event::Destinations`]).
    pub events: Vec<(u32, u32)>,
}

/// What a sink is told.
#[derive(Debug)]
pub enum SinkMessage {
    /// Deliver these.
    Deliver(Delivery),
    /// Send what is held without waiting for more: the process stops or reloads.
    Flush,
    /// Generations ended: let go of what belongs to them.
    Ended,
}

/// The driver's end of a sink.
#[derive(Debug, Clone)]
pub struct SinkHandle {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Where deliveries go; bounded.
    pub queue: mpsc::Sender<SinkMessage>,
}

impl SinkHandle {
    /// The place of a sink that another group runs: nobody is there.
    pub fn absent(name: &str) -> SinkHandle {
        let (queue, _) = mpsc::channel(1);
        SinkHandle { name: name.into(), queue }
    }
}

/// Tells the driver that a destination works again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cured {
    /// The sink.
    pub sink: SinkNumber,
    /// The destination: an index, a bucket, or [`destination::WHOLE_SINK`].
    pub destination: String,
}

/// How a sink waits between tries.
#[derive(Debug, Clone)]
pub struct RetrySettings {
    /// First wait.
    pub base: Duration,
    /// Longest wait.
    pub max: Duration,
    /// Between two probes of a halted destination.
    pub probe_interval: Duration,
}

impl Default for RetrySettings {
    fn default() -> RetrySettings {
        RetrySettings {
            base: Duration::from_millis(200),
            max: Duration::from_secs(30),
            probe_interval: Duration::from_secs(5),
        }
    }
}

/// What every sink is given.
#[derive(Debug, Clone)]
pub struct SinkContext {
    /// Its number.
    pub number: SinkNumber,
    /// Its name.
    pub name: Arc<str>,
    /// Waits.
    pub retry: RetrySettings,
    /// Randomness of the waits.
    pub jitter: Arc<Jitter>,
    /// The budget.
    pub memory: Memory,
    /// Where refused lines go; `None`: a refusal halts the destination.
    pub dead_letters: Option<dead_letter::DeadLetters>,
    /// After how long a halted destination's lines go to the dead letters; `None`: never.
    pub halt_after: Option<Duration>,
    /// When more of a destination's lines are refused for one reason, it halts.
    pub halt_above: Share,
    /// Told when a halted destination works again; bounded.
    pub cured: mpsc::Sender<Cured>,
    /// Counters.
    pub metrics: Metrics,
    /// Readiness, which names what is halted.
    pub health: Health,
    /// The rules.
    pub rules: DeliveryRules,
}

impl SinkContext {
    /// A destination halts, or works again: metrics and readiness say so.
    pub(crate) fn show_halt(&self, destination: &str, halt: &destination::Halt, halted: bool) {
        self.metrics.sink_halted(&self.name, destination, halt.reason, halted);
        self.health.set_halted(&self.name, destination, halt.reason, &halt.detail, halted);
    }

    /// A fresh sequence of waits.
    pub fn backoff(&self) -> Backoff {
        Backoff::new(self.retry.base, self.retry.max)
    }
}
