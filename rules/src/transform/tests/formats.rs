//! Lines of the built-in formats, through the whole transform.
use riverhog_parsers::formats::{
    Dissect, FieldConversion, Format, FormatParser, Json as JsonFormat, JsonOptions, KeyValue,
    KeyValueOptions,
};

use super::*;

fn format_rule(format: Format, time: Option<(&str, &[&str])>) -> ParseRule {
    let is_own = time.is_none();
    let time = time.or_else(|| format.time());
    let time = time.map(|(field, formats)| TimeRule {
        field: field.to_owned(),
        parser: TimeParser::compile(formats, "UTC").unwrap(),
        zone_field: None,
        is_own,
    });
    let types = [("step".to_owned(), FieldConversion::Int)];
    let parser = LineParser::Format(Box::new(FormatParser::new(format, types)));
    ParseRule { name: "format".to_owned(), when: None, field: None, parser, time, numbers: false }
}

pub(super) fn kv() -> Format {
    Format::KeyValue(KeyValue::compile(&KeyValueOptions::default()).unwrap())
}

pub(super) fn json() -> Format {
    Format::Json(JsonFormat::new(&JsonOptions::default()))
}

/// The members that are made of the line.
#[track_caller]
fn check(rule: ParseRule, line: &str, expect: &str) {
    let plan = Plan { parse: vec![rule], ..plan() };
    let (out, _) = run(plan, &[(record(), line.as_bytes())]);
    let document = out.document(&out.events[0]);
    assert!(!document.contains(&b'\n'), "{line:?}");
    let document: Json = serde_json::from_slice(document).unwrap();
    let names = ["@timestamp", "level", "component", "content", "rank", "fields", "tags"];
    let mut found = serde_json::Map::new();
    for name in names {
        let is_of_line = name != "@timestamp" || document["timestamp_source"] == "line";
        if let Some(value) = document.get(name).filter(|_| is_of_line) {
            found.insert(name.to_owned(), value.clone());
        }
    }
    assert_eq!(Json::Object(found), serde_json::from_str::<Json>(expect).unwrap(), "{line}");
    let is_content = document["content"] == line;
    assert_eq!(document.get("message").is_none(), is_content);
}

#[test]
fn json_objects() {
    check(
        format_rule(json(), Some(("ts", &["UNIX", "ISO8601"]))),
        r#"{"ts":1773310000.5,"level":"warn","logger":"swift","msg":"done","step":100,"rank":3,
           "loss":2.5,"big":123456789012345678901234567890,"ok":true,"none":null,
           "list":[1,
           {"a":2}],"job":{"id":7}}"#,
        r#"{"@timestamp":"2026-03-12T10:06:40.500000000Z","level":"warn","component":"swift",
           "content":"done","rank":3,"fields":{"step":100,"loss":2.5,
           "big":123456789012345678901234567890,"ok":true,"none":null,"list":[1,{"a":2}],
           "job.id":7}}"#,
    );
    // What is no level, no time and no rank stays a field.
    check(
        format_rule(json(), Some(("ts", &["ISO8601"]))),
        r#"{"ts":"soon","level":"loud","rank":"r3","content":5}"#,
        r#"{"content":"{\"ts\":\"soon\",\"level\":\"loud\",\"rank\":\"r3\",\"content\":5}",
           "fields":{"ts":"soon","level":"loud","rank":"r3","content":5},"tags":["_timefailure"]}"#,
    );
    let broken = r#"{"a":1"#;
    check(
        format_rule(json(), None),
        broken,
        &serde_json::json!({"content": broken, "tags": ["_unparsed"]}).to_string(),
    );
}

#[test]
fn pairs() {
    check(
        format_rule(kv(), None),
        "level=error step=100 a=1 a=2 msg=\"out of memory\" message=x",
        r#"{"level":"error","content":"out of memory",
           "fields":{"step":100,"a":["1","2"],"message":"x"}}"#,
    );
    // Of two contents one becomes the content.
    check(
        format_rule(kv(), None),
        "msg=a msg=b msg=c",
        r#"{"content":"a","fields":{"msg":["b","c"]}}"#,
    );
    check(format_rule(kv(), None), "level=info", r#"{"level":"info","content":"level=info"}"#);
}

#[test]
fn formats_with_parts_of_their_own() {
    check(
        format_rule(Format::Syslog, None),
        "<11>Mar  1 10:00:00 gpu-07 sshd[12]: closed",
        r#"{"@timestamp":"2026-03-01T10:00:00.000000000Z","level":"error","component":"sshd",
           "content":"closed","fields":{"facility":"user","hostname":"gpu-07","pid":12},
           "tags":["_timeskew"]}"#,
    );
    check(
        format_rule(Format::Cri, None),
        "2016-10-06T00:17:09.669794202Z stdout P part ",
        r#"{"@timestamp":"2016-10-06T00:17:09.669794202Z","content":"part ",
           "fields":{"stream":"stdout","partial":true},"tags":["_timeskew"]}"#,
    );
    check(
        format_rule(Format::Klog, None),
        "W0301 15:04:05.000001 12 a.go:7] slow",
        r#"{"@timestamp":"2026-03-01T15:04:05.000001000Z","level":"warn","component":"a.go",
           "content":"slow","fields":{"thread":12,"line":7},"tags":["_timeskew"]}"#,
    );
    let mapping = "[%{rank}] %{component}: %{content}";
    check(
        format_rule(Format::Dissect(Dissect::compile(mapping).unwrap()), None),
        "[3] trainer: CUDA \"x\"",
        r#"{"rank":3,"component":"trainer","content":"CUDA \"x\""}"#,
    );
}

#[test]
fn rules_read_their_fields() {
    let parse = vec![format_rule(json(), None)];
    let routes = vec![
        route("fields.loss > 2.4 and fields.job.id == 7 and fields.ok == \"true\"", 0b01),
        route("has(fields.none)", 0b10),
    ];
    let targets = vec![
        target(TargetKind::Index, &["i-{fields.step}"]),
        target(TargetKind::Path, &["b", "p/"]),
    ];
    let plan = Plan { parse, routes, targets, ..plan() };
    let line = br#"{"loss":2.5,"step":100,"ok":true,"none":null,"job":{"id":7}}"#;
    let (out, counters) = run(plan, &[(record(), line), (record(), b"{]")]);
    let destinations: Vec<String> = out
        .targets(&out.events[0])
        .iter()
        .map(|target| out.destinations.get(target.result.unwrap()).join("|"))
        .collect();
    assert_eq!(destinations, ["i-100"]);
    assert!(out.targets(&out.events[1]).is_empty());
    assert_eq!(counters.parsers[0].matched, 1);
    assert_eq!(counters.parsers[0].unmatched[Reason::Invalid as usize], 1);
}
