//! From a real broker to stores that count: fills a topic, runs each row several times in turn, and
//! writes the table.
//!
//! The invariant: rows alternate, so that whatever else the machine does meets all of them. Next
//! stop: `row.rs`.

use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;

use crate::broker;
use crate::load::Load;
use crate::report::{self, Table};
use crate::row::{Bench, Row};

/// The backlog of many partitions, and riverhog's default memory.
const BACKLOG_PARTITIONS: u32 = 200;
const BACKLOG_MEMORY: &str = "256MiB";

/// What to measure.
#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Lines in the topic
    #[arg(long, default_value_t = 2_000_000)]
    lines: u64,
    /// Partitions of the topic
    #[arg(long, default_value_t = 4)]
    partitions: u32,
    /// Neighbouring lines of one host: 1 is the hardest case, collectors send hundreds at once
    #[arg(long, default_value_t = 1)]
    burst: u64,
    /// Runs of each row
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Rows, with commas between them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "consumer,source,bulk,s3")]
    rows: Vec<Row>,
    /// The setting `memory`, in MiB
    #[arg(long, default_value = "96MiB")]
    memory: String,
    /// The broker; without it the one that `./x services env` has put into the environment
    #[arg(long)]
    brokers: Option<String>,
    /// Uses and keeps a topic of this name, and fills it when it is not there
    #[arg(long)]
    topic: Option<String>,
    /// Another binary than the riverhog in this program
    #[arg(long)]
    riverhog: Option<PathBuf>,
}

impl Args {
    /// What shows the memory that a backlog in many partitions takes.
    pub(crate) fn for_backlog(mut self) -> Args {
        if self.partitions == 4 {
            self.partitions = BACKLOG_PARTITIONS;
        }
        if self.memory == "96MiB" {
            BACKLOG_MEMORY.clone_into(&mut self.memory);
        }
        self
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    let partitions = args.partitions.max(1);
    let load = Load { lines: args.lines, partitions, burst: args.burst };
    let brokers = args.brokers.clone().or_else(|| std::env::var("RIVERHOG_TEST_KAFKA").ok());
    let brokers = &brokers.context(
        "no broker: type `./x services start && eval \"$(./x services env)\"`, or give --brokers",
    )?;
    let mark = riverhog::clock::now_ms();
    let topic = args.topic.clone().unwrap_or_else(|| format!("bench-{mark}"));
    let ends = match broker::ends(brokers, &topic, load) {
        Ok(ends) if args.topic.is_some() => ends,
        _ => {
            report::say(&format!("filling {topic} with {} lines", load.lines));
            broker::create(brokers, &topic, load).await?;
            broker::fill(brokers, &topic, load)?;
            broker::ends(brokers, &topic, load)?
        }
    };
    let folder = tempfile::tempdir().context("making a folder")?;
    let bench = Bench {
        brokers,
        topic: &topic,
        load,
        memory: &args.memory,
        memory_bytes: mebibytes(&args.memory)?,
        riverhog: args.riverhog.as_deref(),
        ends: &ends,
        folder: folder.path(),
    };
    let measured = rows(&bench, args, mark).await;
    if args.topic.is_none() {
        broker::delete(brokers, &topic).await?;
    }
    measured
}

async fn rows(bench: &Bench<'_>, args: &Args, mark: i64) -> Result<()> {
    let mut table = Table::new(bench.load, bench.memory);
    for number in 1..=args.runs {
        for row in &args.rows {
            let group = format!("bench-{mark}-{number}-{row:?}");
            let run = bench.run(*row, &group).await.with_context(|| row.title())?;
            report::say(&table.add(*row, run));
        }
    }
    report::print(&table.to_markdown())
}

fn mebibytes(text: &str) -> Result<u64> {
    match text.strip_suffix("MiB").and_then(|number| number.parse::<u64>().ok()) {
        Some(number) => Ok(number << 20),
        None => bail!("--memory takes a number of MiB, such as 96MiB, not `{text}`"),
    }
}
