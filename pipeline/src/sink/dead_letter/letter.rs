//! The text of a dead letter: one JSON object with the event id, origin, reason, and the record's
//! raw bytes. The format is part of the product (`docs/delivery.md`), since redrive reads it.
//!
//! Invariant: raw bytes are never lost: what is not UTF-8 is written as base64, and a letter beyond
//! the target's limit keeps origin, reason and both ends of its bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use riverhog_parsers::lines::split_lines;
use riverhog_rules::event::DeadReason;
use riverhog_rules::join::Closed;
use riverhog_rules::origin::line_and_part;
use serde_json::{Map, Value, json};

use super::DeadLetter;

/// Version of the format.
const VERSION: u32 = 1;
/// The reason of letters that keep a record whole, although it may hold many lines.
const WHOLE_RECORD: &str = DeadReason::RecordPanicked.as_str();

/// A dead letter as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The event id: the Kafka key, and what redrive knows repeats by.
    pub key: Vec<u8>,
    /// One JSON object, no newline.
    pub value: Vec<u8>,
}

impl Letter {
    /// The letter of a line, whole.
    pub fn of(dead: &DeadLetter) -> Letter {
        Letter::write(dead, usize::MAX)
    }

    /// The letter cut to about `limit` bytes: both ends of the record's value are kept.
    pub fn shortened(&self, dead: &DeadLetter, limit: usize) -> Letter {
        // base64 and escaping can make a byte six characters; what remains is halved again until
        // it fits, so that a target that reports a wrong limit still ends.
        let mut room = limit.min(self.value.len()) / 2;
        loop {
            let letter = Letter::write(dead, room);
            if letter.value.len() < self.value.len().min(limit) || room == 0 {
                return letter;
            }
            room /= 2;
        }
    }

    fn write(dead: &DeadLetter, value_max: usize) -> Letter {
        let batch = &dead.batch;
        let event = &batch.events.events[dead.event as usize];
        let id = &batch.events.bytes[event.id.0 as usize..event.id.1 as usize];
        let records = &batch.records;
        let mut text = Map::new();
        text.insert("v".into(), json!(VERSION));
        text.insert("event_id".into(), json!(String::from_utf8_lossy(id)));
        text.insert("reason".into(), json!(dead.reason));
        text.insert("detail".into(), json!(dead.detail));
        text.insert("sink".into(), json!(dead.sink_name.as_deref()));
        text.insert("destination".into(), json!(dead.destination));
        let mut origin = Map::new();
        origin.insert("lineage".into(), json!(&*batch.generation.lineage));
        origin.insert("topic".into(), json!(&*records.partition.topic));
        origin.insert("partition".into(), json!(records.partition.number));
        origin.insert("offset".into(), json!(event.first_offset));
        origin.insert("last_offset".into(), json!(event.last_offset));
        origin.insert("time".into(), json!(event.record_time_ms));
        put_index(&mut origin, event.index);
        text.insert("origin".into(), Value::Object(origin));
        if let Some(closed) = batch.events.lines_of(dead.event) {
            text.insert("records".into(), joined_records(closed, value_max));
            let value = Value::Object(text).to_string().into_bytes();
            return Letter { key: id.to_vec(), value };
        }
        let lines = records.records.iter();
        let of_event = lines
            .skip_while(|record| record.offset < event.first_offset)
            .take_while(|record| record.offset <= event.last_offset);
        let each = value_max / (event.last_offset - event.first_offset + 1).max(1) as usize;
        let written: Vec<Value> = of_event
            .map(|record| {
                let mut value = Map::new();
                value.insert("offset".into(), json!(record.offset));
                if let Some(key) = record.key {
                    put_bytes(&mut value, "key", records.slice(key), each);
                }
                let headers =
                    &records.headers[record.headers.0 as usize..record.headers.1 as usize];
                let headers: Map<String, Value> = headers
                    .iter()
                    .map(|header| {
                        let value = String::from_utf8_lossy(records.slice(header.value));
                        (records.header_name(header).to_owned(), json!(value))
                    })
                    .collect();
                value.insert("headers".into(), Value::Object(headers));
                let bytes = records.slice(record.value.unwrap_or((0, 0)));
                let is_line = record.offset == event.first_offset && dead.reason != WHOLE_RECORD;
                let index = is_line.then_some(event.index);
                put_bytes(&mut value, "value", own_bytes(bytes, index), each);
                Value::Object(value)
            })
            .collect();
        text.insert("records".into(), Value::Array(written));
        let value = Value::Object(text).to_string().into_bytes();
        Letter { key: id.to_vec(), value }
    }
}

/// The lines of a record that was held, each as a record: they may have come in several batches,
/// with lines of other streams between them. Key and headers are those of the first.
fn joined_records(closed: &Closed, value_max: usize) -> Value {
    let each = value_max / closed.lines.len();
    let records = closed.lines.iter().enumerate().map(|(number, (offset, index))| {
        let mut value = Map::new();
        value.insert("offset".into(), json!(offset));
        put_index(&mut value, *index);
        if number == 0 {
            if let Some(key) = &closed.record.key {
                put_bytes(&mut value, "key", key, each);
            }
            let headers = closed
                .record
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), json!(String::from_utf8_lossy(value))));
            value.insert("headers".into(), Value::Object(headers.collect()));
        }
        put_bytes(&mut value, "value", closed.line(number), each);
        Value::Object(value)
    });
    Value::Array(records.collect())
}

/// The bytes a letter keeps of a record: of a record of several lines only the event's own, so that
/// a thousand refused lines do not carry their record a thousand times.
fn own_bytes(value: &[u8], index: Option<u32>) -> &[u8] {
    let is_single = memchr::memchr(b'\n', value).is_none_or(|at| at + 1 == value.len());
    match index {
        Some(index) if !is_single => {
            split_lines(value).nth(line_and_part(index).0 as usize).unwrap_or(value)
        }
        _ => value,
    }
}

/// Puts the number of a line within its record, and which part of it.
fn put_index(object: &mut Map<String, Value>, index: u32) {
    let (line, part) = line_and_part(index);
    object.insert("index".into(), json!(line));
    if let Some(part) = part {
        object.insert("part".into(), json!(part));
    }
}

/// Puts bytes under `name`, or as base64 under `name_base64` when they are not UTF-8; beyond `max`
/// both ends under `name_start` and `name_end` with `name_bytes`, the true length.
fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8], max: usize) {
    let mut put = |name: String, bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name, json!(text)),
        Err(_) => object.insert(format!("{name}_base64"), json!(STANDARD.encode(bytes))),
    };
    if bytes.len() <= max {
        put(name.to_owned(), bytes);
        return;
    }
    let half = max / 2;
    put(format!("{name}_start"), &bytes[..half]);
    put(format!("{name}_end"), &bytes[bytes.len() - half..]);
    object.insert(format!("{name}_bytes"), json!(bytes.len()));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use riverhog_config::EnvelopeKind;
    use riverhog_rules::event::{DeadReason, Disposition, Event, EventBuffer};
    use riverhog_rules::plan::Plan;
    use tokio::sync::Notify;

    use super::*;
    use crate::buffers::Events;
    use crate::delivery_rules::DeliveryRules;
    use crate::generation::Generation;
    use crate::sink::Batch;
    use crate::source::{Assigned, HeaderEntry, Partition, RecordBatch, RecordEntry};
    use crate::telemetry::metrics::Metrics;
    use crate::transform::{BatchTransform as _, PlanTransform, Position};

    /// One record with this value, a key and a header.
    fn records(value: &[u8]) -> RecordBatch {
        let mut bytes = b"gpu-07taskalpha".to_vec();
        bytes.extend_from_slice(value);
        let record = RecordEntry {
            offset: 41,
            time_ms: 1_700_000_000_000,
            key: Some((0, 6)),
            value: Some((15, bytes.len() as u32)),
            headers: (0, 1),
        };
        let partition = Partition { topic: Arc::from("train"), number: 3 };
        RecordBatch {
            bytes,
            records: vec![record],
            headers: vec![HeaderEntry { name: (6, 10), value: (10, 15) }],
            next_offset: 42,
            end_offset: 42,
            ..RecordBatch::empty(partition)
        }
    }

    /// The dead letter of line `index` of a record with this value.
    fn dead(value: &[u8], index: u32) -> DeadLetter {
        let event = Event {
            doc: (0, 0),
            action_at: 0,
            message_at: 0,
            id: (0, 7),
            level: None,
            targets: (0, 0),
            disposition: Disposition::DeadLetter(DeadReason::NoRoute),
            first_offset: 41,
            last_offset: 41,
            index,
            record_time_ms: 1_700_000_000_000,
            time_ns: 0,
            joined: None,
        };
        let events = EventBuffer {
            bytes: b"c-t-3-x".to_vec(),
            events: vec![event],
            ..EventBuffer::default()
        };
        letter_of(records(value), events.into())
    }

    /// The dead letter of the first of a batch's events.
    fn letter_of(records: RecordBatch, events: Events) -> DeadLetter {
        let assigned = Assigned {
            partition: records.partition.clone(),
            epoch: 1,
            position: 41,
            metadata: Vec::new(),
            end_offset: 42,
            incarnation: None,
        };
        let rules = DeliveryRules::all();
        let settled = Arc::new(Notify::new());
        let generation =
            Generation::new(&assigned, Arc::from("c0ffee00"), vec![41; 2], settled, rules);
        let batch = Batch {
            sequence: 0,
            first_event: 0,
            generation: Arc::new(generation),
            events,
            records: Arc::new(records),
            place: None,
        };
        DeadLetter {
            batch: Arc::new(batch),
            event: 0,
            sink: 0,
            sink_name: Some(Arc::from("search")),
            destination: "logs-2026.03.12".to_owned(),
            reason: "refused",
            detail: "400: mapper_parsing_exception".to_owned(),
        }
    }

    fn check(value: &[u8], index: u32, expected: &Value) {
        let letter = Letter::of(&dead(value, index));
        let text: Value = serde_json::from_slice(&letter.value).unwrap();
        assert_eq!(text["records"][0], *expected);
    }

    #[test]
    fn a_letter_says_where_the_line_was_and_why_it_is_here() {
        let letter = Letter::of(&dead(b"CUDA error", 0));
        assert_eq!(letter.key, b"c-t-3-x");
        let text: Value = serde_json::from_slice(&letter.value).unwrap();
        let origin = json!({
            "lineage": "c0ffee00", "topic": "train", "partition": 3, "offset": 41,
            "last_offset": 41, "time": 1_700_000_000_000i64, "index": 0,
        });
        assert_eq!(text["origin"], origin);
        assert_eq!(text["sink"], "search");
        assert_eq!(text["reason"], "refused");
        assert_eq!(text["detail"], "400: mapper_parsing_exception");
    }

    #[test]
    fn raw_bytes_are_kept_whatever_they_are() {
        let head = json!({"offset": 41, "key": "gpu-07", "headers": {"task": "alpha"}});
        let with = |name: &str, value: &str| {
            let mut record = head.clone();
            record[name] = json!(value);
            record
        };
        check("训练 ok\r\n".as_bytes(), 0, &with("value", "训练 ok\r\n"));
        check(b"a\nb\r\nc", 1, &with("value", "b"));
        check(b"\xff\x00", 0, &with("value_base64", "/wA="));
    }

    #[test]
    fn a_letter_of_a_line_in_pieces_holds_each_of_them() {
        let kind = EnvelopeKind::Auto;
        let transform =
            PlanTransform::new(Arc::new(Plan::default()), kind, 1 << 20, Metrics::new());
        let time = "2026-03-12T02:23:46Z stdout";
        let records = records(
            &[
                format!("{time} P ").as_bytes(),
                b"a \xe8\xae",
                format!("\n{time} F ").as_bytes(),
                b"\xad b",
            ]
            .concat(),
        );
        let (mut carry, from) = (transform.carry(), Position::default());
        let transformed = transform.transform(&records, "c0ffee00", carry.as_mut(), from);
        let letter = Letter::of(&letter_of(records, transformed.events));
        let text: Value = serde_json::from_slice(&letter.value).unwrap();
        assert_eq!(
            text["records"],
            json!([
                {
                    "offset": 41, "index": 0, "key": "gpu-07", "headers": {"task": "alpha"},
                    "value_base64": STANDARD.encode(b"a \xe8\xae"),
                },
                {"offset": 41, "index": 1, "value_base64": STANDARD.encode(b"\xad b")},
            ])
        );
    }

    #[test]
    fn beyond_the_limit_both_ends_stay() {
        let value = ["start".to_owned(), "x".repeat(100_000), "end".to_owned()].concat();
        let dead = dead(value.as_bytes(), 0);
        let letter = Letter::of(&dead).shortened(&dead, 4_000);
        assert!(letter.value.len() < 4_000, "{} bytes", letter.value.len());
        let text: Value = serde_json::from_slice(&letter.value).unwrap();
        let record = &text["records"][0];
        assert!(record["value_start"].as_str().unwrap().starts_with("start"));
        assert!(record["value_end"].as_str().unwrap().ends_with("end"));
        assert_eq!(record["value_bytes"], value.len());
    }

    #[test]
    fn a_target_that_takes_next_to_nothing_still_ends() {
        let dead = dead(&b"\xff".repeat(10_000), 0);
        let shortest = Letter::of(&dead).shortened(&dead, 10);
        assert!(serde_json::from_slice::<Value>(&shortest.value).is_ok());
    }
}
