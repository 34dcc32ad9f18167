//! A backlog on 500 partitions, thousands of live prefixes and a sink whose store is gone: the
//! process stays within its budget, and goes on once the store is back.
//!
//! The invariant: what is counted is the process's own peak, as the kernel tells it, and each line
//! in the end. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{NewRecord, Proxy, Riverhog, eventually, run_command};
use serde_json::Value;
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

use crate::place::{DEADLINE, LOCAL_LETTERS, Place};

const PARTITIONS: i32 = 500;
const LINES: u64 = 400_000;
/// The default. The backlog's documents are more: six times its lines.
const MEMORY_MIB: u64 = 256;
/// What a process may take beyond its budget.
const BEYOND_MIB: u64 = 100;
const PREFIXES: f64 = 2_000.0;
/// Without a line for so long it stands still.
const STILL: Duration = Duration::from_secs(3);
/// Lines of so many records are produced at a time.
const RECORDS_AT_ONCE: usize = 50_000;

/// The most that the process ever held, in MiB, and what it holds now.
fn resident(riverhog: &Riverhog) -> Result<(u64, u64)> {
    let path = format!("/proc/{}/status", riverhog.process_id());
    let status = std::fs::read_to_string(path).context("the process's status")?;
    let of = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(kib.context("no such line")?.trim().parse::<u64>()? / 1024)
    };
    Ok((of("VmHWM:")?, of("VmRSS:")?))
}

/// To each partition in turn, for one of five tasks in turn.
fn spread((number, mut record): (usize, NewRecord)) -> NewRecord {
    let partitions = PARTITIONS as usize;
    record.partition = Some((number % partitions) as i32);
    record.headers.retain(|(name, _)| name != "task");
    let task = format!("task-{}", number / partitions % 5);
    record.headers.push(("task".to_owned(), task.into_bytes()));
    record
}

/// Waits until nothing is read any more; how many lines were, and the prefixes that were live.
async fn stands_still(riverhog: &Riverhog) -> (f64, f64) {
    let seen = Cell::new((0.0, 0.0_f64, Instant::now()));
    eventually(DEADLINE, "it stands still", || async {
        let metrics = riverhog.metrics().await?;
        let lines = metrics.sum("riverhog_source_lines_total", &[]);
        let (before, prefixes, since) = seen.get();
        let prefixes = prefixes.max(metrics.sum("riverhog_archive_live_prefixes", &[]));
        let reads = (lines - before).abs() > 0.5;
        seen.set((lines, prefixes, if reads { Instant::now() } else { since }));
        ensure!(lines > 0.5 && !reads && since.elapsed() >= STILL, "{lines} lines are read");
        Ok(())
    })
    .await;
    let (lines, prefixes, _) = seen.get();
    (lines, prefixes)
}

#[tokio::test]
async fn a_backlog_of_500_partitions_and_a_dead_sink_stay_within_the_budget() -> Result<()> {
    let Some(mut place) = Place::shared("memory").await? else { return Ok(()) };
    place.topic = format!("{}-many", place.topic);
    place.broker.create_topic(&place.topic, PARTITIONS, &[]).await?;
    let corpus = Corpus { seed: 81, lines: LINES, partitions: PARTITIONS };
    let mut records = corpus.records().map(|it| it.record).enumerate().map(spread);
    loop {
        let some: Vec<NewRecord> = records.by_ref().take(RECORDS_AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        place.broker.produce(&place.topic, some)?;
    }
    let mut proxy = Proxy::start(&place.services.opensearch)?;
    proxy.close().await;
    let routes = "[[route]]\nwhen = 'partition < 100 and level >= \"warn\"'\nsinks = [\"search\", \"archive\"]\n\
                  [[route]]\nsinks = [\"archive\"]\n";
    let archive = "[sinks.archive]\ntype = \"local\"\npath = \"archive\"\n\
                   prefix = \"{task}/{partition}/\"\n\
                   object = { size = \"1MiB\", age = \"20s\" }\nprefixes_max = 100000\n";
    let search = place.search_sink(&proxy.url(), "{timestamp:%Y.%m.%d}");
    let config = place.config(&[routes, &search, archive, LOCAL_LETTERS]);
    let config = config.replace("memory = \"96MiB\"", &format!("memory = \"{MEMORY_MIB}MiB\""));
    ensure!(config.contains("\"256MiB\""), "the budget is not the test's");
    let mut riverhog = place.start(config).await?;

    // Until it may read no more, or has read all but what waits for the store that is gone.
    let (lines, prefixes) = stands_still(&riverhog).await;
    ensure!(prefixes >= PREFIXES, "{prefixes} prefixes were live after {lines} lines");
    let (peak, _) = resident(&riverhog)?;
    let limit = MEMORY_MIB + BEYOND_MIB;
    ensure!(peak <= limit, "{peak} MiB with the store gone, {limit} are allowed");
    proxy.open()?;
    place.settled().await;
    let (peak, now) = resident(&riverhog)?;
    ensure!(peak <= limit, "{peak} MiB at most, {limit} are allowed; now {now}");
    println!(
        "{lines} lines read with the store gone, {prefixes} prefixes live, {peak} MiB at most"
    );
    riverhog.stop(Duration::from_mins(1)).await?;
    let verified = run_command(
        place.folder.path(),
        &["archive", "verify", "--format", "json", "riverhog.toml"],
    )?;
    let report: Value = serde_json::from_str(&verified.stdout)?;
    ensure!(report["ok"] == true && report["lines"] == LINES, "{report}");
    Ok(())
}
