//! Labelled excerpts of real training logs, in the folder named by `RIVERHOG_EXAMPLES`.
//!
//! The invariant: a record's first line that needs no peeling gives the level, the component, the
//! rank, the time and the beginning of the content that its label says. Further lines of a record,
//! lines behind prefixes of launchers (`5: `, `host: `, `(Name pid=1) `), colours, frames of
//! progress bars and two records on one line are the matter of other stops. Next: `documents.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use riverhog_parsers::formats::Training;
use riverhog_parsers::level::Level;
use serde_json::{Map, Value};

/// A prefix that a launcher put before the line.
fn is_behind_prefix(record: &Value, line: &str) -> bool {
    let digits = line.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    let by_rank = digits > 0 && line.trim_start()[digits..].starts_with(": ");
    by_rank || record.get("host_prefix").is_some() || record.get("source_tag").is_some()
}

/// Why it is another stop's matter; `None` where it is this one's.
fn other_stop(record: &Value, line: &str) -> Option<&'static str> {
    let has = |name: &str| record.get(name).is_some_and(|it| *it != 0 && *it != false);
    if has("start_char") || has("end_char") {
        Some("two records on one line")
    } else if has("progress") || has("cr_frames") {
        Some("frames of a progress bar")
    } else if has("interleaved") {
        Some("lines of several processes in one")
    } else if is_behind_prefix(record, line) {
        Some("behind a launcher's prefix")
    } else if line.contains('\u{1b}') {
        Some("coloured")
    } else {
        None
    }
}

fn text<'a>(found: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    found.get(name)?.as_str()
}

/// What differs from the label, in words.
fn differences(record: &Value, line: &str, found: Option<&Map<String, Value>>) -> Vec<String> {
    let empty = Map::new();
    let found = found.unwrap_or(&empty);
    let level = text(found, "level").and_then(Level::parse);
    let expect = record["level"].as_str().and_then(Level::parse);
    let content = text(found, "content").unwrap_or(line);
    let content: String = content.trim_start().chars().take(40).collect();
    let expect_content = record["content_starts"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut compare = |what: &str, found: Option<String>, expect: Option<String>| {
        if found != expect {
            wrong.push(format!("{what} {found:?}, not {expect:?}"));
        }
    };
    let level_of = |level: Option<Level>| level.map(|level| level.as_str().to_owned());
    let owned = |text: Option<&str>| text.map(str::to_owned);
    compare("level", level_of(level), level_of(expect));
    compare("component", owned(text(found, "component")), owned(record["component"].as_str()));
    let rank = |value: Option<&Value>| value.and_then(Value::as_i64).map(|it| it.to_string());
    compare("rank", rank(found.get("rank")), rank(record.get("rank")));
    // A clock in brackets of its own is put together with its date.
    let time = record["timestamp_text"].as_str().map(|it| it.replace(['[', ']'], ""));
    // Microseconds since the boot are no time of day.
    if found.get("uptime").is_none() {
        compare("time", owned(text(found, "log_time")), time);
    }
    // Some records have nothing but their header in the first line.
    if !content.is_empty() || record["first_line"] == record["last_line"] {
        compare("content", Some(content), Some(expect_content.to_owned()));
    }
    wrong
}

#[test]
fn labelled_lines() {
    let Ok(folder) = std::env::var("RIVERHOG_EXAMPLES") else {
        eprintln!("skipped: RIVERHOG_EXAMPLES is not set");
        return;
    };
    let folder = Path::new(&folder).join("training-logs");
    let truth = fs::read_to_string(folder.join("truth.jsonl")).expect("the labels");
    let parser = super::parser(Training::all());
    let (mut right, mut ours, mut wrong) = (0, 0, Vec::new());
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for excerpt in truth.lines() {
        let excerpt: Value = serde_json::from_str(excerpt).expect("a label");
        let name = excerpt["file"].as_str().expect("a name");
        let bytes = fs::read(folder.join(name)).expect("the excerpt");
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.split('\n').collect();
        for record in excerpt["records"].as_array().expect("records") {
            let number = record["first_line"].as_u64().expect("a number") as usize;
            let line = lines[number - 1].trim_end_matches('\r');
            if let Some(reason) = other_stop(record, line) {
                *others.entry(reason).or_default() += 1;
                continue;
            }
            ours += 1;
            let found = super::read(&parser, line);
            let differences = differences(record, line, found.as_ref());
            right += usize::from(differences.is_empty());
            if !differences.is_empty() {
                wrong.push(format!("{name}:{number}: {}: {line:.120}", differences.join("; ")));
            }
        }
    }
    println!("{right} of {ours} records agree; for other stops: {others:?}");
    assert!(wrong.is_empty() && ours > 200, "{right} of {ours}\n{}", wrong.join("\n"));
}
