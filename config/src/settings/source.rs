//! Where lines come from: `[sources.NAME]`. Invariant: a Kafka source's properties hold nothing
//! that would commit, seek or assign behind the ledger's back (`kafka_properties.rs` refuses
//! those). Next: `sink.rs`.

use super::Secret;
use crate::EnvelopeKind;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One source of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The NAME of `[sources.NAME]`.
    pub name: String,
    /// Which kind of source, with what only that kind needs.
    pub kind: SourceKind,
    /// What is taken off a record before its lines are read.
    pub envelope: EnvelopeKind,
    /// A line longer than this is cut, tagged and counted; 1 KiB to 64 MiB.
    pub line_max_bytes: usize,
    /// Added to the lineage of every event id, to tell apart what the cluster id cannot.
    pub lineage: Option<String>,
}

/// The kinds of source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// A Kafka consumer group.
    Kafka(KafkaSource),
    /// A file, read once from its beginning to its end.
    File(FileSource),
    /// Standard input, read to its end.
    Stdin,
}

/// A Kafka consumer group.
#[derive(Debug, Clone, PartialEq)]
pub struct KafkaSource {
    /// `host:port` of at least one broker.
    pub brokers: Vec<String>,
    /// What is subscribed to.
    pub topics: Topics,
    /// The consumer group.
    pub group: String,
    /// Where a group that has never committed begins.
    pub start: Start,
    /// librdkafka properties as given, already free of those that would break the promise.
    pub properties: BTreeMap<String, Secret<String>>,
}

/// What a Kafka source subscribes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topics {
    /// These topics, at least one.
    List(Vec<String>),
    /// Every topic whose name the regular expression matches; begins with `^`, as librdkafka asks.
    Pattern(String),
}

/// Where a group without a commit begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the first record there is.
    Earliest,
    /// At the time of the first start of the group.
    Latest,
    /// At the first record at or after this time, in milliseconds since the epoch.
    Timestamp(i64),
    /// Where this other group has committed; at the first record where it has not.
    Group(String),
}

/// A file read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSource {
    /// The file.
    pub path: PathBuf,
}

impl Source {
    /// The Kafka part, where this is a Kafka source.
    pub fn kafka(&self) -> Option<&KafkaSource> {
        match &self.kind {
            SourceKind::Kafka(kafka) => Some(kafka),
            SourceKind::File(_) | SourceKind::Stdin => None,
        }
    }
}
