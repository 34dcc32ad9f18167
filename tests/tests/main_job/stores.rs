//! What the stores hold, read and checked document by document.
//!
//! The invariant: an object that was read once stays as it was, so that only new ones are read
//! again after each kill; a document that differs in one member from what its line must become is
//! an error at once. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use tokio::task::JoinSet;

use crate::bed::Bed;
use crate::lines::Lines;

/// Objects read at the same time.
const READS_MAX: usize = 8;
/// The one object of a bucket that is in no chain.
const PROBE: &str = "_riverhog/probe";

/// Where each event was found, by its id without the lineage: indices, or keys of objects.
pub(crate) type Held = HashMap<String, Vec<String>>;

/// Reads both stores of a test, again and again.
pub(crate) struct Reader<'a> {
    bed: &'a Bed,
    lines: &'a Lines,
    /// The lineage of the first document that was met.
    lineage: Option<String>,
    /// Size and chain place of the objects that were read.
    objects: BTreeMap<String, u64>,
    archived: Held,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bed: &'a Bed, lines: &'a Lines) -> Self {
        let (objects, archived) = (BTreeMap::new(), Held::new());
        Self { bed, lines, lineage: None, objects, archived }
    }

    /// Every document of the search store.
    pub(crate) async fn search(&mut self) -> Result<Held> {
        let mut held = Held::new();
        for document in self.bed.search.documents(&format!("{}-*", self.bed.stem)).await? {
            let id = self.check(&document.source).context(document.index.clone())?;
            ensure!(document.source["event_id"] == document.id, "_id {}", document.id);
            held.entry(id).or_default().push(document.index);
        }
        Ok(held)
    }

    /// Every event of the bucket's chains.
    pub(crate) async fn archive(&mut self) -> Result<&Held> {
        let listed: BTreeMap<String, u64> =
            self.bed.bucket.list("").await?.into_iter().map(|it| (it.key, it.bytes)).collect();
        for (key, bytes) in &self.objects {
            let now = listed.get(key);
            ensure!(now == Some(bytes), "{key} had {bytes} bytes and now has {now:?}");
        }
        let keys: Vec<&String> = listed.keys().filter(|key| *key != PROBE).collect();
        chains_have_no_gap(&keys)?;
        let new: Vec<String> =
            keys.into_iter().filter(|key| !self.objects.contains_key(*key)).cloned().collect();
        let mut reads = JoinSet::new();
        for key in new {
            if reads.len() == READS_MAX {
                let read = reads.join_next().await.context("none is read")?;
                self.take_object(&listed, read?)?;
            }
            let bucket = self.bed.bucket.clone();
            reads.spawn(async move {
                let events = bucket.events_of(&key).await;
                (key, events)
            });
        }
        while let Some(read) = reads.join_next().await {
            self.take_object(&listed, read?)?;
        }
        Ok(&self.archived)
    }

    fn take_object(
        &mut self,
        listed: &BTreeMap<String, u64>,
        (key, events): (String, Result<Vec<Value>>),
    ) -> Result<()> {
        let events = events?;
        ensure!(!events.is_empty(), "{key} holds nothing");
        let (_, chain, _) = key_parts(&key)?;
        for event in events {
            let id = self.check(&event).context(key.clone())?;
            let origin = &event["origin"];
            let partition = origin["partition"].as_i64().context("no partition")?;
            let lineage = origin["lineage"].as_str().context("no lineage")?;
            let wanted = format!("{lineage}-{}-{partition:05}", self.lines.topic());
            ensure!(chain == wanted, "{key} holds an event of the chain {wanted}");
            self.archived.entry(id).or_default().push(key.clone());
        }
        self.objects.insert(key.clone(), listed[&key]);
        Ok(())
    }

    /// Compares a document with what its line must become; returns its id without the lineage.
    fn check(&mut self, found: &Value) -> Result<String> {
        let (lineage, id) = self.lines.check(found)?;
        let known = self.lineage.get_or_insert_with(|| lineage.to_owned());
        ensure!(known == lineage, "two lineages: {known} and {lineage}");
        Ok(id.to_owned())
    }
}

/// Prefix, chain and number of a key `<prefix><lineage>-<topic>-<partition>-<number>.jsonl.zst`.
pub(crate) fn key_parts(key: &str) -> Result<(&str, &str, u64)> {
    let parts = || {
        let at = key.rfind('/')? + 1;
        let (chain, number) = key[at..].strip_suffix(".jsonl.zst")?.rsplit_once('-')?;
        let number = number.parse().ok().filter(|_| number.len() == 10)?;
        Some((&key[..at], chain, number))
    };
    parts().with_context(|| format!("{key} is no object of a chain"))
}

/// Numbers begin with 1 and follow one another.
fn chains_have_no_gap(keys: &[&String]) -> Result<()> {
    // In order of their names, hence of their numbers.
    let mut last: HashMap<(&str, &str), u64> = HashMap::new();
    for key in keys {
        let (prefix, chain, number) = key_parts(key)?;
        let last = last.entry((prefix, chain)).or_default();
        ensure!(number == *last + 1, "{key} follows number {last}");
        *last = number;
    }
    Ok(())
}

#[test]
fn a_gap_in_a_chain_is_found() {
    let key =
        |number: u64| format!("t/2026-03-12/worker/5f2a9c01-a-b-00003-{number:010}.jsonl.zst");
    let check = |numbers: &[u64], good: bool| {
        let keys: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
        let result = chains_have_no_gap(&keys.iter().collect::<Vec<_>>());
        assert_eq!(result.is_ok(), good, "{numbers:?}: {result:?}");
    };
    check(&[1, 2, 3], true);
    check(&[2], false);
    check(&[1, 3], false);
    let parts = key_parts("t/d/5f2a9c01-a-b-00003-0000000007.jsonl.zst").unwrap();
    assert_eq!(parts, ("t/d/", "5f2a9c01-a-b-00003", 7));
    assert!(key_parts("t/d/5f2a9c01-a-00003-7.jsonl.zst").is_err());
}
