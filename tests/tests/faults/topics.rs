//! What looks like something seen before and is not: a topic deleted and made again under its name,
//! a second cluster with the same topic. No line of it is dropped as known.
//!
//! The invariant: the new topic's records lie at offsets that the old one had, and the second
//! cluster's are the very same ones to the millisecond; only the parts of the event id that must
//! tell them apart do. Next stop: `compare.rs`.

use anyhow::{Result, ensure};
use rdkafka::mocking::MockCluster;
use riverhog_tests::{Broker, Riverhog, eventually};
use std::time::Duration;

use crate::compare::{archived, check_all, check_verify, daily_index, prefix, searched};
use crate::place::{
    DEADLINE, LOCAL_LETTERS, PARTITIONS, Place, ROUTE_ALL, expected, produce, records,
    records_later,
};

const OLD_LINES: u64 = 10_000;
/// How much later the records of the new topic are.
const LATER_MS: i64 = 3_600_000;
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

async fn stop(riverhog: &mut Riverhog) -> Result<()> {
    riverhog.terminate()?;
    let code = riverhog.wait_exit(STOP).await?;
    ensure!(code == Some(0), "it ended with {code:?}");
    Ok(())
}

/// Old and new lines are in the stores, each once.
async fn check(place: &Place, new_lines: u64, archive: bool) -> Result<()> {
    let mut all = expected(&records(71, OLD_LINES));
    all.extend(expected(&records_later(72, new_lines, LATER_MS)));
    check_all("search", &searched(place).await?, 1, &all, daily_index(place))?;
    let archived = archived(&place.bucket).await?;
    check_all("archive", &archived, 1, all.iter().filter(|_| archive), prefix)?;
    if archive { check_verify(place) } else { Ok(()) }
}

#[tokio::test]
async fn a_topic_is_made_again_while_it_is_read() -> Result<()> {
    const NEW_LINES: u64 = 6_000;
    let Some(place) = Place::shared("again").await? else { return Ok(()) };
    place.produce(&records(71, OLD_LINES))?;
    let riverhog = place.start(both(&place, &place.services.kafka)).await?;
    place.settled().await;
    recreate(&place).await?;
    place.produce(&records_later(72, NEW_LINES, LATER_MS))?;
    place.settled().await;
    check(&place, NEW_LINES, true).await?;
    drop(riverhog);
    Ok(())
}

#[tokio::test]
async fn a_longer_topic_is_made_again_while_it_is_read() -> Result<()> {
    const NEW_LINES: u64 = 14_000;
    let Some(place) = Place::shared("longer").await? else { return Ok(()) };
    place.produce(&records(71, OLD_LINES))?;
    let riverhog = place.start(search_only(&place)).await?;
    place.settled().await;
    recreate(&place).await?;
    place.produce(&records_later(72, NEW_LINES, LATER_MS))?;
    place.settled().await;
    check(&place, NEW_LINES, false).await?;
    drop(riverhog);
    Ok(())
}

#[tokio::test]
async fn a_longer_topic_is_made_again_while_nobody_reads() -> Result<()> {
    const NEW_LINES: u64 = 14_000;
    let Some(place) = Place::shared("unread").await? else { return Ok(()) };
    place.produce(&records(71, OLD_LINES))?;
    let mut riverhog = place.start(both(&place, &place.services.kafka)).await?;
    place.settled().await;
    stop(&mut riverhog).await?;
    recreate(&place).await?;
    place.produce(&records_later(72, NEW_LINES, LATER_MS))?;
    riverhog.restart()?;
    riverhog.wait_ready().await?;
    place.settled().await;
    check(&place, NEW_LINES, true).await
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
