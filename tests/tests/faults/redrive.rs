//! Dead letters are delivered again: exactly those, under their ids, and never twice, also when
//! the process is killed in the middle.
//!
//! The invariant: what must be there follows from the corpus alone; letters stay where they are.
//! Next stop: `mapping.rs`, which makes the letters of refused documents.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Expect;
use riverhog_tests::{Fault, Proxy, Services, binary, eventually, run_command};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

use crate::compare::{archived, check_all, daily_index, prefix, searched};
use crate::mapping::{self, LINES, conflicts};
use crate::place::{DEADLINE, LOCAL_LETTERS, Place, ROUTE_ALL, expected, records};

/// Takes nothing.
const ROUTE_NONE: &str = "[[route]]\nwhen = 'project == \"nobody\"'\nsinks = [\"search\"]\n";

/// Runs `redrive` with more arguments; its exit code and its report.
fn redrive(place: &Place, args: &[&str]) -> Result<(Option<i32>, Value)> {
    let fixed = ["redrive", "riverhog.toml", "--format", "json"];
    let done = run_command(place.folder.path(), &[&fixed[..], args].concat())?;
    let report = serde_json::from_str(&done.stdout);
    let mut report: Value = report.with_context(|| format!("{} {}", done.stdout, done.stderr))?;
    if done.code != Some(0) {
        // Shown where the test fails.
        report["stderr"] = done.stderr.into();
    }
    Ok((done.code, report))
}

fn s3_letters(place: &Place, endpoint: &str) -> String {
    let Services { s3_key, s3_secret, .. } = &place.services;
    let bucket = format!("{}-dead", place.bucket.bucket());
    format!(
        "[dead_letter]\ntype = \"s3\"\nendpoint = \"{endpoint}\"\nbucket = \"{bucket}\"\n\
         prefix = \"of/search/\"\naccess_key = \"{s3_key}\"\nsecret_key = \"{s3_secret}\"\n"
    )
}

#[tokio::test]
async fn refused_lines_are_redriven_from_a_topic() -> Result<()> {
    let Some(place) = mapping::place().await? else { return Ok(()) };
    let dead = format!("{}-dead", place.topic);
    place.broker.create_topic(&dead, 2, &[]).await?;
    let letters = format!("[dead_letter]\ntype = \"kafka\"\ntopic = \"{dead}\"\n");
    refused_lines_are_redriven(&place, &letters).await
}

#[tokio::test]
async fn refused_lines_are_redriven_from_a_folder() -> Result<()> {
    let Some(place) = mapping::place().await? else { return Ok(()) };
    refused_lines_are_redriven(&place, LOCAL_LETTERS).await
}

#[tokio::test]
async fn refused_lines_are_redriven_from_a_bucket() -> Result<()> {
    let Some(place) = mapping::place().await? else { return Ok(()) };
    let bucket = place.services.bucket(&format!("{}-dead", place.stem)).await?;
    let letters = s3_letters(&place, &place.services.s3);
    refused_lines_are_redriven(&place, &letters).await?;
    let objects = bucket.list("of/search/").await?;
    let of_marks = objects.iter().filter(|it| it.key.starts_with("of/search/redriven/")).count();
    ensure!(of_marks > 0 && of_marks < objects.len(), "{objects:?}");
    Ok(())
}

async fn refused_lines_are_redriven(place: &Place, letters: &str) -> Result<()> {
    let mut riverhog = mapping::run(place, letters).await?;
    riverhog.stop(DEADLINE).await?;
    let all = expected(&records(51, LINES));
    let refused = all.iter().filter(|expect| conflicts(expect)).count();
    ensure!(refused > 10, "{refused} letters test nothing");

    let (code, counted) = redrive(place, &["--dry-run"])?;
    ensure!(code == Some(0) && counted["letters"] == refused, "{code:?} {counted}");
    let found = counted["found"].as_array().context("found")?;
    let of_sink = found.iter().filter(|it| it["sink"] == "search" && it["reason"] == "refused");
    let sum: u64 = of_sink.filter_map(|it| it["letters"].as_u64()).sum();
    ensure!(sum as usize == refused, "{counted}");

    let (code, again) = redrive(place, &[])?;
    ensure!(code == Some(1) && again["settled"] == 0, "nothing was mended: {code:?} {again}");
    ensure!(again["stay"] == json!({ "refused": refused }), "{again}");

    let odd = json!({ "type": "date", "format": "yyyy-MM-dd", "ignore_malformed": true });
    let mended = json!({ "properties": { "fields": { "properties": { "odd": odd } } } });
    let path = format!("/{}/_mapping", place.indices());
    place.search.expect("PUT", &path, Some(mended)).await?;
    for passes_all_over in [["--reason", "no_route"], ["--sink", "archive"], ["--sink", "-"]] {
        let (code, passed) = redrive(place, &passes_all_over)?;
        ensure!(code == Some(0) && passed["passed_over"] == refused, "{code:?} {passed}");
    }
    let before = searched(place).await?.len();
    ensure!(before == all.len() - refused, "{before} documents before");

    let (code, done) = redrive(place, &["--reason", "refused", "--sink", "search"])?;
    ensure!(code == Some(0) && done["settled"] == refused, "{code:?} {done}");
    check_all("search", &searched(place).await?, 1, &all, daily_index(place))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &all, prefix)?;
    let (code, second) = redrive(place, &[])?;
    ensure!(code == Some(0) && second["letters"] == 0, "{code:?} {second}");
    ensure!(second["settled_before"] == refused, "{second}");
    check_all("search", &searched(place).await?, 1, &all, daily_index(place))
}

#[tokio::test]
async fn a_killed_redrive_loses_and_repeats_nothing() -> Result<()> {
    let Some(place) = Place::shared("redrive").await? else { return Ok(()) };
    let search = place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}");
    let archive = place.archive_sink(&place.services.s3);
    let all = records(53, LINES);
    place.produce(&all)?;
    let config = place.config(&[ROUTE_NONE, &search, &archive, LOCAL_LETTERS]);
    let mut riverhog = place.start(config).await?;
    place.settled().await;
    riverhog.stop(DEADLINE).await?;
    let all: Vec<Expect> = expected(&all);
    ensure!(searched(&place).await?.is_empty(), "nothing is routed yet");

    riverhog.set_config(&place.config(&[ROUTE_ALL, &search, &archive, LOCAL_LETTERS]))?;
    let mut child = Command::new(binary()?)
        .args(["redrive", "riverhog.toml"])
        .current_dir(place.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    eventually(DEADLINE, "some letters are delivered", || async {
        let delivered = place.search.count(&place.indices()).await?;
        ensure!(delivered > 0, "none yet");
        anyhow::Ok(())
    })
    .await;
    child.kill()?;
    child.wait()?;
    let midway = place.search.count(&place.indices()).await?;
    ensure!(midway < all.len() as u64, "it was killed too late: {midway}");

    // 3 says that some letters are neither settled nor refused, and to type the same again.
    let mut tries = 0;
    loop {
        let (code, done) = redrive(&place, &[])?;
        tries += 1;
        if code == Some(0) {
            break;
        }
        ensure!(code == Some(3) && tries < 5, "{code:?} {done}");
    }
    check_all("search", &searched(&place).await?, 1, &all, daily_index(&place))?;
    let archived_now = archived(&place.bucket).await?;
    check_all("archive", &archived_now, 1, &all, prefix)?;
    ensure!(archived_now.iter().all(|found| found.place.contains(".redrive-")), "own chains");
    let (code, second) = redrive(&place, &[])?;
    ensure!(code == Some(0) && second["settled_before"] == all.len(), "{code:?} {second}");
    ensure!(archived(&place.bucket).await?.len() == all.len(), "a second run adds nothing");
    let verified = run_command(place.folder.path(), &["archive", "verify", "riverhog.toml"])?;
    ensure!(verified.code == Some(0), "{} {}", verified.stdout, verified.stderr);
    Ok(())
}

#[tokio::test]
async fn letters_wait_for_a_bucket_that_is_overloaded() -> Result<()> {
    let Some(place) = mapping::place().await? else { return Ok(()) };
    let bucket = place.services.bucket(&format!("{}-dead", place.stem)).await?;
    let proxy = Proxy::start(&place.services.s3)?;
    proxy.set_fault(Fault::Answer(503));
    let search = place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}");
    let archive = place.archive_sink(&place.services.s3);
    let all = records(51, LINES);
    place.produce(&all)?;
    let letters = s3_letters(&place, &proxy.url());
    let config = place.config(&[ROUTE_ALL, &search, &archive, &letters]);
    let _riverhog = place.start(config).await?;
    eventually(DEADLINE, "a PUT is tried again", || async {
        let refused = proxy.exchanges().iter().filter(|it| it.answered == Some(503)).count();
        ensure!(refused > 2, "{refused} tries");
        anyhow::Ok(())
    })
    .await;
    place.watermark_stays(&all, conflicts).await?;
    ensure!(bucket.list("").await?.is_empty(), "nothing can be there yet");
    proxy.set_fault(Fault::None);
    place.settled().await;
    let mut lines: Vec<String> = Vec::new();
    for (key, letter) in bucket.events("of/search/").await? {
        ensure!(key.starts_with("of/search/2"), "{key} is below no day");
        let value = letter["records"][0]["value"].as_str().context("a value")?;
        lines.push(value.trim_end().to_owned());
    }
    let expected = expected(&all);
    let mut refused: Vec<String> =
        expected.iter().filter(|it| conflicts(it)).map(|it| it.line.clone()).collect();
    lines.sort_unstable();
    refused.sort_unstable();
    ensure!(lines == refused, "{} letters of {}", lines.len(), refused.len());
    Ok(())
}
