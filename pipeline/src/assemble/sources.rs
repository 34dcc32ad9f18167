//! Sources from their settings.
//!
//! Invariant: all Kafka sources of a process share one prefetch budget. Next stop:
//! [`crate::source`].

use std::path::PathBuf;
use std::time::Duration;

use riverhog_config::{KafkaSource, Source, SourceKind, Start, Topics};

use super::AssembleError;
use crate::memory::Memory;
use crate::share::Share;
use crate::source::SourceLink;
use crate::source::error::SourceError;
use crate::source::file::{self, FileSettings};
use crate::source::kafka::{self, KafkaSettings};

/// What a source may take.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    /// The budget.
    pub(super) memory: &'a Memory,
    /// Kafka sources of the process, which share the prefetch.
    pub(super) kafka_sources: u64,
    /// How long partitions that go wait for their last commits.
    pub(super) revoke_wait: Duration,
}

/// Starts a source for a share of the sinks, given with all their names; for Kafka this waits until
/// a broker was reached, for a pipe until its other end is open.
pub(super) async fn start(
    source: &Source,
    room: Room<'_>,
    share: (Share, &[String]),
) -> Result<SourceLink, AssembleError> {
    let memory = room.memory;
    let started = match &source.kind {
        SourceKind::Kafka(kafka) => {
            let settings = kafka_settings(source, kafka, room, share);
            kafka::spawn(settings, memory.clone()).await
        }
        SourceKind::File(file) => file_source(source, Some(file.path.clone()), memory).await,
        SourceKind::Stdin => file_source(source, None, memory).await,
    };
    started.map_err(|cause| AssembleError::Source { source_name: source.name.clone(), cause })
}

async fn file_source(
    source: &Source,
    path: Option<PathBuf>,
    memory: &Memory,
) -> Result<SourceLink, SourceError> {
    let lineage = source.lineage.clone();
    let settings = FileSettings { path, lineage, batch_bytes: memory.batch_bytes() };
    file::spawn(&settings, memory.clone()).await
}

/// The settings of a Kafka source.
pub(super) fn kafka_settings(
    source: &Source,
    kafka: &KafkaSource,
    room: Room<'_>,
    (share, sink_names): (Share, &[String]),
) -> KafkaSettings {
    let properties = kafka.properties.iter();
    let names: Vec<&str> = sink_names.iter().map(String::as_str).collect();
    KafkaSettings {
        brokers: kafka.brokers.clone(),
        topics: match &kafka.topics {
            Topics::List(names) => kafka::Topics::List(names.clone()),
            Topics::Pattern(pattern) => kafka::Topics::Pattern(pattern.clone()),
        },
        group: share.group(&kafka.group, &names),
        start: match &kafka.start {
            Start::Earliest => kafka::Start::Earliest,
            Start::Latest => kafka::Start::Latest,
            Start::Timestamp(time_ms) => kafka::Start::Timestamp(*time_ms),
            Start::Group(group) => kafka::Start::Group(group.clone()),
        },
        properties: properties
            .map(|(name, value)| (name.clone(), value.reveal().clone()))
            .collect(),
        lineage: source.lineage.clone(),
        prefetch_bytes: room.memory.prefetch_bytes() / room.kafka_sources.max(1),
        batch_bytes: room.memory.batch_bytes(),
        revoke_wait: room.revoke_wait,
        sinks: share.bits(),
        beside: share.beside(&kafka.group, &names),
    }
}
