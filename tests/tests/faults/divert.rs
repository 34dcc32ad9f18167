//! When waiting is wrong: a destination that stays halted gives its lines to the dead letters, and
//! one that refuses too much halts instead of filling them.
//!
//! The invariant: each line is in the search store or is a dead letter, and nothing else is held
//! up. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Expect;
use riverhog_tests::{Fault, Proxy, Riverhog, eventually};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::compare::{Found, archived, check_all, prefix, searched};
use crate::place::{DEADLINE, LOCAL_LETTERS, Place, ROUTE_ALL, expected, records};

const LINES: u64 = 6_000;
/// Of every second line it makes a field that the mapping has as a date.
const HALF: &str = concat!(
    r"%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: ",
    r"(?<content>.*rid=\d{9}(?:(?<odd>[02468])|\d))",
);

/// All letters in the folder.
fn letters(place: &Place) -> Result<Vec<Value>> {
    let folder = place.folder.path().join("dead");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).context("the folder")? {
        for line in std::fs::read_to_string(file?.path())?.lines() {
            found.push(serde_json::from_str(line).with_context(|| line.to_owned())?);
        }
    }
    Ok(found)
}

/// Each line is in the search store or a letter, in neither twice, and at most so many are in both:
/// a line that became a letter may be taken after the cure, by the probe or as it is read again.
fn check_parted(
    found: &[Found],
    letters: &[Value],
    (expected, both_max): (&[Expect], usize),
) -> Result<()> {
    let of_letter = |letter: &Value| letter["event_id"].as_str().map(str::to_owned);
    let of_event = |found: &Found| found.event["event_id"].as_str().map(str::to_owned);
    let dead: BTreeSet<String> = letters.iter().filter_map(of_letter).collect();
    let there: BTreeSet<String> = found.iter().filter_map(of_event).collect();
    ensure!(dead.len() == letters.len() && there.len() == found.len(), "an id is twice in one");
    let (all, both) = (dead.union(&there).count(), dead.intersection(&there).count());
    ensure!(all == expected.len(), "{all} of {} lines", expected.len());
    ensure!(both <= both_max, "{both} lines are in both");
    Ok(())
}

async fn halted(riverhog: &Riverhog, reason: &str) -> Result<f64> {
    let labels = [("sink", "search"), ("reason", reason)];
    Ok(riverhog.metrics().await?.sum("riverhog_sink_halted", &labels))
}

#[tokio::test]
async fn a_halt_that_lasts_gives_its_lines_to_the_dead_letters() -> Result<()> {
    let Some(place) = Place::shared("divert").await? else { return Ok(()) };
    let proxy = Proxy::start(&place.services.opensearch)?;
    let search = place.search_sink(&proxy.url(), "{timestamp:%Y.%m.%d}");
    let search = format!("{search}halt_after = \"3s\"\n");
    let archive = place.archive_sink(&place.services.s3);
    let config = place.config(&[ROUTE_ALL, &search, &archive, LOCAL_LETTERS]);
    let records = records(71, LINES);
    let (first, rest) = records.split_at(records.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    place.produce(first)?;
    let riverhog = place.start(config).await?;
    place.settled().await;
    ensure!(letters(&place)?.is_empty(), "nothing was wrong yet");

    proxy.set_fault(Fault::Answer(403));
    place.produce(second)?;
    // Everything is settled although the store takes nothing.
    place.settled().await;
    ensure!(halted(&riverhog, "forbidden").await? > 0.5, "it is halted all the while");
    let diverted = letters(&place)?;
    ensure!(!diverted.is_empty(), "there are no dead letters");
    for letter in &diverted {
        ensure!(letter["reason"] == "halted" && letter["sink"] == "search", "{letter}");
        let detail = letter["detail"].as_str().unwrap_or_default();
        ensure!(detail.starts_with("forbidden: "), "{letter}");
    }

    proxy.set_fault(Fault::None);
    eventually(DEADLINE, "it is cured", || async {
        ensure!(halted(&riverhog, "forbidden").await? < 0.5, "it is halted");
        Ok(())
    })
    .await;
    let before = letters(&place)?.len();
    place.produce(third)?;
    place.settled().await;
    let letters = letters(&place)?;
    ensure!(letters.len() == before, "{} of {before} letters after the cure", letters.len());
    let expected = expected(&records);
    check_parted(&searched(&place).await?, &letters, (&expected, 1))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)
}

#[tokio::test]
async fn a_mapping_that_takes_half_of_the_lines_halts_its_index() -> Result<()> {
    let Some(mut place) = Place::shared("refusing").await? else { return Ok(()) };
    HALF.clone_into(&mut place.grok);
    let odd = json!({ "type": "date", "format": "yyyy-MM-dd" });
    place.put_template(json!({ "fields": { "properties": { "odd": odd } } })).await?;
    let search = place.search_sink(&place.services.opensearch, "all");
    let archive = place.archive_sink(&place.services.s3);
    let records = records(72, LINES);
    place.produce(&records)?;
    let config = place.config(&[ROUTE_ALL, &search, &archive, LOCAL_LETTERS]);
    let riverhog = place.start(config).await?;
    eventually(DEADLINE, "it halts", || async {
        ensure!(halted(&riverhog, "refused_above").await? > 0.5, "it is not halted");
        Ok(())
    })
    .await;
    let expected = expected(&records);
    eventually(DEADLINE, "the archive has everything", || async {
        let there = archived(&place.bucket).await?.len();
        ensure!(there == expected.len(), "{there} of {}", expected.len());
        Ok(())
    })
    .await;
    let dead = letters(&place)?.len();
    ensure!(dead < 100, "{dead} dead letters");
    let body = json!({ "properties": { "fields": { "properties": { "odd": {
        "type": "date", "format": "yyyy-MM-dd", "ignore_malformed": true,
    } } } } });
    place.search.expect("PUT", &format!("/{}-all/_mapping", place.stem), Some(body)).await?;
    place.settled().await;
    ensure!(halted(&riverhog, "refused_above").await? < 0.5, "it is cured");
    let letters = letters(&place)?;
    ensure!(letters.len() == dead, "{} of {dead} letters after the cure", letters.len());
    check_parted(&searched(&place).await?, &letters, (&expected, dead))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)
}
