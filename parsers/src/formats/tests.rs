//! Tables of the formats together, their golden lines, and their properties.
//!
//! The invariant of the golden files: `tests/golden/formats/NAME.jsonl` of this room holds one case
//! a line, `{"format", "options", "input", "expect"}`, and every format has one. `UPDATE=1`
//! writes them anew; the difference is reviewed.

mod properties;
mod support;

use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use support::{answer, parser};

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

/// Called by the formats for bytes that they go over.
pub(super) fn count(bytes: usize) {
    LOOKED_AT.with(|looked_at| looked_at.set(looked_at.get() + bytes));
}

/// The bytes that were gone over since this was last called.
fn take_count() -> usize {
    LOOKED_AT.with(Cell::take)
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/formats")
}

#[test]
fn golden_lines() {
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        seen.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        let text = fs::read_to_string(&path).unwrap();
        let mut written = String::new();
        for (number, line) in text.lines().enumerate() {
            let mut case: Value = serde_json::from_str(line).unwrap();
            let found = answer(&case);
            if std::env::var_os("UPDATE").is_some() {
                case["expect"] = found;
                written.push_str(&case.to_string());
                written.push('\n');
            } else if found != case["expect"] {
                let name = path.file_name().unwrap().to_string_lossy();
                wrong.push(format!("{name}:{}: {} gave {found}", number + 1, case["input"]));
            }
        }
        if !written.is_empty() {
            fs::write(&path, written).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    seen.sort();
    assert_eq!(seen, ["cri", "csv", "dissect", "json", "klog", "kv", "logfmt", "syslog"]);
}

/// Reads `dissect.jsonl` in the folder named by `RIVERHOG_EXAMPLES`, if one is, and requires
/// Logstash's own answers.
#[test]
fn logstash_answers() {
    let Ok(folder) = std::env::var("RIVERHOG_EXAMPLES") else {
        eprintln!("skipped: RIVERHOG_EXAMPLES is not set");
        return;
    };
    let cases = fs::read_to_string(Path::new(&folder).join("dissect.jsonl")).unwrap();
    let mut right = 0;
    for line in cases.lines() {
        let mut case: Value = serde_json::from_str(line).unwrap();
        case["format"] = "dissect".into();
        case["options"] = serde_json::json!({
            "mapping": case["mapping"], "types": case["convert_datatype"]
        });
        let found = answer(&case);
        let expect = &case["expect"];
        let is_right = match expect["error"].as_bool() {
            Some(true) => found["error"].is_string(),
            _ => support::same(&found, expect),
        };
        assert!(is_right, "{line} gave {found}");
        right += 1;
    }
    assert!(right > 15, "{right}");
}

#[test]
fn formats_have_names() {
    assert!(super::Format::NAMES.iter().all(|name| super::Format::named(name).is_some()));
    assert!(super::Training::formats().iter().all(|it| super::Format::named(it.name).is_some()));
    assert!(super::Format::named("trainings").is_none());
}

#[test]
fn options_that_cannot_be_are_refused() {
    let check = |case: Value, expect: &str| {
        let error = parser(&case).expect_err("it is refused");
        assert_eq!(error.message, expect, "{case}");
    };
    let kv = |options: Value| serde_json::json!({"format": "kv", "options": options});
    check(kv(serde_json::json!({"field_split": [""]})), "an empty separator");
    let csv = |options: Value| serde_json::json!({"format": "csv", "options": options});
    check(csv(serde_json::json!({"separator": ""})), "an empty separator");
    check(csv(serde_json::json!({"separator": "\""})), "the separator holds the quote");
    let twice = "a column stands twice or has no name";
    check(csv(serde_json::json!({"columns": ["a", "b", "a"]})), twice);
    let dissect =
        |mapping: &str| serde_json::json!({"format": "dissect", "options": {"mapping": mapping}});
    check(dissect("no field"), "a mapping without a field");
    check(dissect("%{open"), "`%{` is never closed");
    check(dissect("%{a} %{+}"), "`%{+}` has no name");
    check(dissect("%{+&a}"), "`%{+&a}` is both appended and of a name in the line");
    check(dissect("%{[a}"), "`[a` is no field name");
    let error = super::Dissect::compile("训 %{a} %{&->}").expect_err("it is refused");
    assert_eq!(&"训 %{a} %{&->}"[error.span], "%{&->}");
    let dissect = super::Dissect::compile("%{a} %{&a} %{&b}").expect("it is fine");
    assert_eq!(dissect.unresolved().first(), Some(&(11..16)));
}

#[test]
fn slips_of_a_mapping_are_told() {
    let check = |mapping: &str, expect: &[(&str, bool)]| {
        let dissect = super::Dissect::compile(mapping).unwrap();
        let found: Vec<(&str, bool)> = dissect
            .slips()
            .iter()
            .map(|slip| (&mapping[slip.span.clone()], slip.is_hopeless))
            .collect();
        assert_eq!(found, expect, "{mapping:?}");
    };
    check("<%{a}> %{b->} %{c}!", &[]);
    check("%{a}%{b} %{c}", &[("%{a}%{b}", true)]);
    check("%{a} %{b", &[("%{b", false)]);
    check("%{a %{b} %{c}", &[("%{a ", false)]);
    check("%{a} %{b %{c}%{d}", &[("%{b %{c}%{d}", true), ("%{b ", false)]);
}
