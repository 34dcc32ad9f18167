//! Hostile records between two good ones, through the transform of a real configuration: envelopes,
//! joining, grok, built-in formats, steps, labels, prefixes.
//!
//! The invariant: whatever a record holds, its neighbours are the events that they are anyway, ids
//! stay unique, nothing is lost without a word, and what comes out is bounded by what went in.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use riverhog::source::{HeaderEntry, Partition, RecordBatch, RecordEntry};
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{BatchTransform as _, PlanTransform, Position};
use riverhog_config::{EnvelopeKind, ProcessEnv};
use riverhog_rules::event::Disposition;
use riverhog_rules::plan::Plan;
use serde_json::Value;

const CONFIG: &str = r#"
[sources.logs]
type = "kafka"
brokers = ["127.0.0.1:9092"]
topics = ["train"]
group = "hostile"
[peel]
[join]
[labels]
task = { from = ["header.task", "fields.task"], default = "none" }
[[parse]]
name = "own"
grok = '%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:content}'
time = { field = "log_time", formats = ["ISO8601"] }
[[parse]]
name = "training"
as = "training"
[[transform]]
set = { "fields.seen" = "yes" }
[[route]]
sinks = ["archive"]
[sinks.archive]
type = "local"
path = "archive"
prefix = "{task}/{timestamp:%Y-%m-%d}/"
[dead_letter]
type = "local"
path = "dead"
"#;

fn plan() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    let load = || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("riverhog.toml");
        std::fs::write(&path, CONFIG).expect("the configuration is written");
        riverhog_config::load(&path, &ProcessEnv).expect("it is right").plan
    };
    Arc::clone(PLAN.get_or_init(load))
}

/// A record before it is in a batch.
#[derive(Clone, Default)]
struct Hostile {
    key: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    time_ms: i64,
    value: Option<Vec<u8>>,
}

const GOOD: &str = "2026-03-12 10:23:45,123 INFO swift.trainer: step 7";
const TIME_MS: i64 = 1_773_282_225_000;

fn of(value: impl Into<Vec<u8>>) -> Hostile {
    Hostile { time_ms: TIME_MS, value: Some(value.into()), ..Hostile::default() }
}

/// What came of the records: each event's id, document, prefix and whether it is routed.
struct Came {
    id: String,
    document: Value,
    prefix: String,
    is_routed: bool,
    offset: i64,
}

fn run(records: &[Hostile]) -> (Vec<Came>, usize) {
    let partition = Partition { topic: Arc::from("train"), number: 0 };
    let mut batch = RecordBatch::empty(partition);
    for (offset, record) in records.iter().enumerate() {
        push(&mut batch, offset as i64, record);
    }
    let transform = PlanTransform::new(plan(), EnvelopeKind::Auto, 1 << 20, Metrics::new());
    let mut carry = transform.carry();
    let (mut all, mut bytes) = (Vec::new(), 0);
    let mut from = Some(Position::default());
    while let Some(position) = from {
        let part = transform.transform(&batch, "c0ffee00", carry.as_mut(), position);
        from = part.rest;
        bytes += add(&part.events, &mut all);
    }
    if let Some(carry) = &mut carry {
        let end = RecordBatch::empty(batch.partition.clone());
        bytes += add(&transform.close(&end, "c0ffee00", carry).events, &mut all);
    }
    (all, bytes)
}

fn push(batch: &mut RecordBatch, offset: i64, record: &Hostile) {
    let mut put = |bytes: &[u8]| {
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(bytes);
        (start, batch.bytes.len() as u32)
    };
    let key = record.key.as_deref().map(&mut put);
    let value = record.value.as_deref().map(&mut put);
    let first = batch.headers.len() as u32;
    let headers: Vec<HeaderEntry> = record
        .headers
        .iter()
        .map(|(name, value)| HeaderEntry { name: put(name.as_bytes()), value: put(value) })
        .collect();
    batch.headers.extend(headers);
    let headers = (first, batch.headers.len() as u32);
    batch.records.push(RecordEntry { offset, time_ms: record.time_ms, key, value, headers });
    batch.next_offset = offset + 1;
}

fn add(events: &riverhog_rules::EventBuffer, all: &mut Vec<Came>) -> usize {
    for event in &events.events {
        let document = serde_json::from_slice(events.document(event)).expect("it is JSON");
        let target = events.targets(event).first().and_then(|target| target.result.ok());
        let prefix = target.map(|it| events.destinations.get(it).concat()).unwrap_or_default();
        all.push(Came {
            id: events.id(event).to_owned(),
            document,
            prefix,
            is_routed: event.disposition == Disposition::Routed,
            offset: event.first_offset,
        });
    }
    events.bytes.len()
}

/// Runs a hostile record between two good ones and answers its events.
#[track_caller]
fn check(name: &str, hostile: Hostile, expect_events: usize) -> Vec<Came> {
    let good = || of(GOOD);
    let (sound, _) = run(&[good(), of("x"), good()]);
    let size = hostile.value.as_ref().map_or(0, Vec::len);
    let (all, bytes) = run(&[good(), hostile, good()]);
    let ids: BTreeSet<&str> = all.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), all.len(), "{name}: an id twice");
    for offset in [0, 2] {
        let of = |came: &[Came]| -> Vec<Value> {
            came.iter().filter(|it| it.offset == offset).map(|it| it.document.clone()).collect()
        };
        assert_eq!(of(&all), of(&sound), "{name}: a neighbour is another");
    }
    let own: Vec<Came> = all.into_iter().filter(|it| it.offset == 1).collect();
    assert_eq!(own.len(), expect_events, "{name}");
    // A document holds its line twice at most, each byte escaped to six, and what it is of.
    assert!(bytes <= 12 * size + 2048 * (expect_events + 2), "{name}: {bytes} bytes of {size}");
    assert!(own.iter().all(|it| it.is_routed), "{name}: not routed");
    own
}

fn tags(came: &Came) -> Vec<&str> {
    let tags = came.document["tags"].as_array();
    tags.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn lines_that_break_parsers_are_events_without_a_parser() {
    let mib = 1 << 20;
    for text in
        ["(", "%{", "[", "{\"a\":", "\\", "\"", "=", "%d", "🦀", "\u{202e}", "a=b ", "|/-\\"]
    {
        let line = text.repeat(mib / text.len());
        let came = check(&text.replace('\u{202e}', "bidi"), of(line.clone()), 1);
        let content = came[0].document["content"].as_str().expect("a content");
        assert!(line.starts_with(content) || line.ends_with(content), "{text}: {}", content.len());
    }
}

#[test]
fn json_of_any_depth_and_breadth_is_a_line() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    check("deep lists", of(deep), 1);
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    check("deep objects", of(deep), 1);
    let members: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":{n}")).collect();
    check("many members", of(format!("{{{}}}", members.join(","))), 1);
    check("a message and depth", of(format!("{{\"message\":\"x\",\"log\":{}", "[".repeat(99))), 1);
}

#[test]
fn bytes_of_every_kind_are_kept_or_replaced() {
    let bytes: [(&str, &[u8]); 8] = [
        ("overlong", b"a\xc0\xafb"),
        ("a surrogate", b"a\xed\xa0\x80b"),
        ("lone continuation", b"a\x80b"),
        ("cut at the end", b"a\xf0\x9f\xa6"),
        ("beyond unicode", b"a\xf7\xbf\xbf\xbf"),
        ("zeros", b"a\0\0\0b"),
        ("controls", b"a\x01\x02\x7f\x1bb"),
        ("0xff", &[0xff; 1000]),
    ];
    for (name, bytes) in bytes {
        let came = check(name, of(bytes), 1);
        assert!(came[0].document["content"].is_string(), "{name}");
    }
}

#[test]
fn a_line_beyond_the_limit_is_cut_and_says_so() {
    let came = check("three mebibytes", of("x".repeat(3 << 20)), 1);
    assert!(tags(&came[0]).contains(&"_cut"), "{:?}", tags(&came[0]));
    assert_eq!(came[0].document["content"].as_str().map(str::len), Some(1 << 20));
}

#[test]
fn lines_of_nothing_are_what_they_are() {
    check("empty", of(""), 1);
    check("a line end", of("\n"), 1);
    check("a return", of("\r"), 1);
    check("ten thousand lines", of("\n".repeat(10_000)), 10_000);
    check("a tombstone", Hostile { time_ms: TIME_MS, ..Hostile::default() }, 0);
}

#[test]
fn times_from_any_age_open_no_prefix() {
    for line in [
        "0000-01-01 00:00:00,000 INFO a: x",
        "9999-12-31 23:59:59,999 INFO a: x",
        "1970-01-01 00:00:00,000 INFO a: x",
        "2026-99-99 99:99:99,999 INFO a: x",
        "2026-03-12 10:23:45,99999999999999999999 INFO a: x",
    ] {
        let came = check(line, of(line), 1);
        assert_eq!(came[0].prefix, "none/2026-03-12/", "{line}");
    }
    for time_ms in [i64::MIN, -1, 0, i64::MAX] {
        let record = Hostile { time_ms, ..of("x") };
        let came = check(&format!("record time {time_ms}"), record, 1);
        assert!(came[0].id.starts_with("c0ffee00-train-0-1-"), "{}", came[0].id);
    }
}

#[test]
fn names_from_hostile_labels_stay_inside_their_place() {
    let long = "x".repeat(10 << 10);
    for task in [
        "..",
        ".",
        "../../etc/passwd",
        "/",
        "a/b",
        "a\\b",
        "a\0b",
        "🦀",
        "%2F..%2F",
        "-_+.",
        &long,
        " ",
    ] {
        let headers = vec![("task".to_owned(), task.as_bytes().to_vec())];
        let came = check(&format!("task {task:.20}"), Hostile { headers, ..of("x") }, 1);
        let prefix = &came[0].prefix;
        let parts: Vec<&str> = prefix.split('/').collect();
        assert_eq!(parts.len(), 3, "{task:.20}: {prefix}");
        assert!(!parts.contains(&"..") && !parts.contains(&"."), "{task:.20}: {prefix}");
        assert!(prefix.len() < 1024 && !prefix.contains(['\0', '\\']), "{task:.20}: {prefix:.80}");
        assert!(parts[1] == "2026-03-12" && !parts[0].is_empty(), "{task:.20}: {prefix}");
    }
}

#[test]
fn keys_and_headers_of_every_kind_are_taken() {
    let header = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    check("an empty key", Hostile { key: Some(Vec::new()), ..of("x") }, 1);
    check("a key of a mebibyte", Hostile { key: Some(vec![0xff; 1 << 20]), ..of("x") }, 1);
    let twice = vec![header("task", b"a"), header("task", b"b")];
    let came = check("a header twice", Hostile { headers: twice, ..of("x") }, 1);
    assert_eq!(came[0].document["labels"]["task"], "b", "the last counts");
    let odd = vec![header("", b"x"), header("task", b"\xff\xfe"), header("n\0", b"")];
    check("odd headers", Hostile { headers: odd, ..of("x") }, 1);
    let many = (0..10_000).map(|n| header(&format!("h{n}"), b"v")).collect();
    check("ten thousand headers", Hostile { headers: many, ..of("x") }, 1);
}

#[test]
fn envelopes_that_are_huge_or_broken_lose_no_line() {
    let attributes: Vec<String> =
        (0..100_000).map(|n| format!(r#"{{"key":"k{n}","value":{{"intValue":"{n}"}}}}"#)).collect();
    let otlp = format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":[{}]}},"scopeLogs":[{{"logRecords":[{{"body":{{"stringValue":"x"}}}}]}}]}}]}}"#,
        attributes.join(",")
    );
    check("a hundred thousand attributes", of(otlp), 1);
    let labels: Vec<String> = (0..100_000).map(|n| format!(r#""l{n}":"v""#)).collect();
    let loki =
        format!(r#"{{"streams":[{{"stream":{{{}}},"values":[["1","x"]]}}]}}"#, labels.join(","));
    check("a hundred thousand labels", of(loki), 1);
    for broken in [
        r#"{"message":"x""#,
        r#"{"message":{"a":1}}"#,
        r#"{"log":"x\n","stream":"stdout","time":"never"}"#,
        "2024-05-15T10:23:45Z stdout",
        r#"{"streams":[{"stream":{},"values":[["1"]]}]}"#,
        r#"{"resourceLogs":[{}]}"#,
    ] {
        let (all, _) = run(&[of(GOOD), of(broken), of(GOOD)]);
        let goods = all.iter().filter(|it| it.offset != 1).count();
        assert_eq!(goods, 2, "{broken}");
    }
}
