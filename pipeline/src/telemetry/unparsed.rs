//! The latest lines that no parser accepted, for whoever writes a parser for them.
//!
//! Invariant: at most [`KEPT_MAX`] lines of bounded length, redacted before they came here; one
//! short lock a batch, and none for a batch whose lines all had a parser. Next stop:
//! [`super::http`], which serves them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use riverhog_rules::transform::UnparsedLine;
use serde_json::{Value, json};

use crate::source::Partition;

/// Lines that are kept; with a KiB each, 64 KiB a process.
pub const KEPT_MAX: usize = 64;

/// A ring of lines. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Unparsed {
    ring: Arc<Mutex<VecDeque<(Partition, UnparsedLine)>>>,
}

impl Unparsed {
    /// Takes lines of one partition; the oldest make room.
    pub fn add(&self, partition: &Partition, lines: Vec<UnparsedLine>) {
        if lines.is_empty() {
            return;
        }
        let mut ring = self.ring();
        ring.extend(lines.into_iter().map(|line| (partition.clone(), line)));
        let surplus = ring.len().saturating_sub(KEPT_MAX);
        ring.drain(..surplus);
    }

    /// All lines of the projects that `sees` accepts, the latest first: `{"lines": [{"topic",
    /// "partition", "offset", "index", "line", "cut"}]}`. `index` is the line's within its record,
    /// `cut` tells that the line is longer.
    pub fn to_json(&self, sees: impl Fn(Option<&str>) -> bool) -> Value {
        let ring = self.ring();
        let seen = ring.iter().rev().filter(|(_, line)| sees(line.project.as_deref()));
        let lines = seen.map(to_json).collect::<Vec<Value>>();
        json!({ "lines": lines })
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<(Partition, UnparsedLine)>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_json((partition, line): &(Partition, UnparsedLine)) -> Value {
    json!({
        "topic": &*partition.topic,
        "partition": partition.number,
        "offset": line.offset,
        "index": riverhog_rules::origin::line_and_part(line.index).0,
        "line": line.text,
        "cut": line.cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(offsets: std::ops::Range<i64>) -> Vec<UnparsedLine> {
        let line = |offset| UnparsedLine {
            offset,
            index: 0,
            text: "x".to_owned(),
            cut: false,
            project: None,
        };
        offsets.map(line).collect()
    }

    /// The offsets that are kept, the latest first.
    fn check(batches: &[std::ops::Range<i64>], expect: impl IntoIterator<Item = i64>) {
        let unparsed = Unparsed::default();
        let partition = Partition { topic: Arc::from("train"), number: 0 };
        for batch in batches {
            unparsed.add(&partition, lines(batch.clone()));
        }
        let found = unparsed.to_json(|_| true);
        let found = found["lines"].as_array().unwrap().iter().map(|line| line["offset"].as_i64());
        let expect: Vec<Option<i64>> = expect.into_iter().map(Some).collect();
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_latest_are_kept() {
        check(&[], []);
        check(&[0..3, 5..5, 7..8], [7, 2, 1, 0]);
        check(&[0..60, 60..70], (6..70).rev());
        check(&[0..50, 50..150], (86..150).rev());
    }
}
