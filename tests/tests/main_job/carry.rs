//! The configuration of the guide carries 200,000 lines, as it stands.
//!
//! The invariant: it is not tuned for the test. Objects stay open for ten minutes, so most of them
//! are stored, and nearly all offsets committed, when the process is told to stop. Next stop:
//! `compare.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{Riverhog, eventually, services};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::bed::Bed;
use crate::compare::Store;
use crate::lines::Lines;
use crate::specials::specials;
use crate::stores::Reader;

const CORPUS: Corpus = Corpus { seed: 20_260_312, lines: 200_000, partitions: 4 };
const READ_DEADLINE: Duration = Duration::from_mins(1);
/// The configuration's `stop_deadline` is 25 s by default.
const STOP_DEADLINE: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guides_configuration_carries_200_000_lines() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let bed = Bed::new(&services, "carry", CORPUS).await?;
    let mut lines = Lines::new(&bed.topic, CORPUS, specials());
    has_something_of_everything(&lines);
    let records = lines.take_records();
    bed.broker.produce(&bed.topic, records)?;
    ensure!(bed.broker.end_offsets(&bed.topic)? == lines.ends(), "the topic is not as planned");

    let set_up = bed.command(&["setup", "--apply"])?;
    ensure!(set_up.code == Some(0), "{set_up:?}");
    let mut riverhog = bed.start("riverhog")?;
    riverhog.wait_ready().await?;
    all_is_read_and_searched(&bed, &lines, &riverhog).await?;
    riverhog.stop(STOP_DEADLINE).await?;

    ensure!(bed.committed()? == lines.ends(), "{:?} of {:?}", bed.committed()?, lines.ends());
    bed.has_no_dead_letter()?;
    let mut reader = Reader::new(&bed, &lines);
    let store = Store::Search(&bed.stem);
    store.holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    let searched = lines.all().iter().filter(|line| store.takes(line));
    let days: BTreeSet<String> = searched.map(|line| line.index(&bed.stem)).collect();
    let indices = bed.search.indices(&format!("{}-*", bed.stem)).await?;
    ensure!(indices.iter().eq(&days), "{indices:?}, not {days:?}");
    has_the_mappings(&bed, &indices).await?;
    bed.verify_archive(lines.all().len())
}

/// `setup --apply` has come before the first document.
async fn has_the_mappings(bed: &Bed, indices: &[String]) -> Result<()> {
    for index in indices {
        let answer = bed.search.expect("GET", &format!("/{index}/_mapping"), None).await?;
        let mappings = &answer[index]["mappings"];
        let field = |name: &str| mappings["properties"][name].clone();
        ensure!(mappings["dynamic"] == "false", "{mappings}");
        ensure!(field("@timestamp")["type"] == "date_nanos", "{mappings}");
        ensure!(field("level")["type"] == "keyword", "{mappings}");
        ensure!(field("content") == json!({ "type": "text" }), "{mappings}");
    }
    Ok(())
}

/// Until every line was read and the search store has its share.
async fn all_is_read_and_searched(bed: &Bed, lines: &Lines, riverhog: &Riverhog) -> Result<()> {
    let store = Store::Search(&bed.stem);
    let wanted = lines.all().iter().filter(|line| store.takes(line)).count() as u64;
    eventually(READ_DEADLINE, "all lines are read, and searched where they are to be", || async {
        let metrics = riverhog.metrics().await?;
        let read = metrics.sum("riverhog_source_lines_total", &[]);
        ensure!(read as usize >= lines.all().len(), "{read} lines read");
        let found = bed.search.count(&format!("{}-*", bed.stem)).await?;
        ensure!(found >= wanted, "{found} of {wanted} lines can be searched");
        Ok(())
    })
    .await;
    Ok(())
}

/// The comparison proves nothing about what does not occur.
fn has_something_of_everything(lines: &Lines) {
    let all = lines.all();
    let count = |what: fn(&crate::lines::Line) -> bool| all.iter().filter(|it| what(it)).count();
    let search = Store::Search("logs");
    assert!(all.iter().filter(|line| search.takes(line)).count() > 20_000);
    let distinct =
        |of: fn(&crate::lines::Line) -> String| all.iter().map(of).collect::<BTreeSet<_>>().len();
    assert!(distinct(|line| line.expect.task.to_owned()) > 5);
    assert!(distinct(|line| line.expect.role.to_owned()) > 2);
    assert!(distinct(|line| line.expect.project.to_owned()) > 2);
    assert_eq!(distinct(|line| format!("{:?}", line.expect.level)), 7, "six levels and none");
    assert_eq!(distinct(|line| line.expect.partition.to_string()), 4);
    assert!(count(|line| !line.expect.content.is_ascii()) > 10_000, "Chinese text");
    assert!(count(|line| !line.expect.parsed) > 10_000, "unparsed lines");
    assert!(count(|line| line.expect.index > 4) > 1_000, "tracebacks");
    assert!(count(|line| line.day_ns != line.expect.time_ns) >= 3, "wrong clocks");
    assert!(distinct(|line| line.index("logs")) > 3, "days");
}
