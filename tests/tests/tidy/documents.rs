//! Rules for prose: links lead somewhere, and the map names files that are there.
//!
//! The invariant: a document that no longer fits the tree fails here, on the day it went wrong.

use crate::files::{Text, repository, root};
use crate::report;
use std::path::Path;

/// The map is to be read in one sitting.
const MAP_LINES_MAX: usize = 250;
/// Documents that name files in backticks, relative to the root.
const MAPS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

fn document(path: &str) -> Option<&'static Text> {
    repository().iter().find(|text| text.path == path)
}

/// The targets of `[text](target)` outside of code blocks, each with its line.
fn links(text: &Text) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (number, line) in text.numbered_lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if !in_block {
            let targets = line.split("](").skip(1);
            found.extend(
                targets.filter_map(|rest| rest.split_once(')')).map(|(to, _)| (number, to)),
            );
        }
    }
    found
}

/// A heading as the `#name` that leads to it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn check_link(from: &Text, to: &str) -> Result<(), String> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| to.starts_with(scheme)) {
        return Ok(());
    }
    let (path, heading) = to.split_once('#').unwrap_or((to, ""));
    let target = match path {
        "" => from.absolute(),
        _ => root().join(Path::new(&from.path).parent().unwrap_or(Path::new(""))).join(path),
    };
    if !target.exists() {
        return Err(format!("`{to}` leads nowhere"));
    }
    if heading.is_empty() {
        return Ok(());
    }
    let content = std::fs::read_to_string(&target).map_err(|error| error.to_string())?;
    let mut headings = content.lines().filter(|line| line.starts_with('#'));
    let found = headings.any(|line| anchor(line) == heading);
    found.then_some(()).ok_or_else(|| format!("`{to}` names no heading there"))
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for text in repository().iter().filter(|text| text.is_markdown()) {
        for (number, to) in links(text) {
            if let Err(error) = check_link(text, to) {
                findings.push(format!("{}:{number}: {error}", text.path));
            }
        }
    }
    report(findings);
}

/// `path/to/file.rs` and `path/` in backticks; not `a/b` of anything else, such as labels.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let file = [".rs", ".md", ".sh", ".toml", ".json"].iter().any(|end| word.ends_with(end));
        word.chars().all(plain) && word.contains('/') && (file || word.ends_with('/'))
    })
}

#[test]
fn maps_name_files_that_are_there() {
    let mut findings = Vec::new();
    for map in MAPS {
        let text = document(map).expect("the map is there");
        for (number, line) in text.numbered_lines() {
            for path in named_paths(line).filter(|path| !root().join(path).exists()) {
                findings.push(format!("{map}:{number}: {path} is not there"));
            }
        }
    }
    report(findings);
}

#[test]
fn the_map_is_short() {
    let lines = document("ARCHITECTURE.md").expect("the map is there").content.lines().count();
    assert!(lines <= MAP_LINES_MAX, "{lines} lines of {MAP_LINES_MAX}");
}

#[test]
fn the_documents_are_there() {
    let wanted = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/getting-started.md",
        "docs/delivery.md",
        "docs/events.md",
        "docs/archive.md",
    ];
    report(wanted.iter().filter(|path| document(path).is_none()).map(|path| format!("no {path}")));
}

#[test]
fn prose_is_read() {
    assert_eq!(anchor("## 3. What it costs, `zstd`"), "3-what-it-costs-zstd");
    let line = "see `pipeline/src/clock.rs`, `docs/`, `task/date/role`, `a.rs` and `{task}/x.rs`";
    assert_eq!(named_paths(line).collect::<Vec<_>>(), ["pipeline/src/clock.rs", "docs/"]);
}
