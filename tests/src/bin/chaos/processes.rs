//! What befalls the processes: killed, ended, frozen, joined by others.
//!
//! The invariant: something is left to be produced when it happens, so that it happens at work.
//! Next stop: `answers.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{Fault, Feed, Proxy, Riverhog, eventually, pass};
use std::time::Duration;

use crate::count::{Count, Look, Met};
use crate::place::{Archive, PARTITIONS, Place, Round, Setup};

const FEED_TIME: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(40);
/// A changed group, and the next change.
const STEPS: u64 = 6;
const MEMBERS_MAX: usize = 3;
/// How VictoriaLogs is told which member is what.
const LOGS_PATH: &str = "/insert/elasticsearch/?_time_field=@timestamp&_msg_field=content\
                         &_stream_fields=origin.topic";

pub(crate) async fn kill(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let setup = place.setup();
    let mut met = Met::default();
    // One in five is killed on its way into the group.
    let is_early = place.dice.percent(20);
    let mut riverhog;
    let feed;
    if is_early {
        feed = place.feed(FEED_TIME);
        riverhog = place.start("riverhog", &setup)?;
        pass(place.millis(0, 2_500)).await;
        met.add("kills on the way in", 1);
    } else {
        riverhog = place.ready("riverhog", &setup).await?;
        feed = place.feed(FEED_TIME);
        pass(place.millis(0, 5_000)).await;
        met.add("kills at work", 1);
    }
    kill_and_restart(&mut riverhog, &feed)?;
    Ok(with(place.finish(feed, vec![riverhog]).await?, met))
}

fn kill_and_restart(riverhog: &mut Riverhog, feed: &Feed) -> Result<()> {
    ensure!(!feed.is_done(), "nothing was left to be produced");
    let ended = riverhog.exit_status()?;
    ensure!(ended.is_none(), "it ended by itself: {ended:?}");
    riverhog.kill()?;
    riverhog.restart()
}

/// Notes what was met.
pub(crate) fn with(mut count: Count, met: Met) -> Count {
    count.met = met;
    count
}

pub(crate) async fn kill_in_outage(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    // The one store, the other, or both.
    let out = 1 + place.dice.below(3);
    let proxies = [Proxy::start(&place.services.opensearch)?, Proxy::start(&place.services.s3)?];
    let setup =
        Setup { search: proxies[0].url(), archive: Archive::S3(proxies[1].url()), ..place.setup() };
    let away: Vec<&Proxy> =
        proxies.iter().zip([1, 2]).filter(|(_, bit)| out & bit != 0).map(|(it, _)| it).collect();
    let mut riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    pass(place.millis(200, 1_500)).await;
    for proxy in &away {
        proxy.set_fault(Fault::Answer(503));
    }
    pass(place.millis(1_500, 3_000)).await;
    kill_and_restart(&mut riverhog, &feed)?;
    riverhog.wait_ready().await?;
    pass(place.millis(200, 1_000)).await;
    let mut met = Met::default();
    met.add("kills", 1);
    for proxy in away {
        proxy.set_fault(Fault::None);
        let refused = answered(proxy, 503);
        ensure!(refused > 0, "the outage was not met");
        met.add("times 503", refused);
    }
    Ok(with(place.finish(feed, vec![riverhog]).await?, met))
}

/// How many requests were answered so.
pub(crate) fn answered(proxy: &Proxy, status: u16) -> u64 {
    let exchanges = proxy.exchanges();
    exchanges.iter().filter(|exchange| exchange.answered == Some(status)).count() as u64
}

pub(crate) async fn terminate(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let setup = place.setup();
    let mut riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME * 2);
    for _ in 0..3 {
        pass(place.millis(100, 1_500)).await;
        ensure!(!feed.is_done(), "nothing was left to be produced");
        riverhog.stop(DEADLINE).await?;
        riverhog.restart()?;
        riverhog.wait_ready().await?;
    }
    let mut met = Met::default();
    met.add("ends in order", 3);
    Ok(with(place.finish(feed, vec![riverhog]).await?, met))
}

pub(crate) async fn frozen(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let setup = place.setup();
    let mut first = place.ready("first", &setup).await?;
    let second = place.ready("second", &setup).await?;
    place.has_members(2).await;
    let feed = place.feed(FEED_TIME * 2);
    pass(place.millis(300, 2_000)).await;
    first.signal("STOP")?;
    place.has_members(1).await;
    pass(place.millis(0, 2_500)).await;
    ensure!(!feed.is_done(), "nothing was left to be produced");
    first.signal("CONT")?;
    let lost = eventually(DEADLINE, "the frozen instance is given up", || async {
        let metrics = first.metrics().await?;
        let lost = metrics.sum("riverhog_rebalances_total", &[("kind", "lost")]);
        ensure!(lost >= 1.0, "it was not");
        anyhow::Ok(lost as u64)
    });
    let mut met = Met::default();
    met.add("times declared dead", lost.await);
    Ok(with(place.finish(feed, vec![first, second]).await?, met))
}

pub(crate) async fn members(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let setup = place.setup();
    let mut there = vec![place.ready("member-0", &setup).await?];
    let feed = place.feed(FEED_TIME * 2);
    let mut met = Met::default();
    for step in 1..=STEPS {
        pass(place.millis(200, 1_500)).await;
        if there.len() == 1 || (there.len() < MEMBERS_MAX && place.dice.percent(50)) {
            there.push(place.start(&format!("member-{step}"), &setup)?);
            met.add("joins", 1);
            continue;
        }
        let at = place.dice.below(there.len() as u64) as usize;
        let mut gone = there.swap_remove(at);
        if place.dice.percent(50) {
            gone.kill()?;
            met.add("kills", 1);
        } else {
            gone.terminate()?;
            let code = gone.wait_exit(DEADLINE).await?;
            // Told to end before it had heard of signals, it ends by it.
            ensure!(code == Some(0) || code.is_none(), "it ended with {code:?}");
            met.add("leaves", 1);
        }
    }
    for member in &mut there {
        member.wait_ready().await?;
    }
    Ok(with(place.finish(feed, there).await?, met))
}

pub(crate) async fn partitions(round: Round) -> Result<Count> {
    let mut place = Place::with_partitions(&round, PARTITIONS / 2, PARTITIONS).await?;
    let later = place.hold_back(PARTITIONS / 2);
    ensure!(!later.is_empty(), "no line is for the new partitions");
    let setup = place.setup();
    let riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    pass(place.millis(200, 2_000)).await;
    place.broker.add_partitions(&place.topic, PARTITIONS as usize).await?;
    eventually(DEADLINE, "the new partitions are there", || async {
        let count = place.broker.partitions(&place.topic)?;
        ensure!(count == Some(PARTITIONS), "{count:?}");
        Ok(())
    })
    .await;
    let (broker, topic) = (place.broker.clone(), place.topic.clone());
    let produced = tokio::task::spawn_blocking(move || broker.produce(&topic, later)).await??;
    let mut met = Met::default();
    met.add("partitions added", (PARTITIONS / 2) as u64);
    ensure!(produced > 0, "nothing came into the new partitions");
    Ok(with(place.finish(feed, vec![riverhog]).await?, met))
}

/// A search store without ids: what stands in it beyond the commit when it is killed may come
/// again, and no other line.
pub(crate) async fn no_ids(round: Round, kills: u64) -> Result<Count> {
    let Some(url) = round.services.victorialogs.clone() else {
        return Ok(Count::skipped("VictoriaLogs does not run"));
    };
    let mut place = Place::new(&round).await?;
    let setup = Setup { search: format!("{url}{LOGS_PATH}"), ..place.setup() };
    let mut riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME + Duration::from_secs(4 * kills));
    let mut allowed = 0;
    for _ in 0..kills {
        pass(place.millis(500, 3_000)).await;
        ensure!(!feed.is_done(), "nothing was left to be produced");
        riverhog.kill()?;
        // What was sent last may still be on its way into the store.
        pass(Duration::from_millis(300)).await;
        allowed += ahead(&place).await?;
        riverhog.restart()?;
        riverhog.wait_ready().await?;
    }
    place.settle(feed, vec![riverhog]).await?;
    let archived = place.bucket_events().await?;
    let mut count = place.count_archive(&archived);
    let in_archive = count.repeated;
    count.store("search", Look::Content, &place.expected, &place.logged().await?);
    ensure!(in_archive == 0, "{in_archive} repeated in the archive");
    count.allowed = allowed;
    count.met.add("kills", kills);
    count.met.add("lines ahead of the commit", allowed);
    Ok(count)
}

/// Documents in VictoriaLogs at or above the commit of their partition.
async fn ahead(place: &Place) -> Result<u64> {
    let committed = place.broker.committed_offsets(&place.topic, &place.topic)?;
    let mut ahead = 0;
    for document in place.logged().await? {
        let number = |name: &str| -> Result<i64> {
            let text = document[name].as_str().with_context(|| format!("{name}: {document}"))?;
            text.parse().with_context(|| format!("{name}: {text}"))
        };
        let partition = number("origin.partition")?;
        let commit = committed.get(partition as usize).context("an unknown partition")?;
        ahead += u64::from(number("origin.offset")? >= *commit);
    }
    Ok(ahead)
}
