//! Records of several lines are the same whether a topic is read in one go or across restarts: the
//! real transform and the real ledger, without sinks.
//!
//! Invariant: what is compared is every stored document with its id. What a limit or the clock ends
//! early is excepted, and counted: here neither comes about, and the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use riverhog::delivery_rules::DeliveryRules;
use riverhog::ledger::{Ledger, LedgerEvent, RoutedPart};
use riverhog::memory::MemoryPermit;
use riverhog::source::{Partition, RecordBatch, RecordEntry, StampKind};
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{BatchTransform, PlanTransform, Position};
use riverhog_config::EnvelopeKind;
use riverhog_tests::NewRecord;
use riverhog_tests::corpus::{Job, Written};

use crate::random::Random;

const JOBS: u64 = 10;
const SEEDS_PER_JOB: u64 = 30;
const RESTARTS: u32 = 10;

const CONFIG: &str = "[sources.p]\ntype = 'stdin'\n[peel]\n[join]\ngap = '20s'\n\
    [[parse]]\nname = 'training'\nas = 'training'\n[[route]]\nsinks = ['a']\n\
    [sinks.a]\ntype = 'local'\npath = 'a'\n";

/// Documents by their ids.
type Stored = BTreeMap<String, String>;

/// One partition of a job, and the transform that reads it.
#[derive(Clone, Copy)]
struct Topic<'a> {
    transform: &'a PlanTransform,
    records: &'a [&'a NewRecord],
    rules: DeliveryRules,
}

/// One process at work on the partition, from its start to its end.
struct Process<'a> {
    topic: &'a Topic<'a>,
    carry: Option<Box<dyn std::any::Any + Send>>,
    ledger: Ledger,
    position: usize,
    /// What the store was given and has not confirmed.
    unsettled: Vec<(u64, u32)>,
}

impl<'a> Process<'a> {
    fn start(topic: &'a Topic<'a>, watermark: i64) -> Process<'a> {
        let ledger = Ledger::new(1, watermark, topic.rules);
        let carry = topic.transform.carry();
        let position = watermark as usize;
        Process { topic, carry, ledger, position, unsettled: Vec::new() }
    }

    /// Reads a batch, and gives its events to the store.
    fn read(&mut self, count: usize, stored: &mut Stored, seen: &mut Seen) {
        let end = (self.position + count).min(self.topic.records.len());
        let batch = batch(&self.topic.records[self.position..end], self.position as i64);
        let sequence = self.ledger.read(self.position as i64, end as i64);
        self.position = end;
        let (carry, from) = (self.carry.as_mut(), Position::default());
        let part = self.topic.transform.transform(&batch, "c0ffee00", carry, from);
        assert!(part.rest.is_none(), "a batch of this size has one part");
        let events = part.events.events.iter().map(|event| LedgerEvent {
            first_offset: event.first_offset,
            last_offset: event.last_offset,
            sinks: 1,
        });
        let events: Vec<LedgerEvent> = events.collect();
        let (open_from, pieces_from) = (part.open_from, part.pieces_from);
        let routed = RoutedPart { events: &events, open_from, pieces_from, is_last: true };
        self.ledger.routed(sequence, routed);
        seen.held |= part.open_from.is_some();
        for (number, event) in (0..).zip(&part.events.events) {
            let document = String::from_utf8_lossy(part.events.document(event)).into_owned();
            let id = part.events.id(event).to_owned();
            seen.joined += u32::from(event.joined.is_some());
            seen.store(stored, id, document);
            self.unsettled.push((sequence, number));
        }
    }

    /// The store confirms some of what it has.
    fn settle(&mut self, random: &mut Random, percent: u64) {
        self.unsettled.retain(|(sequence, event)| {
            let is_settled = random.chance(percent);
            if is_settled {
                self.ledger.settle(*sequence, 0, [*event]);
            }
            !is_settled
        });
        self.ledger.compact();
    }
}

/// What happened: without it the comparison proves nothing.
#[derive(Debug, Default)]
struct Seen {
    /// Lines were held.
    held: bool,
    joined: u32,
    repeated: u32,
    /// Restarts while lines were held.
    restarts_inside: u32,
}

impl Seen {
    fn store(&mut self, stored: &mut Stored, id: String, document: String) {
        match stored.get(&id) {
            None => drop(stored.insert(id, document)),
            Some(known) => {
                assert_eq!(*known, document, "an id names one document");
                self.repeated += 1;
            }
        }
    }
}

fn batch(records: &[&NewRecord], first: i64) -> RecordBatch {
    let mut batch = RecordBatch {
        partition: Partition { topic: Arc::from("train"), number: 0 },
        epoch: 1,
        bytes: Vec::new(),
        records: Vec::new(),
        headers: Vec::new(),
        stamp: StampKind::CreateTime,
        received_ms: 0,
        next_offset: first + records.len() as i64,
        end_offset: -1,
        permit: MemoryPermit::none(),
    };
    for (offset, record) in (first..).zip(records) {
        let mut range = |bytes: &Option<Vec<u8>>| {
            let start = batch.bytes.len() as u32;
            batch.bytes.extend_from_slice(bytes.as_deref()?);
            Some((start, batch.bytes.len() as u32))
        };
        let (key, value) = (range(&record.key), range(&record.value));
        let time_ms = record.time_ms.unwrap_or_default();
        batch.records.push(RecordEntry { offset, time_ms, key, value, headers: (0, 0) });
    }
    batch
}

fn transform() -> PlanTransform {
    let folder = tempfile::tempdir().expect("a folder for the configuration");
    let path = folder.path().join("riverhog.toml");
    std::fs::write(&path, CONFIG).expect("the configuration is written");
    let config = riverhog_config::load(&path, &riverhog_config::ProcessEnv);
    let config = config.unwrap_or_else(|report| panic!("{}", report.render(false)));
    PlanTransform::new(config.plan, EnvelopeKind::Auto, 1 << 20, Metrics::new())
}

/// The partition at full speed: what must be stored.
fn read_at_once(topic: &Topic<'_>) -> (Stored, Seen) {
    let (mut stored, mut seen) = (Stored::new(), Seen::default());
    let mut process = Process::start(topic, 0);
    process.read(topic.records.len(), &mut stored, &mut seen);
    assert!(process.ledger.owed(0) > 0 && process.ledger.watermark() == 0);
    process.settle(&mut Random::new(0), 100);
    // The table that a job ends with is the last of each file: nothing is left to be ended early.
    assert_eq!(process.ledger.watermark(), topic.records.len() as i64);
    assert_eq!(seen.repeated, 0);
    (stored, seen)
}

/// The same in batches, by processes that die without a word and begin at what was committed last.
fn read_with_restarts(topic: &Topic<'_>, seed: u64) -> (Stored, Seen) {
    let mut random = Random::new(seed);
    let (mut stored, mut seen) = (Stored::new(), Seen::default());
    let (mut committed, mut restarts) = (0, 0);
    let mut process = Process::start(topic, committed);
    while restarts < RESTARTS || process.ledger.watermark() < topic.records.len() as i64 {
        process.read(random.between(1, 60) as usize, &mut stored, &mut seen);
        let percent = if random.chance(30) { 100 } else { 60 };
        process.settle(&mut random, percent);
        if random.chance(60) {
            committed = process.ledger.watermark();
        }
        if restarts < RESTARTS && random.chance(25) {
            restarts += 1;
            let is_held = process.ledger.watermark() < process.position as i64;
            seen.restarts_inside += u32::from(is_held && seen.held);
            process = Process::start(topic, committed);
        }
    }
    (stored, seen)
}

#[test]
fn joined_records_do_not_depend_on_where_reading_began() {
    let transform = transform();
    let (mut repeated, mut inside) = (0, 0);
    for job in 0..JOBS {
        let written = Job { seed: job }.written();
        let records = of_partition(&written, (job % 4) as i32);
        let rules = DeliveryRules::all();
        let topic = Topic { transform: &transform, records: &records, rules };
        let (expect, seen) = read_at_once(&topic);
        assert!(seen.joined >= 18, "16 ranks and 2 tables: {seen:?}");
        for seed in job * SEEDS_PER_JOB..(job + 1) * SEEDS_PER_JOB {
            let (found, seen) = read_with_restarts(&topic, seed);
            assert!(found == expect, "seed {seed}: {}", first_difference(&found, &expect));
            repeated += seen.repeated;
            inside += seen.restarts_inside;
        }
    }
    let seeds = (JOBS * SEEDS_PER_JOB) as u32;
    assert!(repeated > seeds * 10 && inside > seeds, "{repeated} {inside}");
}

fn of_partition(written: &Written, partition: i32) -> Vec<&NewRecord> {
    written.records.iter().filter(|record| record.partition == Some(partition)).collect()
}

/// Each of the two rules that the law stands on, switched off.
#[test]
fn a_watermark_that_cuts_a_record_is_noticed() {
    let transform = transform();
    let written = Job { seed: 1 }.written();
    let records = of_partition(&written, 1);
    let all = DeliveryRules::all();
    let topic = Topic { transform: &transform, records: &records, rules: all };
    let (expect, _) = read_at_once(&topic);
    for rules in [
        DeliveryRules { open_lines_are_unsettled: false, ..all },
        DeliveryRules { watermark_never_cuts_a_record: false, ..all },
    ] {
        let topic = Topic { rules, ..topic };
        let differs = |seed| read_with_restarts(&topic, seed).0 != expect;
        assert!((0..20).any(differs), "{rules:?}");
    }
}

fn first_difference(found: &Stored, expect: &Stored) -> String {
    let more = found.iter().find(|(id, _)| !expect.contains_key(*id));
    let less = expect.iter().find(|(id, _)| !found.contains_key(*id));
    format!("stored but not expected {more:?}, expected but not stored {less:?}")
}
