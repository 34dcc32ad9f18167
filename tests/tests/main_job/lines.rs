//! What is produced and what must become of it: each line with its offset, id, place and document.
//!
//! The invariant: written down without any code of riverhog's, from docs/events.md alone. The
//! lineage is the one part of an id that a test cannot know; it is read off the first document and
//! must be the same everywhere. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, bail, ensure};
use riverhog_tests::NewRecord;
use riverhog_tests::corpus::{Corpus, CorpusRecord, Expect, day, rfc3339};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

const NANOS_PER_MILLI: i64 = 1_000_000;
const DAY_NS: u64 = 86_400_000_000_000;
const LINEAGE_BYTES: usize = 8;

/// A line that was produced.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// How it must be read.
    pub(crate) expect: Expect,
    /// Its record's.
    pub(crate) offset: i64,
    /// The time whose day stands in its index and prefix.
    pub(crate) day_ns: i64,
    /// Where its `@timestamp` must come from: `line`, `envelope` or `record`.
    pub(crate) timestamp_source: &'static str,
}

/// A record to produce, with what must become of its lines; none for a tombstone.
pub(crate) struct Produced {
    pub(crate) record: NewRecord,
    pub(crate) lines: Vec<Line>,
}

/// Everything that a test produces to one topic.
pub(crate) struct Lines {
    topic: String,
    /// The columns of each known host.
    hosts: HashMap<String, Vec<(String, String)>>,
    /// To be produced in this order; `take_records` leaves none.
    records: Vec<NewRecord>,
    all: Vec<Line>,
    /// By the event id without its lineage.
    by_id: HashMap<String, usize>,
    /// Per partition the offset after the last record.
    ends: Vec<i64>,
}

/// A line of the corpus: its time is always near its record's, so its day is its own.
fn of_corpus(expect: Expect) -> Line {
    let timestamp_source = if expect.parsed { "line" } else { "record" };
    Line { offset: -1, day_ns: expect.time_ns, timestamp_source, expect }
}

impl Lines {
    /// The corpus, and after it some more records.
    pub(crate) fn new(topic: &str, corpus: Corpus, more: Vec<Produced>) -> Self {
        let mut lines = Self {
            topic: topic.to_owned(),
            hosts: hosts(&corpus.hosts_csv()),
            records: Vec::new(),
            all: Vec::with_capacity(corpus.lines as usize),
            by_id: HashMap::with_capacity(corpus.lines as usize),
            ends: vec![0; corpus.partitions as usize],
        };
        let from_corpus = corpus.records().map(|CorpusRecord { record, lines }| Produced {
            record,
            lines: lines.into_iter().map(|line| of_corpus(line.expect)).collect(),
        });
        for produced in from_corpus.chain(more) {
            lines.add(produced);
        }
        lines
    }

    fn add(&mut self, produced: Produced) {
        let partition = produced.record.partition.expect("the test chooses the partition");
        let end = &mut self.ends[partition as usize];
        for mut line in produced.lines {
            line.offset = *end;
            let id = line.id(&self.topic);
            let known = self.by_id.insert(id, self.all.len());
            assert!(known.is_none(), "two lines of one origin: {line:?}");
            self.all.push(line);
        }
        *end += 1;
        self.records.push(produced.record);
    }

    /// The records in order, once.
    pub(crate) fn take_records(&mut self) -> Vec<NewRecord> {
        std::mem::take(&mut self.records)
    }

    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    pub(crate) fn all(&self) -> &[Line] {
        &self.all
    }

    /// The line of an event id without its lineage.
    pub(crate) fn by_id(&self, id: &str) -> Option<&Line> {
        self.by_id.get(id).map(|at| &self.all[*at])
    }

    /// Per partition the offset after the last record, once all are produced.
    pub(crate) fn ends(&self) -> &[i64] {
        &self.ends
    }

    /// The document of a line, whole.
    pub(crate) fn document(&self, line: &Line, lineage: &str) -> Value {
        let expect = &line.expect;
        let mut document = Map::new();
        let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
        put("@timestamp", rfc3339(expect.time_ns).into());
        put("timestamp_source", line.timestamp_source.into());
        put("received", rfc3339(expect.record_time_ms * NANOS_PER_MILLI).into());
        put("received_source", "create_time".into());
        if let Some(level) = expect.level {
            put("level", level.into());
        }
        if let Some(component) = expect.component {
            put("component", component.into());
        }
        put("content", expect.content.as_str().into());
        put("host", self.host(&expect.host));
        put(
            "labels",
            json!({ "task": expect.task, "role": expect.role, "project": expect.project }),
        );
        let received_ns = expect.record_time_ms * NANOS_PER_MILLI;
        let is_far = expect.time_ns.abs_diff(received_ns) > DAY_NS;
        let tags = [(!expect.parsed, "_unparsed"), (is_far, "_timeskew")];
        let tags = tags.into_iter().filter_map(|(is_set, tag)| is_set.then_some(tag));
        let tags: Vec<&str> = tags.collect();
        if !tags.is_empty() {
            put("tags", json!(tags));
        }
        put(
            "origin",
            json!({
                "lineage": lineage, "topic": self.topic, "partition": expect.partition,
                "offset": line.offset, "time": expect.record_time_ms, "index": expect.index,
            }),
        );
        put("event_id", format!("{lineage}-{}", line.id(&self.topic)).into());
        put("v", 1.into());
        // Left out where `content` is the whole line.
        if expect.parsed {
            put("message", expect.line.as_str().into());
        }
        document.into()
    }

    /// Compares a document with what its line must become; returns lineage and the rest of its id.
    pub(crate) fn check<'a>(&self, found: &'a Value) -> Result<(&'a str, &'a str)> {
        let event_id = found["event_id"].as_str().context("no event id")?;
        let (lineage, id) = event_id.split_once('-').context("no lineage")?;
        let hexadecimal = lineage.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(hexadecimal && lineage.len() == LINEAGE_BYTES, "lineage {lineage}");
        let Some(line) = self.by_id(id) else {
            bail!("an event of no line that was produced: {found}");
        };
        let wanted = self.document(line, lineage);
        ensure!(*found == wanted, "{}", difference(found, &wanted));
        // The order is part of the format: a sink that leaves `message` out takes what is before.
        let in_order = members(found).keys().eq(members(&wanted).keys());
        ensure!(in_order, "the members are in another order: {found}");
        Ok((lineage, id))
    }

    fn host(&self, name: &str) -> Value {
        let mut host = Map::from_iter([("name".to_owned(), name.into())]);
        for (column, value) in self.hosts.get(name).into_iter().flatten() {
            host.insert(column.clone(), value.as_str().into());
        }
        host.into()
    }
}

impl Line {
    /// Its event id without the lineage.
    pub(crate) fn id(&self, topic: &str) -> String {
        let Expect { partition, index, record_time_ms, .. } = self.expect;
        format!("{topic}-{partition}-{}-{}-{index}", self.offset, base36(record_time_ms))
    }

    /// Its index by the template `STEM-{timestamp:%Y.%m.%d}`.
    pub(crate) fn index(&self, stem: &str) -> String {
        format!("{stem}-{}", day(self.day_ns, '.'))
    }

    /// Its prefix by the template `{task}/{timestamp:%Y-%m-%d}/{role}/`.
    pub(crate) fn prefix(&self) -> String {
        format!("{}/{}/{}/", self.expect.task, day(self.day_ns, '-'), self.expect.role)
    }
}

fn hosts(csv: &str) -> HashMap<String, Vec<(String, String)>> {
    let mut rows = csv.lines().map(|row| row.split(','));
    let columns: Vec<&str> = rows.next().expect("a header line").skip(1).collect();
    rows.map(|mut row| {
        let host = row.next().expect("a first column").to_owned();
        let named = columns.iter().zip(row);
        (host, named.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect())
    })
    .collect()
}

pub(crate) fn base36(number: i64) -> String {
    let mut left = number.unsigned_abs();
    let mut digits = Vec::new();
    while left > 0 || digits.is_empty() {
        digits.push(char::from_digit((left % 36) as u32, 36).expect("below 36"));
        left /= 36;
    }
    digits.iter().rev().collect()
}

fn members(document: &Value) -> Map<String, Value> {
    document.as_object().cloned().unwrap_or_default()
}

fn difference(found: &Value, wanted: &Value) -> String {
    let (in_found, in_wanted) = (members(found), members(wanted));
    let mut names = in_wanted.keys().chain(in_found.keys());
    match names.find(|name| in_found.get(*name) != in_wanted.get(*name)) {
        Some(name) => {
            let (is, should) = (in_found.get(name), in_wanted.get(name));
            format!("`{name}` is {is:?}, not {should:?}, in {found}")
        }
        None => format!("{found} is not {wanted}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_the_documented_sample() {
        let corpus = Corpus { seed: 1, lines: 1, partitions: 1 };
        let mut line = of_corpus(corpus.expected().remove(0));
        line.offset = 812_345;
        line.expect.partition = 3;
        line.expect.record_time_ms = 1_773_282_226_001;
        assert_eq!(line.id("train-logs"), "train-logs-3-812345-mmmugaj5-0");
    }

    #[test]
    fn a_document_that_differs_is_found() {
        let lines = Lines::new("t", Corpus { seed: 5, lines: 100, partitions: 2 }, Vec::new());
        let line = lines.all().iter().find(|line| line.expect.parsed).unwrap();
        let good = lines.document(line, "5f2a9c01");
        assert_eq!(lines.check(&good).unwrap().0, "5f2a9c01");
        let check = |change: fn(&mut Map<String, Value>), expect: &str| {
            let mut bad = good.clone();
            change(bad.as_object_mut().unwrap());
            let error = lines.check(&bad).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(|bad| drop(bad.insert("content".to_owned(), "other".into())), "`content` is");
        check(|bad| drop(bad.insert("more".to_owned(), 1.into())), "`more` is");
        check(|bad| drop(bad.remove("message")), "`message` is");
        check(|bad| bad["origin"]["offset"] = 9_999.into(), "`origin` is");
        check(|bad| bad["event_id"] = "5f2a9c01-t-0-9999-a-0".into(), "of no line");
        check(|bad| bad["event_id"] = "5F2A9C01-t-0-0-a-0".into(), "lineage");
        check(
            |bad| {
                let first = bad.shift_remove("v").unwrap();
                bad.insert("v".to_owned(), first);
            },
            "another order",
        );
    }
}
