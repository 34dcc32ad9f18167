//! What a letter makes again is what its line made: id, document and all.

use std::sync::Arc;

use riverhog_config::{Config, ProcessEnv};
use riverhog_rules::event::EventBuffer;
use tokio::sync::Notify;

use super::letter::{self, Entry};
use super::remake::{CUT, DIFFERS, NO_SINK, Remade, Remaker};
use crate::delivery_rules::DeliveryRules;
use crate::generation::Generation;
use crate::sink::Batch;
use crate::sink::dead_letter::DeadLetter;
use crate::sink::dead_letter::letter::Letter;
use crate::source::{Assigned, Partition, RecordBatch, RecordEntry};
use crate::telemetry::metrics::Metrics;
use crate::transform::{BatchTransform as _, PlanTransform, Position};

const CONFIG: &str = r#"
[sources.logs]
type    = "kafka"
brokers = ["127.0.0.1:9092"]
topics  = ["logs"]
group   = "g"
[join]
[sinks.search]
type  = "local"
path  = "search"
prefix = ""
[sinks.archive]
type = "local"
path = "archive"
prefix = ""
[[route]]
sinks = ["search", "archive"]
[dead_letter]
type = "local"
path = "dead"
"#;

/// As Filebeat writes it.
const ENVELOPE: &[u8] =
    br#"{"@timestamp":"2026-03-12T02:23:46Z","message":"in one","host":{"name":"gpu-07"}}"#;

fn config() -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    std::fs::write(&path, CONFIG).unwrap();
    riverhog_config::load(&path, &ProcessEnv).unwrap()
}

/// The batch of records with these values, and everything that is made of it.
fn batch(config: &Config, values: &[&[u8]]) -> Arc<Batch> {
    let partition = Partition { topic: "logs".into(), number: 3 };
    let mut records = RecordBatch::empty(partition.clone());
    for (offset, value) in (41..).zip(values) {
        let start = records.bytes.len() as u32;
        records.bytes.extend_from_slice(value);
        let value = Some((start, records.bytes.len() as u32));
        let time_ms = 1_700_000_000_000;
        records.records.push(RecordEntry { offset, time_ms, key: None, value, headers: (0, 0) });
    }
    let source = &config.sources[0];
    let plan = Arc::clone(&config.plan);
    let transform = PlanTransform::new(plan, source.envelope, 1 << 20, Metrics::new());
    let mut carry = transform.carry();
    let from = Position::default();
    let mut events = transform.transform(&records, "c0ffee00", carry.as_mut(), from).events;
    if events.events.is_empty() {
        let closing = RecordBatch::empty(partition.clone());
        events = transform.close(&closing, "c0ffee00", carry.as_mut().unwrap()).events;
    }
    let assigned = Assigned {
        partition,
        epoch: 1,
        position: 41,
        metadata: Vec::new(),
        end_offset: -1,
        incarnation: None,
    };
    let (settled, rules) = (Arc::new(Notify::new()), DeliveryRules::all());
    let generation = Generation::new(&assigned, "c0ffee00".into(), vec![41; 3], settled, rules);
    Arc::new(Batch {
        sequence: 0,
        first_event: 0,
        generation: Arc::new(generation),
        events,
        records: Arc::new(records),
        place: None,
    })
}

fn dead(batch: &Arc<Batch>, event: u32, sink: Option<&str>) -> DeadLetter {
    DeadLetter {
        batch: Arc::clone(batch),
        event,
        sink: 0,
        sink_name: sink.map(Arc::from),
        destination: "logs".to_owned(),
        reason: "refused",
        detail: String::new(),
    }
}

fn read(letter: &Letter) -> letter::Letter {
    match letter::read(&letter.value) {
        Entry::Letter(letter) => *letter,
        other => panic!("{other:?}"),
    }
}

/// Every event of these records comes back from its letter, alone, with the same document.
fn check(values: &[&[u8]], events: usize) {
    let config = config();
    let batch = batch(&config, values);
    assert_eq!(batch.events.events.len(), events, "{values:?}");
    let mut remaker = Remaker::new(&config);
    for (number, event) in (0..).zip(&batch.events.events) {
        let letter = read(&Letter::of(&dead(&batch, number, Some("archive"))));
        let mut out = EventBuffer::new();
        let id = batch.events.id(event).to_owned();
        assert_eq!(remaker.remake(&letter, &mut out), Remade::Events(vec![id.clone()]));
        let found: Vec<_> = out.events.iter().filter(|it| out.id(it) == id).collect();
        assert_eq!(found.len(), 1);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(out.document(found[0])), text(batch.events.document(event)));
        let sinks: Vec<_> = out.targets(found[0]).iter().map(|target| target.sink).collect();
        assert_eq!(sinks, [1], "the sink that owes it, alone");
    }
}

#[test]
fn a_line_comes_back_whatever_its_record_was() {
    check(&[b"INFO hello"], 1);
    check(&[b"\xff\x00 odd bytes"], 1);
    check(&[b"one\ntwo\r\nthree\n", b"four"], 4);
    check(&[ENVELOPE], 1);
}

#[test]
fn a_record_of_several_lines_comes_back_whole() {
    let lines: [&[u8]; 3] = [
        b"Traceback (most recent call last):",
        b"  File \"a.py\", line 1, in <module>",
        b"ValueError: no",
    ];
    check(&lines, 1);
    check(&[&lines.join(&b'\n')], 1);
}

#[test]
fn what_cannot_come_back_says_why() {
    let config = config();
    let batch = batch(&config, &["x".repeat(10_000).as_bytes()]);
    let mut remaker = Remaker::new(&config);
    let mut check =
        |letter: &Letter, change: &dyn Fn(&mut letter::Letter), expect: &'static str| {
            let mut letter = read(letter);
            change(&mut letter);
            let remade = remaker.remake(&letter, &mut EventBuffer::new());
            assert_eq!(remade, Remade::Stays(expect));
        };
    let of_search = dead(&batch, 0, Some("search"));
    let whole = Letter::of(&of_search);
    check(&whole.shortened(&of_search, 4_000), &|_| {}, CUT);
    check(&Letter::of(&dead(&batch, 0, Some("gone"))), &|_| {}, NO_SINK);
    check(&whole, &|letter| letter.origin.time += 1, DIFFERS);
}
