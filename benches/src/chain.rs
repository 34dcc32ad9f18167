//! The whole way of a line of a training job: Filebeat's envelope, what transports put in front of
//! it, its format with its numbers, and its document; with joining and without.
//!
//! The invariant: all ways go over the same bytes in turns, and each is measured by the time that
//! the thread was on a processor, so that ratios hold on a machine that does other things too. No
//! line of the mixture begins a record: what joining costs here, it costs lines that wait for
//! nobody. Next stop: `report.rs`.

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use riverhog::memory::MemoryPermit;
use riverhog::source::{Partition, RecordBatch, RecordEntry, StampKind};
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{BatchTransform as _, PlanTransform, Position};
use riverhog_config::{EnvelopeKind, ProcessEnv};
use riverhog_parsers::envelope::Unwrapper;
use riverhog_parsers::fields::Fields;
use riverhog_parsers::formats::{Format, FormatParser, Training};
use riverhog_parsers::lines::{split_lines, to_text};
use riverhog_parsers::peel::{Layers, peel};
use serde_json::json;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::engines::Spread;
use crate::report;
use crate::training::job_lines;

const BATCH_BYTES: usize = 1 << 20;
/// 2024-05-15T10:23:46Z, a second after the lines' own times.
const START_MS: i64 = 1_715_768_626_000;
/// Hosts whose lines alternate.
const HOSTS: usize = 8;

/// How much of the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Way {
    /// Envelope, lines, peeling and format: fields, and no document
    Fields,
    /// From the record to the document, lines by themselves
    Document,
    /// The same with `[join]`
    Joined,
    /// The same as `document` with a preset of `[identity]`, whose labels no record has
    Identity,
}

const WAYS: [Way; 4] = [Way::Fields, Way::Document, Way::Joined, Way::Identity];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Lines of the mixture in a round
    #[arg(long, default_value_t = 70_000)]
    lines: usize,
    /// Rounds, of which the median is told
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// One way alone, for counting instructions
    #[arg(long, value_enum)]
    way: Option<Way>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let batches = batches(args.lines);
    let ways: Vec<Way> = args.way.map_or(WAYS.to_vec(), |way| vec![way]);
    let mut rounds = Vec::new();
    for way in &ways {
        rounds.push(way.round()?);
    }
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..args.rounds {
        for (round, times) in rounds.iter_mut().zip(&mut times) {
            let before = on_processor_ns()?;
            let events = round(&batches);
            // A line that is held would cost what lines are not to cost here.
            ensure!(events == args.lines, "{events} of {} lines", args.lines);
            times.push((on_processor_ns()? - before) as f64 / args.lines as f64);
        }
    }
    report::print("| way | ns a line | million lines/s |\n|---|---|---|")?;
    for (way, times) in ways.iter().zip(&times) {
        let spread = Spread::of(&mut times.clone());
        report::print(&format!("| {way:?} | {spread} | {:.2} |", 1e3 / spread.median))?;
    }
    if let [_, alone, joined, identity] = &times[..] {
        report::print(&format!("joining adds {} %", added(joined, alone)))?;
        report::print(&format!("a preset adds {} %", added(identity, alone)))?;
    }
    Ok(())
}

/// What one way takes more than another, round by round, in per cent.
fn added(more: &[f64], alone: &[f64]) -> Spread {
    let ratios = more.iter().zip(alone).map(|(more, alone)| (more / alone - 1.0) * 100.0);
    Spread::of(&mut ratios.collect::<Vec<f64>>())
}

/// Goes through all batches once; says how many lines or events there were.
type Round = Box<dyn FnMut(&[RecordBatch]) -> usize>;

impl Way {
    fn round(self) -> Result<Round> {
        Ok(match self {
            Way::Fields => fields(),
            Way::Document => documents("")?,
            Way::Joined => documents("[join]\n")?,
            Way::Identity => documents("[identity]\npresets = [\"kubeflow\"]\n")?,
        })
    }
}

fn fields() -> Round {
    let parser = FormatParser::new(Format::Training(Training::all()), []);
    let (mut unwrapper, mut fields, mut peeled) = (Unwrapper::new(), Fields::new(), String::new());
    Box::new(move |batches| {
        let mut lines = 0;
        for batch in batches {
            for value in batch.records.iter().filter_map(|record| record.value) {
                let value = batch.slice(value);
                unwrapper.run(EnvelopeKind::Auto, value, &mut |envelope| {
                    for line in split_lines(&envelope.message) {
                        let text = to_text(line);
                        let left = peel(&text, Layers::SURE, &mut peeled);
                        black_box(parser.run(left.text, &mut fields));
                        lines += 1;
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        lines
    })
}

fn documents(section: &str) -> Result<Round> {
    let folder = tempfile::tempdir().context("making a folder")?;
    let path = folder.path().join("bench.toml");
    let config = format!(
        "[sources.in]\ntype = \"stdin\"\n[peel]\n{section}[labels]\n\
         task = {{ from = [\"fields.task\"] }}\nrole = {{ from = [\"fields.role\"] }}\n\
         [[parse]]\nname = \"training\"\nas = \"training\"\n[[route]]\nsinks = [\"store\"]\n\
         [sinks.store]\ntype = \"local\"\npath = \"out\"\nprefix = \"\"\n"
    );
    std::fs::write(&path, config)?;
    let config = match riverhog_config::load(&path, &ProcessEnv) {
        Ok(config) => config,
        Err(problems) => bail!("{}", problems.render(false)),
    };
    let transform = PlanTransform::new(config.plan, EnvelopeKind::Auto, 1 << 20, Metrics::new());
    Ok(Box::new(move |batches| {
        let (mut events, mut carry) = (0, transform.carry());
        for batch in batches {
            let mut from = Some(Position::default());
            while let Some(place) = from {
                let part = transform.transform(batch, "5f2a9c01", carry.as_mut(), place);
                events += part.events.events.len();
                from = black_box(part).rest;
            }
        }
        events
    }))
}

/// The mixture as Filebeat sends it, a record a line.
fn batches(lines: usize) -> Vec<RecordBatch> {
    let empty = |next_offset| RecordBatch {
        partition: Partition { topic: Arc::from("bench"), number: 0 },
        epoch: 1,
        bytes: Vec::with_capacity(BATCH_BYTES + 4096),
        records: Vec::new(),
        headers: Vec::new(),
        stamp: StampKind::CreateTime,
        received_ms: 0,
        next_offset,
        end_offset: -1,
        permit: MemoryPermit::none(),
    };
    let (mut batches, mut batch) = (vec![], empty(0));
    for (number, line) in job_lines(lines).enumerate() {
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(record(number, line).as_bytes());
        let offset = number as i64;
        batch.records.push(RecordEntry {
            offset,
            time_ms: START_MS + offset,
            key: None,
            value: Some((start, batch.bytes.len() as u32)),
            headers: (0, 0),
        });
        batch.next_offset = offset + 1;
        if batch.bytes.len() >= BATCH_BYTES {
            let next = empty(batch.next_offset);
            batches.push(std::mem::replace(&mut batch, next));
        }
    }
    batches.push(batch);
    batches
}

fn record(number: usize, line: &str) -> String {
    let host = format!("gpu-node-{:03}", number % HOSTS);
    // What stands in front of lines: of a third a rank, of a few a colour or frames of a bar.
    let rank = number % 64;
    let line = match number % 20 {
        0..7 => format!("[rank{rank}]: {line}"),
        7 => format!("\u{1b}[32m{line}\u{1b}[0m"),
        8 => "\r 10%|█         | 1/10 [00:01<00:09, 1.0it/s]\r 20%|██        | 2/10 [00:02<00:08, \
              1.0it/s]"
            .to_owned(),
        _ => line.to_owned(),
    };
    json!({
        "@timestamp": "2024-05-15T10:23:46.001Z",
        "@metadata": { "beat": "filebeat", "type": "_doc", "version": "8.13.4" },
        "log": {
            "offset": number * 200,
            "file": { "path": "/logs/job-4711/node.log", "device_id": "64768", "inode": "3932201" },
        },
        "message": line, "input": { "type": "filestream" },
        "fields": { "task": "job-4711", "role": "worker" }, "ecs": { "version": "8.0.0" },
        "host": { "name": host },
        "agent": {
            "name": host, "type": "filebeat", "version": "8.13.4",
            "ephemeral_id": "00000000-0000-4000-8000-000000000001",
            "id": "00000000-0000-4000-8000-000000000002",
        },
    })
    .to_string()
}

/// How long this thread has been on a processor.
fn on_processor_ns() -> Result<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let told = told.context("the kernel tells no time on the processor")?;
    told.split(' ').next().and_then(|ns| ns.parse().ok()).context("no number there")
}
