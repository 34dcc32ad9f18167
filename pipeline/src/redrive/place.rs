//! Where dead letters are read from: the topic, the folder or the bucket of `[dead_letter]`; and
//! where the marks of settled ones are written, beside them.
//!
//! Invariant: nothing that is there is changed or deleted; what is read ends where the place ended
//! when it was opened, as far as the place can tell. Next stop: `letter.rs`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};
use riverhog_config::DeadLetter;
use tokio::sync::mpsc::Sender;

use crate::assemble::dead_letters::{producer_settings, target};
use crate::assemble::sinks::s3_store;
use crate::backoff::{Backoff, Jitter};
use crate::sink::archive::store::{Depth, ListRequest, ObjectStore, ReadOutcome};
use crate::sink::dead_letter::DeadLetterTarget;
use crate::sink::dead_letter::local::LocalLetters;
use crate::sink::dead_letter::s3::StoredLetters;
use crate::source::kafka::properties;

/// Marks stand below this name in a folder and in a bucket.
const MARKS: &str = "redriven";
/// Longest entry, bytes: no line is that long.
const ENTRY_BYTES_MAX: usize = 256 << 20;
/// Largest object of letters, compressed.
const OBJECT_BYTES_MAX: u64 = 256 << 20;
/// Longest wait for a broker's answer, and for the next record of a topic.
const KAFKA_MAX: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(200);
/// Tries of a request to the bucket.
const TRIES: u32 = 8;

/// Why a place cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(pub(crate) String);

/// What is read of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Marks; in a topic letters come with them.
    Marks,
    /// Letters; in a topic marks come with them.
    Letters,
}

/// See the module documentation.
#[derive(Clone)]
pub(crate) enum Place {
    Topic { config: ClientConfig, topic: String, ends: Vec<(i32, i64)> },
    Folder(PathBuf),
    Bucket { store: Arc<dyn ObjectStore>, prefix: String },
}

/// Takes entries, one at a time.
pub(crate) type Entries = Sender<Result<Vec<u8>, PlaceError>>;

/// Opens the place that a configuration names, and where its marks go.
pub(crate) async fn open(
    dead_letter: &DeadLetter,
) -> Result<(Place, Arc<dyn DeadLetterTarget>), PlaceError> {
    let unusable = |error: &dyn std::fmt::Display| PlaceError(error.to_string());
    match dead_letter {
        DeadLetter::Kafka(kafka) => {
            let marks = target(dead_letter).await.map_err(|error| unusable(&error))?;
            let settings = producer_settings(kafka);
            let config = consumer(&settings.brokers, &settings.properties);
            let (of_ends, topic) = (config.clone(), settings.topic.clone());
            let ends = tokio::task::spawn_blocking(move || ends(&of_ends, &topic)).await;
            let ends = ends.map_err(|error| unusable(&error))??;
            Ok((Place::Topic { config, topic: settings.topic, ends }, marks))
        }
        DeadLetter::Local(local) => {
            let marks = LocalLetters::new(local.path.join(MARKS));
            Ok((Place::Folder(local.path.clone()), Arc::new(marks)))
        }
        DeadLetter::S3(s3) => {
            let store = s3_store(s3).await.map_err(|error| unusable(&error))?;
            let store: Arc<dyn ObjectStore> = Arc::new(store);
            let below = format!("{}{MARKS}/", s3.prefix);
            let marks = StoredLetters::new(Arc::clone(&store), below, crate::assemble::random());
            Ok((Place::Bucket { store, prefix: s3.prefix.clone() }, Arc::new(marks)))
        }
    }
}

impl Place {
    /// Sends the entries of a pass, oldest first as far as the place knows.
    pub(crate) async fn read(self, pass: Pass, entries: Entries) {
        let ended = entries.clone();
        let read = match self {
            Place::Topic { config, topic, ends } => {
                blocking(move || read_topic(&config, &topic, &ends, &entries)).await
            }
            Place::Folder(folder) => {
                let folder = if pass == Pass::Marks { folder.join(MARKS) } else { folder };
                blocking(move || read_folder(&folder, &entries)).await
            }
            Place::Bucket { store, prefix } => read_bucket(&*store, &prefix, pass, &entries).await,
        };
        if let Err(error) = read
            && ended.send(Err(error)).await.is_err()
        {
            tracing::debug!("nobody reads any more");
        }
    }

    /// Whether marks carry the event id alone as their key, as letters in a topic do.
    pub(crate) fn is_topic(&self) -> bool {
        matches!(self, Place::Topic { .. })
    }
}

async fn blocking(
    work: impl FnOnce() -> Result<(), PlaceError> + Send + 'static,
) -> Result<(), PlaceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(PlaceError(error.to_string())))
}

/// Properties of the producer that a consumer has too.
fn consumer(
    brokers: &[String],
    properties: &std::collections::BTreeMap<String, String>,
) -> ClientConfig {
    const OF_BOTH: [&str; 7] =
        ["security.", "sasl.", "ssl.", "https.", "socket.", "broker.", "client."];
    let shared = |name: &str| OF_BOTH.iter().any(|prefix| name.starts_with(prefix));
    let mut config =
        properties::connection(brokers, properties.iter().filter(|(name, _)| shared(name)));
    // Joined by nobody: partitions are taken by hand, and nothing is committed.
    config.set("group.id", "riverhog-redrive");
    config.set("enable.auto.commit", "false");
    config.set("enable.auto.offset.store", "false");
    config.set("auto.offset.reset", "earliest");
    config.set("enable.partition.eof", "true");
    config.set("queued.max.messages.kbytes", "16384");
    config.set("fetch.message.max.bytes", "1048576");
    config
}

fn ends(config: &ClientConfig, topic: &str) -> Result<Vec<(i32, i64)>, PlaceError> {
    let doing = |error: rdkafka::error::KafkaError| PlaceError(format!("topic {topic}: {error}"));
    let client: BaseConsumer = config.create().map_err(doing)?;
    let metadata = client.fetch_metadata(Some(topic), KAFKA_MAX).map_err(doing)?;
    let found = metadata.topics().first().filter(|it| it.error().is_none());
    let found = found.ok_or_else(|| PlaceError(format!("there is no topic {topic}")))?;
    let mut ends = Vec::new();
    for partition in found.partitions() {
        let (low, high) =
            client.fetch_watermarks(topic, partition.id(), KAFKA_MAX).map_err(doing)?;
        if high > low {
            ends.push((partition.id(), high));
        }
    }
    Ok(ends)
}

fn read_topic(
    config: &ClientConfig,
    topic: &str,
    ends: &[(i32, i64)],
    entries: &Entries,
) -> Result<(), PlaceError> {
    let doing = |error: rdkafka::error::KafkaError| PlaceError(format!("topic {topic}: {error}"));
    let mut left: std::collections::BTreeMap<i32, i64> = ends.iter().copied().collect();
    if left.is_empty() {
        return Ok(());
    }
    let client: BaseConsumer = config.create().map_err(doing)?;
    let mut assigned = TopicPartitionList::new();
    for (partition, _) in ends {
        assigned.add_partition_offset(topic, *partition, Offset::Beginning).map_err(doing)?;
    }
    client.assign(&assigned).map_err(doing)?;
    let mut waited = Duration::ZERO;
    while !left.is_empty() {
        match client.poll(POLL) {
            None => waited += POLL,
            Some(Err(rdkafka::error::KafkaError::PartitionEOF(partition))) => {
                left.remove(&partition);
            }
            Some(Err(error)) if waited >= KAFKA_MAX => return Err(doing(error)),
            Some(Err(error)) => {
                waited += POLL;
                tracing::warn!(topic, "reading dead letters: {error}");
            }
            Some(Ok(message)) => {
                waited = Duration::ZERO;
                let (partition, offset) = (message.partition(), message.offset());
                let Some(end) = left.get(&partition).copied() else { continue };
                if offset < end
                    && let Some(value) = message.payload()
                    && entries.blocking_send(Ok(value.to_vec())).is_err()
                {
                    return Ok(());
                }
                if offset + 1 >= end {
                    left.remove(&partition);
                }
            }
        }
        if waited >= KAFKA_MAX {
            return Err(PlaceError(format!("topic {topic}: nothing came for {KAFKA_MAX:?}")));
        }
    }
    Ok(())
}

/// Files of the folder itself, oldest first.
fn read_folder(folder: &Path, entries: &Entries) -> Result<(), PlaceError> {
    let doing = |path: &Path, error: std::io::Error| {
        PlaceError(format!("cannot read {}: {error}", path.display()))
    };
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(doing(folder, error)),
    };
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.map_err(|error| doing(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let modified = path.metadata().and_then(|it| it.modified());
            files.push((modified.map_err(|error| doing(&path, error))?, path));
        }
    }
    files.sort_unstable();
    for (_, path) in files {
        let file = File::open(&path).map_err(|error| doing(&path, error))?;
        if !read_lines(file, entries).map_err(|error| doing(&path, error))? {
            return Ok(());
        }
    }
    Ok(())
}

/// False when nobody reads any more.
fn read_lines(from: impl std::io::Read, entries: &Entries) -> std::io::Result<bool> {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(ENTRY_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(true);
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        if entries.blocking_send(Ok(line)).is_err() {
            return Ok(false);
        }
    }
}

async fn read_bucket(
    store: &dyn ObjectStore,
    prefix: &str,
    pass: Pass,
    entries: &Entries,
) -> Result<(), PlaceError> {
    let marks = format!("{prefix}{MARKS}/");
    let mut request = ListRequest {
        prefix: if pass == Pass::Marks { marks.clone() } else { prefix.to_owned() },
        depth: Depth::Tree,
        start_after: None,
        next: None,
    };
    loop {
        let page = patiently("listing", || store.list(&request)).await?;
        for object in page.objects {
            let is_mark = object.key.starts_with(&marks);
            if !object.key.ends_with(".jsonl.zst") || is_mark != (pass == Pass::Marks) {
                continue;
            }
            let bytes = patiently(&object.key, || store.get(&object.key, OBJECT_BYTES_MAX)).await?;
            let (key, entries) = (object.key.clone(), entries.clone());
            blocking(move || unpack(&key, &bytes, &entries)).await?;
        }
        match page.next {
            Some(next) => request.next = Some(next),
            None => return Ok(()),
        }
    }
}

fn unpack(key: &str, bytes: &Bytes, entries: &Entries) -> Result<(), PlaceError> {
    let doing = |error: std::io::Error| PlaceError(format!("object {key}: {error}"));
    let decoder = zstd::Decoder::new(&bytes[..]).map_err(doing)?;
    read_lines(decoder, entries).map(drop).map_err(doing)
}

/// Asks again while the store says so, a bounded number of times.
async fn patiently<'s, T>(
    what: &str,
    ask: impl Fn() -> crate::sink::archive::store::Answer<'s, ReadOutcome<T>>,
) -> Result<T, PlaceError> {
    let (jitter, mut tries) = (Jitter::new(crate::assemble::random()), 0);
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    loop {
        let why = match ask().await {
            ReadOutcome::Done(done) => return Ok(done),
            ReadOutcome::Retry(retry) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(backoff.next(&jitter, retry.after)).await;
                continue;
            }
            ReadOutcome::Retry(retry) => retry.to_string(),
            ReadOutcome::Halt(halt) => halt.to_string(),
            ReadOutcome::Unreadable(unreadable) => unreadable.to_string(),
        };
        return Err(PlaceError(format!("{what}: {why}")));
    }
}
