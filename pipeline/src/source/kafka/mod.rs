//! Source `kafka`: a member of a consumer group. Librdkafka fetches; one thread takes messages from
//! each partition's own queue, by the batch, while there is memory and room for a batch; it never
//! pauses a partition, it only does not read it.
//!
//! Files, in the order of a partition's life: [`start`] (where to begin), `properties`, `context`
//! (callbacks), `reader` (the loop), `serve` (its other duties), `rebalance` (partitions come and
//! go), `resolve` (questions to the broker), `beside` (what other groups say), `queue` and `batch`
//! (records), `lag`, `committer`.
//!
//! Invariants: an assignment is never lost and never read from a position that was not resolved;
//! nothing is committed but what the driver hands over and resolved start positions; records of
//! an old generation are never delivered under a new one. Next stop: [`crate::unwrap`].

mod batch;
mod beside;
mod committer;
mod context;
mod lag;
pub(crate) mod properties;
mod queue;
mod reader;
mod rebalance;
mod resolve;
mod serve;
pub mod start;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use tokio::sync::{mpsc, oneshot};

pub use beside::Beside;
pub use properties::RESERVED;
pub use start::Start;

use crate::memory::Memory;
use crate::source::error::SourceError;
use crate::source::{Epochs, SourceLink};
use context::{Consumer, Context};

/// Events that wait for the driver; records among them hold memory permits.
const EVENTS_MAX: usize = 64;

/// Commands that wait for the source.
const COMMANDS_MAX: usize = 64;

/// How long one attempt to reach a broker at the start may take.
const PROBE_MAX: Duration = Duration::from_secs(2);

/// Partitions assumed of a pattern that matches no topic yet: prefetch is sized once.
const PARTITIONS_ASSUMED: u32 = 16;

/// Which topics are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topics {
    /// These.
    List(Vec<String>),
    /// All that match a POSIX extended regular expression, anchored at the start; topics that come
    /// later are found within seconds.
    Pattern(String),
}

/// What the source must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaSettings {
    /// `host:port` of some brokers.
    pub brokers: Vec<String>,
    /// What to read.
    pub topics: Topics,
    /// The consumer group.
    pub group: String,
    /// Where partitions without a commit start.
    pub start: Start,
    /// librdkafka properties of the user; those in [`RESERVED`] are passed over.
    pub properties: BTreeMap<String, String>,
    /// Appended to the cluster's part of event ids; a-z, 0-9 and '-'.
    pub lineage: Option<String>,
    /// Bytes that may be fetched ahead, over all partitions.
    pub prefetch_bytes: u64,
    /// Raw bytes of a batch.
    pub batch_bytes: usize,
    /// How long partitions that go wait for their last commits.
    pub revoke_wait: Duration,
    /// The sinks that this process settles lines in, a bit each.
    pub sinks: u64,
    /// Other groups of the same pipeline, on whose commits this one may go on.
    pub beside: Vec<Beside>,
}

/// Starts the source. Waits until a broker was reached, however long that takes (event ids begin
/// with the cluster's id): drop the future to give up.
///
/// # Errors
/// Settings that no broker can cure.
pub async fn spawn(settings: KafkaSettings, memory: Memory) -> Result<SourceLink, SourceError> {
    match &settings.topics {
        Topics::List(names) if names.is_empty() => return Err(SourceError::NoTopics),
        _ => {}
    }
    let setting = settings.lineage.as_deref();
    if start::lineage(b"", setting).is_none() {
        let value = setting.unwrap_or_default().to_owned();
        return Err(SourceError::Lineage { value, max: start::LINEAGE_MAX });
    }
    let (events, received) = mpsc::channel(EVENTS_MAX);
    let (commands, taken) = mpsc::channel(COMMANDS_MAX);
    let epochs = Arc::new(Epochs::default());
    let (ready, started) = oneshot::channel();
    let link = reader::Link { events, commands: taken, epochs: Arc::clone(&epochs) };
    thread::Builder::new()
        .name("kafka-source".to_owned())
        .spawn(move || run(&settings, memory, link, ready))
        .map_err(SourceError::Thread)?;
    let lineage = started.await.map_err(|_| SourceError::Ended)??;
    Ok(SourceLink { events: received, commands, epochs, lineage })
}

/// Makes a client of the settings and lets it go: what librdkafka refuses is known before anybody
/// depends on it. Reaches no broker.
///
/// # Errors
/// Settings that no broker can cure.
pub fn prove(settings: &KafkaSettings) -> Result<(), SourceError> {
    let consumer: Consumer = create(&properties::consumer(settings, 1), Context::default())?;
    drop(consumer);
    Ok(())
}

type Ready = oneshot::Sender<Result<Arc<str>, SourceError>>;

fn run(settings: &KafkaSettings, memory: Memory, link: reader::Link, ready: Ready) {
    let started = match begin(settings, memory, link, &ready) {
        Ok(Some(started)) => started,
        Ok(None) => return,
        Err(error) => {
            // The caller may be gone; then nobody wants to know.
            drop(ready.send(Err(error)));
            return;
        }
    };
    let (lineage, reader) = started;
    if ready.send(Ok(lineage)).is_ok() {
        reader.run();
    }
}

/// Reaches the cluster, then joins the group. `None` when the caller has given up.
fn begin(
    settings: &KafkaSettings,
    memory: Memory,
    link: reader::Link,
    ready: &Ready,
) -> Result<Option<(Arc<str>, reader::Reader)>, SourceError> {
    // Settings are proved before the first attempt to reach anybody.
    let proof = properties::consumer(settings, 1);
    proof.create_native_config().map_err(refused)?;
    let Some(cluster) = probe(settings, ready)? else { return Ok(None) };
    let setting = settings.lineage.as_deref();
    let lineage = start::lineage(cluster.id.as_bytes(), setting).ok_or(SourceError::Ended)?;
    let partitions: u32 = cluster.partitions.values().sum();
    let partitions = if partitions == 0 { PARTITIONS_ASSUMED } else { partitions };
    let config = properties::consumer(settings, partitions);
    let consumer: Consumer = create(&config, Context::default())?;
    let reader = reader::Reader::new(settings, memory, link, consumer, cluster)?;
    Ok(Some((lineage.into(), reader)))
}

fn create(config: &ClientConfig, context: Context) -> Result<Consumer, SourceError> {
    config.create_with_context(context).map_err(refused)
}

fn refused(error: KafkaError) -> SourceError {
    let words = match error {
        KafkaError::ClientConfig(_, reason, name, value) => without(&value, &name, &reason),
        other => other.to_string(),
    };
    SourceError::Property(words)
}

/// What librdkafka says of a property, without its value: that may be a secret under a wrong name.
pub(crate) fn without(value: &str, name: &str, reason: &str) -> String {
    let reason = if value.is_empty() { reason.to_owned() } else { reason.replace(value, "…") };
    format!("property `{name}`: {reason}")
}

/// What is known of a cluster once one of its brokers has answered.
#[derive(Debug)]
struct Cluster {
    /// Its id; empty when brokers tell none.
    id: String,
    /// Partitions of the topics to read, as they are now.
    partitions: HashMap<String, u32>,
}

/// Asks until a broker answers. A client of its own: prefetch, which needs the answer, cannot be
/// changed once the consumer is made.
fn probe(settings: &KafkaSettings, ready: &Ready) -> Result<Option<Cluster>, SourceError> {
    let config = properties::alone(settings);
    let client: BaseConsumer<Context> = create(&config, Context::default())?;
    loop {
        if ready.is_closed() {
            return Ok(None);
        }
        // Serves log lines and errors, one a poll; no messages come without an assignment.
        loop {
            let before = client.context().served();
            if client.poll(Duration::ZERO).is_none() && client.context().served() == before {
                break;
            }
        }
        for notice in client.context().take() {
            if let context::Notice::Error(code, reason) = notice
                && let Some(repeated) = client.context().may_log(&reason)
            {
                tracing::warn!(%code, repeated, "kafka cannot be reached yet: {reason}");
            }
        }
        match partitions(&client, &settings.topics) {
            Ok(partitions) => {
                let id = client.client().fetch_cluster_id(PROBE_MAX).unwrap_or_default();
                return Ok(Some(Cluster { id, partitions }));
            }
            Err(error) => {
                if let Some(repeated) = client.context().may_log("metadata") {
                    tracing::warn!(repeated, "no answer from kafka yet, trying again: {error}");
                }
                // An error may come at once.
                thread::park_timeout(Duration::from_millis(200));
            }
        }
    }
}

fn partitions(
    client: &BaseConsumer<Context>,
    topics: &Topics,
) -> Result<HashMap<String, u32>, KafkaError> {
    let mut found = HashMap::new();
    let mut add = |metadata: &rdkafka::metadata::Metadata| {
        for topic in metadata.topics() {
            let count = u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX);
            if count > 0 && topic.error().is_none() {
                found.insert(topic.name().to_owned(), count);
            }
        }
    };
    match topics {
        Topics::List(names) => {
            for name in names {
                add(&client.fetch_metadata(Some(name), PROBE_MAX)?);
            }
        }
        Topics::Pattern(_) => {
            add(&client.fetch_metadata(None, PROBE_MAX.saturating_mul(5))?);
            let wanted = &properties::subscription(topics)[0];
            found.retain(|topic, _| properties::may_match(wanted, topic));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
