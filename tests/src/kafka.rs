//! What a test asks of Kafka: topics, records produced, offsets committed, records read back.
//!
//! The invariant: a produced record is acknowledged by the broker when `produce` returns, once and
//! in order. Calls block; a test on tokio may still call them directly, as nothing else waits.

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::admin::{
    AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication, TopicResult,
};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, Headers as _, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::util::Timeout;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::eventually;

/// For each question to the broker; a loaded machine may need some of it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// One poll while reading a topic back.
const POLL: Duration = Duration::from_millis(200);
/// Room for the longest record of any test (a line of 10 MB).
const RECORD_BYTES_MAX: &str = "12000000";

/// A broker by its address.
#[derive(Clone, Debug)]
pub struct Broker {
    bootstrap: String,
}

/// A record to produce.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRecord {
    /// Where it goes; `None` leaves it to its key.
    pub partition: Option<i32>,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its record time in milliseconds since the epoch; `None` is now.
    pub time_ms: Option<i64>,
    /// Its value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
}

/// A record read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
}

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

impl Broker {
    /// A client for `127.0.0.1:PORT`.
    pub fn new(bootstrap: &str) -> Self {
        Self { bootstrap: bootstrap.to_owned() }
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap);
        config
    }

    fn consumer(&self, group: &str) -> Result<BaseConsumer> {
        let mut config = self.config();
        config.set("group.id", group).set("enable.auto.commit", "false");
        config
            .set("enable.partition.eof", "false")
            .set("fetch.message.max.bytes", RECORD_BYTES_MAX);
        config.create().context("making a consumer")
    }

    fn admin(&self) -> Result<AdminClient<DefaultClientContext>> {
        self.config().create().context("making an admin client")
    }

    /// Makes a topic; `settings` are topic settings such as `("max.message.bytes", "1000")`.
    pub async fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        settings: &[(&str, &str)],
    ) -> Result<()> {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let results = self.admin()?.create_topics([&topic], &AdminOptions::new()).await;
        first_error(results, &format!("making topic {name}"))
    }

    /// Adds partitions to a topic until it has so many.
    pub async fn add_partitions(&self, name: &str, partitions: usize) -> Result<()> {
        let wanted = [NewPartitions::new(name, partitions)];
        let results = self.admin()?.create_partitions(&wanted, &AdminOptions::new()).await;
        first_error(results, &format!("adding partitions to {name}"))
    }

    /// Deletes a topic; the same name may be made again once `partitions` no longer finds it.
    pub async fn delete_topic(&self, name: &str) -> Result<()> {
        let results = self.admin()?.delete_topics(&[name], &AdminOptions::new()).await;
        first_error(results, &format!("deleting topic {name}"))
    }

    /// Deletes the records of one partition below `before`, as retention would.
    pub async fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<()> {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(before))?;
        let deleted = self.admin()?.delete_records(&list, &AdminOptions::new()).await;
        deleted.map(drop).with_context(|| format!("deleting records of {topic}"))
    }

    /// Produces records one after the other; returns once all are acknowledged.
    pub fn produce(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = NewRecord>,
    ) -> Result<u64> {
        let mut config = self.config();
        config.set("enable.idempotence", "true").set("linger.ms", "5");
        config.set("message.max.bytes", RECORD_BYTES_MAX);
        let producer: BaseProducer<Refusals> =
            config.create_with_context(Refusals::default()).context("making a producer")?;
        let mut produced = 0;
        for record in records {
            send(&producer, topic, &record)?;
            produced += 1;
        }
        producer.flush(TIMEOUT).with_context(|| format!("producing to {topic}"))?;
        let refused = producer.context().0.load(Ordering::Relaxed);
        ensure!(refused == 0, "the broker refused {refused} of {produced} records to {topic}");
        Ok(produced)
    }

    /// The number of partitions of a topic, or `None` when it does not exist.
    pub fn partitions(&self, topic: &str) -> Result<Option<i32>> {
        let consumer = self.consumer("riverhog-tests")?;
        let metadata =
            consumer.fetch_metadata(Some(topic), TIMEOUT).context("asking for topics")?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let found = found.filter(|found| found.error().is_none());
        Ok(found.map(|found| found.partitions().len() as i32).filter(|count| *count > 0))
    }

    /// Per partition the offset after the last record.
    pub fn end_offsets(&self, topic: &str) -> Result<Vec<i64>> {
        let consumer = self.consumer("riverhog-tests")?;
        Ok(self.bounds(&consumer, topic)?.into_iter().map(|(_, end)| end).collect())
    }

    fn bounds(&self, consumer: &BaseConsumer, topic: &str) -> Result<Vec<(i64, i64)>> {
        let count = self.partitions(topic)?.with_context(|| format!("no topic {topic}"))?;
        let bounds = |partition| consumer.fetch_watermarks(topic, partition, TIMEOUT);
        let all: Result<Vec<_>, KafkaError> = (0..count).map(bounds).collect();
        all.with_context(|| format!("asking for the offsets of {topic}"))
    }

    /// Per partition what a group has committed: the offset and the metadata, which must be UTF-8.
    pub fn committed(&self, group: &str, topic: &str) -> Result<Vec<Option<(i64, String)>>> {
        let count = self.partitions(topic)?.with_context(|| format!("no topic {topic}"))?;
        let mut list = TopicPartitionList::new();
        list.add_partition_range(topic, 0, count - 1);
        let list = self.consumer(group)?.committed_offsets(list, TIMEOUT);
        let list = list.with_context(|| format!("asking for the commits of {group}"))?;
        let element = |partition| {
            let element = list.find_partition(topic, partition)?;
            match element.offset() {
                Offset::Offset(offset) => Some((offset, element.metadata().to_owned())),
                _ => None,
            }
        };
        Ok((0..count).map(element).collect())
    }

    /// Per partition the offset that a group has committed; 0 where it has not.
    pub fn committed_offsets(&self, group: &str, topic: &str) -> Result<Vec<i64>> {
        let commits = self.committed(group, topic)?;
        Ok(commits.into_iter().map(|commit| commit.map_or(0, |(offset, _)| offset)).collect())
    }

    /// Waits until a group has committed these ends.
    pub async fn has_committed(&self, group: &str, topic: &str, ends: &[i64], deadline: Duration) {
        eventually(deadline, &format!("{group} has committed all"), || async {
            let committed = self.committed_offsets(group, topic)?;
            ensure!(committed == ends, "{committed:?} of {ends:?}");
            Ok(())
        })
        .await;
    }

    /// The lines that a group has still to settle: ends less commits (the whole topic without one).
    pub fn lag(&self, group: &str, topic: &str) -> Result<i64> {
        let consumer = self.consumer("riverhog-tests")?;
        let committed = self.committed(group, topic)?;
        let bounds = self.bounds(&consumer, topic)?;
        let behind = |((start, end), commit): ((i64, i64), Option<(i64, String)>)| {
            end - commit.map_or(start, |(offset, _)| offset)
        };
        Ok(bounds.into_iter().zip(committed).map(behind).sum())
    }

    /// The number of members of a group.
    pub fn members(&self, group: &str) -> Result<usize> {
        let consumer = self.consumer("riverhog-tests")?;
        let list =
            consumer.fetch_group_list(Some(group), TIMEOUT).context("asking for the group")?;
        Ok(list.groups().iter().map(|group| group.members().len()).sum())
    }

    /// Everything that a topic holds now, partition by partition.
    pub fn read_all(&self, topic: &str) -> Result<Vec<StoredRecord>> {
        let consumer = self.consumer(&crate::unique("reader"))?;
        let bounds = self.bounds(&consumer, topic)?;
        let mut wanted: i64 = bounds.iter().map(|(start, end)| end - start).sum();
        let mut list = TopicPartitionList::new();
        for (partition, (start, _)) in bounds.iter().enumerate() {
            list.add_partition_offset(topic, partition as i32, Offset::Offset(*start))?;
        }
        consumer.assign(&list).context("taking the partitions")?;
        let mut records = Vec::new();
        let mut idle = Duration::ZERO;
        while wanted > 0 {
            match consumer.poll(POLL) {
                Some(message) => {
                    let message = message.with_context(|| format!("reading {topic}"))?;
                    records.push(stored(&message));
                    // Transactions and compaction leave gaps; tests have neither.
                    wanted -= 1;
                    idle = Duration::ZERO;
                }
                None if idle < TIMEOUT => idle += POLL,
                None => bail!("{wanted} records of {topic} did not come"),
            }
        }
        records.sort_by_key(|record: &StoredRecord| (record.partition, record.offset));
        Ok(records)
    }
}

fn send(producer: &BaseProducer<Refusals>, topic: &str, record: &NewRecord) -> Result<()> {
    let headers = record.headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
        headers.insert(Header { key, value: Some(value) })
    });
    let mut base: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).headers(headers);
    base.partition = record.partition;
    base.key = record.key.as_deref();
    base.payload = record.value.as_deref();
    base.timestamp = record.time_ms;
    loop {
        match producer.send(base) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), returned)) => {
                producer.poll(Timeout::After(POLL));
                base = returned;
            }
            Err((error, _)) => return Err(error).with_context(|| format!("producing to {topic}")),
        }
    }
}

fn stored(message: &rdkafka::message::BorrowedMessage<'_>) -> StoredRecord {
    let header = |header: Header<'_, &[u8]>| {
        (header.key.to_owned(), header.value.unwrap_or_default().to_vec())
    };
    StoredRecord {
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        headers: message.headers().map(|all| all.iter().map(header).collect()).unwrap_or_default(),
        value: message.payload().map(<[u8]>::to_vec),
    }
}

fn first_error(results: Result<Vec<TopicResult>, KafkaError>, doing: &str) -> Result<()> {
    for result in results.with_context(|| doing.to_owned())? {
        if let Err((_, code)) = result {
            bail!("{doing}: {code}");
        }
    }
    Ok(())
}
