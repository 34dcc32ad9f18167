//! The guide's page on training logs, `docs/training.md`.
//!
//! The invariant: between its two marks the page has a section for each format of the table, with
//! its sample and what is read from it. `UPDATE=1` writes them. Next: `properties.rs`.

use std::fs;
use std::path::Path;

use riverhog_parsers::formats::Training;
use serde_json::Value;

const START: &str = "<!-- formats: written by the tests -->\n";
const END: &str = "<!-- end of formats -->\n";
/// What stands for control characters that a page cannot show.
const SIGNS: [(char, &str); 2] = [('\t', "⇥"), ('\u{1b}', "␛")];

fn sections() -> String {
    let parser = super::parser(Training::all());
    let mut page = String::new();
    for format in Training::formats() {
        let mut sample = format.sample.to_owned();
        for (letter, sign) in SIGNS {
            sample = sample.replace(letter, sign);
        }
        let found = super::read(&parser, format.sample).expect(format.name);
        let fields: Vec<String> = found
            .iter()
            .filter(|(name, _)| *name != "format")
            .map(|(name, value)| format!("`{name}` {}", shown(value)))
            .collect();
        let times: Vec<String> = format.times().map(|time| format!("`{time}`")).collect();
        let times = if times.is_empty() { "none".to_owned() } else { times.join(", ") };
        let (name, about, fields) = (format.name, format.about, fields.join(", "));
        page.extend([
            format!("\n### `{name}`: {about}\n\n```text\n{sample}\n```\n\n"),
            format!("Gives {fields}.\nTimes: {times}.\n"),
        ]);
    }
    page
}

/// A value as the page has it: the first words of a long text.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let short: String = text.chars().take(32).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", short.trim_end())
}

#[test]
fn the_page_shows_each_format() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/training.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (front, rest) = page.split_once(START).expect("the first mark");
    let (found, back) = rest.split_once(END).expect("the last mark");
    let expect = format!("{}\n", sections());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{front}{START}{expect}{END}{back}")).expect("a writable page");
        return;
    }
    assert!(found == expect, "the page is stale: UPDATE=1 writes it anew");
}
