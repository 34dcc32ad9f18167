//! The source against librdkafka's own mock cluster, inside the process: what the demo runs on.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer as _, ThreadedProducer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::sync::oneshot;

use super::*;
use crate::source::{Assigned, CommitEntry, CommitOutcome, SourceCommand, SourceEvent};

const PARTITIONS: i32 = 2;

fn settings(brokers: String) -> KafkaSettings {
    KafkaSettings {
        brokers: vec![brokers],
        topics: Topics::List(vec!["lines".to_owned()]),
        group: "g".to_owned(),
        start: Start::Earliest,
        sinks: 1,
        beside: Vec::new(),
        // The mock cluster keeps a member that left until its session ends; sessions must be
        // longer than the 3 s it waits for a group's first members.
        properties: BTreeMap::from([
            ("session.timeout.ms".to_owned(), "4000".to_owned()),
            ("heartbeat.interval.ms".to_owned(), "300".to_owned()),
        ]),
        lineage: None,
        prefetch_bytes: 4 << 20,
        batch_bytes: 10_000,
        revoke_wait: Duration::from_secs(1),
    }
}

fn produce(brokers: &str, count: i32) {
    let producer: ThreadedProducer<DefaultProducerContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
    for number in 0..count {
        let line = format!("line {number}");
        let record = BaseRecord::<str, str>::to("lines").partition(number % PARTITIONS);
        producer.send(record.payload(&line)).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(Duration::from_secs(10)).unwrap();
}

/// A driver that settles what it sees.
struct Driver {
    link: SourceLink,
    /// Partition, generation, next offset.
    owned: Vec<(Assigned, i64)>,
}

impl Driver {
    async fn start(settings: KafkaSettings) -> Driver {
        let link = spawn(settings, Memory::new(0)).await.unwrap();
        Driver { link, owned: Vec::new() }
    }

    async fn event(&mut self) {
        match self.link.events.recv().await.expect("the source runs") {
            SourceEvent::Assigned(assigned) => {
                self.owned.extend(assigned.into_iter().map(|a| (a.clone(), a.position)));
            }
            SourceEvent::Records(batch) => {
                let owned = self.owned.iter_mut().find(|(a, _)| a.partition == batch.partition);
                let (assigned, next) = owned.expect("assigned before records");
                if assigned.epoch != batch.epoch {
                    return;
                }
                for record in &batch.records {
                    assert_eq!(record.offset, *next, "no record is passed over or repeated");
                    *next += 1;
                }
            }
            SourceEvent::Fatal(reason) => panic!("{reason}"),
            _ => {}
        }
    }

    async fn read_to(&mut self, offset: i64) {
        let done = |owned: &[(Assigned, i64)]| {
            owned.len() == PARTITIONS as usize && owned.iter().all(|(_, next)| *next >= offset)
        };
        while !done(&self.owned) {
            self.event().await;
        }
    }

    async fn commit(&mut self) -> Vec<CommitOutcome> {
        let entry = |(assigned, next): &(Assigned, i64)| CommitEntry {
            partition: assigned.partition.clone(),
            epoch: assigned.epoch,
            offset: *next,
            metadata: "rh1;f=x".to_owned(),
        };
        let entries = self.owned.iter().map(entry).collect();
        let (reply, mut outcomes) = oneshot::channel();
        self.link.commands.send(SourceCommand::Commit { entries, reply }).await.unwrap();
        loop {
            tokio::select! {
                outcomes = &mut outcomes => return outcomes.unwrap(),
                () = self.event() => {}
            }
        }
    }

    async fn close(mut self) {
        self.link.commands.send(SourceCommand::Close).await.unwrap();
        while self.link.events.recv().await.is_some() {}
    }
}

#[tokio::test]
async fn lines_are_read_read_again_and_committed() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("lines", PARTITIONS, 1).unwrap();
    let brokers = cluster.bootstrap_servers();
    produce(&brokers, 4000);
    let mut driver = Driver::start(settings(brokers.clone())).await;
    driver.read_to(500).await;
    let epoch = driver.link.epochs.next();
    let (assigned, next) = &mut driver.owned[0];
    let replaces = assigned.epoch;
    (assigned.epoch, *next) = (epoch, 100);
    let partition = assigned.partition.clone();
    // One of a generation that the source no longer has counts for nothing.
    for (offset, epoch, replaces) in [(0, epoch + 1, replaces + 77), (100, epoch, replaces)] {
        let partition = partition.clone();
        let rewind = SourceCommand::Rewind { partition, offset, epoch, replaces };
        driver.link.commands.send(rewind).await.unwrap();
    }
    driver.read_to(2000).await;
    assert_eq!(driver.commit().await, vec![CommitOutcome::Done; 2]);
    driver.owned[0].0.epoch = 0;
    let outcomes = driver.commit().await;
    assert!(matches!(outcomes[..], [CommitOutcome::Overtaken(_), CommitOutcome::Done]));
    driver.close().await;

    let mut driver = Driver::start(settings(brokers)).await;
    while driver.owned.len() < PARTITIONS as usize {
        driver.event().await;
    }
    for (assigned, _) in &driver.owned {
        assert_eq!(assigned.position, 2000);
        assert!(assigned.metadata.ends_with(b";f=x"), "{assigned:?}");
    }
    driver.close().await;
}

#[tokio::test]
async fn a_partition_waits_for_its_commit_rather_than_start_elsewhere() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("lines", PARTITIONS, 1).unwrap();
    let brokers = cluster.bootstrap_servers();
    produce(&brokers, 20);
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    cluster.request_errors(RDKafkaApiKey::OffsetFetch, &[refused; 2]);
    cluster.request_errors(RDKafkaApiKey::OffsetCommit, &[refused]);
    let mut driver = Driver::start(settings(brokers)).await;
    driver.read_to(10).await;
    let too_long = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE;
    cluster.request_errors(RDKafkaApiKey::OffsetCommit, &[too_long]);
    assert_eq!(driver.commit().await, vec![CommitOutcome::MetadataRefused; 2]);
    assert_eq!(driver.commit().await, vec![CommitOutcome::Done; 2]);
    driver.close().await;
}

#[tokio::test]
async fn settings_that_no_broker_can_cure_are_refused_at_once() {
    let mut wrong = settings("127.0.0.1:1".to_owned());
    wrong.properties.insert("no.such.property".to_owned(), "1".to_owned());
    let error = spawn(wrong, Memory::new(0)).await.unwrap_err();
    assert!(error.to_string().contains("no.such.property"), "{error}");
    let mut wrong = settings("127.0.0.1:1".to_owned());
    wrong.lineage = Some("A/B".to_owned());
    assert!(matches!(spawn(wrong, Memory::new(0)).await, Err(SourceError::Lineage { .. })));
}
