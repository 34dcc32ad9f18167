//! A deterministic corpus of training logs, and with each line how it must be read.
//!
//! It fits the config of the guide (`docs/getting-started.md`): labels and host from headers, the
//! `swift` pattern, times in Shanghai, indices and prefixes by the day in UTC. Several tasks,
//! roles, projects and levels, Chinese text, lines that no pattern takes, tracebacks of several
//! lines in one record. Each line carries a unique number, `rid=0000000042`.
//!
//! The invariant: record `n` follows from the seed and `n` alone, and what is expected is written
//! down here without any code of riverhog's. Next stop: `text.rs` for the lines, `expect.rs` for
//! the comparison.

mod calendar;
mod expect;
mod job;
mod script;
mod text;

pub use calendar::{day, rfc3339};
pub use expect::Expect;
pub use job::{Job, JobEvent, Written};
pub use text::Dice;

use crate::NewRecord;

/// 2026-03-12T02:00:00Z: ten in the morning where the nodes are.
const START_MS: i64 = 1_773_280_800_000;
/// The corpus spans two days and a half, whatever its size: three or four indices.
const SPAN_MS: i64 = 60 * 3_600 * 1_000;

/// A corpus of so many lines.
#[derive(Clone, Copy, Debug)]
pub struct Corpus {
    /// Another seed, other lines.
    pub seed: u64,
    /// How many lines, over all records.
    pub lines: u64,
    /// How many partitions the records are spread over, by their key.
    pub partitions: i32,
}

/// A Kafka record of the corpus.
#[derive(Clone, Debug)]
pub struct CorpusRecord {
    /// What is produced.
    pub record: NewRecord,
    /// Its lines, in order.
    pub lines: Vec<CorpusLine>,
}

/// One line of a record and how it must be read.
#[derive(Clone, Debug)]
pub struct CorpusLine {
    /// Its number, unique in the corpus: 0, 1, 2 and so on.
    pub rid: u64,
    /// The line itself.
    pub text: String,
    /// How it must be read.
    pub expect: Expect,
}

impl Corpus {
    /// The records in order of their time, made as they are asked for.
    pub fn records(self) -> impl Iterator<Item = CorpusRecord> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let left = self.lines.checked_sub(next).filter(|left| *left > 0)?;
            let record = text::record(&self, next, left);
            next += record.lines.len() as u64;
            Some(record)
        })
    }

    /// What every line must be read as, by its number.
    pub fn expected(self) -> Vec<Expect> {
        self.records().flat_map(|record| record.lines).map(|line| line.expect).collect()
    }

    /// The file that the config's `[hosts] table` names. `gpu-99` is missing on purpose.
    pub fn hosts_csv(self) -> String {
        let rows = (0..expect::KNOWN_HOSTS).map(|host| {
            let (node, model, rack) = expect::host_columns(host);
            format!("{},{node},{model},{rack}\n", expect::host_name(host))
        });
        std::iter::once("host,node,gpu_model,rack\n".to_owned()).chain(rows).collect()
    }

    fn record_time_ms(&self, rid: u64) -> i64 {
        let share = i128::from(SPAN_MS) * i128::from(rid) / i128::from(self.lines.max(1));
        START_MS + share as i64
    }

    fn dice(&self, rid: u64) -> Dice {
        Dice::new(self.seed, rid)
    }
}

/// The number that a line or a document's text carries.
pub fn rid_of(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("rid=")?;
    rest.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::calendar::NANOS_PER_MILLI;
    use super::*;
    use std::collections::HashSet;

    const CORPUS: Corpus = Corpus { seed: 7, lines: 20_000, partitions: 4 };

    #[test]
    fn it_has_so_many_lines_each_with_its_number() {
        let lines: Vec<_> = CORPUS.records().flat_map(|record| record.lines).collect();
        assert_eq!(lines.len(), 20_000);
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(line.rid, number as u64);
            assert_eq!(rid_of(&line.text), Some(line.rid), "{}", line.text);
            assert_eq!(rid_of(&line.expect.content), Some(line.rid));
        }
    }

    #[test]
    fn it_is_the_same_every_time() {
        let values = |corpus: Corpus| corpus.records().map(|r| r.record).collect::<Vec<_>>();
        assert_eq!(values(CORPUS), values(CORPUS));
        assert_ne!(values(CORPUS), values(Corpus { seed: 8, ..CORPUS }));
    }

    #[test]
    fn it_has_something_of_everything() {
        let records: Vec<_> = CORPUS.records().collect();
        let partitions: HashSet<_> = records.iter().map(|r| r.record.partition).collect();
        assert_eq!(partitions.len(), 4);
        let expected = CORPUS.expected();
        let count = |what: fn(&Expect) -> bool| expected.iter().filter(|e| what(e)).count();
        let levels: HashSet<_> = expected.iter().map(|e| e.level).collect();
        assert_eq!(levels.len(), 7, "six levels and none: {levels:?}");
        assert!(count(Expect::is_searched) > 500);
        assert!(count(|e| e.task == "unassigned") > 100);
        assert!(count(|e| e.project == "shared") > 100);
        assert!(count(|e| !e.parsed) > 1_000);
        assert!(count(|e| !e.content.is_ascii()) > 500);
        assert!(records.iter().any(|r| r.lines.len() > 4), "tracebacks in one record");
        let days: HashSet<_> = expected.iter().map(|e| day(e.time_ns, '.')).collect();
        assert_eq!(days.len(), 3, "{days:?}");
        assert!(CORPUS.hosts_csv().lines().count() == 9);
    }

    #[test]
    fn event_times_stay_near_their_records() {
        for record in CORPUS.records() {
            let received = record.record.time_ms.unwrap() * NANOS_PER_MILLI;
            for line in record.lines {
                assert!((received - line.expect.time_ns).abs() < 10 * 1_000_000_000);
            }
        }
    }
}
