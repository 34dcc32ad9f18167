//! Labelled excerpts of real training logs, read by `riverhog parse --as training`: the lines of
//! each record, and its level, component, rank and beginning.
//!
//! The excerpts are in the folder `training-logs` of the one that `RIVERHOG_EXAMPLES` names.
//! Invariant: each record is read as its label says.

use anyhow::{Context, Result, ensure};
use riverhog_tests::{run_command, run_on_file};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

#[test]
fn labelled_excerpts_are_read_as_their_labels_say() -> Result<()> {
    let Ok(examples) = std::env::var("RIVERHOG_EXAMPLES") else {
        println!("RIVERHOG_EXAMPLES is not set: no labelled excerpts are read");
        return Ok(());
    };
    let folder = Path::new(&examples).join("training-logs");
    let truth = fs::read_to_string(folder.join("truth.jsonl"))?;
    let (mut records, mut differing) = (0, Vec::new());
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
        }
    }
    differing.dedup();
    ensure!(records > 400, "{records} records");
    ensure!(differing.is_empty(), "not as labelled: {differing:?}");
    Ok(())
}

/// The events of a file by their lines.
fn events(file: &Path) -> Result<HashMap<(u64, u64), Vec<Value>>> {
    let arguments = ["parse", "--as", "training", "--reference", "2026-03-12T00:00:00Z"];
    let finished = run_on_file(file, &arguments)?;
    ensure!(finished.code == Some(0), "{}: {}", file.display(), finished.stderr);
    let mut events: HashMap<_, Vec<Value>> = HashMap::new();
    for line in finished.stdout.lines() {
        let event: Value = serde_json::from_str(line)?;
        let number = |index: usize| event["lines"][index].as_u64().context("an event has lines");
        events.entry((number(0)?, number(1)?)).or_default().push(event);
    }
    Ok(events)
}

/// True when one of the events of the record's lines is it: there are several on some lines.
fn is_read(record: &Value, events: &HashMap<(u64, u64), Vec<Value>>) -> bool {
    let number = |name: &str| record[name].as_u64().unwrap_or_default();
    let events = events.get(&(number("first_line"), number("last_line")));
    events.into_iter().flatten().any(|event| is_record(record, event))
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
