//! The consumer that riverhog is compared with: its own source, which takes messages by the batch
//! from partitions' own queues and copies them into one buffer, with nothing behind it.
//!
//! The invariant: a batch is thrown away as soon as it comes, so memory never holds the source up.

use anyhow::{Context as _, Result, bail, ensure};
use riverhog::memory::Memory;
use riverhog::source::kafka::{self, KafkaSettings, Start, Topics};
use riverhog::source::{SourceCommand, SourceEvent, SourceLink};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::consumer::Args;

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(consume(args))
}

async fn consume(args: &Args) -> Result<()> {
    let memory = Memory::new(args.memory);
    let settings = KafkaSettings {
        brokers: vec![args.brokers.clone()],
        topics: Topics::List(vec![args.topic.clone()]),
        group: args.group.clone(),
        start: Start::Earliest,
        sinks: 1,
        beside: Vec::new(),
        properties: BTreeMap::new(),
        lineage: None,
        prefetch_bytes: memory.prefetch_bytes(),
        batch_bytes: memory.batch_bytes(),
        revoke_wait: Duration::from_secs(5),
    };
    let link = kafka::spawn(settings, memory).await.context("starting the source")?;
    // What numbers generations must live as long as the source.
    let SourceLink { mut events, commands, epochs: _epochs, .. } = link;
    let mut lines = 0;
    while lines < args.lines {
        match events.recv().await.context("the source has ended")? {
            SourceEvent::Records(batch) => lines += batch.records.len() as u64,
            SourceEvent::Revoked { reply, .. } => {
                ensure!(reply.send(Vec::new()).is_ok(), "the source does not wait");
            }
            SourceEvent::Fatal(why) => bail!(why),
            _ => {}
        }
    }
    commands.send(SourceCommand::Close).await.context("the source has ended")?;
    while events.recv().await.is_some() {}
    Ok(())
}
