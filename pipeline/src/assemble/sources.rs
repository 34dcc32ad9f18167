//! Sources from their settings.
//!
//! Invariant: all Kafka sources of a process share one prefetch budget. Next stop:
//! [`crate::source`].

use std::path::PathBuf;
use std::time::Duration;

use riverhog_config::{KafkaSource, Source, SourceKind, Start, Topics};

use super::AssembleError;
use crate::memory::Memory;
use crate::source::SourceLink;
use crate::source::error::SourceError;
use crate::source::file::{self, FileSettings};
use crate::source::kafka::{self, KafkaSettings};

/// Starts a source; for Kafka this waits until a broker was reached, for a pipe until its other end
/// is open.
pub(super) async fn start(
    source: &Source,
    memory: &Memory,
    kafka_sources: u64,
    revoke_wait: Duration,
) -> Result<SourceLink, AssembleError> {
    let started = match &source.kind {
        SourceKind::Kafka(kafka) => {
            let settings = kafka_settings(source, kafka, memory, kafka_sources, revoke_wait)?;
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

fn kafka_settings(
    source: &Source,
    kafka: &KafkaSource,
    memory: &Memory,
    kafka_sources: u64,
    revoke_wait: Duration,
) -> Result<KafkaSettings, AssembleError> {
    let properties = kafka.properties.iter();
    Ok(KafkaSettings {
        brokers: kafka.brokers.clone(),
        topics: match &kafka.topics {
            Topics::List(names) => kafka::Topics::List(names.clone()),
            Topics::Pattern(pattern) => kafka::Topics::Pattern(pattern.clone()),
        },
        group: kafka.group.clone(),
        start: match &kafka.start {
            Start::Earliest => kafka::Start::Earliest,
            Start::Latest => kafka::Start::Latest,
            Start::Timestamp(time_ms) => kafka::Start::Timestamp(*time_ms),
            Start::Group(group) => {
                let setting = format!("[sources.{}] start = \"group:{group}\"", source.name);
                return Err(AssembleError::Later { setting });
            }
        },
        properties: properties
            .map(|(name, value)| (name.clone(), value.reveal().clone()))
            .collect(),
        lineage: source.lineage.clone(),
        prefetch_bytes: memory.prefetch_bytes() / kafka_sources.max(1),
        batch_bytes: memory.batch_bytes(),
        revoke_wait,
    })
}
