//! One document in a thousand conflicts with the index's mapping: just these become dead letters,
//! with the store's whole reason; everything else arrives.
//!
//! The invariant: which lines conflict follows from the corpus, and what the store says of one from
//! asking it here; neither is taken from riverhog. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::Riverhog;
use riverhog_tests::corpus::Expect;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::compare::{archived, check_all, daily_index, lines, prefix, searched};
use crate::place::{LOCAL_LETTERS, Place, ROUTE_ALL, expected, records};

pub(crate) const LINES: u64 = 20_000;
/// Takes what the guide's expression takes; of a number that ends in 007 it makes a field.
const GROK: &str = concat!(
    r"%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: ",
    r"(?<content>.*rid=\d{7}(?:(?<odd>007)|\d{3}))",
);

pub(crate) fn conflicts(expect: &Expect) -> bool {
    expect.parsed && expect.rid % 1_000 == 7
}

#[tokio::test]
async fn a_mapping_conflict_makes_dead_letters_in_a_topic() -> Result<()> {
    let Some(place) = place().await? else { return Ok(()) };
    let dead = format!("{}-dead", place.topic);
    place.broker.create_topic(&dead, 1, &[]).await?;
    let letters = format!("[dead_letter]\ntype = \"kafka\"\ntopic = \"{dead}\"\n");
    let riverhog = run(&place, &letters).await?;
    let mut found = Vec::new();
    for record in place.broker.read_all(&dead)? {
        let letter: Value = serde_json::from_slice(&record.value.context("a tombstone")?)?;
        let key = String::from_utf8(record.key.context("a letter without a key")?)?;
        ensure!(letter["event_id"] == key.as_str(), "{key} is the key of {letter}");
        found.push(letter);
    }
    check(&place, &riverhog, &found).await
}

#[tokio::test]
async fn a_mapping_conflict_makes_dead_letters_in_a_folder() -> Result<()> {
    let Some(place) = place().await? else { return Ok(()) };
    let riverhog = run(&place, LOCAL_LETTERS).await?;
    let mut found = Vec::new();
    for file in std::fs::read_dir(place.folder.path().join("dead")).context("the folder")? {
        let path = file?.path();
        let is_whole = path.extension().is_some_and(|extension| extension == "jsonl");
        ensure!(is_whole, "{} is left", path.display());
        for line in std::fs::read_to_string(&path)?.lines() {
            found.push(serde_json::from_str(line).with_context(|| line.to_owned())?);
        }
    }
    check(&place, &riverhog, &found).await
}

pub(crate) async fn place() -> Result<Option<Place>> {
    let Some(mut place) = Place::shared("mapping").await? else { return Ok(None) };
    GROK.clone_into(&mut place.grok);
    let odd = json!({ "type": "date", "format": "yyyy-MM-dd" });
    place.put_template(json!({ "fields": { "properties": { "odd": odd } } })).await?;
    Ok(Some(place))
}

pub(crate) async fn run(place: &Place, letters: &str) -> Result<Riverhog> {
    let search = place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}");
    let archive = place.archive_sink(&place.services.s3);
    place.produce(&records(51, LINES))?;
    let riverhog = place.start(place.config(&[ROUTE_ALL, &search, &archive, letters])).await?;
    place.settled().await;
    Ok(riverhog)
}

async fn check(place: &Place, riverhog: &Riverhog, letters: &[Value]) -> Result<()> {
    let expected = expected(&records(51, LINES));
    let refused: Vec<&Expect> = expected.iter().filter(|expect| conflicts(expect)).collect();
    ensure!(refused.len() > 10, "{} conflicts test nothing", refused.len());
    let taken = expected.iter().filter(|expect| !conflicts(expect));
    check_all("search", &searched(place).await?, 1, taken, daily_index(place))?;
    let archived = archived(&place.bucket).await?;
    check_all("archive", &archived, 1, &expected, prefix)?;
    let ids: BTreeMap<&str, &Value> = archived
        .iter()
        .filter_map(|found| Some((found.event["event_id"].as_str()?, &found.event)))
        .collect();

    let reasons = reasons(place).await?;
    ensure!(reasons.len() > 2, "a chain of causes is wanted, not {reasons:?}");
    let by_line: BTreeMap<&str, &Value> = letters
        .iter()
        .filter_map(|letter| Some((letter["records"][0]["value"].as_str()?.trim_end(), letter)))
        .collect();
    ensure!(letters.len() == refused.len(), "{} letters of {}", letters.len(), refused.len());
    for expect in &refused {
        let letter = by_line.get(expect.line.as_str());
        let letter = letter.with_context(|| format!("no letter of {}", expect.line))?;
        check_letter(place, expect, letter, &reasons)?;
        let event = ids.get(letter["event_id"].as_str().unwrap_or_default());
        let event = event.with_context(|| format!("nothing else has the id of {letter}"))?;
        ensure!(event["message"] == expect.line.as_str(), "{letter} has the id of {event}");
    }

    let counted = riverhog.metrics().await?;
    let dead = counted.sum("riverhog_dead_letter_lines_total", &[("reason", "refused")]);
    ensure!(dead as usize == refused.len(), "counted {dead} dead letters");
    ensure!(lines(riverhog, "search", "refused").await? == refused.len() as u64);
    ensure!(!counted.has("riverhog_sink_halted"), "a refused document is no halt");
    check_log(riverhog, letters, &reasons)
}

fn check_letter(place: &Place, expect: &Expect, letter: &Value, reasons: &[String]) -> Result<()> {
    let detail = letter["detail"].as_str().unwrap_or_default();
    for reason in reasons {
        ensure!(detail.contains(reason.as_str()), "`{reason}` is not in `{detail}`");
    }
    let record = &letter["records"][0];
    let origin = &letter["origin"];
    let wanted = [
        ("v", &letter["v"], json!(1)),
        ("reason", &letter["reason"], json!("refused")),
        ("sink", &letter["sink"], json!("search")),
        ("destination", &letter["destination"], json!(expect.index_of(&place.stem))),
        ("topic", &origin["topic"], json!(place.topic)),
        ("partition", &origin["partition"], json!(expect.partition)),
        ("time", &origin["time"], json!(expect.record_time_ms)),
        ("index", &origin["index"], json!(expect.index)),
        ("offset", &record["offset"], origin["offset"].clone()),
    ];
    for (what, found, wanted) in wanted {
        ensure!(*found == wanted, "{what} is {found}, not {wanted}, in {letter}");
    }
    Ok(())
}

/// The log names index, id and the deepest reason of a refusal; it may hold back repetitions.
fn check_log(riverhog: &Riverhog, letters: &[Value], reasons: &[String]) -> Result<()> {
    let log = riverhog.log();
    let last = reasons.last().context("a reason")?;
    let tells = |letter: &Value, line: &str| {
        let names = |what: &str| line.contains(letter[what].as_str().unwrap_or("-"));
        line.contains(last.as_str()) && names("event_id") && names("destination")
    };
    let is_told = log.lines().any(|line| letters.iter().any(|letter| tells(letter, line)));
    ensure!(is_told, "no line of the log names index, id and `{last}`");
    Ok(())
}

/// What the store says of such a document, asked here: every type of the chain of causes and the
/// text of the causes. (The text of the first one names the document.)
async fn reasons(place: &Place) -> Result<Vec<String>> {
    let path = format!("/{}-asked/_doc/1", place.stem);
    let body = json!({ "fields": { "odd": "007" } });
    let (status, answer) = place.search.request("PUT", &path, Some(body)).await?;
    ensure!(status == 400, "no conflict: {status} {answer}");
    let mut reasons = Vec::new();
    let mut error = &answer["error"];
    while let Some(kind) = error["type"].as_str() {
        if !reasons.is_empty() {
            reasons.push(error["reason"].as_str().unwrap_or_default().to_owned());
        }
        reasons.push(kind.to_owned());
        error = &error["caused_by"];
    }
    Ok(reasons)
}
