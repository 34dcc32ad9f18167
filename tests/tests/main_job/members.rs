//! Two instances share the group; one is added and one is killed.
//!
//! The invariant: whoever reads a line, it is in each of its stores once. Next stop: `compare.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{Riverhog, eventually, services};
use std::time::Duration;

use crate::bed::Bed;
use crate::compare::Store;
use crate::feed::Feed;
use crate::lines::Lines;
use crate::stores::Reader;

const CORPUS: Corpus = Corpus { seed: 11, lines: 20_000, partitions: 4 };
const FIRST_RECORDS: usize = 3_000;
const RECORDS_PER_BURST: usize = 100;
/// Lines that an instance must have read before the group changes again.
const SHARE: f64 = 200.0;
const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_grows_and_shrinks_loses_nothing_and_repeats_nothing() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let bed = Bed::new(&services, "members", CORPUS).await?.with_short_times()?;
    let mut lines = Lines::new(&bed.topic, CORPUS, Vec::new());
    let records = lines.take_records();
    let feed = Feed::start(&bed.broker, &bed.topic, records, FIRST_RECORDS, RECORDS_PER_BURST);

    let mut first = bed.start("first")?;
    let mut second = bed.start("second")?;
    has_members(&bed, 2).await;
    reads_more(&first).await?;
    reads_more(&second).await?;
    let mut third = bed.start("third")?;
    has_members(&bed, 3).await;
    for instance in [&first, &second, &third] {
        reads_more(instance).await?;
    }
    let before = bed.committed()?;
    ensure!(!feed.is_done(), "nothing was left to be produced meanwhile");
    first.kill()?;
    has_members(&bed, 2).await;
    reads_more(&second).await?;
    reads_more(&third).await?;
    feed.finish().await?;

    let ends = lines.ends();
    ensure!(before.iter().zip(ends).all(|(before, end)| before < end), "{before:?}");
    eventually(DEADLINE, "all is committed", || async {
        let committed = bed.committed()?;
        ensure!(committed == ends, "{committed:?} of {ends:?}");
        Ok(())
    })
    .await;
    for instance in [&mut second, &mut third] {
        instance.terminate()?;
    }
    for instance in [&mut second, &mut third] {
        let code = instance.wait_exit(DEADLINE).await?;
        ensure!(code == Some(0), "it ended with {code:?}");
    }
    ensure!(bed.committed()? == ends, "{:?} of {ends:?}", bed.committed()?);
    let mut reader = Reader::new(&bed, &lines);
    Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    bed.verify_archive(lines.all().len())
}

async fn has_members(bed: &Bed, wanted: usize) {
    eventually(DEADLINE, &format!("the group has {wanted} members"), || async {
        let members = bed.broker.members(&bed.group)?;
        ensure!(members == wanted, "{members} members");
        Ok(())
    })
    .await;
}

/// Until it has read a share of lines from now on: it holds partitions and works.
async fn reads_more(instance: &Riverhog) -> Result<()> {
    let read = || async {
        let metrics = instance.metrics().await?;
        anyhow::Ok(metrics.sum("riverhog_source_lines_total", &[]))
    };
    let before = eventually(DEADLINE, "the instance answers", read).await;
    eventually(DEADLINE, "the instance reads", || async {
        let now = read().await?;
        ensure!(now >= before + SHARE, "{before} lines, then {now}");
        Ok(())
    })
    .await;
    Ok(())
}
