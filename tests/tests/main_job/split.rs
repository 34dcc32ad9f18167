//! Sinks that are run as consumer groups of their own, and one process for all of them again.
//!
//! The invariant: whichever processes run, each line is in each of its stores once; a sink whose
//! store is gone holds up nobody who runs another one. Next stop: `compare.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{NewRecord, Proxy, Riverhog, services};
use std::time::Duration;

use crate::bed::Bed;
use crate::compare::Store;
use crate::lines::Lines;
use crate::members::lines_read;
use crate::stores::Reader;

const CORPUS: Corpus = Corpus { seed: 31, lines: 9_000, partitions: 3 };
const DEADLINE: Duration = Duration::from_mins(1);

/// What was produced of the records, in order.
struct Topic<'b> {
    bed: &'b Bed,
    records: Vec<NewRecord>,
    ends: Vec<i64>,
}

impl Topic<'_> {
    /// Produces the next third of the records.
    fn produce_a_third(&mut self, thirds_left: usize) -> Result<()> {
        let next: Vec<_> = self.records.drain(..self.records.len() / thirds_left).collect();
        self.bed.broker.produce(&self.bed.topic, next)?;
        self.ends = self.bed.broker.end_offsets(&self.bed.topic)?;
        Ok(())
    }

    /// Until the group of these sinks, all where none is named, has committed everything.
    async fn is_committed(&self, sinks: &str) {
        let group = self.group(sinks);
        self.bed.broker.has_committed(&group, &self.bed.topic, &self.ends, DEADLINE).await;
    }

    fn group(&self, sinks: &str) -> String {
        if sinks.is_empty() {
            return self.bed.group.clone();
        }
        format!("{}.{sinks}", self.bed.group)
    }

    fn committed(&self, group: &str) -> Result<Vec<i64>> {
        self.bed.broker.committed_offsets(group, &self.bed.topic)
    }
}

async fn stop(mut instance: Riverhog) -> Result<()> {
    instance.stop(DEADLINE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sinks_run_apart_and_together_again() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let mut search = Proxy::start(&services.opensearch)?;
    let bed = Bed::new(&services, "split", CORPUS).await?.with_small_objects()?;
    let bed = bed.with(&services.opensearch, &search.url())?;
    let mut lines = Lines::new(&bed.topic, CORPUS, Vec::new());
    let records = lines.take_records();
    let mut topic = Topic { bed: &bed, records, ends: Vec::new() };

    topic.produce_a_third(3)?;
    let together = bed.start("together")?;
    topic.is_committed("").await;
    stop(together).await?;
    let first_ends = topic.ends.clone();

    topic.produce_a_third(2)?;
    search.close().await;
    let archive = bed.start_with("archive", &["--sinks", "archive"])?;
    let searching = bed.start_with("search", &["--sinks", "search"])?;
    topic.is_committed("archive").await;
    // It began where the group of all sinks was, and could settle no line for search since.
    let behind = topic.committed(&topic.group("search"))?;
    let passed = behind.iter().zip(&topic.ends).filter(|(committed, end)| committed == end);
    ensure!(passed.count() == 0, "{behind:?} of {:?}: search was to be behind", topic.ends);
    ensure!(behind.iter().zip(&first_ends).all(|(committed, start)| committed >= start));
    search.open()?;
    topic.is_committed("search").await;
    stop(archive).await?;
    stop(searching).await?;
    ensure!(topic.committed(&bed.group)? == first_ends, "a split group commits for itself alone");

    let second_ends = topic.ends.clone();
    topic.produce_a_third(1)?;
    let together = bed.start("together-again")?;
    topic.is_committed("").await;
    // It went on at the lowest of their commits: with the last third, and nothing of the second.
    let begins = |partition: i32| second_ends[partition as usize];
    let last = lines.all().iter().filter(|line| line.offset >= begins(line.expect.partition));
    let (read, wanted) = (lines_read(&together).await? as usize, last.count());
    ensure!(read == wanted, "{read} lines were read, not {wanted}");
    stop(together).await?;

    ensure!(topic.ends == lines.ends(), "{:?} of {:?}", topic.ends, lines.ends());
    bed.has_no_dead_letter()?;
    let mut reader = Reader::new(&bed, &lines);
    Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    bed.verify_archive(lines.all().len())
}

/// As a group that takes another's place, such as Logstash's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_group_starts_where_another_has_committed() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let bed = Bed::new(&services, "adopt", CORPUS).await?.with_small_objects()?;
    let mut lines = Lines::new(&bed.topic, CORPUS, Vec::new());
    let records = lines.take_records();
    let mut topic = Topic { bed: &bed, records, ends: Vec::new() };
    topic.produce_a_third(3)?;
    let first = bed.start("first")?;
    topic.is_committed("").await;
    stop(first).await?;

    let first_ends = topic.ends.clone();
    topic.produce_a_third(2)?;
    topic.produce_a_third(1)?;
    let (group, other) = (format!("\"{}\"", bed.group), format!("\"{}.b\"", bed.group));
    let start = format!("start   = \"group:{}\"", bed.group);
    let changes = [(group.as_str(), other.as_str()), ("start   = \"earliest\"", &start)];
    let second = bed.start_changed("second", &[], &changes)?;
    topic.is_committed("b").await;
    let begins = |partition: i32| first_ends[partition as usize];
    let last = lines.all().iter().filter(|line| line.offset >= begins(line.expect.partition));
    let (read, wanted) = (lines_read(&second).await? as usize, last.count());
    ensure!(read == wanted, "{read} lines were read, not {wanted}");
    stop(second).await?;
    let mut reader = Reader::new(&bed, &lines);
    Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    bed.verify_archive(lines.all().len())
}
