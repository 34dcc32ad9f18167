//! Lines counted in the stores, each by its own number and by its event id.
//!
//! The invariant: a line that is missing, there twice (under one id or two), or not as it must read
//! is counted; nothing is looked at by its mere number of documents. Next stop: `place.rs`,
//! where the
//! documents come from.

use riverhog_tests::corpus::{Expect, rid_of};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Complaints that are shown.
const SHOWN: usize = 5;

/// What came of a round, or of several.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) lines: u64,
    /// Lines missing in a store, over both stores.
    pub(crate) lost: u64,
    /// Documents too many, over both stores.
    pub(crate) repeated: u64,
    /// Repeats that a store without ids may have.
    pub(crate) allowed: u64,
    /// Documents that are of no line, or not as their line must read.
    pub(crate) wrong: Vec<String>,
    /// Lines that became dead letters.
    pub(crate) letters: u64,
    /// Shows that the fault was there.
    pub(crate) met: Met,
    pub(crate) skipped: Option<String>,
}

/// How often something happened, by its name.
#[derive(Debug, Default)]
pub(crate) struct Met(Vec<(&'static str, u64)>);

impl Met {
    pub(crate) fn add(&mut self, name: &'static str, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((name, count)),
        }
    }
}

impl std::fmt::Display for Met {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.0.iter().map(|(name, count)| format!("{count} {name}"));
        formatter.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// How a store's documents are held against what their lines must become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Member by member.
    Whole,
    /// The text alone: what the store flattens is not compared.
    Content,
}

impl Count {
    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Self { skipped: Some(why.into()), ..Self::default() }
    }

    pub(crate) fn is_well(&self) -> bool {
        self.lost == 0 && self.repeated <= self.allowed && self.wrong.is_empty()
    }

    pub(crate) fn complaint(&self) -> String {
        let Self { lost, repeated, allowed, wrong, .. } = self;
        let shown = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n  ");
        format!(
            "{lost} lost, {repeated} repeated ({allowed} allowed), {} wrong\n  {shown}",
            wrong.len()
        )
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.allowed += other.allowed;
        self.letters += other.letters;
        self.wrong.extend(other.wrong);
        for (name, count) in other.met.0 {
            self.met.add(name, count);
        }
        self.skipped = self.skipped.take().or(other.skipped);
    }

    /// Counts one store: each of these lines must be there once, and nothing else.
    pub(crate) fn store<'a>(
        &mut self,
        name: &str,
        look: Look,
        expected: impl IntoIterator<Item = &'a Expect>,
        found: &[Value],
    ) {
        let expected: HashMap<u64, &Expect> =
            expected.into_iter().map(|expect| (expect.rid, expect)).collect();
        let mut ids = HashSet::new();
        let mut there = HashSet::new();
        let mut too_many = 0;
        for document in found {
            let text = document["content"].as_str().or_else(|| document["_msg"].as_str());
            let rid = text.and_then(rid_of);
            let Some(expect) = rid.and_then(|rid| expected.get(&rid)) else {
                self.wrong.push(format!("{name}: of no line that belongs there: {document}"));
                continue;
            };
            let read = match look {
                Look::Whole => expect.check(document),
                Look::Content if text == Some(&*expect.content) => Ok(()),
                Look::Content => Err(format!("rid {}: {text:?}", expect.rid)),
            };
            if let Err(difference) = read {
                self.wrong.push(format!("{name}: {difference}"));
            }
            let is_new_id = ids.insert(document["event_id"].as_str().unwrap_or_default());
            let is_new_line = there.insert(expect.rid);
            too_many += u64::from(!is_new_id || !is_new_line);
        }
        let missing: Vec<u64> =
            expected.keys().filter(|rid| !there.contains(rid)).copied().collect();
        self.lost += missing.len() as u64;
        self.repeated += too_many;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riverhog_tests::corpus::Corpus;
    use serde_json::json;

    fn lines() -> Vec<Expect> {
        Corpus { seed: 5, lines: 100, partitions: 2 }.expected()
    }

    fn found(lines: &[Expect]) -> Vec<Value> {
        let document =
            |expect: &Expect| json!({ "_msg": expect.content, "event_id": expect.rid.to_string() });
        lines.iter().map(document).collect()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Vec<Value>), expect: (u64, u64, usize)) {
        let lines = lines();
        let mut found = found(&lines);
        change(&mut found);
        let mut count = Count::default();
        count.store("store", Look::Content, &lines, &found);
        assert_eq!((count.lost, count.repeated, count.wrong.len()), expect, "{count:?}");
        assert_eq!(count.is_well(), expect == (0, 0, 0));
    }

    #[test]
    fn each_kind_of_fault_is_counted() {
        check(|_| {}, (0, 0, 0));
        check(|found| drop(found.pop()), (1, 0, 0));
        check(|found| found.push(found[0].clone()), (0, 1, 0));
        check(
            |found| {
                let mut again = found[0].clone();
                again["event_id"] = "other".into();
                found.push(again);
            },
            (0, 1, 0),
        );
        check(|found| found[3]["event_id"] = found[4]["event_id"].clone(), (0, 1, 0));
        check(
            |found| {
                let text = found[3]["_msg"].as_str().unwrap().to_owned();
                found[3]["_msg"] = format!("{text}!").into();
            },
            (0, 0, 1),
        );
        check(|found| found.push(json!({ "_msg": "rid=0000009999" })), (0, 0, 1));
    }

    #[test]
    fn repeats_are_allowed_where_a_store_keeps_no_ids() {
        let mut count = Count { repeated: 3, allowed: 3, ..Count::default() };
        assert!(count.is_well());
        count.repeated = 4;
        assert!(!count.is_well());
    }
}
