//! The topic: made, filled with the load, and deleted again.
//!
//! The invariant: once it is filled, the topic holds each line of the load once, at offsets from 0
//! without a gap; the counting of lost and repeated lines stands on that. Next stop: `row.rs`.

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::load::{Load, host_name};

const TIMEOUT: Duration = Duration::from_mins(1);

/// Counts the records that the broker did not take.
#[derive(Default)]
struct Refusals(AtomicU64);

impl ClientContext for Refusals {}

impl ProducerContext for Refusals {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_err() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn config(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config
}

fn admin(brokers: &str) -> Result<AdminClient<DefaultClientContext>> {
    config(brokers).create().context("making an admin client")
}

/// Makes the topic; records are kept whatever their time says.
pub(crate) async fn create(brokers: &str, topic: &str, load: Load) -> Result<()> {
    let new = NewTopic::new(topic, load.partitions as i32, TopicReplication::Fixed(1))
        .set("retention.ms", "-1");
    let made = admin(brokers)?.create_topics([&new], &AdminOptions::new()).await?;
    for result in made {
        if let Err((name, code)) = result {
            bail!("making topic {name}: {code}");
        }
    }
    Ok(())
}

/// Deletes the topic.
pub(crate) async fn delete(brokers: &str, topic: &str) -> Result<()> {
    admin(brokers)?.delete_topics(&[topic], &AdminOptions::new()).await?;
    Ok(())
}

/// Produces the load, lz4 and in order, and proves what [`ends`] then says. Blocks.
pub(crate) fn fill(brokers: &str, topic: &str, load: Load) -> Result<()> {
    let mut config = config(brokers);
    config
        .set("enable.idempotence", "true")
        .set("compression.type", "lz4")
        .set("linger.ms", "50")
        .set("batch.size", "1000000")
        .set("queue.buffering.max.messages", "400000");
    let producer: BaseProducer<Refusals> = config.create_with_context(Refusals::default())?;
    let mut line = String::new();
    for rid in 0..load.lines {
        load.write_line(rid, &mut line);
        let host = load.host(rid);
        let key = host_name(host);
        let mut record = BaseRecord::to(topic)
            .partition(load.partition(host))
            .timestamp(load.time_ms(rid))
            .key(&key)
            .payload(&line);
        while let Err((error, returned)) = producer.send(record) {
            match error {
                KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) => {
                    producer.poll(Duration::from_millis(20));
                    record = returned;
                }
                error => return Err(error).context("producing"),
            }
        }
        if rid % 1024 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(TIMEOUT).context("producing")?;
    let refused = producer.context().0.load(Ordering::Relaxed);
    ensure!(refused == 0, "the broker refused {refused} records");
    Ok(())
}

/// Per partition the offset after the last record; fails unless they add up to the load.
pub(crate) fn ends(brokers: &str, topic: &str, load: Load) -> Result<Vec<u64>> {
    let consumer: BaseConsumer = config(brokers).create().context("making a client")?;
    let mut ends = Vec::new();
    for partition in 0..load.partitions as i32 {
        let (start, end) = consumer.fetch_watermarks(topic, partition, TIMEOUT)?;
        ensure!(start == 0, "partition {partition} of {topic} begins at {start}");
        ends.push(u64::try_from(end)?);
    }
    let held: u64 = ends.iter().sum();
    ensure!(held == load.lines, "{topic} holds {held} records, not {}", load.lines);
    Ok(ends)
}
