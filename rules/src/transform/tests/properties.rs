//! What holds for any lines: documents read back, and remembering never shows.
use std::sync::Arc;

use proptest::prelude::*;
use riverhog_parsers::lines::to_text;

use super::*;

/// A plan whose templates and routes read everything that is remembered between lines.
fn remembering_plan() -> Plan {
    let mut plan = plan();
    plan.labels[1].from = selectors(Stage::Labels, &["fields.role", "header.role", "host.rack"]);
    plan.parse.insert(0, rule("role", "^role=%{NOTSPACE:role} %{NOTSPACE:level} %{WORD:content}"));
    plan.targets = vec![
        target(TargetKind::Index, &["{task}-{timestamp:%F-%H}"]),
        target(TargetKind::Path, &["{project}", "{level}/{received:%F}/{host.node}/"]),
        target(TargetKind::Path, &["", "{role}/{partition}"]),
        target(TargetKind::Path, &["", "{fields.role}/{key}"]),
    ];
    plan.routes = vec![
        route(r#"level >= "info""#, 0b0001),
        route(r#"task == "a" or not has(level)"#, 0b0010),
        route(r#"content == "x" or received > "2026-03-12T12:00:00Z""#, 0b0100),
        route(r#"host.rack == "r3" or partition == 1"#, 0b1000),
    ];
    plan
}

proptest! {
    #[test]
    fn any_bytes_give_a_document_that_reads_back(
        raw in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            "2026-03-12 10:23:45,123 (ERROR|x) \\PC{1,5}: \\PC{0,20}".prop_map(String::into_bytes),
        ],
        host in "\\PC{0,8}",
        topic in "\\PC{1,8}",
    ) {
        let headers: [(&str, &[u8]); 2] = [("host", host.as_bytes()), ("task", &raw)];
        let record = Record { headers: &headers, topic: &topic, ..record() };
        let (out, _) = run(plan(), &[(record, &raw)]);
        let event = &out.events[0];
        let document: Json = serde_json::from_slice(out.document(event)).unwrap();
        let text = to_text(&raw);
        let message = document.get("message").unwrap_or(&document["content"]);
        prop_assert_eq!(message.as_str(), Some(&*text));
        prop_assert!(text.contains(document["content"].as_str().unwrap()));
        prop_assert_eq!(document["event_id"].as_str(), Some(out.id(event)));
        prop_assert_eq!(parse_event_id(out.id(event)).unwrap().topic, topic);
        let name = if host.is_empty() { "unknown" } else { host.as_str() };
        prop_assert_eq!(document["host"]["name"].as_str(), Some(name));
    }

    /// What a worker remembers never shows: lines in any mixture give what a fresh worker gives.
    #[test]
    fn remembering_changes_nothing(
        // The record's texts change seldom: what is remembered lives from one change to the next.
        steps in proptest::collection::vec((
            prop_oneof![8 => Just(None), 1 => (0..2_usize, 0..2_usize, 0..3_i32).prop_map(Some)],
            0..3_i64,
            0..5_usize,
            proptest::bool::weighted(0.1),
        ), 1..40),
    ) {
        let plan = Arc::new(remembering_plan());
        let mut worker = Transformer::new(Arc::clone(&plan));
        let mut out = EventBuffer::new();
        let (mut task, mut host, mut partition) = (0, 0, 0);
        for (change, hour, line, clear) in steps {
            if let Some(change) = change {
                (task, host, partition) = change;
            }
            let headers: [(&str, &[u8]); 2] = [
                ("task", [b"a", b"b"][task]),
                ("host", [b"gpu-07".as_slice(), b"gpu-99"][host]),
            ];
            let record = Record {
                headers: &headers,
                key: [None, Some(b"k".as_slice())][host],
                partition,
                received_ns: RECEIVED_NS + hour * 72_000_000_000_000,
                ..record()
            };
            let raw = [
                LINE, "role=x info x", "role=.. loud y", "2026-03-13 10:23:45,123 INFO a: x", "z",
            ][line].as_bytes();
            if clear {
                out.clear();
            }
            worker.begin_record(&record);
            worker.line(&record, &Line { raw, index: 0, cut: false, returns: false }, &mut out);
            let mut fresh = Transformer::new(Arc::clone(&plan));
            let mut expect = EventBuffer::new();
            fresh.begin_record(&record);
            fresh.line(&record, &Line { raw, index: 0, cut: false, returns: false }, &mut expect);
            let event = out.events.last().unwrap();
            prop_assert_eq!(out.document(event), expect.document(&expect.events[0]));
            prop_assert_eq!(shown(&out, event, &[]), shown(&expect, &expect.events[0], &[]));
        }
    }
}
