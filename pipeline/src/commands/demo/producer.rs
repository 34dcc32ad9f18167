//! Sends the simulated job's records to the broker inside the process, no faster than the pipeline
//! settles them.
//!
//! Invariant: at most [`UNSETTLED_BYTES_MAX`] of a partition are unsettled, because the embedded
//! broker keeps 5 MiB of it and drops the oldest beyond. Next stop: `committed.rs`, which learns
//! what is settled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};

use super::job::{Job, JobRecord, PARTITIONS};
use crate::clock;

/// See the module documentation.
const UNSETTLED_BYTES_MAX: usize = 2 << 20;
/// What a record takes in the broker beside key, headers and value.
const RECORD_COST: usize = 40;
/// A wait for the broker or for the pipeline.
const WAIT: Duration = Duration::from_millis(5);
/// How long the last records may take to be acknowledged.
const FLUSH_MAX: Duration = Duration::from_secs(30);

/// What producer, pipeline and the person in front of it know of each other.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Lines handed to the broker.
    pub(super) lines: AtomicU64,
    /// Records handed to the broker, by partition: the offset after the last one.
    pub(super) ends: [AtomicI64; PARTITIONS as usize],
    /// What the group has committed, by partition.
    pub(super) committed: [AtomicI64; PARTITIONS as usize],
    /// Nothing more is to be produced.
    pub(super) stop: AtomicBool,
    /// Everything that is to be produced has been acknowledged.
    pub(super) finished: AtomicBool,
}

impl Progress {
    /// Whether everything is produced and the group has committed all of it.
    pub(super) fn is_settled(&self) -> bool {
        let pairs = self.ends.iter().zip(&self.committed);
        self.finished.load(Ordering::Acquire)
            && pairs.into_iter().all(|(end, committed)| {
                committed.load(Ordering::Acquire) >= end.load(Ordering::Acquire)
            })
    }

    /// Records that the group has committed.
    pub(super) fn settled_records(&self) -> i64 {
        self.committed.iter().map(|committed| committed.load(Ordering::Acquire)).sum()
    }

    /// Records that were produced.
    pub(super) fn records(&self) -> i64 {
        self.ends.iter().map(|end| end.load(Ordering::Acquire)).sum()
    }
}

/// Counts what the broker refuses.
#[derive(Debug, Default)]
struct Deliveries {
    failed: AtomicU64,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): Self::DeliveryOpaque) {
        if result.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends records until the job ends or the progress says stop. Blocks; for a thread of its own.
///
/// # Errors
/// In words, when the broker does not take a record.
pub(super) fn produce(
    brokers: &str,
    topic: &str,
    job: Job,
    rate: Option<u64>,
    progress: &Arc<Progress>,
) -> Result<(), String> {
    let producer: BaseProducer<Deliveries> = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("client.id", "riverhog-demo-job")
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("linger.ms", "5")
        .set("batch.size", "131072")
        .set("queue.buffering.max.kbytes", "8192")
        .create_with_context(Deliveries::default())
        .map_err(|error: KafkaError| error.to_string())?;
    let sending = Sending { producer, topic, rate, progress, unsettled: Default::default() };
    sending.run(job)
}

struct Sending<'a> {
    producer: BaseProducer<Deliveries>,
    topic: &'a str,
    /// Lines a second.
    rate: Option<u64>,
    progress: &'a Arc<Progress>,
    unsettled: [Unsettled; PARTITIONS as usize],
}

/// Sizes of records that are not committed yet, the oldest first.
#[derive(Default)]
struct Unsettled {
    first_offset: i64,
    sizes: VecDeque<u32>,
    bytes: usize,
}

impl Unsettled {
    fn push(&mut self, bytes: usize) {
        self.sizes.push_back(bytes as u32);
        self.bytes += bytes;
    }

    fn settle_below(&mut self, offset: i64) {
        while self.first_offset < offset
            && let Some(bytes) = self.sizes.pop_front()
        {
            self.first_offset += 1;
            self.bytes -= bytes as usize;
        }
    }
}

impl Sending<'_> {
    fn run(mut self, mut job: Job) -> Result<(), String> {
        let begun = clock::instant();
        let mut lines = 0;
        while !self.progress.stop.load(Ordering::Acquire) {
            if let Some(rate) = self.rate {
                let due = begun.elapsed().as_millis() as u64 * rate / 1_000;
                if lines >= due {
                    self.producer.poll(WAIT);
                    continue;
                }
            }
            let Some(record) = job.next(clock::now_ms()) else { break };
            lines += record.lines;
            self.wait_for_room(&record);
            self.send(&record)?;
            self.progress.lines.fetch_add(record.lines, Ordering::AcqRel);
        }
        self.producer.flush(FLUSH_MAX).map_err(|error| error.to_string())?;
        self.check()?;
        self.progress.finished.store(true, Ordering::Release);
        Ok(())
    }

    fn wait_for_room(&mut self, record: &JobRecord) {
        let partition = record.partition as usize;
        let unsettled = &mut self.unsettled[partition];
        while unsettled.bytes > UNSETTLED_BYTES_MAX && !self.progress.stop.load(Ordering::Acquire) {
            self.producer.poll(WAIT);
            unsettled.settle_below(self.progress.committed[partition].load(Ordering::Acquire));
        }
    }

    fn send(&mut self, record: &JobRecord) -> Result<(), String> {
        let mut bytes = RECORD_COST + record.key.len() + record.value.len();
        let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
        for (name, value) in &record.headers {
            headers = headers.insert(Header { key: name, value: Some(value) });
            bytes += name.len() + value.len() + 8;
        }
        let mut message = BaseRecord::to(self.topic)
            .partition(record.partition)
            .key(&record.key)
            .payload(&record.value)
            .headers(headers);
        loop {
            match self.producer.send(message) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    message = back;
                    self.producer.poll(WAIT);
                    self.check()?;
                }
                Err((error, _)) => return Err(error.to_string()),
            }
        }
        self.producer.poll(Duration::ZERO);
        let partition = record.partition as usize;
        self.unsettled[partition].push(bytes);
        self.progress.ends[partition].fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        match self.producer.context().failed.load(Ordering::Relaxed) {
            0 => Ok(()),
            failed => Err(format!("the embedded broker refused {failed} records")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_makes_room() {
        let mut unsettled = Unsettled::default();
        for bytes in [10, 20, 30] {
            unsettled.push(bytes);
        }
        unsettled.settle_below(2);
        assert_eq!((unsettled.bytes, unsettled.first_offset), (30, 2));
        unsettled.settle_below(1);
        unsettled.settle_below(9);
        assert_eq!((unsettled.bytes, unsettled.first_offset), (0, 3));
    }

    #[test]
    fn settled_means_produced_and_committed() {
        let progress = Progress::default();
        assert!(!progress.is_settled());
        progress.finished.store(true, Ordering::Release);
        assert!(progress.is_settled());
        progress.ends[2].store(5, Ordering::Release);
        assert!(!progress.is_settled());
        progress.committed[2].store(5, Ordering::Release);
        assert!(progress.is_settled());
    }
}
