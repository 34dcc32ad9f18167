//! Reads what a dead-letter place holds: letters, and the marks of those that are settled.
//!
//! Invariant: what `sink/dead_letter/letter.rs` writes is read here without a loss; anything else
//! is counted as unreadable and left alone. Next stop: `remake.rs`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverhog_rules::event::DeadReason;
use riverhog_rules::origin::{parse_event_id, part_index};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twox_hash::XxHash64;

/// The version of the format that is understood.
const VERSION: u32 = 1;

/// One entry of a place.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A letter.
    Letter(Box<Letter>),
    /// A letter is settled: by its name.
    Mark(LetterName),
    /// Neither.
    Unreadable,
}

/// What names a letter: a hash of event id and sink.
pub(crate) type LetterName = u128;

/// A dead letter as it is read.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) id: String,
    pub(crate) reason: String,
    /// The sink that owes it; `None`: no route took it.
    pub(crate) sink: Option<String>,
    pub(crate) destination: String,
    pub(crate) origin: Origin,
    /// Index of the first line within its record, as [`part_index`] counts.
    pub(crate) index: u32,
    /// `None` where bytes were cut off for the target's limit.
    pub(crate) records: Option<Vec<Record>>,
    /// Bytes of the text it was read from.
    pub(crate) bytes: usize,
}

/// Where its line was.
#[derive(Debug, Deserialize)]
pub(crate) struct Origin {
    pub(crate) lineage: String,
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) time: i64,
    index: u32,
    part: Option<u32>,
}

/// A record, or one line of it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) offset: i64,
    /// Set for lines of a record that was held: the line's index within its record.
    pub(crate) index: Option<u32>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) value: Vec<u8>,
}

#[derive(Deserialize)]
struct Text {
    v: u32,
    event_id: String,
    #[serde(default)]
    mark: Option<String>,
    #[serde(default)]
    reason: String,
    sink: Option<String>,
    #[serde(default)]
    destination: String,
    origin: Option<Origin>,
    #[serde(default)]
    records: Vec<RecordText>,
}

#[derive(Deserialize)]
struct RecordText {
    offset: i64,
    index: Option<u32>,
    part: Option<u32>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// The text of a mark.
#[derive(Serialize)]
struct Mark<'a> {
    v: u32,
    #[serde(rename = "mark")]
    word: &'static str,
    event_id: &'a str,
    sink: Option<&'a str>,
    /// Milliseconds since the epoch.
    at: i64,
}

/// Reads one entry.
pub(crate) fn read(bytes: &[u8]) -> Entry {
    let Ok(text) = serde_json::from_slice::<Text>(bytes) else { return Entry::Unreadable };
    if text.v != VERSION {
        return Entry::Unreadable;
    }
    if text.mark.is_some() {
        return Entry::Mark(name_of(&text.event_id, text.sink.as_deref()));
    }
    let Some(origin) = text.origin.filter(|origin| is_sound(origin, &text.event_id)) else {
        return Entry::Unreadable;
    };
    let index = match origin.part {
        Some(part) => part_index(origin.index, part),
        None => Some(origin.index),
    };
    let Some(index) = index else { return Entry::Unreadable };
    let records = text.records.into_iter().map(record).collect::<Option<Vec<Record>>>();
    Entry::Letter(Box::new(Letter {
        id: text.event_id,
        reason: text.reason,
        sink: text.sink,
        destination: text.destination,
        origin,
        index,
        records: records.filter(|records| !records.is_empty()),
        bytes: bytes.len(),
    }))
}

/// The origin is the one that the id names.
fn is_sound(origin: &Origin, id: &str) -> bool {
    let is_same = |parts: riverhog_rules::origin::EventIdParts| {
        parts.partition == origin.partition && parts.offset == origin.offset
    };
    (0..=origin.last_offset).contains(&origin.offset)
        && origin.last_offset < i64::MAX
        && parse_event_id(id).is_some_and(is_same)
}

/// `None`: bytes of it were cut off.
fn record(text: RecordText) -> Option<Record> {
    let bytes = |name: &str| {
        if let Some(Value::String(text)) = text.rest.get(name) {
            return Some(Some(text.as_bytes().to_vec()));
        }
        match text.rest.get(&format!("{name}_base64")) {
            Some(Value::String(text)) => STANDARD.decode(text).ok().map(Some),
            Some(_) => None,
            None if text.rest.contains_key(&format!("{name}_bytes")) => None,
            None => Some(None),
        }
    };
    let index = match (text.index, text.part) {
        (Some(line), Some(part)) => Some(part_index(line, part)?),
        (index, _) => index,
    };
    Some(Record {
        offset: text.offset,
        index,
        key: bytes("key")?,
        value: bytes("value")??,
        headers: text.headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
    })
}

impl Letter {
    pub(crate) fn name(&self) -> LetterName {
        name_of(&self.id, self.sink.as_deref())
    }

    /// It keeps a whole record, whatever lines that holds.
    pub(crate) fn is_whole_record(&self) -> bool {
        self.reason == DeadReason::RecordPanicked.as_str()
    }

    /// What marks it as settled.
    pub(crate) fn mark(&self, at: i64) -> Vec<u8> {
        let (event_id, sink) = (self.id.as_str(), self.sink.as_deref());
        let mark = Mark { v: VERSION, word: "settled", event_id, sink, at };
        serde_json::to_vec(&mark).unwrap_or_default()
    }
}

fn name_of(id: &str, sink: Option<&str>) -> LetterName {
    // No id and no sink holds a line feed.
    let text = match sink {
        Some(sink) => format!("{id}\n{sink}"),
        None => id.to_owned(),
    };
    let half = |seed: u64| u128::from(XxHash64::oneshot(seed, text.as_bytes()));
    half(0) << 64 | half(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn letter(records: &Value) -> Value {
        json!({
            "v": 1, "event_id": "c0ffee00-logs-3-41-loyw3v28-0", "reason": "refused",
            "detail": "400", "sink": "search", "destination": "logs-1",
            "origin": {
                "lineage": "c0ffee00", "topic": "logs", "partition": 3, "offset": 41,
                "last_offset": 41, "time": 1_700_000_000_000_i64, "index": 0,
            },
            "records": records,
        })
    }

    fn letter_of(text: &Value) -> Letter {
        match read(text.to_string().as_bytes()) {
            Entry::Letter(letter) => *letter,
            other => panic!("{other:?} of {text}"),
        }
    }

    #[test]
    fn bytes_come_back_whatever_they_are() {
        let found = letter_of(&letter(&json!([
            {"offset": 41, "key": "k", "headers": {"task": "a"}, "value_base64": "/wA="},
        ])));
        let record = &found.records.as_deref().unwrap()[0];
        assert_eq!(
            (record.value.as_slice(), record.key.as_deref()),
            (&b"\xff\0"[..], Some(&b"k"[..]))
        );
        assert_eq!(record.headers, [("task".to_owned(), b"a".to_vec())]);
    }

    #[test]
    fn a_letter_that_was_cut_says_so() {
        let cut = json!([{"offset": 41, "value_start": "a", "value_end": "b", "value_bytes": 9}]);
        assert!(letter_of(&letter(&cut)).records.is_none());
    }

    #[test]
    fn a_mark_names_its_letter() {
        let found = letter_of(&letter(&json!([{"offset": 41, "value": "x"}])));
        let Entry::Mark(name) = read(&found.mark(5)) else { panic!("no mark") };
        assert_eq!(name, found.name());
        assert_ne!(name, name_of(&found.id, None));
    }

    #[test]
    fn what_is_no_letter_is_left_alone() {
        let mut newer = letter(&json!([]));
        newer["v"] = json!(2);
        let mut other = letter(&json!([]));
        other["origin"]["offset"] = json!(42);
        for text in [newer.to_string(), other.to_string(), "{}".to_owned(), "x".to_owned()] {
            assert!(matches!(read(text.as_bytes()), Entry::Unreadable), "{text}");
        }
    }
}
