//! The text of a dead letter: one JSON object with the event id, origin, reason, and the record's
//! raw bytes. The format is part of the product (`docs/delivery.md`), since redrive reads it.
//!
//! Invariant: raw bytes are never lost: what is not UTF-8 is written as base64, and a letter beyond
//! the target's limit keeps origin, reason and both ends of its bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use riverhog_parsers::lines::split_lines;
use serde_json::{Map, Value, json};

use super::DeadLetter;

/// Version of the format.
const VERSION: u32 = 1;

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
        text.insert(
            "origin".into(),
            json!({
                "lineage": &*batch.generation.lineage,
                "topic": &*records.partition.topic,
                "partition": records.partition.number,
                "offset": event.first_offset,
                "last_offset": event.last_offset,
                "time": event.record_time_ms,
                "index": event.index,
            }),
        );
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
                let index = (record.offset == event.first_offset).then_some(event.index);
                put_bytes(&mut value, "value", own_bytes(bytes, index), each);
                Value::Object(value)
            })
            .collect();
        text.insert("records".into(), Value::Array(written));
        let value = Value::Object(text).to_string().into_bytes();
        Letter { key: id.to_vec(), value }
    }
}

/// The bytes a letter keeps of a record: of a record of several lines only the event's own, so that
/// a thousand refused lines do not carry their record a thousand times.
fn own_bytes(value: &[u8], index: Option<u32>) -> &[u8] {
    let is_single = memchr::memchr(b'\n', value).is_none_or(|at| at + 1 == value.len());
    match index {
        Some(index) if !is_single => split_lines(value).nth(index as usize).unwrap_or(value),
        _ => value,
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
