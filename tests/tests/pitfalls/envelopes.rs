//! Envelopes: how deep, how many lines, and how the host is written.
use serde_json::json;

use super::*;

#[test]
fn a_host_that_is_a_text_and_one_that_is_an_object() {
    let vector = json!({
        "file": "/a.log", "host": "gpu-1", "message": "x", "source_type": "file",
        "timestamp": "2026-03-12T09:00:00Z",
    });
    let filebeat = json!({
        "@timestamp": "2026-03-12T09:00:00.000Z",
        "@metadata": {"beat": "filebeat", "type": "_doc", "version": "8.13.0"},
        "message": "x", "host": {"name": "gpu-1"}, "agent": {"type": "filebeat"},
        "log": {"file": {"path": "/a.log"}},
    });
    let events = parse_enveloped(format!("{vector}\n{filebeat}\n"));
    check(&events, &["content", "host"], &[r#"x {"name":"gpu-1"}"#, r#"x {"name":"gpu-1"}"#]);
}

#[test]
fn envelopes_in_envelopes_to_a_depth() {
    let line = "2026-03-12 09:00:00,1 - a - ERROR - x";
    let wrap = |inner: &str| {
        let log = serde_json::Value::String(format!("{inner}\n")).to_string();
        format!(r#"{{"log":{log},"stream":"stderr","time":"2026-03-12T09:00:00Z"}}"#)
    };
    let mut value = line.to_owned();
    for depth in 1..=4 {
        value = wrap(&value);
        let events = parse_enveloped(&value);
        let expect = if depth <= 3 { "error" } else { "-" };
        check(&events, &["level"], &[expect]);
    }
}

#[test]
fn many_lines_in_one_record() {
    let record =
        |nanos: &str, text: &str| json!({"timeUnixNano": nanos, "body": {"stringValue": text}});
    let records = [record("1773306000000000000", "a"), record("1773306000000000001", "b")];
    let scope = json!({"scope": {}, "logRecords": records});
    let otlp = json!({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]});
    let values = [["1773306000000000000", "c"], ["1773306000000000001", "d"]];
    let loki = json!({"streams": [{"stream": {"job": "train"}, "values": values}]});
    let events = parse_enveloped(format!("{otlp}\n{loki}\n"));
    check(&events, &["content", "origin.index"], &["a 0", "b 1", "c 0", "d 1"]);
}

#[test]
fn a_message_of_the_journal_in_bytes() {
    let journal = json!({
        "__REALTIME_TIMESTAMP": "1773306000000000", "MESSAGE": [27, 91, 51, 49, 109, 104, 105],
        "_HOSTNAME": "gpu-1", "PRIORITY": "3",
    });
    check(&parse_enveloped(journal.to_string()), &["content", "host.name"], &["hi gpu-1"]);
}

#[test]
fn the_time_of_the_envelope_where_the_line_has_none() {
    let docker = r#"{"log":"plain\n","stream":"stderr","time":"2026-03-12T09:00:00.5Z"}"#;
    let expect = ["2026-03-12T09:00:00.500000000Z envelope"];
    check(&parse_enveloped(docker), &["@timestamp", "timestamp_source"], &expect);
}

#[test]
fn a_json_line_of_a_program_is_no_envelope() {
    let line = r#"{"loss":2.5,"message":"step"}"#;
    check(&parse_enveloped(line), &["content"], &[line]);
}
