//! The arrows between the rooms: `parsers <- rules <- config <- pipeline`, and what each may know.
//!
//! The invariant: both what a room's manifest declares and what its source names is held against
//! one table.

use crate::files::{Text, repository};
use crate::report;

/// A room: its folder, the rooms it may use, and crates and paths that it must not know.
struct Room {
    folder: &'static str,
    may_use: &'static [&'static str],
    must_not_use: &'static [&'static str],
    must_not_name: &'static [&'static str],
}

/// Input and output, threads, the environment and the clock: not for rooms that are pure.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::io::stdin",
    "SystemTime",
    "time::Instant",
    "Instant::now",
    "Utc::now",
    "Local::now",
    "async fn",
    ".await",
];
const OUTSIDE_CRATES: &[&str] = &[
    "tokio",
    "rdkafka",
    "rdkafka-sys",
    "hyper",
    "hyper-util",
    "aws-sdk-s3",
    "aws-config",
    "tracing",
    "opentelemetry",
    "toml",
    "serde",
    "anyhow",
];

const ROOMS: &[Room] = &[
    Room { folder: "parsers", may_use: &[], must_not_use: OUTSIDE_CRATES, must_not_name: OUTSIDE },
    Room {
        folder: "rules",
        may_use: &["riverhog-parsers"],
        must_not_use: OUTSIDE_CRATES,
        must_not_name: OUTSIDE,
    },
    Room {
        folder: "config",
        may_use: &["riverhog-parsers", "riverhog-rules"],
        must_not_use: &["tokio", "rdkafka", "rdkafka-sys", "hyper", "aws-sdk-s3", "tracing"],
        must_not_name: &[
            "TcpStream",
            "UdpSocket",
            "std::process",
            "std::thread",
            "SystemTime",
            "async fn",
        ],
    },
    Room {
        folder: "pipeline",
        may_use: &["riverhog-parsers", "riverhog-rules", "riverhog-config"],
        // TOML is known to config alone, and grok's engines to parsers alone.
        must_not_use: &["toml", "grok", "pcre2", "regex", "regex-automata", "regex-syntax", "nom"],
        must_not_name: &[],
    },
];

const NAMES: [&str; 4] = ["riverhog-parsers", "riverhog-rules", "riverhog-config", "riverhog"];

/// The crates that a manifest names as dependencies, of whatever kind.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            let table = section.rsplit_once("dependencies.").map(|(_, name)| name);
            found.extend(table);
        } else if section.ends_with("dependencies") && !line.starts_with('#') {
            found.extend(line.split(['.', ' ', '=']).next().filter(|name| !name.is_empty()));
        }
    }
    found
}

fn of_room(room: &Room) -> impl Iterator<Item = &'static Text> {
    let source = format!("{}/src/", room.folder);
    repository().iter().filter(move |text| text.path.starts_with(&source) && text.is_rust())
}

#[test]
fn manifests_follow_the_arrows() {
    let mut findings = Vec::new();
    for room in ROOMS {
        let path = format!("{}/Cargo.toml", room.folder);
        let manifest = repository().iter().find(|text| text.path == path).expect("a manifest");
        for name in dependencies(&manifest.content) {
            let other_room = NAMES.contains(&name) && !room.may_use.contains(&name);
            if other_room || room.must_not_use.contains(&name) {
                findings.push(format!("{path}: {} may not depend on {name}", room.folder));
            }
        }
    }
    report(findings);
}

#[test]
fn sources_follow_the_arrows() {
    let mut findings = Vec::new();
    for room in ROOMS {
        for text in of_room(room) {
            let tests = text.first_test_line();
            for (number, line) in text.code_lines() {
                let place = format!("{}:{number}", text.path);
                for name in NAMES.iter().filter(|name| !room.may_use.contains(name)) {
                    let path = format!("{}::", name.replace('-', "_"));
                    // The binary names its own library.
                    let own = *name == "riverhog" && room.folder == "pipeline";
                    if !own && contains_word(line, &path) {
                        findings.push(format!("{place}: {} may not know {path}", room.folder));
                    }
                }
                let outside = room.must_not_name.iter().filter(|name| contains_word(line, name));
                for name in outside.filter(|_| number < tests && !text.is_test()) {
                    findings.push(format!("{place}: {} knows no {name}", room.folder));
                }
            }
        }
    }
    report(findings);
}

/// Is `word` there, not as the end of a longer one?
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Offsets are committed by one file: whoever reads it has read all there is to know.
#[test]
fn one_file_commits_offsets() {
    let calls = ["CommitMode", "rd_kafka_commit", "store_offset", "rd_kafka_offsets_store"];
    let commits = |text: &&Text| {
        text.code_lines().any(|(_, line)| calls.iter().any(|call| line.contains(call)))
    };
    let pipeline = ROOMS.iter().find(|room| room.folder == "pipeline").expect("in the table");
    let files: Vec<&str> =
        of_room(pipeline).filter(commits).map(|text| text.path.as_str()).collect();
    assert!(files.len() <= 1, "offsets are committed in {files:?}");
}

#[test]
fn every_member_keeps_the_lints() {
    let members = ["parsers", "rules", "config", "pipeline", "tests", "benches"];
    report(members.iter().filter_map(|member| {
        let path = format!("{member}/Cargo.toml");
        let manifest = repository().iter().find(|text| text.path == path).expect("a manifest");
        let keeps = manifest.content.contains("[lints]\nworkspace = true");
        (!keeps).then(|| format!("{path}: no `[lints] workspace = true`"))
    }));
}

#[test]
fn dependencies_are_read() {
    let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n# c = 1\nd = \"1\"\n\
                    [dev-dependencies]\ne = { path = \"e\" }\n[target.x.dependencies.f]\npath = \"f\"";
    assert_eq!(dependencies(manifest), ["b", "d", "e", "f"]);
    assert!(contains_word("use riverhog::run;", "riverhog::"));
    assert!(!contains_word("use my_riverhog::run;", "riverhog::"));
}
