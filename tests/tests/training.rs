//! Labelled excerpts of real training logs, read by `riverhog parse --as training`: the lines of
//! each record, its level, component, rank and beginning, and its numbers.
//!
//! The excerpts are in the folder `training-logs` of the one that `RIVERHOG_EXAMPLES` names.
//! Invariant: each record is read as its label says.

use anyhow::{Context, Result, ensure};
use riverhog_tests::{binary, run_command, run_on_file};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Keys whose metric is in another unit, and the factor between the two.
const SCALED: &[(&str, f64)] =
    &[("elapsed time per iteration (ms)", 1e-3), ("train_time", 1e-3), ("step_avg", 1e-3)];

#[test]
fn labelled_excerpts_are_read_as_their_labels_say() -> Result<()> {
    let Ok(examples) = std::env::var("RIVERHOG_EXAMPLES") else {
        println!("RIVERHOG_EXAMPLES is not set: no labelled excerpts are read");
        return Ok(());
    };
    let folder = Path::new(&examples).join("training-logs");
    let truth = fs::read_to_string(folder.join("truth.jsonl"))?;
    let (mut records, mut differing) = (0, Vec::new());
    let (mut numbers, mut bars, mut without) = (0, 0, Vec::new());
    for excerpt in truth.lines() {
        let excerpt: Value = serde_json::from_str(excerpt)?;
        let file = excerpt["file"].as_str().context("an excerpt has a file")?;
        let events = events(&folder.join(file))?;
        for record in excerpt["records"].as_array().context("an excerpt has records")? {
            records += 1;
            let first = record["first_line"].as_u64().context("a record has lines")?;
            if record["interleaved"] != true && !is_read(record, &events) {
                differing.push((file.to_owned(), first));
            }
            let missing = missing_numbers(record, &events);
            numbers += record["metrics"].as_object().map_or(0, serde_json::Map::len);
            if !missing.is_empty() {
                println!("{file}:{first}: {missing:?}");
                without.push((file.to_owned(), first));
            }
            bars += usize::from(record["progress"] == true && is_bar(record, &events)?);
        }
    }
    differing.dedup();
    ensure!(records > 400, "{records} records");
    ensure!(differing.is_empty(), "not as labelled: {differing:?}");
    ensure!(without.is_empty(), "without all of their numbers: {without:?}");
    ensure!(numbers > 350 && bars >= 5, "{numbers} numbers, {bars} bars");
    Ok(())
}

/// The events of a file by their lines.
fn events(file: &Path) -> Result<Events> {
    let arguments = ["parse", "--as", "training", "--reference", "2026-03-12T00:00:00Z"];
    let finished = run_on_file(file, &arguments)?;
    ensure!(finished.code == Some(0), "{}: {}", file.display(), finished.stderr);
    let mut events = Events::new();
    for line in finished.stdout.lines() {
        let event: Value = serde_json::from_str(line)?;
        let number = |index: usize| event["lines"][index].as_u64().context("an event has lines");
        events.entry((number(0)?, number(1)?)).or_default().push(event);
    }
    Ok(events)
}

/// By their lines: the events of a file.
type Events = HashMap<(u64, u64), Vec<Value>>;

/// The event that a record is; of several on its lines the one that begins as it does.
fn event_of<'e>(record: &Value, events: &'e Events) -> Option<&'e Value> {
    let number = |name: &str| record[name].as_u64().unwrap_or_default();
    let events = events.get(&(number("first_line"), number("last_line")))?;
    events.iter().find(|event| is_record(record, event)).or_else(|| events.first())
}

fn is_read(record: &Value, events: &Events) -> bool {
    event_of(record, events).is_some_and(|event| is_record(record, event))
}

fn is_record(record: &Value, event: &Value) -> bool {
    let level = match record["level"].as_str() {
        Some("WARNING") => Some("warn".to_owned()),
        level => level.map(str::to_lowercase),
    };
    let first_line = event["content"].as_str().unwrap_or_default().trim().lines().next();
    let beginning: String = first_line.unwrap_or_default().trim().chars().take(40).collect();
    event["level"].as_str() == level.as_deref()
        && event["component"] == record["component"]
        && event["rank"] == record["rank"]
        && Some(beginning.trim()) == record["content_starts"].as_str().map(str::trim)
}

/// The numbers of a label that are no metrics of the record's event, compared by value.
fn missing_numbers(record: &Value, events: &Events) -> Vec<String> {
    let found: Vec<Option<f64>> = event_of(record, events)
        .and_then(|event| event["metrics"].as_object())
        .map(|metrics| metrics.values().map(Value::as_f64).collect())
        .unwrap_or_default();
    let is_found = |key: &str, value: &Value| match value.as_f64() {
        Some(value) => {
            let factor = SCALED.iter().find(|(scaled, _)| *scaled == key).map_or(1.0, |it| it.1);
            let expect = value * factor;
            let is_near = |it: f64| (it - expect).abs() <= 1e-9 * expect.abs();
            found.iter().flatten().any(|it| is_near(*it))
        }
        // `"nan"`
        None => found.contains(&None),
    };
    let labelled = record["metrics"].as_object().into_iter().flatten();
    let missing = labelled.filter(|(key, value)| !is_found(key, value));
    missing.map(|(key, value)| format!("{key} {value}")).collect()
}

/// True for the event of a whole bar, which has its counts as metrics.
fn is_bar(record: &Value, events: &Events) -> Result<bool> {
    let Some(event) = event_of(record, events) else { return Ok(false) };
    let content = event["content"].as_str().unwrap_or_default();
    let counts = content.rsplit_once(" [").and_then(|(before, _)| before.rsplit_once(' '));
    let Some((_, counts)) = counts.filter(|_| content.ends_with(']')) else { return Ok(false) };
    let (step, total) = counts.split_once('/').context("a bar counts")?;
    let found = |name: &str| event["metrics"][name].as_f64();
    ensure!(found("step") == step.parse().ok(), "{content}: {}", event["metrics"]);
    ensure!(found("step_total") == total.parse().ok(), "{content}: {}", event["metrics"]);
    Ok(true)
}

/// Two ranks that fail at once, in a file that ends with the second's exception.
const FAILING: &str = "2026-03-12 10:23:45,123 - train - INFO - step 7\n\
    [rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n\
    [rank0]:   File \"a.py\", line 7, in f\n[rank1]:   File \"b.py\", line 9, in g\n\
    [rank0]: KeyError: 'a'\n2026-03-12 10:23:46,000 - train - INFO - of the launcher\n\
    [rank1]: ValueError: b\n";

const CONFIG: &str = "[sources.log]\ntype = 'file'\npath = 'train.log'\n[peel]\n[join]\n\
    [[parse]]\nname = 'training'\nas = 'training'\n[[route]]\nsinks = ['out']\n\
    [sinks.out]\ntype = 'local'\npath = 'out'\nprefix = ''\n";

#[test]
fn records_of_a_file_are_whole_to_its_end() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("train.log"), FAILING)?;
    fs::write(folder.path().join("riverhog.toml"), CONFIG)?;
    // Read twice: the second time adds nothing.
    for _ in 0..2 {
        let finished = run_command(folder.path(), &["run", "riverhog.toml"])?;
        ensure!(finished.code == Some(0), "{finished:?}");
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path().join("out"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "zst") {
            continue;
        }
        let mut text = String::new();
        let stored = zstd::Decoder::new(fs::File::open(&path)?)?;
        stored.take(1 << 20).read_to_string(&mut text)?;
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            let lines = event["content"].as_str().unwrap_or_default().lines().count();
            found.push((event["rank"].as_u64(), lines));
        }
    }
    found.sort_unstable();
    ensure!(found == [(None, 1), (None, 1), (Some(0), 3), (Some(1), 3)], "{found:?}");
    Ok(())
}

/// Bytes of a bar that was never ended, and what it may cost.
const BAR_BYTES: usize = 50_000_000;
const COST_BYTES_MAX: u64 = 5 << 20;

#[cfg(target_os = "linux")]
#[test]
fn a_progress_line_of_50_mb_costs_less_than_5_mib() -> Result<()> {
    let (without, with) = (peak_bytes(0)?, peak_bytes(BAR_BYTES)?);
    let cost = with.saturating_sub(without);
    ensure!(cost < COST_BYTES_MAX, "{cost} bytes: {with}, and {without} without it");
    Ok(())
}

/// The most memory that `riverhog parse` has taken for a line of so many bytes of frames, and some
/// short lines after it.
fn peak_bytes(bytes: usize) -> Result<u64> {
    let mut child = Command::new(binary()?)
        .args(["parse", "--as", "training"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("standard input is piped")?;
    let mut output = BufReader::new(child.stdout.take().context("standard output is piped")?);
    let frames = (0..1000).map(|frame| {
        format!("\rTraining: {:3}%|█████     | {frame}/1000 [00:10<00:50, 10.0it/s]", frame / 10)
    });
    let frames: String = frames.collect();
    for _ in 0..bytes.div_ceil(frames.len()) {
        input.write_all(frames.as_bytes())?;
    }
    // Enough behind it for the output to be written: then the line has been read.
    input.write_all(format!("\n{}", "short\n".repeat(1000)).as_bytes())?;
    let mut first = String::new();
    output.read_line(&mut first)?;
    let event: Value = serde_json::from_str(&first)?;
    ensure!(event["lines"] == serde_json::json!([1, 1]), "another event: {}", event["lines"]);
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB")).context("no VmHWM")?;
    drop(input);
    std::io::copy(&mut output, &mut std::io::sink())?;
    ensure!(child.wait()?.success(), "it failed");
    Ok(peak.parse::<u64>()? * 1024)
}
