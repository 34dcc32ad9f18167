//! Tests of the transform as a whole: lines in, documents and destinations out.
mod actions;
mod formats;
mod many;
mod numbers;
mod patterns;
mod properties;
mod redacting;

use std::fmt::Write;
use std::sync::Arc;

use riverhog_parsers::envelope::{Envelope, EnvelopeFields};
use riverhog_parsers::grok::{Grok, GrokOptions, Reason};
use riverhog_parsers::peel::Layers;
use riverhog_parsers::time::TimeParser;
use serde_json::Value as Json;

use super::sample::sample_plan;
use super::*;
use crate::condition::Condition;
use crate::hosts::HostTable;
use crate::join::Join;
use crate::labels::LabelRule;
use crate::names::{Names, Stage};
use crate::origin::parse_event_id;
use crate::origin::{join_hash, line_and_part};
use crate::plan::{ActionForm, LineParser, ParseRule, Tables, Target, TimeRule};
use crate::route::Route;
use crate::sanitise::TargetKind;
use crate::selector::Selector;
use crate::template::Template;

const SWIFT: &str = "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: \
    %{GREEDYDATA:content}";
/// 2026-03-12T02:23:46.004Z
const RECEIVED_NS: i64 = 1_773_282_226_004_000_000;
const HEADERS: [(&str, &[u8]); 3] =
    [("task", b"sft-qwen-7b"), ("project", b"nlp"), ("host", b"gpu-07")];
const LINE: &str = "2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.";

fn names() -> Names {
    Names::new().labels(["task", "role", "project"]).columns(["node", "gpu_model", "rack"])
}

fn record() -> Record<'static> {
    Record {
        topic: "train-logs",
        partition: 3,
        offset: 18_422,
        key: None,
        headers: &HEADERS,
        received_ns: RECEIVED_NS,
        received_source: ReceivedSource::LogAppendTime,
        envelope: None,
        lineage: "5f0a91c2",
        time_ms: RECEIVED_NS / 1_000_000,
    }
}

fn grok(pattern: &str) -> Grok {
    Grok::compile(pattern, &GrokOptions::default()).unwrap()
}

fn time(field: &str) -> TimeRule {
    let formats = ["ISO8601", "yyyy-MM-dd HH:mm:ss,SSS"];
    let parser = TimeParser::compile(&formats, "Asia/Shanghai").unwrap();
    TimeRule { field: field.to_owned(), parser, zone_field: None, is_own: false }
}

fn rule(name: &str, pattern: &str) -> ParseRule {
    let name = name.to_owned();
    let parser = LineParser::Grok(grok(pattern));
    ParseRule {
        name,
        when: None,
        field: None,
        parser,
        time: Some(time("log_time")),
        numbers: false,
    }
}

fn route(when: &str, sinks: u64) -> Route {
    let when = (!when.is_empty()).then(|| Condition::compile(when, &names()).unwrap());
    Route { name: None, when, sinks }
}

fn target(kind: TargetKind, texts: &[&str]) -> Target {
    let destinations = texts.iter().map(|text| Template::compile(text, &names()).unwrap());
    let destinations = destinations.collect();
    let action = ActionForm::default();
    Target { name: texts.concat(), destinations, action, omit_message: false, kind }
}

fn selectors(stage: Stage, texts: &[&str]) -> Vec<Selector> {
    let names = names().at(stage);
    texts.iter().map(|text| Selector::compile(text, &names).unwrap()).collect()
}

fn plan() -> Plan {
    Plan { parse: vec![rule("swift", SWIFT)], ..sample_plan() }
}

fn run(plan: Plan, records: &[(Record<'_>, &[u8])]) -> (EventBuffer, Counters) {
    let mut transformer = Transformer::new(Arc::new(plan));
    let mut out = EventBuffer::new();
    for (record, raw) in records {
        transformer.begin_record(record);
        transformer.line(record, &Line { raw, index: 0, cut: false, returns: false }, &mut out);
    }
    (out, transformer.take_counters())
}

/// The event as one text: disposition, destinations, and the named members of its document.
fn shown(out: &EventBuffer, event: &Event, members: &[&str]) -> String {
    let mut text = match event.disposition {
        Disposition::Routed => String::new(),
        Disposition::DeadLetter(reason) => format!("dead {} ", reason.as_str()),
        Disposition::Dropped(reason) => format!("dropped {} ", reason.as_str()),
    };
    for target in out.targets(event) {
        match target.result {
            Ok(id) => write!(text, "{}", out.destinations.get(id).join("|")).unwrap(),
            Err(reason) => write!(text, "{} {}", target.sink, reason.as_str()).unwrap(),
        }
        text.push(' ');
    }
    if !out.document(event).is_empty() {
        let document: Json = serde_json::from_slice(out.document(event)).unwrap();
        for member in members {
            let found = member.split('/').try_fold(&document, |value, key| value.get(key));
            write!(text, "{member}={} ", found.unwrap_or(&Json::Null)).unwrap();
        }
    }
    text.trim().to_owned()
}

/// One line through a changed plan and record; see `shown`.
#[track_caller]
fn check_with(
    change: impl FnOnce(&mut Plan, &mut Record<'_>),
    line: &str,
    members: &str,
    expect: &str,
) {
    let (mut plan, mut record) = (plan(), record());
    change(&mut plan, &mut record);
    let (out, _) = run(plan, &[(record, line.as_bytes())]);
    let members: Vec<&str> = members.split_whitespace().collect();
    assert_eq!(shown(&out, &out.events[0], &members), expect, "{line}");
}

/// One line through a plan that routes to one fixed place.
#[track_caller]
fn check(pattern: &str, line: &str, members: &str, expect: &str) {
    let change = |plan: &mut Plan, _: &mut Record<'_>| {
        plan.parse = vec![rule("test", pattern)];
        plan.targets = vec![target(TargetKind::Path, &[""])];
        plan.routes = vec![route("", 1)];
    };
    check_with(change, line, members, expect);
}

#[test]
fn the_sample_is_the_format() {
    let expect = concat!(
        r#"{"@timestamp":"2026-03-12T02:23:45.123000000Z","timestamp_source":"line","#,
        r#""received":"2026-03-12T02:23:46.004000000Z","received_source":"log_append_time","#,
        r#""level":"error","component":"swift.trainer","content":"CUDA out of memory.","#,
        r#""host":{"name":"gpu-07","node":"n7","gpu_model":"H100","rack":"r3"},"#,
        r#""labels":{"task":"sft-qwen-7b","role":"worker","project":"nlp"},"rank":37,"#,
        r#""metrics":{"step":1250.0,"loss":2.104},"fields":{"worker":"w3"},"tags":["_cut"],"#,
        r#""origin":{"lineage":"5f0a91c2","topic":"train-logs","partition":3,"offset":18422,"#,
        r#""time":1773282226004,"index":0},"#,
        r#""event_id":"5f0a91c2-train-logs-3-18422-mmmugaj8-0","v":1,"#,
        r#""message":"2026-03-12 10:23:45,123 ERROR [rank 37] swift.trainer worker=w3 step=1250 "#,
        r#"loss=2.104: CUDA out of memory."}"#,
    );
    assert_eq!(document_sample(), expect);
}

#[test]
fn a_line_becomes_an_event() {
    let expect = "ms-swift-train-logs-2026.03.12 train-logs|sft-qwen-7b/2026-03-12/worker/ \
        level=\"error\" component=\"swift.trainer\" content=\"CUDA out of memory.\" \
        fields=null tags=null";
    check_with(|_, _| {}, LINE, "level component content fields tags", expect);
}

#[test]
fn an_unparsed_line_is_an_event_by_its_policy() {
    let places = "ms-swift-train-logs-2026.03.12 train-logs|sft-qwen-7b/2026-03-12/worker/";
    let expect = format!(
        "{places} content=\"Traceback\" message=null tags=[\"_unparsed\"] \
         timestamp_source=\"record\""
    );
    check_with(|_, _| {}, "Traceback", "content message tags timestamp_source", &expect);
    let dead = |plan: &mut Plan, _: &mut Record<'_>| plan.unparsed = UnparsedPolicy::DeadLetter;
    check_with(dead, "Traceback", "content", "dead unparsed content=\"Traceback\"");
    let drop = |plan: &mut Plan, _: &mut Record<'_>| plan.unparsed = UnparsedPolicy::Drop;
    check_with(drop, "Traceback", "content", "dropped unparsed");
}

#[test]
fn the_time_comes_from_the_best_source() {
    let members = "@timestamp timestamp_source fields tags";
    let expect = "@timestamp=\"2026-03-12T02:23:45.123000000Z\" timestamp_source=\"line\" \
        fields=null tags=null";
    check(SWIFT, LINE, members, expect);
    let pattern = "^%{NOTSPACE:log_time} %{GREEDYDATA:content}";
    let expect = "@timestamp=\"2026-03-12T02:23:46.004000000Z\" timestamp_source=\"record\" \
        fields={\"log_time\":\"soon\"} tags=[\"_timefailure\"]";
    check(pattern, "soon x", members, expect);
    let expect = "@timestamp=\"2026-03-12T02:23:46.004000000Z\" timestamp_source=\"record\" \
        fields=null tags=null";
    check("^%{WORD:content}", "soon", members, expect);
    let envelope = Envelope {
        message: Vec::new(),
        host: None,
        time_ns: Some(RECEIVED_NS - 1),
        fields: EnvelopeFields::new(),
        kind: "filebeat",
        ..Envelope::default()
    };
    let (out, _) = run(plan(), &[(Record { envelope: Some(&envelope), ..record() }, b"x")]);
    let shown = shown(&out, &out.events[0], &["@timestamp", "timestamp_source"]);
    let expect = r#"@timestamp="2026-03-12T02:23:46.003999999Z" timestamp_source="envelope""#;
    assert!(shown.ends_with(expect), "{shown}");
}

#[test]
fn a_far_time_opens_no_day_of_its_own() {
    let line = "1970-01-01 00:00:00,000 INFO a: b";
    let expect = "ms-swift-train-logs-2026.03.12 train-logs|sft-qwen-7b/2026-03-12/worker/ \
        @timestamp=\"1969-12-31T16:00:00.000000000Z\"";
    check_with(|_, _| {}, line, "@timestamp", expect);
    let line = "2026-03-11 10:23:45,123 INFO a: b";
    let expect = "ms-swift-train-logs-2026.03.11 train-logs|sft-qwen-7b/2026-03-11/worker/";
    check_with(|_, _| {}, line, "", expect);
    let zone = |plan: &mut Plan, _: &mut Record<'_>| {
        plan.zone = crate::zone::Zone::parse("Asia/Shanghai").unwrap();
    };
    let line = "2026-03-13 01:00:00,000 INFO a: b";
    let expect = "ms-swift-train-logs-2026.03.13 train-logs|sft-qwen-7b/2026-03-13/worker/";
    check_with(zone, line, "", expect);
}

#[test]
fn lines_of_a_file_keep_their_day_however_old() {
    let file = |_: &mut Plan, record: &mut Record<'_>| {
        record.received_source = ReceivedSource::File;
        record.time_ms = 0;
    };
    let line = "2019-05-06 10:23:45,123 INFO a: b";
    let expect = "ms-swift-train-logs-2019.05.06 train-logs|sft-qwen-7b/2019-05-06/worker/ \
        received=\"2026-03-12T02:23:46.004000000Z\" event_id=\"5f0a91c2-train-logs-3-18422-0-0\"";
    check_with(file, line, "received event_id", expect);
    let expect = "ms-swift-train-logs-2026.03.12 train-logs|sft-qwen-7b/2026-03-12/worker/ \
        timestamp_source=\"record\"";
    check_with(file, "Traceback", "timestamp_source", expect);
    let time_ns = Some(1_557_138_225_000_000_000);
    let fields = EnvelopeFields::new();
    let envelope = Envelope { time_ns, fields, kind: "filebeat", ..Envelope::default() };
    let received_source = ReceivedSource::File;
    let record = Record { received_source, envelope: Some(&envelope), ..record() };
    let (out, _) = run(plan(), &[(record, b"Traceback")]);
    let expect = "ms-swift-train-logs-2019.05.06 train-logs|sft-qwen-7b/2019-05-06/worker/ \
        timestamp_source=\"envelope\"";
    assert_eq!(shown(&out, &out.events[0], &["timestamp_source"]), expect);
}

#[test]
fn levels_are_normalised_or_kept_as_a_field() {
    let pattern = "^%{NOTSPACE:level} %{GREEDYDATA:content}";
    check(pattern, "WARNING x", "level fields", r#"level="warn" fields=null"#);
    check(pattern, "loud x", "level fields", r#"level=null fields={"level":"loud"}"#);
}

#[test]
fn captures_become_fields() {
    let pattern = "^%{INT:step:int} %{NUMBER:loss:float} %{NOTSPACE:rank} %{GREEDYDATA:text}";
    let expect =
        r#"rank=37 fields={"step":12,"loss":1.5,"text":"a \"b\""} content="12 1.5 37 a \"b\"""#;
    check(pattern, r#"12 1.5 37 a "b""#, "rank fields content", expect);
    let expect =
        r#"rank=null fields={"step":"99999999999999999999","loss":1.0,"rank":"r1","text":"x"}"#;
    check(pattern, "99999999999999999999 1 r1 x", "rank fields", expect);
    let pattern = "^%{WORD:a} %{INT:b:int} %{WORD:a} %{WORD:content} %{WORD:content}";
    let expect = r#"content="y" fields={"a":["x","z"],"b":5,"content":"w"} message="x 5 z y w""#;
    check(pattern, "x 5 z y w", "content fields message", expect);
}

#[test]
fn a_content_that_took_nothing_is_empty() {
    let line = "2026-03-12 10:23:45,123 ERROR swift.trainer: ";
    let expect = format!("content=\"\" message=\"{line}\"");
    check(SWIFT, line, "content message", &expect);
}

#[test]
fn invalid_bytes_are_shown() {
    let (out, _) = run(plan(), &[(record(), b"a\xffb\0\x1b[0m")]);
    let document: Json = serde_json::from_slice(out.document(&out.events[0])).unwrap();
    assert_eq!(document["content"], "a\\xFFb\0\u{1b}[0m");
}

#[test]
fn hosts_are_looked_up_and_counted() {
    let headers = |host: &'static [u8]| [("host", host)];
    let (known, other, none) = (headers(b"gpu-07"), headers(b"gpu-99"), headers(b""));
    let records = [&known, &other, &none, &known].map(|headers| Record { headers, ..record() });
    let mut transformer = Transformer::new(Arc::new(plan()));
    let mut out = EventBuffer::new();
    let mut run = |transformer: &mut Transformer| -> Vec<Json> {
        out.clear();
        for record in &records {
            transformer.begin_record(record);
            transformer.line(
                record,
                &Line { raw: b"x", index: 0, cut: false, returns: false },
                &mut out,
            );
        }
        let documents = out.events.iter().map(|event| out.document(event));
        documents.map(|json| serde_json::from_slice::<Json>(json).unwrap()["host"].take()).collect()
    };
    let hosts = run(&mut transformer);
    let expect = r#"{"name":"gpu-07","node":"n7","gpu_model":"H100","rack":"r3"}"#;
    assert_eq!((hosts[0].to_string(), &hosts[0]), (expect.to_owned(), &hosts[3]));
    assert_eq!(hosts[1].to_string(), r#"{"name":"gpu-99"}"#);
    assert_eq!(hosts[2].to_string(), r#"{"name":"unknown"}"#);
    assert_eq!(transformer.take_counters().unknown_hosts, 2);
    let table = HostTable::from_csv("host,rack\ngpu-99,r9\n").unwrap();
    transformer.set_tables(&Tables { hosts: Some(Arc::new(table)), ..Tables::default() });
    let hosts = run(&mut transformer);
    assert_eq!(hosts[0].to_string(), r#"{"name":"gpu-07"}"#);
    assert_eq!(hosts[1].to_string(), r#"{"name":"gpu-99","rack":"r9"}"#);
    assert_eq!(transformer.take_counters().unknown_hosts, 3);
}

#[test]
fn a_table_swapped_between_two_lines_counts_at_once() {
    let mut transformer = Transformer::new(Arc::new(plan()));
    let mut out = EventBuffer::new();
    transformer.begin_record(&record());
    let line = Line { raw: b"x", index: 0, cut: false, returns: false };
    transformer.set_tables(&Tables::default());
    transformer.line(&record(), &line, &mut out);
    assert!(shown(&out, &out.events[0], &["host"]).ends_with(r#"host={"name":"gpu-07"}"#));
}

#[test]
fn labels_come_from_the_first_candidate_present() {
    let envelope = Envelope {
        message: Vec::new(),
        host: Some("gpu-07".to_owned()),
        time_ns: None,
        fields: [("fields.role", "launcher"), ("kubernetes.labels.job", "job-1")]
            .into_iter()
            .collect(),
        kind: "filebeat",
        ..Envelope::default()
    };
    let headers: [(&str, &[u8]); 1] = [("task", b"")];
    let record = Record { headers: &headers, envelope: Some(&envelope), ..record() };
    let (out, _) = run(plan(), &[(record, LINE.as_bytes())]);
    let shown = shown(&out, &out.events[0], &["labels", "host/rack"]);
    let expect = r#"labels={"task":"job-1","role":"launcher","project":"shared"} host/rack="r3""#;
    assert!(shown.ends_with(expect), "{shown}");
}

#[test]
fn labels_and_host_may_come_from_the_line() {
    let change = |plan: &mut Plan, _: &mut Record<'_>| {
        plan.parse = vec![rule("test", "^(?:%{WORD:role} )?%{NOTSPACE:node}: %{WORD:level}")];
        plan.hosts.from = selectors(Stage::Hosts, &["fields.node", "header.host"]);
        plan.labels.push(LabelRule {
            name: "project".to_owned(),
            from: selectors(Stage::Labels, &["host.rack"]),
            ..LabelRule::default()
        });
        plan.labels.remove(2);
        let text = "{host}/{host.node}/{role}/{project}";
        plan.targets = vec![target(TargetKind::Path, &[text])];
        plan.routes = vec![route("", 1)];
    };
    let expect = r#"gpu-07/n7/head/r3 labels={"task":"sft-qwen-7b","role":"head","project":"r3"}"#;
    check_with(change, "head gpu-07: info", "labels", expect);
    let expect = r#"0 missing_value labels={"task":"sft-qwen-7b","role":"worker"}"#;
    check_with(change, "gpu-98: info", "labels", expect);
    let expect = "gpu-07/n7/worker/r3 host/name=\"gpu-07\"";
    check_with(change, "unparsed", "host/name", expect);
}

#[test]
fn what_stands_in_every_document_is_bounded() {
    let long = "训".repeat(1000);
    let headers: [(&str, &[u8]); 2] = [("task", long.as_bytes()), ("host", long.as_bytes())];
    let (out, _) = run(plan(), &[(Record { headers: &headers, ..record() }, b"x")]);
    let document: Json = serde_json::from_slice(out.document(&out.events[0])).unwrap();
    assert_eq!(document["labels"]["task"], "训".repeat(341));
    assert_eq!(document["host"]["name"], "训".repeat(85));
}

#[test]
fn a_route_to_no_target_is_no_route() {
    let change = |plan: &mut Plan, _: &mut Record<'_>| plan.routes = vec![route("", 0b100)];
    check_with(change, "x", "content", "dead no_route content=\"x\"");
}

#[test]
fn routes_are_united() {
    let change = |plan: &mut Plan, _: &mut Record<'_>| {
        plan.targets = ["a", "b", "c"].map(|text| target(TargetKind::Path, &[text])).into();
        plan.routes = vec![
            route(r#"project == "nlp" and level >= "warn""#, 0b101),
            route(r#"content =~ "(?i)cuda""#, 0b010),
            route(r#"topic == "other""#, 0b111),
        ];
    };
    check_with(change, LINE, "", "a b c");
    check_with(change, "2026-03-12 10:23:45,123 ERROR a: b", "", "a c");
    check_with(change, "CUDA", "", "b");
    check_with(change, "x", "content", "dead no_route content=\"x\"");
}

#[test]
fn a_missing_value_is_a_dead_letter_of_its_target() {
    let change = |plan: &mut Plan, _: &mut Record<'_>| {
        plan.targets.push(target(TargetKind::Path, &["", "{fields.step}/"]));
        plan.routes = vec![route("", 0b110)];
    };
    let expect = "train-logs|sft-qwen-7b/2026-03-12/worker/ 2 missing_value";
    check_with(change, LINE, "", expect);
}

#[test]
fn parse_rules_are_narrowed_and_tried_in_order() {
    let when = |text| Some(Condition::compile(text, &names().at(Stage::Parse)).unwrap());
    let mut plan = plan();
    let mut first = rule("key", "^k(?<content>.*)$");
    first.field = selectors(Stage::Parse, &["key"]).pop();
    let mut second = rule("never", "^(?<component>.*)$");
    second.when = when(r#"topic == "other" or task == "other""#);
    let mut third = rule("c", "^(?<component>c)");
    third.when = when(r#"message =~ "^c" and role == "worker""#);
    plan.parse = vec![first, second, third, rule("rest", "^d")];
    let keyed = Record { key: Some(b"k1"), ..record() };
    let lines: [(Record<'_>, &[u8]); 4] =
        [(keyed, b"c"), (record(), b"c"), (record(), b"d"), (record(), b"e")];
    let (out, counters) = run(plan, &lines);
    let members = ["component", "content", "tags"];
    let shown: Vec<String> = out.events.iter().map(|event| shown(&out, event, &members)).collect();
    assert!(shown[0].ends_with(r#"component=null content="1" tags=null"#), "{}", shown[0]);
    assert!(shown[1].ends_with(r#"component="c" content="c" tags=null"#), "{}", shown[1]);
    assert!(shown[2].ends_with(r#"component=null content="d" tags=null"#), "{}", shown[2]);
    assert!(shown[3].ends_with(r#"content="e" tags=["_unparsed"]"#), "{}", shown[3]);
    let counts = counters
        .parsers
        .iter()
        .map(|rule| (rule.matched, rule.unmatched[Reason::NoMatch as usize]));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 0), (0, 0), (1, 0), (1, 1)]);
    assert_eq!((counters.lines, counters.unparsed), (4, 1));
}

#[test]
fn joined_lines_have_one_id() {
    let join = Join {
        stream: Vec::new(),
        builtin: true,
        rules: Vec::new(),
        lines_max: 100,
        bytes_max: 1000,
        gap_ms: 5000,
    };
    let plan = Plan { peel: Layers::SURE, join: Some(join), ..plan() };
    let mut transformer = Transformer::new(Arc::new(plan));
    let mut out = EventBuffer::new();
    let lines = [
        "[rank3]: Traceback (most recent call last):",
        "[rank3]:   File \"a.py\", line 7",
        "[rank3]: KeyError: 'a'",
        "INFO next",
    ];
    for (number, line) in lines.into_iter().enumerate() {
        let record = Record { offset: 18_422 + number as i64, ..record() };
        transformer.begin_record(&record);
        let line = Line { raw: line.as_bytes(), index: 7, cut: false, returns: false };
        transformer.line(&record, &line, &mut out);
        assert_eq!(transformer.partition().open_from(), Some(18_422));
    }
    // The next line is of no process: it ends nothing, and stands before the record.
    assert_eq!((out.events.len(), out.events[0].first_offset), (1, 18_425));
    let last = Record { offset: 18_500, ..record() };
    transformer.close_records(&last, &mut out);
    assert_eq!(transformer.partition().open_from(), None);
    let event = out.events[1];
    let joined =
        Joined { lines: 3, hash: join_hash([(18_422, 7), (18_423, 7), (18_424, 7)].into_iter()) };
    let parts = parse_event_id(out.id(&event)).unwrap();
    assert_eq!((parts.index, parts.joined, parts.offset), (7, Some(joined), 18_422));
    assert_eq!((event.first_offset, event.last_offset, event.index), (18_422, 18_424, 7));
    let text = shown(&out, &event, &["content", "rank", "message"]);
    let content =
        r#"content="Traceback (most recent call last):\n  File \"a.py\", line 7\nKeyError: 'a'""#;
    assert!(text.contains(content) && text.contains("rank=3"), "{text}");
    assert!(text.contains("\\n[rank3]: KeyError"), "{text}");
    let closed = out.lines_of(1).expect("it was joined");
    assert_eq!(closed.line(1), lines[1].as_bytes());
    assert!(out.lines_of(0).is_none());
    // A line that was held and joined nothing is told too: its batch may be gone.
    transformer.begin_record(&last);
    let alone = Line { raw: lines[0].as_bytes(), index: 0, cut: false, returns: false };
    transformer.line(&last, &alone, &mut out);
    transformer.close_records(&last, &mut out);
    assert_eq!((out.events.len(), out.events[2].joined), (3, None));
    assert_eq!(out.lines_of(2).expect("it was held").line(0), lines[0].as_bytes());
}

#[test]
fn parts_of_a_line_are_events_of_their_own() {
    let plan = Plan { peel: Layers::SURE, unparsed: UnparsedPolicy::Keep, ..plan() };
    let mut transformer = Transformer::new(Arc::new(plan));
    transformer.set_line_bytes_max(60);
    let mut out = EventBuffer::new();
    transformer.begin_record(&record());
    let bar = " 50%|# | 1/2 [00:01<00:01, 1.0it/s]";
    let lines = [
        format!("(W pid=4) \r{bar}\r{bar}{LINE}"),
        format!("\r{bar}\r{bar}"),
        format!("INFO {}", "x".repeat(60)),
        "a\rb".to_owned(),
    ];
    for (index, line) in (0..).zip(&lines) {
        let line = Line { raw: line.as_bytes(), index, cut: false, returns: false };
        transformer.line(&record(), &line, &mut out);
    }
    let parts = out.events.iter().map(|event| parse_event_id(out.id(event)).unwrap().index);
    let parts: Vec<_> = parts.map(line_and_part).collect();
    let expect = [(0, Some(1)), (0, Some(2)), (1, None), (2, None), (3, None)];
    assert_eq!(parts, expect);
    let shown = |number: usize| {
        shown(
            &out,
            &out.events[number],
            &["level", "content", "fields", "tags", "origin", "message"],
        )
    };
    let first = shown(0);
    assert!(first.contains(&format!(r#"content="{bar}""#)), "{first}");
    assert!(first.contains(r#""index":0,"part":1}"#), "{first}");
    assert!(first.contains(&format!(r#"message="(W pid=4) {bar}""#)), "{first}");
    let second = shown(1);
    assert!(second.contains(r#"level="error""#) && second.contains(r#""part":2"#), "{second}");
    assert!(second.contains(r#""worker":"W""#) && second.contains("_cut"), "{second}");
    assert!(shown(2).contains(&format!(r#"content="{bar}""#)), "{}", shown(2));
    assert!(shown(3).contains("_cut"), "{}", shown(3));
    assert!(shown(4).contains(r#"content="a\rb""#), "{}", shown(4));
    let counters = transformer.take_counters();
    assert_eq!((counters.lines, counters.overwritten_frames, counters.cut), (5, 2, 2));
}

#[test]
fn an_id_names_one_text_however_many_parts_there_are() {
    let bar = |step: u32| format!("\r 50%|# | {step}/9 [00:01<00:01, 1.0it/s]");
    let bars: String = [1, 2, 3, 4].map(bar).concat();
    let line = format!("{bars}INFO hi[rank3]: x{bars}");
    let mut texts = std::collections::BTreeMap::new();
    for layers in [
        Layers::SURE,
        Layers { frames_every: 2, ..Layers::SURE },
        Layers { frames_every: 3, glued: true, ..Layers::SURE },
        Layers::NONE,
    ] {
        let plan = Plan { peel: layers, unparsed: UnparsedPolicy::Keep, ..plan() };
        let mut transformer = Transformer::new(Arc::new(plan));
        let mut out = EventBuffer::new();
        transformer.begin_record(&record());
        let line = Line { raw: line.as_bytes(), index: 0, cut: false, returns: false };
        transformer.line(&record(), &line, &mut out);
        for event in &out.events {
            let document: Json = serde_json::from_slice(out.document(event)).unwrap();
            let message = document.get("message").unwrap_or(&document["content"]).clone();
            let known = texts.entry(out.id(event).to_owned()).or_insert_with(|| message.clone());
            assert_eq!(*known, message, "{}", out.id(event));
        }
    }
    assert!(texts.len() > 6, "{texts:?}");
}

#[test]
fn a_document_without_message_is_a_shorter_slice() {
    let (out, _) = run(plan(), &[(record(), LINE.as_bytes()), (record(), b"x")]);
    for event in &out.events {
        let mut short = out.document_without_message(event).to_vec();
        short.push(b'}');
        let short: Json = serde_json::from_slice(&short).unwrap();
        let mut whole: Json = serde_json::from_slice(out.document(event)).unwrap();
        whole.as_object_mut().unwrap().shift_remove("message");
        assert_eq!(short, whole);
    }
    assert!(out.events[0].message_at < out.events[0].doc.1 - 1);
    assert_eq!(out.events[1].message_at, out.events[1].doc.1 - 1);
}

#[test]
fn an_action_line_stands_in_front_of_what_goes_to_the_first_index_of_whole_documents() {
    let mut plan = plan();
    let short = Target { omit_message: true, ..target(TargetKind::Index, &["short"]) };
    plan.targets =
        vec![target(TargetKind::Path, &["p/"]), short, target(TargetKind::Index, &["logs-{task}"])];
    plan.routes = vec![route("", 0b11), route(r#"level == "error""#, 0b100)];
    let (out, _) = run(plan, &[(record(), b"x"), (record(), LINE.as_bytes()), (record(), b"y")]);
    assert_eq!(out.action_target, Some(2));
    let mut expected = Vec::new();
    for (number, event) in out.events.iter().enumerate() {
        assert_eq!(event.action_at as usize, expected.len());
        if number == 1 {
            let action = format!(
                "{{\"create\":{{\"_index\":\"logs-sft-qwen-7b\",\"_id\":\"{}\"}}}}\n",
                out.id(event)
            );
            expected.extend_from_slice(action.as_bytes());
        }
        assert_eq!(event.doc.0 as usize, expected.len());
        expected.extend_from_slice(out.document(event));
        expected.push(b'\n');
    }
    assert_eq!(out.bytes, expected);
}

#[test]
fn more_hosts_than_are_remembered_stay_apart() {
    let plan = Arc::new(plan());
    let mut worker = Transformer::new(Arc::clone(&plan));
    let mut out = EventBuffer::new();
    for step in 0..3000 {
        // Neighbours, some of them seen before, some long forgotten.
        let host = format!("gpu-{}", if step % 2 == 0 { step % 10 } else { step * 7 % 600 });
        let headers: [(&str, &[u8]); 2] = [("task", host.as_bytes()), ("host", host.as_bytes())];
        let record = Record { headers: &headers, partition: step % 3, ..record() };
        worker.begin_record(&record);
        worker.line(&record, &Line { raw: b"x", index: 0, cut: false, returns: false }, &mut out);
        let shown = shown(&out, out.events.last().unwrap(), &["host/name", "labels/task"]);
        let expect = format!("host/name=\"{host}\" labels/task=\"{host}\"");
        assert!(shown.ends_with(&expect) && shown.contains(&format!("{host}/")), "{shown}");
        if step % 500 == 0 {
            out.clear();
        }
    }
}

#[test]
fn workers_may_be_sent_to_threads() {
    fn is_send<T: Send>() {}
    is_send::<Transformer>();
    is_send::<EventBuffer>();
}
