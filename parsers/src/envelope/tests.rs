//! Tests of envelopes: each shipper's shape, what is left alone, envelopes around each other, many
//! lines in one, bounds.
//!
//! The invariant: values are made up. Next: `tests/properties.rs`.

mod many;
mod pieces;
mod properties;
mod support;

use super::*;
use support::{check, check_kind, shown};

/// As Filebeat 8 writes it.
const FILEBEAT: &str = r#"{"@timestamp":"2024-05-15T10:23:46.001Z",
    "@metadata":{"beat":"filebeat","type":"_doc","version":"8.13.4"},
    "log":{"offset":1048576,"file":{"path":"/logs/job-4711/rank3.log"}},
    "message":"[rank3]: <b> \u003c训练\u003e\nsecond","tags":["train"],
    "fields":{"task":"job-4711","role":"worker"},"kubernetes":{"labels":{"job":"a"}},
    "host":{"name":"gpu-node-017"},"agent":{"name":"other","type":"filebeat"}}"#;

#[test]
fn filebeat() {
    check(
        FILEBEAT,
        &["filebeat gpu-node-017 1715768626001000000 \"[rank3]: <b> <训练>\\nsecond\" \
           @timestamp=2024-05-15T10:23:46.001Z @metadata.beat=filebeat @metadata.type=_doc \
           @metadata.version=8.13.4 log.offset=1048576 log.file.path=/logs/job-4711/rank3.log \
           fields.task=job-4711 fields.role=worker kubernetes.labels.job=a host.name=gpu-node-017 \
           agent.name=other agent.type=filebeat"],
    );
    // Version 5, with a path of its own.
    check(
        r#"{"@timestamp":"2024-05-15T10:23:46.001Z","beat":{"name":"n","hostname":"h"},
            "message":"m","offset":504,"source":"/log/x.log"}"#,
        &["filebeat h 1715768626001000000 \"m\" @timestamp=2024-05-15T10:23:46.001Z beat.name=n \
           beat.hostname=h offset=504 source=/log/x.log"],
    );
}

#[test]
fn fluent_bit() {
    check(
        r#"{"@timestamp":1715768625.123457,"time":"2024-05-15T10:23:45.123456789Z",
            "stream":"stderr","_p":"F","log":"[rank3]: x","message":"of the line",
            "kubernetes":{"pod_name":"p","labels":{"training.kubeflow.org/job-name":"j"},
            "annotations":{},"host":"gpu-node-017"}}"#,
        &["fluent-bit gpu-node-017 1715768625123456789 \"[rank3]: x\" \
           @timestamp=1715768625.123457 time=2024-05-15T10:23:45.123456789Z stream=stderr _p=F \
           kubernetes.pod_name=p kubernetes.labels.training.kubeflow.org/job-name=j \
           kubernetes.host=gpu-node-017 message=of the line"],
    );
    check(
        r#"{"@timestamp":"2024-05-15T10:23:45.123456789Z","log":"step 100\n","filename":"/a"}"#,
        &["fluent-bit - 1715768625123456789 \"step 100\\n\" \
           @timestamp=2024-05-15T10:23:45.123456789Z filename=/a"],
    );
    check(
        r#"{"date":1,"time":"2024-05-15T18:23:45+08:00","stream":"stdout","_p":"P","log":"a"}"#,
        &["fluent-bit - 1715768625000000000 \"a\" date=1 time=2024-05-15T18:23:45+08:00 \
           stream=stdout _p=P"],
    );
}

#[test]
fn vector() {
    check(
        r#"{"file":"/logs/rank3.log","host":"gpu-node-017","message":"x","source_type":"file",
            "timestamp":"2024-05-15T10:23:46.001234567Z"}"#,
        &["vector gpu-node-017 1715768626001234567 \"x\" file=/logs/rank3.log host=gpu-node-017 \
           source_type=file timestamp=2024-05-15T10:23:46.001234567Z"],
    );
    check(
        r#"{"kubernetes":{"pod_name":"p","pod_node_name":"n","pod_labels":{"job":"j"},
            "pod_ips":["192.0.2.7"]},"message":"step","source_type":"kubernetes_logs",
            "stream":"stdout","timestamp":"2024-05-15T10:23:45Z"}"#,
        &["vector n 1715768625000000000 \"step\" kubernetes.pod_name=p \
           kubernetes.pod_node_name=n kubernetes.pod_labels.job=j source_type=kubernetes_logs \
           stream=stdout timestamp=2024-05-15T10:23:45Z"],
    );
}

#[test]
fn docker() {
    check(
        r#"{"log":"\rTrain:  10%|█\u0000","stream":"stderr","attrs":{"tag":"train"},
            "time":"2024-05-15T10:23:45.2Z"}"#,
        &["docker - 1715768625200000000 \"\\rTrain:  10%|█\\0\" stream=stderr attrs.tag=train \
           time=2024-05-15T10:23:45.2Z"],
    );
}

#[test]
fn journald() {
    check(
        r#"{"__REALTIME_TIMESTAMP":"1715768625123456","MESSAGE":"NVRM: Xid","_HOSTNAME":"n",
            "PRIORITY":"3","_CMDLINE":null,"SYSLOG_IDENTIFIER":"kernel","X":["a","b"]}"#,
        &["journald n 1715768625123456000 \"NVRM: Xid\" __REALTIME_TIMESTAMP=1715768625123456 \
           _HOSTNAME=n PRIORITY=3 SYSLOG_IDENTIFIER=kernel"],
    );
    let bytes = r#"{"__REALTIME_TIMESTAMP":"1","MESSAGE":[255, 10,27,91,109]}"#;
    let mut messages = Vec::new();
    let found = Unwrapper::new().run(EnvelopeKind::Auto, bytes.as_bytes(), &mut |envelope| {
        messages.push(envelope.message.clone());
        ControlFlow::Continue(())
    });
    assert_eq!((found, messages), (true, vec![b"\xff\n\x1b[m".to_vec()]));
    // What else is no text; several values of one name are none.
    check(
        r#"{"__REALTIME_TIMESTAMP":"1","MESSAGE":"x","_CMDLINE":[97,255],"E":[],"S":["a"],"O":{"b":[1]}}"#,
        &["journald - 1000 \"x\" __REALTIME_TIMESTAMP=1 _CMDLINE=a\\xFF"],
    );
    for message in ["null", "{}", "[256]", "[\"a\"]", "[-1]", "1"] {
        check(&format!(r#"{{"__REALTIME_TIMESTAMP":"1","MESSAGE":{message}}}"#), &[]);
    }
    check(r#"{"__REALTIME_TIMESTAMP":"now","MESSAGE":"x"}"#, &[]);
}

#[test]
fn pack() {
    check(
        r#"{"pod":"job-4711-worker-3","host":"n","_entry":"step 100 loss 2.104"}"#,
        &["pack n - \"step 100 loss 2.104\" labels.pod=job-4711-worker-3 labels.host=n"],
    );
    check(r#"{"pod":1,"_entry":"x"}"#, &[]);
    check(r#"{"_entry":1}"#, &[]);
}

#[test]
fn marks() {
    let host = |value: &str, expect: &str| {
        let found = shown(EnvelopeKind::Auto, value.as_bytes());
        let hosts: Vec<&str> = found.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(hosts, [expect], "{value}");
    };
    let timed = |rest: &str| format!(r#" {{"@timestamp":"","message":"x",{rest}}}"#);
    host(&timed(r#""agent":{"name":"n","type":"filebeat"}"#), "n");
    host(r#"{"message":"x","agent":{"type":"filebeat","hostname":"h"}}"#, "h");
    host(&timed(r#""beat":{"hostname":"h"}"#), "h");
    host(&timed(r#""@metadata":{"beat":"filebeat"},"host":"h""#), "h");
    host(&timed(r#""@metadata":{"beat":"filebeat"},"host":{}"#), "-");
    // JSON lines of a program's own, and what only looks like JSON.
    let own = [
        r#"{"message":"x"}"#,
        r#"{"message":"x","host":"h"}"#,
        r#"{"message":"x","fields":{"task":"t"}}"#,
        r#"{"message":"x","host":{"name":"h"},"fields":{"a":1}}"#,
        r#"{"message":"x","agent":{"type":"t"},"beat":{"hostname":"h"}}"#,
        &timed(r#""agent":{"name":"n"},"host":{"name":"h"},"log":{},"fields":{}"#),
        r#"{"@timestamp":"","message":1,"agent":{"type":"filebeat"}}"#,
        &(timed(r#""agent":{"type":"filebeat"}"#) + " {}"),
        r#"{"timestamp":"2024-05-15T10:23:45Z","level":"INFO","message":"x"}"#,
        r#"{"timestamp":"now","source_type":"file","message":"x"}"#,
        r#"{"time":"2024-05-15T10:23:45Z","log":"x"}"#,
        r#"{"time":"2024-05-15T10:23:45Z","log":"x","stream":"stdout","level":"info"}"#,
        r#"{"time":"2024-05-15T10:23:45Z","log":"x","stream":"audit"}"#,
        r#"{"time":1715768625,"log":"x","stream":"stdout"}"#,
        r#"{"@timestamp":"soon","log":"x"}"#,
        r#"{"@timestamp":true,"log":"x"}"#,
        r#"{"@timestamp":1715768625.5,"log":{"level":"info"}}"#,
        r#"{"MESSAGE":"x","PRIORITY":"3"}"#,
        r#"{"resourceLogs":1}"#,
        r#"{"streams":["a"]}"#,
        r#"{"loss":1.5}"#,
        "{'loss': 1.5, 'message': 'x', 'source_type': 'file'}",
        "{",
        "{}",
        "[1]",
        "",
        "\n",
        "\n\n[2024-05-15 10:23:45] gpu-node-017:1:2 [3] x.cc:6 NCCL WARN x",
    ];
    for value in own {
        check(value, &[]);
        assert!(
            !Unwrapper::new().run(EnvelopeKind::None, FILEBEAT.as_bytes(), &mut |_| {
                ControlFlow::Continue(())
            })
        );
    }
}

#[test]
fn a_kind_that_is_named_needs_no_marks() {
    use EnvelopeKind::{Docker, Filebeat, FluentBit, Journald, Loki, Otlp, Pack, Vector};
    let value = r#"{"message":"m","log":"l","MESSAGE":"j","a":1}"#;
    check_kind(Filebeat, value, &["filebeat - - \"m\" a=1 log=l MESSAGE=j"]);
    check_kind(Vector, value, &["vector - - \"m\" a=1 log=l MESSAGE=j"]);
    check_kind(FluentBit, value, &["fluent-bit - - \"l\" a=1 message=m MESSAGE=j"]);
    check_kind(FluentBit, r#"{"message":"m"}"#, &["fluent-bit - - \"m\""]);
    check_kind(Docker, value, &["docker - - \"l\" a=1 message=m MESSAGE=j"]);
    check_kind(Journald, value, &["journald - - \"j\" a=1 message=m log=l"]);
    for kind in [Pack, Loki, Otlp] {
        check_kind(kind, value, &[]);
    }
    // And takes nothing else off, neither around nor inside.
    check_kind(Docker, FILEBEAT, &[]);
    check_kind(
        Vector,
        r#"{"message":"{\"_entry\":\"x\"}"}"#,
        &["vector - - \"{\\\"_entry\\\":\\\"x\\\"}\""],
    );
}

/// A value in Filebeat's envelope.
fn wrapped(message: &str, fields: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(
        r#"{{"@metadata":{{"beat":"b"}},"host":{{"name":"outer"}},{fields}"message":{message}}}"#
    )
}

#[test]
fn envelopes_around_each_other() {
    let docker = r#"{"log":"line\n","stream":"stdout","time":"2024-05-15T10:23:45.5Z"}"#;
    check(
        &wrapped(docker, r#""stream":"outer","#),
        &["filebeat outer 1715768625500000000 \"line\\n\" @metadata.beat=b host.name=outer \
           stream=outer stream=stdout time=2024-05-15T10:23:45.5Z"],
    );
    // The innermost host counts; the fourth envelope is a line.
    let packed = r#"{"host":"inner","_entry":"x"}"#;
    check(
        &wrapped(&wrapped(packed, ""), ""),
        &["filebeat inner - \"x\" @metadata.beat=b host.name=outer @metadata.beat=b \
           host.name=outer labels.host=inner"],
    );
    let found =
        shown(EnvelopeKind::Auto, wrapped(&wrapped(&wrapped(packed, ""), ""), "").as_bytes());
    assert!(found[0].contains(r#""{\"host\":\"inner\",\"_entry\":\"x\"}""#), "{found:?}");
    // What is no envelope inside of one is its line.
    let metrics = r#"{"loss":2.1}"#;
    check(
        &wrapped(metrics, ""),
        &["filebeat outer - \"{\\\"loss\\\":2.1}\" @metadata.beat=b host.name=outer"],
    );
}

const MARKS: &str = r#""@timestamp":"","message":"x","agent":{"type":"filebeat"}"#;

#[test]
fn bounds() {
    let fields = |value: &str| {
        let mut fields = Vec::new();
        let found = Unwrapper::new().run(EnvelopeKind::Auto, value.as_bytes(), &mut |envelope| {
            fields.push(envelope.fields.clone());
            ControlFlow::Continue(())
        });
        assert_eq!(found, !fields.is_empty());
        fields.pop()
    };
    let deep = format!("{{{MARKS},\"deep\":{}1{}}}", "{\"a\":".repeat(100), "}".repeat(100));
    assert_eq!(fields(&deep).map(|fields| fields.len()), Some(2), "the marks");
    // Deeper than JSON is read: a raw line.
    let deep = format!("{{{MARKS},\"deep\":{}1{}}}", "{\"a\":".repeat(9999), "}".repeat(9999));
    assert_eq!(fields(&deep), None);
    let many: Vec<String> = (0..2 * FIELDS_MAX).map(|index| format!("\"k{index}\":1")).collect();
    // Marks count wherever they stand.
    let wide = format!("{{{},{MARKS}}}", many.join(","));
    assert_eq!(fields(&wide).map(|fields| fields.len()), Some(FIELDS_MAX));
    // A long name is not written again for each of its members.
    let long = "n".repeat(100_000);
    let members = many[..FIELDS_MAX].join(",");
    let long = format!("{{{MARKS},\"{long}\":{{{members}}}}}");
    assert_eq!(fields(&long).map(|fields| fields.len()), Some(2));
    let host = format!(r#"{{{MARKS},"host":"{}训"}}"#, "h".repeat(NAME_BYTES_MAX - 1));
    let found = shown(EnvelopeKind::Auto, host.as_bytes());
    assert!(found[0].starts_with(&format!("filebeat {} ", "h".repeat(NAME_BYTES_MAX - 1))));
}

#[test]
fn bytes_that_are_no_text_pass() {
    let value = b"{\"@metadata\":{\"beat\":\"b\"},\"a\":\"\xff\",\"message\":\"\xfe\\n\xfd\"}";
    let mut seen = Vec::new();
    Unwrapper::new().run(EnvelopeKind::Auto, value, &mut |envelope| {
        seen.push((envelope.message.clone(), envelope.fields.get("a").map(str::to_owned)));
        ControlFlow::Continue(())
    });
    assert_eq!(seen, [(b"\xfe\n\xfd".to_vec(), Some("\\xFF".to_owned()))]);
}
