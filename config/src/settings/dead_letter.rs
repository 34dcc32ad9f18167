//! Where lines go that no sink may hold: `[dead_letter]`. Invariant: present whenever the
//! configuration can produce a dead letter (`checks/dead_letters.rs`). Next: `general.rs`.

use super::{S3Sink, Secret};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The target of dead letters.
#[derive(Debug, Clone, PartialEq)]
pub enum DeadLetter {
    /// A topic, keyed by event id.
    Kafka(KafkaDeadLetter),
    /// A folder.
    Local(LocalDeadLetter),
    /// A bucket: reached as an archive in one is, with a fixed bucket and prefix.
    S3(Box<S3Sink>),
}

/// Dead letters in a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct KafkaDeadLetter {
    /// `host:port` of at least one broker; the source's where the file names none.
    pub brokers: Vec<String>,
    /// The topic; never one that a source of the same file reads.
    pub topic: String,
    /// librdkafka properties of the producer; with the source's brokers come its properties of
    /// connection and security.
    pub properties: BTreeMap<String, Secret<String>>,
}

/// Dead letters in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalDeadLetter {
    /// The folder; created when missing.
    pub path: PathBuf,
}
