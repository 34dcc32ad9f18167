//! What a line costs between its bytes and its document: grok alone, and the whole transform of
//! the guide's parser with labels, host and route. For counting instructions under
//! `valgrind --tool=callgrind` as well as for the clock.
//!
//! The invariant: batches are made before the clock starts, and are what the source would make.

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use riverhog::clock;
use riverhog::memory::MemoryPermit;
use riverhog::source::{Partition, RecordBatch, RecordEntry, StampKind};
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{BatchTransform as _, PlanTransform, Position};
use riverhog_config::{EnvelopeKind, ProcessEnv};
use riverhog_parsers::grok::{Grok, GrokOptions};
use std::hint::black_box;
use std::sync::Arc;

use crate::load::{Load, host_name};
use crate::report;
use crate::row::PARSE;

const BATCH_BYTES: usize = 1 << 20;
const LINE_BYTES_MAX: usize = 1 << 20;

/// How much of the way is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The grok pattern alone
    Grok,
    /// From the record to the encoded document
    Transform,
    /// Nothing: what making the batches costs, to be taken off
    Nothing,
}

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Lines to make
    #[arg(long, default_value_t = 100_000)]
    lines: u64,
    /// Neighbouring lines of one host
    #[arg(long, default_value_t = 1)]
    burst: u64,
    /// How often they are gone through
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    #[arg(long, value_enum, default_value = "transform")]
    stage: Stage,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let load = Load { lines: args.lines, partitions: 4, burst: args.burst };
    let batches = batches(load);
    let started = clock::instant();
    match args.stage {
        Stage::Grok => grok(&batches, args.rounds)?,
        Stage::Transform => transform(load, &batches, args.rounds)?,
        Stage::Nothing => {
            black_box(&batches);
        }
    }
    let lines = args.lines * u64::from(args.rounds);
    let each = started.elapsed().as_secs_f64() * 1e9 / lines.max(1) as f64;
    report::print(&format!("{lines} lines, {each:.0} ns a line"))
}

/// The lines as batches of one partition, keyed as the topic's records are.
fn batches(load: Load) -> Vec<RecordBatch> {
    let partition = Partition { topic: Arc::from("bench"), number: 0 };
    let empty = |next_offset| RecordBatch {
        partition: partition.clone(),
        epoch: 1,
        bytes: Vec::with_capacity(BATCH_BYTES + 1024),
        records: Vec::new(),
        headers: Vec::new(),
        stamp: StampKind::CreateTime,
        received_ms: 0,
        next_offset,
        end_offset: -1,
        permit: MemoryPermit::none(),
    };
    let mut batches = vec![];
    let (mut batch, mut line) = (empty(0), String::new());
    for rid in 0..load.lines {
        load.write_line(rid, &mut line);
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(host_name(load.host(rid)).as_bytes());
        let middle = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(line.as_bytes());
        batch.records.push(RecordEntry {
            offset: rid as i64,
            time_ms: load.time_ms(rid),
            key: Some((start, middle)),
            value: Some((middle, batch.bytes.len() as u32)),
            headers: (0, 0),
        });
        batch.next_offset = rid as i64 + 1;
        if batch.bytes.len() >= BATCH_BYTES {
            let next = empty(batch.next_offset);
            batches.push(std::mem::replace(&mut batch, next));
        }
    }
    batches.push(batch);
    batches
}

fn grok(batches: &[RecordBatch], rounds: u32) -> Result<()> {
    let pattern = PARSE.lines().find_map(|line| line.strip_prefix("grok = '")?.strip_suffix('\''));
    let pattern = pattern.context("no pattern")?;
    let options = GrokOptions { named_captures_only: true, ..GrokOptions::default() };
    let grok = Grok::compile(pattern, &options).map_err(|error| anyhow::anyhow!(error.message))?;
    let (mut scratch, mut captures) = (grok.scratch(), Vec::new());
    for _ in 0..rounds {
        for batch in batches {
            for value in batch.records.iter().filter_map(|record| record.value) {
                let text = std::str::from_utf8(batch.slice(value))?;
                black_box(grok.run(text, &mut scratch, &mut captures));
            }
        }
    }
    Ok(())
}

fn transform(load: Load, batches: &[RecordBatch], rounds: u32) -> Result<()> {
    let folder = tempfile::tempdir().context("making a folder")?;
    let path = folder.path().join("bench.toml");
    std::fs::write(folder.path().join("hosts.csv"), load.hosts_csv())?;
    let config = format!(
        "[sources.in]\ntype = \"stdin\"\n\n[labels]\n\
         task = {{ from = [\"header.task\", \"host.task\"], default = \"unassigned\" }}\n\
         role = {{ from = [\"header.role\", \"host.role\"], default = \"worker\" }}\n\
         project = {{ from = [\"header.project\"], default = \"shared\" }}\n\n\
         [hosts]\nfrom = [\"header.host\", \"envelope.host\", \"key\"]\ntable = \"hosts.csv\"\n\n\
         {PARSE}\n[[route]]\nsinks = [\"store\"]\n\n\
         [sinks.store]\ntype = \"local\"\npath = \"out\"\n\
         prefix = \"{{task}}/{{timestamp:%Y-%m-%d}}/{{role}}/\"\n\n\
         [dead_letter]\ntype = \"local\"\npath = \"dead\"\n"
    );
    std::fs::write(&path, config)?;
    let config = match riverhog_config::load(&path, &ProcessEnv) {
        Ok(config) => config,
        Err(problems) => bail!("{}", problems.render(false)),
    };
    let transform =
        PlanTransform::new(config.plan, EnvelopeKind::Auto, LINE_BYTES_MAX, Metrics::new());
    for _ in 0..rounds {
        for batch in batches {
            let mut from = Some(Position::default());
            while let Some(place) = from {
                let part = transform.transform(batch, "5f2a9c01", None, place);
                from = black_box(part).rest;
            }
        }
    }
    Ok(())
}
