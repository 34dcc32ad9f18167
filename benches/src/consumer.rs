//! A bare consumer: librdkafka with riverhog's properties, one message after the other through the
//! safe interface, nothing done with them. What every program on librdkafka pays at least, but for
//! those that take messages by the batch: see `source.rs`.
//!
//! The invariant: it ends once it has seen as many messages as the topic holds.

use anyhow::{Context as _, Result};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use std::time::Duration;

/// What a consuming child must know.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    pub(crate) brokers: String,
    #[arg(long)]
    pub(crate) topic: String,
    #[arg(long)]
    pub(crate) group: String,
    #[arg(long)]
    pub(crate) lines: u64,
    #[arg(long)]
    pub(crate) partitions: u64,
    /// Bytes that riverhog would be given as `memory`
    #[arg(long)]
    pub(crate) memory: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // As riverhog's source sizes its prefetch.
    let prefetch = riverhog::memory::Memory::new(args.memory).prefetch_bytes();
    let share = prefetch / args.partitions.max(1);
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &args.brokers)
        .set("group.id", &args.group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("fetch.queue.backoff.ms", "5")
        .set("queued.max.messages.kbytes", (share / 2 / 1024).clamp(16, 64 << 10).to_string())
        .set("queued.min.messages", (share / 512).clamp(64, 50_000).to_string())
        .set("fetch.message.max.bytes", (share / 4).clamp(16 << 10, 1 << 20).to_string())
        .set("fetch.max.bytes", (prefetch / 4).clamp(1 << 20, 50 << 20).to_string());
    let consumer: BaseConsumer = config.create().context("making a consumer")?;
    consumer.subscribe(&[&args.topic]).context("subscribing")?;
    let mut lines = 0;
    while lines < args.lines {
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            message.context("consuming")?;
            lines += 1;
        }
    }
    Ok(())
}
