//! Records of which the corpus has none: near midnight, with a wrong clock, in an envelope, of
//! bytes that are no text, without a line or without a value.
//!
//! The invariant: for each it stands here how docs/events.md has it read. Next stop: `lines.rs`.

use riverhog_tests::NewRecord;
use riverhog_tests::corpus::Expect;
use serde_json::json;

use crate::lines::{Line, Produced};

const NANOS_PER_MILLI: i64 = 1_000_000;
const HOUR_MS: i64 = 3_600_000;
/// 2026-03-13T00:00:00Z: midnight where indices begin, eight in the morning in Shanghai.
const MIDNIGHT_MS: i64 = 1_773_360_000_000;
const PARTITIONS: i32 = 4;

/// Where the day in index and prefix comes from.
#[derive(Clone, Copy)]
enum DayOf {
    Line,
    Record,
}

/// All of them. The last record of partition 3 has no value: its offset must be committed too.
pub(crate) fn specials() -> Vec<Produced> {
    let mut records = Vec::new();
    records.extend(midnights());
    records.extend(wrong_clocks());
    records.extend(enveloped());
    records.extend(odd_bytes());
    records.push(Produced { record: record(3, MIDNIGHT_MS, None), lines: Vec::new() });
    records
}

/// One millisecond decides the day, and it is the event's that counts, not the record's.
fn midnights() -> Vec<Produced> {
    let cases = [
        ("2026-03-13 07:59:59,999", -1, 1_500),
        ("2026-03-13 08:00:00,000", 0, 1_500),
        // A clock that is a little ahead of the broker's.
        ("2026-03-13 08:00:00,001", 1, -1_500),
        // Midnight in Shanghai is four in the afternoon: no border.
        ("2026-03-12 23:59:59,999", -8 * HOUR_MS - 1, 10),
        ("2026-03-13 00:00:00,000", -8 * HOUR_MS, 10),
        ("2026-03-14 07:59:59,999", 24 * HOUR_MS - 1, 1),
        ("2026-03-14 08:00:00,000", 24 * HOUR_MS, 0),
    ];
    let one = |(number, (printed, from_midnight, late)): (i32, (&str, i64, i64))| {
        let time_ms = MIDNIGHT_MS + from_midnight;
        searched(number % PARTITIONS, printed, time_ms, time_ms + late, DayOf::Line)
    };
    (0..).zip(cases).map(one).collect()
}

/// Beyond 48 h from its record a line is not believed as to its day; its time is kept.
fn wrong_clocks() -> Vec<Produced> {
    let received = MIDNIGHT_MS + 12 * HOUR_MS;
    vec![
        searched(0, "1970-01-01 08:00:01,000", 1_000, received, DayOf::Record),
        searched(1, "2026-03-11 21:00:00,000", received - 47 * HOUR_MS, received, DayOf::Line),
        searched(2, "2026-03-11 19:00:00,000", received - 49 * HOUR_MS, received, DayOf::Record),
        searched(3, "2026-03-15 21:00:00,000", received + 49 * HOUR_MS, received, DayOf::Record),
    ]
}

/// As Filebeat sends it: labels and host inside, no headers.
fn enveloped() -> Vec<Produced> {
    let received = MIDNIGHT_MS + HOUR_MS;
    let content = "数据集加载完成 \"best\" \\ 🚨";
    let parsed = format!("2026-03-13 09:00:00,250 ERROR swift.trainer: {content}");
    let unparsed = "NCCL version 2.21.5+cuda12.4";
    let value = json!({
        "@timestamp": "2026-03-13T01:00:00.500Z", "@metadata": { "beat": "filebeat" },
        "message": format!("{parsed}\n{unparsed}"), "host": { "name": "gpu-03" },
        "fields": { "task": "beats", "role": "master", "project": "nlp" },
        "log": { "offset": 12, "file": { "path": "/logs/rank0.log" } },
    });
    let labels = |expect: Expect| Expect {
        task: "beats",
        role: "master",
        project: "nlp",
        host: "gpu-03".to_owned(),
        ..expect
    };
    let time_ns = (MIDNIGHT_MS + HOUR_MS + 250) * NANOS_PER_MILLI;
    let first = labels(Expect {
        level: Some("error"),
        component: Some("swift.trainer"),
        content: content.to_owned(),
        parsed: true,
        time_ns,
        ..plain(0, &parsed, received)
    });
    let shipped_ns = (MIDNIGHT_MS + HOUR_MS + 500) * NANOS_PER_MILLI;
    let second = labels(Expect { index: 1, time_ns: shipped_ns, ..plain(0, unparsed, received) });
    let mut record = record(0, received, Some(value.to_string().into_bytes()));
    record.key = None;
    record.headers.clear();
    let lines = vec![line(first, "line", DayOf::Line), line(second, "envelope", DayOf::Line)];
    vec![Produced { record, lines }]
}

/// No UTF-8, NUL bytes, empty lines, and a value of no bytes, which is one empty line.
fn odd_bytes() -> Vec<Produced> {
    let received = MIDNIGHT_MS + 2 * HOUR_MS;
    let unparsed = |partition: i32, value: &[u8], texts: &[&str]| {
        let one = |(index, text): (u64, &&str)| {
            let expect = Expect { index, ..plain(partition, text, received) };
            line(expect, "record", DayOf::Record)
        };
        Produced {
            record: record(partition, received, Some(value.to_vec())),
            lines: (0..).zip(texts).map(one).collect(),
        }
    };
    let mut parsed =
        searched(1, "2026-03-13 10:00:00,000", MIDNIGHT_MS + 2 * HOUR_MS, received, DayOf::Line);
    let value = parsed.record.value.as_mut().expect("it has one");
    value.extend(b" \xE6\x95 end");
    let expect = &mut parsed.lines[0].expect;
    for text in [&mut expect.line, &mut expect.content] {
        text.push_str(" \\xE6\\x95 end");
    }
    vec![
        parsed,
        unparsed(1, b"bytes \xff\xfe of no text", &["bytes \\xFF\\xFE of no text"]),
        unparsed(2, b"NUL \0 and \x1b[31m colour", &["NUL \0 and \u{1b}[31m colour"]),
        unparsed(3, b"above\n\n\r\nbelow\r\n", &["above", "", "", "below"]),
        unparsed(3, b"", &[""]),
    ]
}

/// A line that both stores get.
fn searched(
    partition: i32,
    printed: &str,
    time_ms: i64,
    received_ms: i64,
    day_of: DayOf,
) -> Produced {
    let content = format!("CUDA out of memory. at {printed}");
    let text = format!("{printed} ERROR swift.trainer: {content}");
    let expect = Expect {
        parsed: true,
        level: Some("error"),
        component: Some("swift.trainer"),
        content,
        time_ns: time_ms * NANOS_PER_MILLI,
        ..plain(partition, &text, received_ms)
    };
    let record = record(partition, received_ms, Some(text.into_bytes()));
    Produced { record, lines: vec![line(expect, "line", day_of)] }
}

fn line(expect: Expect, timestamp_source: &'static str, day_of: DayOf) -> Line {
    let day_ns = match day_of {
        DayOf::Line => expect.time_ns,
        DayOf::Record => expect.record_time_ms * NANOS_PER_MILLI,
    };
    Line { expect, offset: -1, day_ns, timestamp_source }
}

/// A line that no pattern takes, in a record as `record` makes it.
fn plain(partition: i32, text: &str, received_ms: i64) -> Expect {
    Expect {
        rid: 0,
        line: text.to_owned(),
        parsed: false,
        time_ns: received_ms * NANOS_PER_MILLI,
        record_time_ms: received_ms,
        level: None,
        component: None,
        content: text.to_owned(),
        task: "specials",
        role: "worker",
        project: "nlp",
        host: "gpu-07".to_owned(),
        index: 0,
        partition,
    }
}

fn record(partition: i32, time_ms: i64, value: Option<Vec<u8>>) -> NewRecord {
    let headers = [("task", "specials"), ("project", "nlp"), ("host", "gpu-07")];
    let header = |(name, value): (&str, &str)| (name.to_owned(), value.as_bytes().to_vec());
    NewRecord {
        partition: Some(partition),
        key: Some(b"specials".to_vec()),
        headers: headers.into_iter().map(header).collect(),
        time_ms: Some(time_ms),
        value,
    }
}
