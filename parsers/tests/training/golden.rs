//! Golden lines of each format: `tests/golden/NAME/input.log` and what becomes of each line in
//! `expected.jsonl` beside it.
//!
//! The invariant: every format has at least twenty lines, foreign and broken ones among them. A
//! line of `expected.jsonl` has what `as = "training"` makes of its line, or `null`; `alone` where
//! `as = "NAME"` answers otherwise. `UPDATE=1` writes the files anew; the difference is reviewed.
//! Next: `examples.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use riverhog_parsers::formats::{Format, Training, TrainingFormat};
use riverhog_parsers::time::TimeParser;
use serde_json::{Map, Value, json};

const LINES_MIN: usize = 20;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// What becomes of a line, as `expected.jsonl` has it.
fn answer(format: &TrainingFormat, line: &str) -> Value {
    let all = super::read(&super::parser(Training::all()), line);
    let one = Training::named(format.name).expect("it is in the table");
    let alone = super::read(&super::parser(one), line);
    if all == alone {
        return all.map_or(Value::Null, Value::Object);
    }
    let mut found = all.unwrap_or_default();
    found.insert("alone".to_owned(), alone.map_or(Value::Null, Value::Object));
    Value::Object(found)
}

#[test]
fn golden_lines() {
    let mut wrong = Vec::new();
    for format in Training::formats() {
        let folder = folder(format.name);
        let input = fs::read_to_string(folder.join("input.log")).expect(format.name);
        let answers: Vec<String> =
            input.split_terminator('\n').map(|line| answer(format, line).to_string()).collect();
        assert!(answers.len() >= LINES_MIN, "{} has {} lines", format.name, answers.len());
        let own = format!("\"format\":\"{}\"", format.name);
        let is_own = |answer: &&String| answer.contains(&own);
        let count = answers.iter().filter(is_own).count();
        assert!((3..answers.len()).contains(&count), "{}: {count} lines of its own", format.name);
        let path = folder.join("expected.jsonl");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, answers.join("\n") + "\n").expect("a writable folder");
            continue;
        }
        let expected = fs::read_to_string(&path).expect(format.name);
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(answers.len(), expected.len(), "lines of {}", format.name);
        for (number, (found, expect)) in answers.iter().zip(expected).enumerate() {
            if found != expect {
                let place = format!("{}:{}", format.name, number + 1);
                wrong.push(format!("{place}: gave {found}, not {expect}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A time is read by the very format that the line's fields name, that is one which the table has
/// for the line's format, and the list in order comes to the same.
#[test]
fn times_are_read_as_they_are_marked() {
    let (_, formats) = Format::Training(Training::all()).time().expect("they have times");
    let in_order = TimeParser::compile(formats, "Asia/Shanghai").expect("the formats compile");
    let single: Vec<TimeParser> = formats
        .iter()
        .map(|format| TimeParser::compile(&[format], "Asia/Shanghai").expect("it compiles"))
        .collect();
    let parser = super::parser(Training::all());
    let mut fields = riverhog_parsers::fields::Fields::new();
    let mut seen = vec![0; formats.len()];
    for format in Training::formats() {
        let input = fs::read_to_string(folder(format.name).join("input.log")).expect(format.name);
        for line in input.lines() {
            parser.run(line, &mut fields);
            let Some(time) = fields.find("log_time", line) else { continue };
            let text = fields.get(time, line).expect("it is there").text;
            // A time that is none in the end (`-` of syslog's) has no format either.
            let Some(index) = fields.time_format() else {
                assert_eq!(in_order.parse(text, 0), None, "{line:?}");
                continue;
            };
            let of = fields.find("format", line).and_then(|index| fields.get(index, line));
            let of = of.expect("each line says its format").text;
            let row = Training::formats().iter().find(|row| row.name == of).expect("a row");
            assert!(row.times().any(|time| time == formats[index]), "{of}: {line:?}");
            let reference = 1_715_768_625_000_000_000;
            let read = single[index].parse(text, reference);
            assert!(read.is_some(), "{of}: {text:?} is no {:?}", formats[index]);
            assert_eq!(in_order.parse(text, reference), read, "{of}: {text:?}");
            seen[index] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?} of {formats:?}");
}

#[test]
fn names_of_the_line_stand_apart() {
    let check = |line: &str, expect: Value| {
        let found = super::read(&super::parser(Training::all()), line).expect(line);
        let found: Map<String, Value> =
            found.into_iter().filter(|(name, _)| name != "content").collect();
        assert_eq!(Value::Object(found), expect, "{line}");
    };
    check(
        "{'format': 1, 'level': '2', 'rank': 3, 'host': 'a', 'Loss': 1e-05, 'loss': 'nan'}",
        json!({
            "format_": 1, "level_": 2, "rank_": 3, "host_": "a", "loss": [1e-05, "nan"],
            "format": "hf_trainer"
        }),
    );
    check(
        "{'loss': 1.5, 'mode': 'info', 'name': 'nanotron', 'avg': 'nanms', 'a': 'Infinity'}",
        json!({
            "loss": 1.5, "mode": "info", "name": "nanotron", "avg_ms": "nan", "a": "Infinity",
            "format": "hf_trainer"
        }),
    );
    check(
        "{'memory(GiB)': 61.75, 'global_step/max_steps': '100/1000', '显存': 1, '--': 2, 'x': []}",
        json!({
            "memory_gib": 61.75, "global_step": 100, "max_steps": 1000, "显存": 1,
            "format": "hf_trainer"
        }),
    );
}
