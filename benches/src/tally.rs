//! Which lines have arrived: one bit for each offset of each partition, read from event ids.
//!
//! The invariant: distinct + lost is what the topic holds, and every id that is not of the topic
//! is told apart: none can stand in for a lost one. Next stop: the two stores that fill it.

use anyhow::{Context as _, Result};
use riverhog::clock;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What a store must know.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Per partition the offset after its last record
    #[arg(long, value_delimiter = ',')]
    pub(crate) ends: Vec<u64>,
}

/// What an id was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    New,
    Repeated,
    /// Not of the topic, or not readable.
    Foreign,
}

/// The ids seen so far.
pub(crate) struct Tally {
    ends: Vec<u64>,
    bits: Vec<Vec<u64>>,
    distinct: u64,
    repeated: u64,
    foreign: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    last: Instant,
}

impl Tally {
    pub(crate) fn new(ends: Vec<u64>) -> Tally {
        let bits = ends.iter().map(|end| vec![0; end.div_ceil(64) as usize]).collect();
        let last = clock::instant();
        Tally { ends, bits, distinct: 0, repeated: 0, foreign: 0, requests: 0, bytes: 0, last }
    }

    /// Notes the id of an event.
    pub(crate) fn add(&mut self, id: &[u8]) -> Seen {
        let place = place(id).filter(|(partition, offset)| {
            self.ends.get(*partition).is_some_and(|end| *offset < *end)
        });
        let Some((partition, offset)) = place else {
            self.foreign += 1;
            return Seen::Foreign;
        };
        let word = &mut self.bits[partition][(offset / 64) as usize];
        let bit = 1 << (offset % 64);
        if *word & bit != 0 {
            self.repeated += 1;
            return Seen::Repeated;
        }
        *word |= bit;
        self.distinct += 1;
        Seen::New
    }

    /// Notes that a request brought lines just now.
    pub(crate) fn touch(&mut self, bytes: usize) {
        self.requests += 1;
        self.bytes += bytes as u64;
        self.last = clock::instant();
    }

    /// What there is to tell.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "distinct": self.distinct,
            "lost": self.ends.iter().sum::<u64>() - self.distinct,
            "repeated": self.repeated,
            "foreign": self.foreign,
            "requests": self.requests,
            "bytes": self.bytes,
            "quiet_ms": self.last.elapsed().as_millis() as u64,
        })
    }
}

/// What a store has counted, as the measuring process reads it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counted {
    pub(crate) distinct: u64,
    pub(crate) lost: u64,
    pub(crate) repeated: u64,
    pub(crate) foreign: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// Since the last request that brought lines.
    pub(crate) quiet_ms: u64,
}

impl Counted {
    pub(crate) fn read(text: &str) -> Result<Counted> {
        let read: Value = serde_json::from_str(text).context("reading a store's count")?;
        let number = |name: &str| read[name].as_u64().with_context(|| format!("no {name}: {text}"));
        Ok(Counted {
            distinct: number("distinct")?,
            lost: number("lost")?,
            repeated: number("repeated")?,
            foreign: number("foreign")?,
            requests: number("requests")?,
            bytes: number("bytes")?,
            quiet_ms: number("quiet_ms")?,
        })
    }
}

/// Partition and offset of `…-<partition>-<offset>-<time>-0`; nothing for lines that the load does
/// not have: later ones of a record, and joined ones.
fn place(id: &[u8]) -> Option<(usize, u64)> {
    let mut parts = id.rsplitn(5, |byte| *byte == b'-');
    (parts.next()? == b"0").then_some(())?;
    parts.next()?;
    let offset = number(parts.next()?)?;
    let partition = number(parts.next()?)?;
    parts.next()?;
    Some((partition as usize, offset))
}

fn number(digits: &[u8]) -> Option<u64> {
    (1..=15).contains(&digits.len()).then_some(())?;
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_counts_once() {
        let mut tally = Tally::new(vec![100, 3]);
        let table = [
            ("5f2a9c01-bench-a-0-99-mqbv1-0", Seen::New),
            ("5f2a9c01-bench-a-0-99-mqbv1-0", Seen::Repeated),
            ("5f2a9c01-bench-a-1-2-mqbv1-0", Seen::New),
            ("5f2a9c01-bench-a-1-3-mqbv1-0", Seen::Foreign),
            ("5f2a9c01-bench-a-2-0-mqbv1-0", Seen::Foreign),
            ("5f2a9c01-bench-a-0-1-mqbv1-1", Seen::Foreign),
            ("5f2a9c01-bench-a-0-1-mqbv1-0x2-01234567", Seen::Foreign),
            ("", Seen::Foreign),
            ("0-0-0-0", Seen::Foreign),
        ];
        for (id, expect) in table {
            assert_eq!(tally.add(id.as_bytes()), expect, "{id}");
        }
        let counted = Counted::read(&tally.to_json().to_string()).unwrap();
        assert_eq!((counted.distinct, counted.lost), (2, 101));
        assert_eq!((counted.repeated, counted.foreign), (1, 6));
    }
}
