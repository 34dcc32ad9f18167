//! Envelopes of many lines: OpenTelemetry's in both encodings, and Loki's.
//!
//! The invariant: all lines come, in order, each with what is said of it and nothing of the one
//! before. Next: `tests/properties.rs`.

use std::ops::ControlFlow;

use super::support::{attribute, bytes, check, check_kind, fixed, shown, varint};
use super::wrapped;
use crate::envelope::{EnvelopeKind, LINES_MAX, Unwrapper};

const OTLP: &str = r#"{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"tail","version":""},
    "logRecords":[{"timeUnixNano":"1715768625123456789","observedTimeUnixNano":"5",
    "severityNumber":17,"severityText":"ERROR","body":{"stringValue":"[rank3]: a\nb"},
    "attributes":[{"key":"log.file.name","value":{"stringValue":"rank3.log"}},
    {"key":"rank","value":{"intValue":"3"}},{"key":"l","value":{"arrayValue":{}}}],
    "traceId":"0a0b","spanId":""},
    {"observedTimeUnixNano":1715768626001000000,"body":{"kvlistValue":{"values":[
    {"key":"loss","value":{"doubleValue":2.5}},{"key":"step","value":{"intValue":"100"}},
    {"key":"a","value":{"arrayValue":{"values":[{"boolValue":true},{"stringValue":"x"}]}}}]}},
    "attributes":[{"key":"host.name","value":{"stringValue":"own"}}]}]},{"logRecords":[{}]}],
    "resource":{"attributes":[{"key":"k8s.node.name","value":{"stringValue":"node"}},
    {"key":"host.name","value":{"stringValue":"gpu-node-017"}}]}},
    {"resource":{},"scopeLogs":[{"logRecords":[{"body":{"boolValue":true}}]}]}]}"#;

const OTLP_SHOWN: [&str; 4] = [
    "otlp gpu-node-017 1715768625123456789 \"[rank3]: a\\nb\" resource.k8s.node.name=node \
     resource.host.name=gpu-node-017 scope.name=tail severity_number=17 severity_text=ERROR \
     trace_id=0a0b attributes.log.file.name=rank3.log attributes.rank=3",
    "otlp own 1715768626001000000 \
     \"{\\\"loss\\\":2.5,\\\"step\\\":100,\\\"a\\\":[true,\\\"x\\\"]}\" \
     resource.k8s.node.name=node resource.host.name=gpu-node-017 scope.name=tail \
     attributes.host.name=own",
    "otlp gpu-node-017 - \"\" resource.k8s.node.name=node resource.host.name=gpu-node-017",
    "otlp - - \"true\"",
];

/// The same in protobuf.
fn otlp_wire() -> Vec<u8> {
    let first = [
        fixed(1, 1_715_768_625_123_456_789),
        fixed(11, 5),
        varint(2, 17),
        bytes(3, "ERROR"),
        bytes(5, bytes(1, "[rank3]: a\nb")),
        attribute(6, "log.file.name", "rank3.log"),
        bytes(6, [bytes(1, "rank"), bytes(2, varint(3, 3))].concat()),
        bytes(6, [bytes(1, "l"), bytes(2, bytes(5, ""))].concat()),
        bytes(9, [10, 11]),
        bytes(10, ""),
    ];
    let pair = |key: &str, value: Vec<u8>| bytes(1, [bytes(1, key), bytes(2, value)].concat());
    let list = [bytes(1, varint(2, 1)), bytes(1, bytes(1, "x"))].concat();
    let map = [
        pair("loss", fixed(4, 2.5_f64.to_bits())),
        pair("step", varint(3, 100)),
        pair("a", bytes(5, list)),
    ];
    let second = [
        fixed(11, 1_715_768_626_001_000_000),
        bytes(5, bytes(6, map.concat())),
        attribute(6, "host.name", "own"),
    ];
    let scope = [bytes(1, "tail"), bytes(2, "")].concat();
    let records = [bytes(1, scope), bytes(2, first.concat()), bytes(2, second.concat())];
    let resource =
        [attribute(1, "k8s.node.name", "node"), attribute(1, "host.name", "gpu-node-017")];
    let first = [bytes(2, records.concat()), bytes(2, bytes(2, "")), bytes(1, resource.concat())];
    let second = [bytes(1, ""), bytes(2, bytes(2, bytes(5, varint(2, 1))))];
    [bytes(1, first.concat()), bytes(1, second.concat())].concat()
}

#[test]
fn otlp() {
    for kind in [EnvelopeKind::Auto, EnvelopeKind::Otlp] {
        check_kind(kind, OTLP, &OTLP_SHOWN);
        // In protobuf, numbers of attributes and severities are what JSON writes.
        assert_eq!(shown(kind, &otlp_wire()), OTLP_SHOWN);
    }
    assert_eq!(shown(EnvelopeKind::Loki, &otlp_wire()), [""; 0]);
    // The length of a resource may be a brace.
    let record = bytes(2, bytes(2, bytes(5, bytes(1, "x".repeat(115)))));
    assert_eq!(record.len(), usize::from(b'{'));
    let expect = format!("otlp - - \"{}\"", "x".repeat(115));
    assert_eq!(shown(EnvelopeKind::Auto, &bytes(1, record)), [expect]);
}

#[test]
fn a_request_is_taken_whole_or_not_at_all() {
    let good = r#"{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}"#;
    check(&format!(r#"{{"resourceLogs":[{good}]}}"#), &["otlp - - \"x\""]);
    for bad in ["1", "{\"scopeLogs\":1}", "{\"resource\":[]}", "{\"scopeLogs\":[[]]}"] {
        check(&format!(r#"{{"resourceLogs":[{good},{bad}]}}"#), &[]);
    }
    for bad in [r#"{"logRecords":[1]}"#, r#"{"scope":1}"#] {
        check(&format!(r#"{{"resourceLogs":[{good},{{"scopeLogs":[{bad}]}}]}}"#), &[]);
    }
    check(r#"{"resourceLogs":[]}"#, &[]);
    check(r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[]}]}]}"#, &[]);
    let wire = otlp_wire();
    for end in 0..wire.len() {
        // Where the first resource ends, there is a request of that one alone.
        let found = shown(EnvelopeKind::Auto, &wire[..end]).len();
        assert!(found == 0 || found == 3, "{end}: {found}");
    }
    // A body that is broken, or deeper than any is.
    let record = |body: Vec<u8>| bytes(1, bytes(2, bytes(2, bytes(5, body))));
    assert_eq!(shown(EnvelopeKind::Auto, &record(vec![0xff])), [""; 0]);
    let deep = |depth| (0..depth).fold(bytes(1, "x"), |any, _| bytes(5, bytes(1, any)));
    assert_eq!(shown(EnvelopeKind::Auto, &record(deep(20))), [""; 0]);
    let expect = "otlp - - \"[[[\\\"x\\\"]]]\"";
    assert_eq!(shown(EnvelopeKind::Auto, &record(deep(3))), [expect]);
    let raw = record(bytes(7, [0xff, 0]));
    assert_eq!(shown(EnvelopeKind::Auto, &raw), ["otlp - - \"\\\\xFF\\0\""]);
}

#[test]
fn bytes_are_what_they_are_in_both_encodings() {
    let json = |value: &str| {
        let attribute = format!(r#"{{"key":"raw","value":{value}}}"#);
        let value = format!(
            r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[
                {{"body":{value},"attributes":[{attribute}]}}]}}]}}]}}"#
        );
        shown(EnvelopeKind::Auto, value.as_bytes())
    };
    let of_wire = |value: Vec<u8>| {
        let attribute = bytes(6, [bytes(1, "raw"), bytes(2, &value)].concat());
        let record = [bytes(5, &value), attribute].concat();
        shown(EnvelopeKind::Auto, &bytes(1, bytes(2, bytes(2, record))))
    };
    let wire = of_wire(bytes(7, b"\xff>?\n"));
    assert_eq!(wire, ["otlp - - \"\\\\xFF>?\\n\" attributes.raw=\\xFF>?\n"]);
    // Either alphabet, padded or not.
    for text in ["/z4/Cg==", "/z4/Cg", "_z4_Cg==", "_z4_Cg"] {
        assert_eq!(json(&format!(r#"{{"bytesValue":"{text}"}}"#)), wire, "{text}");
    }
    // What is no base64 stays as it stands, and a text that looks like it too.
    for value in [r#"{"bytesValue":"/z4!"}"#, r#"{"stringValue":"/z4!"}"#] {
        assert_eq!(json(value), [r#"otlp - - "/z4!" attributes.raw=/z4!"#]);
    }
    assert_eq!(json(r#"{"stringValue":"Cg=="}"#), [r#"otlp - - "Cg==" attributes.raw=Cg=="#]);
    let list = json(r#"{"arrayValue":{"values":[{"bytesValue":"/w=="}]}}"#);
    assert_eq!(list, [r#"otlp - - "[\"\\\\xFF\"]""#]);
    assert_eq!(of_wire(bytes(5, bytes(1, bytes(7, b"\xff")))), list);
}

#[test]
fn loki() {
    check(
        r#"{"streams":[{"stream":{"job":"train","host":"gpu-node-017"},"values":[
            ["1715768625123456789","step 100"],
            ["1715768625123456790","step 101\nmore",{"trace":"t"}],
            ["1715768625123456791","{\"_entry\":\"in\",\"pod\":\"p\"}"]]},
            {"values":[["1","a"]],"stream":{}}]}"#,
        &[
            "loki gpu-node-017 1715768625123456789 \"step 100\" labels.job=train \
             labels.host=gpu-node-017",
            "loki gpu-node-017 1715768625123456790 \"step 101\\nmore\" labels.job=train \
             labels.host=gpu-node-017 metadata.trace=t",
            "loki gpu-node-017 1715768625123456791 \"in\" labels.job=train \
             labels.host=gpu-node-017 labels.pod=p",
            "loki - 1 \"a\"",
        ],
    );
    let good = r#"{"stream":{},"values":[["1","a"]]}"#;
    for bad in [
        "1",
        "{}",
        r#"{"stream":{}}"#,
        r#"{"stream":[],"values":[]}"#,
        r#"{"stream":{},"values":[[]]}"#,
        r#"{"stream":{},"values":[["now","a"]]}"#,
        r#"{"stream":{},"values":[["1",2]]}"#,
        r#"{"stream":{},"values":[["1","a",3]]}"#,
        r#"{"stream":{},"values":[["1","a",{},4]]}"#,
    ] {
        check(&format!(r#"{{"streams":[{good},{bad}]}}"#), &[]);
    }
    check(r#"{"streams":[]}"#, &[]);
}

#[test]
fn many_inside_of_one() {
    let inner = r#"{"streams":[{"stream":{"host":"h"},"values":[["1","a"],["2","b"]]},
        {"stream":{},"values":[["3","c"]]}]}"#;
    let outer = "@metadata.beat=b host.name=outer";
    check(
        &wrapped(inner, ""),
        &[
            &format!("filebeat h 1 \"a\" {outer} labels.host=h"),
            &format!("filebeat h 2 \"b\" {outer} labels.host=h"),
            &format!("filebeat outer 3 \"c\" {outer}"),
        ],
    );
}

/// Loki's request with so many lines.
fn lines(count: usize) -> String {
    let values = vec![r#"["1",""]"#; count].join(",");
    let labels: Vec<String> = (0..500).map(|index| format!("\"k{index}\":\"v\"")).collect();
    format!(r#"{{"streams":[{{"stream":{{{}}},"values":[{values}]}}]}}"#, labels.join(","))
}

#[test]
fn more_lines_than_one_value_may_have_are_none() {
    let count = |value: &str, max: usize| {
        let mut given = 0;
        Unwrapper::new().run(EnvelopeKind::Auto, value.as_bytes(), &mut |envelope| {
            given += 1;
            assert_eq!(envelope.fields.len(), 500);
            if given < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        given
    };
    assert_eq!(count(&lines(LINES_MAX), usize::MAX), LINES_MAX);
    assert_eq!(count(&lines(LINES_MAX + 1), usize::MAX), 0);
    assert_eq!(count(&lines(10), 4), 4);
    let record = bytes(2, "");
    let wire = |count| bytes(1, bytes(2, record.repeat(count)));
    assert_eq!(shown(EnvelopeKind::Auto, &wire(LINES_MAX)).len(), LINES_MAX);
    assert_eq!(shown(EnvelopeKind::Auto, &wire(LINES_MAX + 1)).len(), 0);
}
