//! Instances that share the group: one is added, one is killed, one is frozen and wakes up.
//!
//! The invariant: whoever reads a line, it is in each of its stores once; also when an instance
//! that was given up still believes that it owns its partitions. Next stop: `compare.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{Feed, Pace, Riverhog, Services, eventually, services};
use std::time::Duration;

use crate::bed::{Bed, QUICK_MEMBERS};
use crate::compare::Store;
use crate::lines::Lines;
use crate::stores::Reader;

const PACE: Pace = Pace::bursts(3_000, 80);
/// Lines that an instance must have read before the group changes again.
const SHARE: f64 = 150.0;
const DEADLINE: Duration = Duration::from_secs(90);

/// A group at work on a topic that grows.
pub(crate) struct Group {
    pub(crate) bed: Bed,
    lines: Lines,
    feed: Feed,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_added_and_one_killed_lose_nothing_and_repeat_nothing() -> Result<()> {
    changed(11, async |group, mut first, second| {
        let third = group.bed.start("third")?;
        group.has_members(3).await;
        all_read_more(&[&first, &second, &third]).await?;
        first.kill()?;
        group.has_members(2).await;
        all_read_more(&[&second, &third]).await?;
        Ok(vec![second, third])
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_frozen_until_it_is_given_up_repeats_nothing() -> Result<()> {
    changed(12, async |group, mut first, second| {
        first.signal("STOP")?;
        group.has_members(1).await;
        // Its partitions have another owner, which writes to the chains that it has open objects
        // for.
        all_read_more(&[&second]).await?;
        first.signal("CONT")?;
        group.has_members(2).await;
        all_read_more(&[&first, &second]).await?;
        let metrics = first.metrics().await?;
        let lost = metrics.sum("riverhog_rebalances_total", &[("kind", "lost")]);
        ensure!(lost >= 1.0, "the frozen instance was not given up");
        Ok(vec![first, second])
    })
    .await
}

/// Two instances at work, and what is done to them, which gives those that are left; in the end
/// each line must be in each store once.
async fn changed(
    seed: u64,
    change: impl AsyncFnOnce(&Group, Riverhog, Riverhog) -> Result<Vec<Riverhog>>,
) -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let group = Group::new(&services, seed, QUICK_MEMBERS).await?;
    let first = group.bed.start("first")?;
    let second = group.bed.start("second")?;
    group.has_members(2).await;
    all_read_more(&[&first, &second]).await?;
    let left = change(&group, first, second).await?;
    group.ends_with_each_line_once(left).await
}

impl Group {
    /// Members have these properties.
    pub(crate) async fn new(services: &Services, seed: u64, members: &str) -> Result<Self> {
        let corpus = Corpus { seed, lines: 30_000, partitions: 4 };
        let bed = Bed::new(services, "members", corpus).await?.with_members_of(members)?;
        let mut lines = Lines::new(&bed.topic, corpus, Vec::new());
        let records = lines.take_records();
        let (broker, topic) = (&bed.broker, &bed.topic);
        let feed = Feed::start(broker, topic, records, PACE);
        Ok(Self { bed, lines, feed })
    }

    async fn has_members(&self, wanted: usize) {
        eventually(DEADLINE, &format!("the group has {wanted} members"), || async {
            let members = self.bed.broker.members(&self.bed.group)?;
            ensure!(members == wanted, "{members} members");
            Ok(())
        })
        .await;
    }

    /// Produces the rest, waits until these have settled it, stops them, and looks everywhere.
    pub(crate) async fn ends_with_each_line_once(self, instances: Vec<Riverhog>) -> Result<()> {
        let Self { bed, lines, feed } = self;
        // Dropped before the folder with their logs.
        let mut instances = instances;
        ensure!(!feed.is_done(), "nothing was left to be produced while the group changed");
        feed.finish().await?;
        let ends = lines.ends();
        bed.has_committed(ends, DEADLINE).await;
        for instance in &mut instances {
            instance.terminate()?;
        }
        for instance in &mut instances {
            instance.ends_in_order(DEADLINE).await?;
        }
        ensure!(bed.committed()? == ends, "{:?} of {ends:?}", bed.committed()?);
        bed.has_no_dead_letter()?;
        let mut reader = Reader::new(&bed, &lines);
        Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
        Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
        bed.verify_archive(lines.all().len())
    }
}

/// Until each has read a share of lines from now on: it holds partitions and works.
pub(crate) async fn all_read_more(instances: &[&Riverhog]) -> Result<()> {
    let mut wanted = Vec::new();
    for instance in instances {
        let before = eventually(DEADLINE, "the instance answers", || lines_read(instance)).await;
        wanted.push(before + SHARE);
    }
    for (instance, wanted) in instances.iter().zip(wanted) {
        eventually(DEADLINE, "the instance reads", || async {
            let read = lines_read(instance).await?;
            ensure!(read >= wanted, "{read} lines of {wanted}");
            Ok(())
        })
        .await;
    }
    Ok(())
}

pub(crate) async fn lines_read(instance: &Riverhog) -> Result<f64> {
    Ok(instance.metrics().await?.sum("riverhog_source_lines_total", &[]))
}
