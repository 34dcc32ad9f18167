//! What looks like something seen before and is not: a topic deleted and made again under its name,
//! a second cluster with the same topic. No line of it is dropped as known.
//!
//! The invariant: the new topic's records lie at offsets that the old one had, later by their own
//! times or in the middle of the old ones', as when somebody produces again what he has kept; the
//! second cluster's are the very same ones to the millisecond. Only the part of the event id that
//! must tell them apart does. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::mocking::MockCluster;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use riverhog_tests::corpus::CorpusRecord;
use riverhog_tests::{Broker, Riverhog, eventually};
use std::time::Duration;

use crate::compare::{archived, check_all, check_verify, daily_index, prefix, searched};
use crate::place::{
    DEADLINE, LOCAL_LETTERS, PARTITIONS, Place, ROUTE_ALL, expected, produce, records,
    records_later,
};

const OLD_LINES: u64 = 10_000;
const SHORTER: u64 = 6_000;
const LONGER: u64 = 14_000;
const HOUR_MS: i64 = 3_600_000;
/// By how much the times of the old and of the new topic's records are moved.
type Moved = (i64, i64);
/// A corpus spans 60 hours: none of the new times lies between the old ones. (Each stays within
/// the 48 hours in which an index is named after the line's own time.)
const APART: Moved = (-31 * HOUR_MS, 31 * HOUR_MS);
/// The new times lie between the old ones.
const AMONG: Moved = (0, HOUR_MS);
/// In order, with a flush of the archive.
const STOP: Duration = Duration::from_secs(40);
const ROUTE_SEARCH: &str = "[[route]]\nsinks = [\"search\"]\n";

fn search_only(place: &Place) -> String {
    let search = place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}");
    place.config(&[ROUTE_SEARCH, &search, LOCAL_LETTERS])
}

fn both(place: &Place, kafka: &str) -> String {
    let search = place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}");
    let archive = place.archive_sink(&place.services.s3);
    place.config_of(kafka, &[ROUTE_ALL, &search, &archive, LOCAL_LETTERS])
}

/// Deletes the topic and makes it again, empty.
async fn recreate(place: &Place) -> Result<()> {
    place.broker.delete_topic(&place.topic).await?;
    eventually(DEADLINE, "the topic has gone", || async {
        ensure!(place.broker.partitions(&place.topic)?.is_none(), "it is there");
        Ok(())
    })
    .await;
    // The broker may refuse the name for as long as it clears away.
    eventually(DEADLINE, "the topic is made again", || place.create_topic()).await;
    Ok(())
}

/// Commits for the group, as one of its members would.
fn commit(place: &Place, commits: &[Option<(i64, String)>]) -> Result<()> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &place.services.kafka).set("group.id", &place.group);
    let consumer: BaseConsumer = config.create().context("making a consumer")?;
    let mut list = TopicPartitionList::new();
    for (partition, committed) in commits.iter().enumerate() {
        let (offset, metadata) = committed.as_ref().context("a partition without a commit")?;
        let mut element = list.add_partition(&place.topic, partition as i32);
        element.set_offset(Offset::Offset(*offset))?;
        element.set_metadata(metadata);
    }
    consumer.commit(&list, CommitMode::Sync).context("committing")
}

async fn stop(riverhog: &mut Riverhog) -> Result<()> {
    riverhog.stop(STOP).await
}

fn old(moved: Moved) -> Vec<CorpusRecord> {
    records_later(71, OLD_LINES, moved.0)
}

fn new(moved: Moved, lines: u64) -> Vec<CorpusRecord> {
    records_later(72, lines, moved.1)
}

/// Old and new lines are in the stores, each once.
async fn check(place: &Place, moved: Moved, new_lines: u64, archive: bool) -> Result<()> {
    let mut all = expected(&old(moved));
    all.extend(expected(&new(moved, new_lines)));
    check_all("search", &searched(place).await?, 1, &all, daily_index(place))?;
    let archived = archived(&place.bucket).await?;
    check_all("archive", &archived, 1, all.iter().filter(|_| archive), prefix)?;
    if archive { check_verify(place) } else { Ok(()) }
}

/// A topic is read, deleted, made again with so many lines, and read on by the same process.
async fn made_again_while_read(moved: Moved, new_lines: u64, archive: bool) -> Result<()> {
    let Some(place) = Place::shared("again").await? else { return Ok(()) };
    let config = if archive { both(&place, &place.services.kafka) } else { search_only(&place) };
    place.produce(&old(moved))?;
    let riverhog = place.start(config).await?;
    place.settled().await;
    recreate(&place).await?;
    place.produce(&new(moved, new_lines))?;
    // A longer topic can be read on from the old position, and committed to its end, for the few
    // seconds until it is known for another one.
    eventually(DEADLINE, "all lines are in search", || async {
        let documents = place.search.count(&place.indices()).await?;
        ensure!(documents >= OLD_LINES + new_lines, "{documents} documents");
        Ok(())
    })
    .await;
    place.settled().await;
    check(&place, moved, new_lines, archive).await?;
    drop(riverhog);
    Ok(())
}

/// The same, but the process is started again after all that, and finds the commits of the old
/// topic: the broker deletes them with it, but a member that was cut off may come later still.
async fn made_again_while_unread(moved: Moved, new_lines: u64) -> Result<()> {
    let Some(place) = Place::shared("unread").await? else { return Ok(()) };
    place.produce(&old(moved))?;
    let mut riverhog = place.start(both(&place, &place.services.kafka)).await?;
    place.settled().await;
    stop(&mut riverhog).await?;
    let commits = place.broker.committed(&place.group, &place.topic)?;
    recreate(&place).await?;
    commit(&place, &commits)?;
    place.produce(&new(moved, new_lines))?;
    riverhog.restart()?;
    riverhog.wait_ready().await?;
    place.settled().await;
    check(&place, moved, new_lines, true).await
}

#[tokio::test]
async fn a_shorter_topic_is_made_again_while_it_is_read() -> Result<()> {
    made_again_while_read(APART, SHORTER, true).await
}

#[tokio::test]
async fn a_longer_topic_is_made_again_while_it_is_read_into_search() -> Result<()> {
    made_again_while_read(AMONG, LONGER, false).await
}

#[tokio::test]
async fn a_longer_topic_is_made_again_while_nobody_reads() -> Result<()> {
    made_again_while_unread(APART, LONGER).await
}

#[tokio::test]
async fn what_was_kept_is_produced_again_to_a_new_topic() -> Result<()> {
    made_again_while_unread(AMONG, LONGER).await
}

#[tokio::test]
async fn a_second_cluster_has_the_same_topic() -> Result<()> {
    let Some(place) = Place::shared("cluster").await? else { return Ok(()) };
    let all = records(73, OLD_LINES);
    place.produce(&all)?;
    let mut riverhog = place.start(both(&place, &place.services.kafka)).await?;
    place.settled().await;
    stop(&mut riverhog).await?;

    let cluster = MockCluster::new(1)?;
    cluster.create_topic(&place.topic, PARTITIONS, 1)?;
    let second = Broker::new(&cluster.bootstrap_servers());
    produce(&second, &place.topic, &all)?;
    riverhog.set_config(&both(&place, &cluster.bootstrap_servers()))?;
    riverhog.restart()?;
    riverhog.wait_ready().await?;
    place.settled_at(&second).await;

    let expected = expected(&all);
    check_all("search", &searched(&place).await?, 2, &expected, daily_index(&place))?;
    check_all("archive", &archived(&place.bucket).await?, 2, &expected, prefix)?;
    check_verify(&place)
}
