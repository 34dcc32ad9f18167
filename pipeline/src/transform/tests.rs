//! Batches through the transform: what comes out, what is counted, what is kept between them.

use std::num::{NonZeroI64, NonZeroU64};
use std::sync::Arc;

use riverhog_parsers::grok::{Grok, GrokOptions};
use riverhog_rules::Disposition;
use riverhog_rules::hosts::{HostRule, HostTable};
use riverhog_rules::names::{Names, Stage};
use riverhog_rules::plan::{LineParser, ParseRule};
use riverhog_rules::selector::Selector;
use riverhog_rules::step::{Action, RateLimit, Step};

use super::*;
use crate::source::Partition;

fn batch(values: &[Option<&[u8]>]) -> RecordBatch {
    let partition = Partition { topic: Arc::from("train"), number: 3 };
    let mut batch = RecordBatch::empty(partition);
    batch.next_offset = values.len() as i64;
    for (offset, value) in values.iter().enumerate() {
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(value.unwrap_or_default());
        let end = batch.bytes.len() as u32;
        batch.records.push(RecordEntry {
            offset: offset as i64,
            time_ms: 1_700_000_000_000,
            key: None,
            value: value.map(|_| (start, end)),
            headers: (0, 0),
        });
    }
    batch
}

/// All parts of a batch: per part, its events' offset and index.
fn parts(batch: &RecordBatch) -> Vec<Vec<(i64, u32)>> {
    let metrics = Metrics::new();
    let plan = Arc::new(Plan::default());
    let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics);
    let mut parts = Vec::new();
    let mut from = Position::default();
    loop {
        let part = transform.transform(batch, "c0ffee00", None, from);
        assert!(part.events.bytes.len() < PART_BYTES + (64 << 10));
        parts.push(part.events.events.iter().map(|e| (e.first_offset, e.index)).collect());
        match part.rest {
            Some(rest) => from = rest,
            None => return parts,
        }
    }
}

/// A transform of a plan whose hosts are the records' keys.
fn with_hosts(table: &str) -> PlanTransform {
    let mut plan = Plan::default();
    let names = Names::new().columns(["rack"]).at(Stage::Hosts);
    let from = vec![Selector::compile("key", &names).expect("a name")];
    plan.hosts = HostRule { from };
    plan.tables = hosts(table);
    PlanTransform::new(Arc::new(plan), EnvelopeKind::None, 1 << 20, Metrics::new())
}

fn hosts(table: &str) -> Tables {
    let table = HostTable::from_csv(table).expect("a table");
    Tables { hosts: Some(Arc::new(table)), ..Tables::default() }
}

/// The document of a line `x` with the key `x`.
fn document(transform: &PlanTransform, change: impl FnOnce(&mut RecordBatch)) -> String {
    let mut batch = batch(&[Some(b"x")]);
    batch.records[0].key = Some((0, 1));
    change(&mut batch);
    let part = transform.transform(&batch, "c0ffee00", None, Position::default());
    let document = part.events.document(&part.events.events[0]);
    String::from_utf8(document.to_vec()).expect("JSON is UTF-8")
}

#[test]
fn what_is_redacted_is_counted_by_kind() {
    let metrics = Metrics::new();
    let plan = Arc::new(Plan::default());
    let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
    let batch = batch(&[Some(b"password=hunter2 token=None\npassword=hunter3")]);
    let part = transform.transform(&batch, "c0ffee00", None, Position::default());
    let document = part.events.document(&part.events.events[0]);
    let document = std::str::from_utf8(document).expect("JSON is UTF-8");
    assert!(document.contains("password=[redacted:password] token=None"), "{document}");
    let counted = "riverhog_redacted_values_total{kind=\"password\"} 2\n";
    assert!(metrics.render().contains(counted), "{}", metrics.render());
}

#[test]
fn rates_are_known_by_partition_from_batch_to_batch() {
    let step = Step {
        name: "flood".to_owned(),
        when: None,
        action: Action::RateLimit(RateLimit {
            lines: NonZeroU64::MIN,
            per_ns: NonZeroI64::new(60_000_000_000).expect("a minute"),
            key: Vec::new(),
        }),
    };
    let plan = Plan { steps: vec![step], ..Plan::default() };
    let metrics = Metrics::new();
    let plan = Arc::new(plan);
    let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
    let batch = batch(&[Some(b"a\nb")]);
    let dropped = |carry: &mut Carry| {
        let from = Position::default();
        let part = transform.transform(&batch, "c0ffee00", Some(carry), from);
        let events = part.events.events.iter();
        events.filter(|event| matches!(event.disposition, Disposition::Dropped(_))).count()
    };
    let mut one = transform.carry().expect("rates are known by partition");
    let mut other = transform.carry().expect("rates are known by partition");
    assert_eq!((dropped(&mut one), dropped(&mut one), dropped(&mut other)), (1, 2, 1));
    let counted = "riverhog_transform_lines_total{outcome=\"dropped\",step=\"flood\"} 4\n";
    assert!(metrics.render().contains(counted), "{}", metrics.render());
}

#[test]
fn lines_without_a_parser_are_kept_for_a_look() {
    let metrics = Metrics::new();
    let plan = Arc::new(Plan::default());
    let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
    let batch = batch(&[Some(b"a"), None, Some(b"b\npassword=hunter2 is secret")]);
    transform.transform(&batch, "c0ffee00", None, Position::default());
    let kept = metrics.unparsed_lines().to_json(|_| true);
    let kept: Vec<String> = kept["lines"]
        .as_array()
        .expect("a list of lines")
        .iter()
        .map(|line| format!("{} {} {}", line["offset"], line["index"], line["line"]))
        .collect();
    // The latest is first.
    let secret = r#"2 1 "password=[redacted:password] is secret""#;
    assert_eq!(kept, [secret, r#"2 0 "b""#, r#"0 0 "a""#]);
}

#[test]
fn one_line_in_64_is_measured() {
    let metrics = Metrics::new();
    let parser = LineParser::Grok(Grok::compile("%{WORD:word}", &GrokOptions::default()).unwrap());
    let name = "word".to_owned();
    let rule = ParseRule { name, when: None, field: None, parser, time: None, numbers: false };
    let plan = Arc::new(Plan { parse: vec![rule], ..Plan::default() });
    let transform = PlanTransform::new(plan, EnvelopeKind::None, 1 << 20, metrics.clone());
    let values = [Some(&b"x"[..]); 200];
    transform.transform(&batch(&values), "c0ffee00", None, Position::default());
    let page = metrics.render();
    assert!(page.contains("riverhog_parse_seconds_count{parser=\"word\"} 3\n"), "{page}");
}

#[test]
fn a_swapped_table_counts_from_the_next_batch() {
    let transform = with_hosts("host,rack\nx,r1\n");
    let rack = |rack: &str| {
        let document = document(&transform, |_| {});
        assert!(
            document.contains(&format!(r#""host":{{"name":"x","rack":"{rack}"}}"#)),
            "{document}"
        );
    };
    // Two workers that are idle when the tables are swapped.
    let (first, second) = (transform.take(), transform.take());
    transform.give_back(first.0, first.1);
    transform.give_back(second.0, second.1);
    rack("r1");
    transform.offer_tables(hosts("host,rack\nx,r2\n"));
    rack("r1");
    transform.swap_tables();
    transform.swap_tables();
    rack("r2");
    let busy = transform.take();
    assert_eq!(busy.0, 1);
    rack("r2");
    let fresh = transform.take();
    rack("r2");
    transform.offer_tables(hosts("host,rack\nx,r3\n"));
    transform.swap_tables();
    // They worked while the tables were swapped.
    transform.give_back(busy.0, busy.1);
    transform.give_back(fresh.0, fresh.1);
    rack("r3");
}

#[test]
fn records_without_a_time_are_received_when_their_batch_says() {
    let transform = with_hosts("host,rack\n");
    let file = |batch: &mut RecordBatch| {
        batch.stamp = StampKind::None;
        batch.records[0].time_ms = 0;
        batch.received_ms = 1_557_138_225_250;
    };
    let unstamped = document(&transform, file);
    let expect = r#""received":"2019-05-06T10:23:45.250000000Z","received_source":"file""#;
    assert!(unstamped.contains(expect), "{unstamped}");
    assert!(unstamped.contains(r#""event_id":"c0ffee00-train-3-0-0-0""#), "{unstamped}");
    let later = |batch: &mut RecordBatch| {
        file(batch);
        batch.received_ms += 1;
    };
    assert!(document(&transform, later).contains(r#""event_id":"c0ffee00-train-3-0-0-0""#));
    let stamped = document(&transform, |batch| batch.received_ms = 5);
    assert!(stamped.contains(r#""received":"2023-11-14T22:13:20.000000000Z""#), "{stamped}");
}

#[test]
fn lines_are_counted_through_all_envelopes_of_a_record() {
    let mut plan = Plan::default();
    let names = Names::new().at(Stage::Hosts);
    plan.hosts =
        HostRule { from: vec![Selector::compile("envelope.host", &names).expect("a name")] };
    let transform = PlanTransform::new(Arc::new(plan), EnvelopeKind::Auto, 1 << 20, Metrics::new());
    let two = br#"{"streams":[{"stream":{"host":"a"},"values":[["1","x\ny"]]},
        {"stream":{"host":"b"},"values":[["2","z"],["3",""]]}]}"#;
    let batch = batch(&[Some(two), Some(b"{'no': 'envelope'}\nz")]);
    let shown = |from| {
        let part = transform.transform(&batch, "c0ffee00", None, from);
        let events = part.events.events.iter().map(|event| {
            let document: serde_json::Value =
                serde_json::from_slice(part.events.document(event)).expect("JSON");
            let host = document["host"]["name"].as_str().expect("a host").to_owned();
            (event.first_offset, event.index, host)
        });
        events.collect::<Vec<_>>()
    };
    let line = |offset, index, host: &str| (offset, index, host.to_owned());
    let expect = [
        line(0, 0, "a"),
        line(0, 1, "a"),
        line(0, 2, "b"),
        line(0, 3, "b"),
        line(1, 0, "unknown"),
        line(1, 1, "unknown"),
    ];
    assert_eq!(shown(Position::default()), expect);
    assert_eq!(shown(Position { record: 0, line: 3 }), expect[3..]);
}

#[test]
fn a_record_of_very_many_lines_comes_in_parts() {
    let many = b"\n".repeat(100_000);
    let parts = parts(&batch(&[Some(b"one"), Some(&many), None, Some(b"a\r\nb")]));
    assert!(parts.len() > 2, "{} parts", parts.len());
    let events: Vec<(i64, u32)> = parts.concat();
    let mut expected = vec![(0, 0)];
    expected.extend((0..100_000).map(|index| (1, index)));
    expected.extend([(3, 0), (3, 1)]);
    assert_eq!(events, expected);
}
