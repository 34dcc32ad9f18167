//! What stands in the stores against what was produced.
//!
//! The invariant: of each lineage exactly the expected lines are there, each once, in its index or
//! below its prefix, under an event id that no other has, and field-exact. Next stop: the tests.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::{Expect, rid_of};
use riverhog_tests::{Exchange, ObjectStore, Riverhog, run_command};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::place::Place;

/// Lines named in a failure.
const SHOWN: usize = 5;

/// What tells a line from all others of one cluster: its number and its record's time.
type Key = (u64, i64);

/// An event and where it was found: its index, or the key of its object.
pub(crate) struct Found {
    pub(crate) place: String,
    pub(crate) event: Value,
}

/// The documents of all indices of the place.
pub(crate) async fn searched(place: &Place) -> Result<Vec<Found>> {
    let documents = place.search.documents(&place.indices()).await?;
    let mut found = Vec::with_capacity(documents.len());
    for document in documents {
        let (id, event) = (&document.id, document.source);
        ensure!(event["event_id"] == id.as_str(), "document {id} says {}", event["event_id"]);
        found.push(Found { place: document.index, event });
    }
    Ok(found)
}

/// The events of all chains of a bucket.
pub(crate) async fn archived(bucket: &ObjectStore) -> Result<Vec<Found>> {
    let events = bucket.events("").await?;
    Ok(events.into_iter().map(|(place, event)| Found { place, event }).collect())
}

/// Compares everything found in one kind of store. `lineages` is how many clusters the same lines
/// came from; `place_of` gives the index or the beginning of the key.
pub(crate) fn check_all<'a>(
    what: &str,
    found: &[Found],
    lineages: usize,
    expected: impl IntoIterator<Item = &'a Expect>,
    place_of: impl Fn(&Expect) -> String,
) -> Result<()> {
    let expected: HashMap<Key, &Expect> =
        expected.into_iter().map(|expect| ((expect.rid, expect.record_time_ms), expect)).collect();
    let mut ids = HashSet::new();
    let mut by_lineage: BTreeMap<&str, HashSet<Key>> = BTreeMap::new();
    for Found { place, event } in found {
        let id = event["event_id"].as_str().unwrap_or_default();
        ensure!(ids.insert(id), "{what}: {id} is there twice");
        let key = key_of(event).with_context(|| format!("{what}: whose event is this? {event}"))?;
        let expect = expected.get(&key);
        let expect = expect.with_context(|| format!("{what}: {key:?} should not be there"))?;
        let wanted = place_of(expect);
        ensure!(place.starts_with(&wanted), "{what}: {key:?} is in {place}, not in {wanted}");
        expect.check(event).map_err(|difference| anyhow::anyhow!("{what}: {difference}"))?;
        let lineage = event["origin"]["lineage"].as_str().unwrap_or_default();
        let is_new = by_lineage.entry(lineage).or_default().insert(key);
        ensure!(is_new, "{what}: {key:?} is there twice, under two ids; one is {id}");
    }
    for (lineage, keys) in &by_lineage {
        let missing: Vec<&Key> = expected.keys().filter(|key| !keys.contains(key)).collect();
        let shown = &missing[..missing.len().min(SHOWN)];
        ensure!(
            missing.is_empty(),
            "{what}: {} of {} lines of {lineage} are missing: {shown:?}",
            missing.len(),
            expected.len(),
        );
    }
    let wanted = if expected.is_empty() { 0 } else { lineages };
    ensure!(by_lineage.len() == wanted, "{what}: lineages {:?}", by_lineage.keys());
    Ok(())
}

fn key_of(event: &Value) -> Option<Key> {
    let text = event["content"].as_str()?;
    Some((rid_of(text)?, event["origin"]["time"].as_i64()?))
}

/// The index of a line where it follows from the day alone.
pub(crate) fn daily_index(place: &Place) -> impl Fn(&Expect) -> String {
    let stem = place.stem.clone();
    move |expect| expect.index_of(&stem)
}

/// The prefix of a line's chain.
pub(crate) fn prefix(expect: &Expect) -> String {
    format!("{}/", expect.task)
}

/// `riverhog archive verify` finds nothing to complain of.
pub(crate) fn check_verify(place: &Place) -> Result<()> {
    let verified = run_command(place.folder.path(), &["archive", "verify", "riverhog.toml"])?;
    ensure!(verified.code == Some(0), "archive verify: {verified:?}");
    Ok(())
}

/// The lines of a sink by what became of them, as the instance counts.
pub(crate) async fn lines(riverhog: &Riverhog, sink: &str, outcome: &str) -> Result<u64> {
    let labels = [("sink", sink), ("outcome", outcome)];
    Ok(riverhog.metrics().await?.sum("riverhog_sink_lines_total", &labels) as u64)
}

/// What a store was sent more than once.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// Documents of which some try led to no answer that settles them.
    pub(crate) unsettled: u64,
    /// Documents whose answer was lost after the store had taken them.
    pub(crate) lost: u64,
    /// Documents sent again.
    pub(crate) again: u64,
    /// Documents answered with 409: the store had them.
    pub(crate) known: u64,
}

/// Goes through all `_bulk` requests: no document may be sent again once it was answered.
pub(crate) fn check_repeats(exchanges: &[Exchange]) -> Result<Repeats> {
    let (mut settled, mut unsettled) = (HashSet::new(), HashSet::new());
    let (mut lost, mut again, mut known) = (HashSet::new(), HashSet::new(), 0);
    for exchange in exchanges {
        for (number, id) in exchange.ids.iter().enumerate() {
            let status = exchange.items.get(number).copied().unwrap_or_default();
            ensure!(!settled.contains(id), "{id} was sent again after its answer");
            if unsettled.contains(id) {
                again.insert(id);
            }
            let is_done = matches!(status, 200..=299 | 409);
            if exchange.answered.is_some() && is_done {
                settled.insert(id);
                known += u64::from(status == 409);
                continue;
            }
            unsettled.insert(id);
            if is_done {
                lost.insert(id);
            }
        }
    }
    Ok(Repeats {
        unsettled: unsettled.len() as u64,
        lost: lost.len() as u64,
        again: again.len() as u64,
        known,
    })
}

/// Goes through all uploads: no object may be sent again once it was answered. Returns how many
/// answers were lost.
pub(crate) fn check_uploads(exchanges: &[Exchange]) -> Result<u64> {
    let mut answered = HashSet::new();
    let mut lost = 0;
    for exchange in exchanges.iter().filter(|exchange| is_upload(exchange)) {
        let path = &exchange.path;
        ensure!(!answered.contains(path), "{path} was sent again after its answer");
        match exchange.answered {
            Some(200..=299 | 412) => drop(answered.insert(path)),
            Some(_) => {}
            None => lost += u64::from(exchange.stored == Some(200)),
        }
    }
    Ok(lost)
}

/// Is this an object of a chain?
pub(crate) fn is_upload(exchange: &Exchange) -> bool {
    exchange.method == "PUT" && exchange.path.ends_with(".jsonl.zst")
}
