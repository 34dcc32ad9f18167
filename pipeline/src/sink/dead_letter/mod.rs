//! Dead letters: lines a store will never take, and lines no route takes, with their origin, the
//! reason, and their raw bytes.
//!
//! Invariant: a line settles only after its dead letter was delivered. Next stop:
//! [`crate::ledger`].

pub mod kafka;
pub mod letter;
pub mod local;
pub mod s3;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use self::letter::Letter;
use super::{Batch, RetrySettings};
use crate::backoff::{Backoff, Jitter};
use crate::clock;
use crate::delivery_rules::DeliveryRules;
use crate::generation::SinkNumber;
use crate::telemetry::metrics::Metrics;

/// Letters waiting to be written.
const QUEUE_LETTERS: usize = 1024;
/// Letters written in one go.
const WRITE_LETTERS: usize = 256;

/// A line on its way to the dead letters.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The batch it is in.
    pub batch: Arc<Batch>,
    /// Its event number.
    pub event: u32,
    /// The sink that refused it, or the dead-letter writer's own number when no route took it.
    pub sink: SinkNumber,
    /// That sink's name; `None` when no route took it.
    pub sink_name: Option<Arc<str>>,
    /// Index or bucket and prefix it was meant for; empty when it has none.
    pub destination: String,
    /// A closed word for metrics: `refused`, `too_large`, `no_route`, `missing_value`, `unparsed`.
    pub reason: &'static str,
    /// What the store said.
    pub detail: String,
}

/// What became of one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LetterOutcome {
    /// The target has it.
    Done,
    /// Try again later.
    Retry(String),
    /// Larger than the target takes: shorten it to about this many bytes.
    TooLarge(usize),
    /// The target takes nothing until somebody acts.
    Halt(String),
}

/// A boxed future, so that targets can be swapped at run time.
pub type Writing<'a> = Pin<Box<dyn Future<Output = Vec<LetterOutcome>> + Send + 'a>>;

/// Where dead letters go.
pub trait DeadLetterTarget: Send + Sync + 'static {
    /// Writes letters and answers one outcome each, in order.
    fn write<'a>(&'a self, letters: &'a [Letter]) -> Writing<'a>;

    /// How long a letter may wait for others that are written with it.
    fn linger(&self) -> Duration {
        Duration::ZERO
    }
}

/// The way to the dead-letter writer.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    queue: mpsc::Sender<DeadLetter>,
}

impl DeadLetters {
    /// Starts the writer.
    pub fn spawn(
        target: Arc<dyn DeadLetterTarget>,
        retry: RetrySettings,
        jitter: Arc<Jitter>,
        metrics: Metrics,
        rules: DeliveryRules,
    ) -> DeadLetters {
        let (queue, letters) = mpsc::channel(QUEUE_LETTERS);
        let writer = Writer { target, retry, jitter, metrics, rules };
        tokio::spawn(writer.run(letters));
        DeadLetters { queue }
    }

    /// Hands a line over; waits while the queue is full. The writer settles it.
    pub async fn send(&self, letter: DeadLetter) {
        if self.queue.send(letter).await.is_err() {
            // The writer ends only with the process; the line stays unsettled and is read again.
            tracing::debug!("the dead-letter writer has gone");
        }
    }
}

struct Writer {
    target: Arc<dyn DeadLetterTarget>,
    retry: RetrySettings,
    jitter: Arc<Jitter>,
    metrics: Metrics,
    rules: DeliveryRules,
}

impl Writer {
    async fn run(self, mut queue: mpsc::Receiver<DeadLetter>) {
        let mut waiting = Vec::new();
        let linger = self.target.linger();
        while queue.recv_many(&mut waiting, WRITE_LETTERS).await > 0 {
            let until = clock::instant() + linger;
            while waiting.len() < WRITE_LETTERS && !linger.is_zero() {
                let room = WRITE_LETTERS - waiting.len();
                let more = queue.recv_many(&mut waiting, room);
                if !matches!(tokio::time::timeout_at(until, more).await, Ok(1..)) {
                    break;
                }
            }
            if !self.rules.dead_letter_before_settling {
                waiting.iter().for_each(settle);
            }
            self.write(std::mem::take(&mut waiting)).await;
        }
    }

    /// Writes until each letter is delivered or its generation is over.
    async fn write(&self, dead: Vec<DeadLetter>) {
        let mut letters: Vec<(DeadLetter, Letter)> = dead
            .into_iter()
            .map(|dead| {
                let letter = Letter::of(&dead);
                (dead, letter)
            })
            .collect();
        let mut backoff = Backoff::new(self.retry.base, self.retry.max);
        loop {
            letters.retain(|(dead, _)| dead.batch.generation.is_alive());
            if letters.is_empty() {
                return;
            }
            let texts: Vec<Letter> = letters.iter().map(|(_, letter)| letter.clone()).collect();
            let outcomes = self.target.write(&texts).await;
            let (left, why) = self.take(letters, outcomes);
            letters = left;
            if let Some(why) = why {
                tracing::warn!(reason = %why, "dead letters could not be written; trying again");
                tokio::time::sleep(backoff.next(&self.jitter, None)).await;
            }
        }
    }

    /// Settles what is done; returns what is left, and why it must wait.
    fn take(
        &self,
        letters: Vec<(DeadLetter, Letter)>,
        outcomes: Vec<LetterOutcome>,
    ) -> (Vec<(DeadLetter, Letter)>, Option<String>) {
        let mut left = Vec::new();
        let mut why = None;
        let mut done: BTreeMap<&'static str, u64> = BTreeMap::new();
        for ((dead, mut letter), outcome) in letters.into_iter().zip(outcomes) {
            match outcome {
                LetterOutcome::Done => {
                    *done.entry(dead.reason).or_default() += 1;
                    settle(&dead);
                }
                LetterOutcome::Retry(reason) | LetterOutcome::Halt(reason) => {
                    why = Some(reason);
                    left.push((dead, letter));
                }
                LetterOutcome::TooLarge(limit) => {
                    letter = letter.shortened(&dead, limit);
                    left.push((dead, letter));
                }
            }
        }
        for (reason, count) in done {
            self.metrics.dead_letter_lines(reason, count);
        }
        (left, why)
    }
}

fn settle(dead: &DeadLetter) {
    dead.batch.settle(dead.sink, [dead.event]);
}
