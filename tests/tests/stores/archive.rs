//! S3: how objects are stored, and stores that cannot refuse to overwrite.
//! The invariant: as in `main.rs`. Next stop: none.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::bed::{Bed, LINES};

impl Bed {
    fn archive_sink(&self, settings: &str) -> Result<()> {
        let (name, services) = (&self.name, &self.services);
        self.configure(&format!(
            "type = \"s3\"\nendpoint = \"{}\"\nbucket = \"{name}\"\naccess_key = \"{}\"\n\
             secret_key = \"{}\"\nprefix = \"{{task}}/\"\n{settings}",
            services.s3, services.s3_key, services.s3_secret
        ))
    }
}

/// How often each event id stands in the archive.
fn ids(events: &[(String, Value)]) -> Result<BTreeMap<String, u32>> {
    let mut ids = BTreeMap::new();
    for (key, event) in events {
        let id = event["event_id"].as_str().with_context(|| format!("no id in {key}"))?;
        *ids.entry(id.to_owned()).or_default() += 1;
    }
    Ok(ids)
}

#[tokio::test]
async fn without_exclusive_creation_nothing_is_overwritten_and_nothing_lost() -> Result<()> {
    let Some(bed) = Bed::new("shared")? else { return Ok(()) };
    let bucket = bed.services.bucket(&bed.name).await?;
    bed.archive_sink("exclusive = \"none\"")?;
    let checked = bed.command(&["check", "riverhog.toml", "--connect"])?;
    ensure!(checked.code == Some(0) && checked.stdout.contains("at least once"), "{checked:?}");
    let mut before = BTreeSet::new();
    for run in 1..=3 {
        bed.run()?;
        let objects = bucket.list("").await?;
        let keys: BTreeSet<(String, u64)> =
            objects.into_iter().map(|object| (object.key, object.bytes)).collect();
        ensure!(keys.is_superset(&before), "run {run} took {before:?} away");
        ensure!(keys.len() > before.len(), "run {run} wrote nothing");
        before = keys;
        let found = ids(&bucket.events("").await?)?;
        ensure!(found.len() as u64 == LINES, "run {run}: {} events", found.len());
        ensure!(found.values().all(|times| *times == run), "run {run}: each once a run");
        let verified = bed.command(&["archive", "verify", "riverhog.toml"])?;
        ensure!(verified.code == Some(0), "{verified:?}");
        let is_told = verified.stdout.contains("stand there again");
        ensure!(is_told == (run > 1), "{verified:?}");
    }
    let nonces: BTreeSet<&str> = before
        .iter()
        .filter_map(|(key, _)| key.strip_suffix(".jsonl.zst")?.rsplit('.').next())
        .collect();
    ensure!(nonces.len() == 6, "a nonce for each chain of each run: {nonces:?}");
    Ok(())
}

#[tokio::test]
async fn a_chain_knows_what_it_holds_where_creation_is_exclusive() -> Result<()> {
    let Some(bed) = Bed::new("chain")? else { return Ok(()) };
    let bucket = bed.services.bucket(&bed.name).await?;
    bed.archive_sink("storage_class = \"STANDARD\"\nencryption = \"AES256\"")?;
    for _ in 0..2 {
        bed.run()?;
        let found = ids(&bucket.events("").await?)?;
        ensure!(found.len() as u64 == LINES && found.values().all(|times| *times == 1));
    }
    Ok(())
}
