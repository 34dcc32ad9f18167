//! What a line costs between its bytes and its document: each step by itself, and the whole
//! transform of the guide's parser with labels, host, redaction and route. For the clock, and for
//! `instructions.rs`.
//!
//! The invariant: batches are made before the clock starts, and are what the source would make.

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use riverhog::memory::MemoryPermit;
use riverhog::source::{Partition, RecordBatch, RecordEntry, StampKind};
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{BatchTransform as _, PlanTransform, Position};
use riverhog_config::{EnvelopeKind, ProcessEnv};
use riverhog_parsers::grok::{Grok, GrokOptions};
use riverhog_parsers::lines::split_lines;
use riverhog_parsers::time::{TimeParser, parse_rfc3339};
use riverhog_rules::plan::Plan;
use std::hint::black_box;
use std::sync::Arc;

use crate::engines::{Spread, each};
use crate::load::{Load, host_name};
use crate::report;
use crate::row::PARSE;

const BATCH_BYTES: usize = 1 << 20;
const LINE_BYTES_MAX: usize = 1 << 20;

/// How much of the way is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// A value of many lines split into them
    Split,
    /// The grok pattern alone
    Grok,
    /// The time alone, by ISO8601 in a zone
    Time,
    /// The time alone, as RFC 3339 with an offset
    Rfc3339,
    /// From the record to the document of a line that nothing reads or redacts
    Encode,
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
    let mut round = match args.stage {
        Stage::Split => split(&batches),
        Stage::Grok => grok(&batches)?,
        Stage::Time => time(&batches)?,
        Stage::Rfc3339 => rfc3339(&batches)?,
        Stage::Encode => encode(batches),
        Stage::Transform => transform(load, batches)?,
        Stage::Nothing => Box::new(|| ()),
    };
    let mut times = Vec::new();
    for _ in 0..args.rounds {
        times.push(each(1, &mut round) / args.lines.max(1) as f64);
    }
    let spread = Spread::of(&mut times);
    report::print(&format!("{} lines, {} rounds, {spread} ns a line", args.lines, args.rounds))
}

/// Goes through all lines once.
type Round = Box<dyn FnMut()>;

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

/// The lines of batches.
fn lines(batches: &[RecordBatch]) -> impl Iterator<Item = &[u8]> {
    batches.iter().flat_map(|batch| {
        let values = batch.records.iter().filter_map(|record| record.value);
        values.map(|value| batch.slice(value))
    })
}

fn split(batches: &[RecordBatch]) -> Round {
    let value: Vec<u8> = lines(batches).collect::<Vec<&[u8]>>().join(&b'\n');
    Box::new(move || {
        for line in split_lines(black_box(&value)) {
            black_box(line);
        }
    })
}

fn grok(batches: &[RecordBatch]) -> Result<Round> {
    let pattern = PARSE.lines().find_map(|line| line.strip_prefix("grok = '")?.strip_suffix('\''));
    let pattern = pattern.context("no pattern")?;
    let options = GrokOptions { named_captures_only: true, ..GrokOptions::default() };
    let grok = Grok::compile(pattern, &options).map_err(|error| anyhow::anyhow!(error.message))?;
    let texts: Vec<String> = texts(batches)?;
    let (mut scratch, mut captures) = (grok.scratch(), Vec::new());
    Ok(Box::new(move || {
        for text in &texts {
            black_box(grok.run(text, &mut scratch, &mut captures));
        }
    }))
}

/// As the guide's parser reads it. Every line has a time here: those that have none lend that of a
/// line that has one, so that a count for each line is a count for each time.
fn time(batches: &[RecordBatch]) -> Result<Round> {
    let parser = TimeParser::compile(&["ISO8601"], "Asia/Shanghai")
        .map_err(|error| anyhow::anyhow!(error.message))?;
    let times = times(batches)?;
    Ok(Box::new(move || {
        for time in &times {
            black_box(parser.parse(black_box(time), 0));
        }
    }))
}

fn rfc3339(batches: &[RecordBatch]) -> Result<Round> {
    let of_log = |time: String| time.replace(' ', "T").replace(',', ".") + "+08:00";
    let times: Vec<String> = times(batches)?.into_iter().map(of_log).collect();
    Ok(Box::new(move || {
        for time in &times {
            black_box(parse_rfc3339(black_box(time)));
        }
    }))
}

fn texts(batches: &[RecordBatch]) -> Result<Vec<String>> {
    lines(batches).map(|line| Ok(std::str::from_utf8(line)?.to_owned())).collect()
}

/// `2026-03-12 10:00:00,000` of each line.
fn times(batches: &[RecordBatch]) -> Result<Vec<String>> {
    const BYTES: usize = 23;
    let mut last = "2026-03-12 10:00:00,000".to_owned();
    let texts = texts(batches)?.into_iter();
    Ok(texts
        .map(|text| {
            if let Some(time) = text.get(..BYTES).filter(|time| time.starts_with("2026-")) {
                time.clone_into(&mut last);
            }
            last.clone()
        })
        .collect())
}

/// A plan without rules; what the whole transform adds is parsing, hosts, redaction and routes.
fn encode(batches: Vec<RecordBatch>) -> Round {
    let plan = Plan { redact: None, ..Plan::default() };
    batches_through(batches, Arc::new(plan))
}

fn transform(load: Load, batches: Vec<RecordBatch>) -> Result<Round> {
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
    Ok(batches_through(batches, config.plan))
}

fn batches_through(batches: Vec<RecordBatch>, plan: Arc<Plan>) -> Round {
    let transform = PlanTransform::new(plan, EnvelopeKind::Auto, LINE_BYTES_MAX, Metrics::new());
    // As a partition has it: pieces of lines are looked for.
    let mut carry = transform.carry();
    Box::new(move || {
        for batch in &batches {
            let mut from = Some(Position::default());
            while let Some(place) = from {
                let part = transform.transform(batch, "5f2a9c01", carry.as_mut(), place);
                from = black_box(part).rest;
            }
        }
    })
}
