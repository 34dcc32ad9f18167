//! Tidy: what the house style asks for and a program can check, over every file of the repository.
//!
//! The invariant: one run tells everything that is wrong, each with its place; a rule that can be
//! kept by clippy, rustfmt or the compiler is not repeated here. Next stop: `rooms.rs` for the
//! arrows between rooms, `rust.rs` for source files, `documents.rs` for prose.

mod documents;
mod files;
mod lexer;
mod rooms;
mod rust;

use files::{Text, repository};

/// Longest line, in characters, of what people read as code.
const LINE_COLUMNS_MAX: usize = 100;
/// The budget of locked packages; each one is somebody else's code to trust and to build.
const PACKAGES_MAX: usize = 420;

/// Fails with all findings at once.
#[track_caller]
fn report(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<String> = findings.into_iter().collect();
    assert!(findings.is_empty(), "{} findings:\n{}\n", findings.len(), findings.join("\n"));
}

/// Characters that a reader does not see, or that turn what he sees around.
fn is_hidden(character: char) -> bool {
    let zero_width = matches!(character, '\u{200b}'..='\u{200f}' | '\u{feff}');
    let turning = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    zero_width || turning || (character.is_control() && character != '\n')
}

/// A comment that draws a line instead of saying something.
fn is_banner(line: &str) -> bool {
    let line = line.trim_start();
    let Some(text) = line.strip_prefix("//").or_else(|| line.strip_prefix('#')) else {
        return false;
    };
    let text = text.trim_start_matches(['!', ' ']);
    ["----", "====", "****", "####", "~~~~", "////"].iter().any(|drawn| text.starts_with(drawn))
}

fn is_code(text: &Text) -> bool {
    text.is_rust() || text.is_shell()
}

#[test]
fn lines_are_short_and_plain() {
    let mut findings = Vec::new();
    for text in repository().iter().filter(|text| !text.is_data()) {
        // A pattern or a log line inside a string is as long as it is.
        let strings = text.lines_of_strings();
        for (number, line) in text.numbered_lines() {
            let place = format!("{}:{number}", text.path);
            if line.contains(is_hidden) {
                findings.push(format!("{place}: a control character"));
            }
            if line.ends_with(' ') {
                findings.push(format!("{place}: a blank at the end"));
            }
            if (is_code(text) || text.ends_in("toml")) && is_banner(line) {
                findings.push(format!("{place}: a banner; headings are what files are for"));
            }
            let columns = line.chars().count();
            if is_code(text) && columns > LINE_COLUMNS_MAX && !strings.contains(&number) {
                findings.push(format!("{place}: {columns} columns of {LINE_COLUMNS_MAX}"));
            }
        }
    }
    report(findings);
}

#[test]
fn shell_scripts_parse() {
    let mut findings = Vec::new();
    for text in repository().iter().filter(|text| text.is_shell()) {
        let shell = if text.content.starts_with("#!/usr/bin/env bash") { "bash" } else { "sh" };
        let mut command = std::process::Command::new(shell);
        let output = command.arg("-n").arg(text.absolute()).output().expect("a shell is there");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            findings.push(format!("{}: {}", text.path, said.trim()));
        }
    }
    report(findings);
}

#[test]
fn the_lock_file_keeps_to_the_budget() {
    let lock = repository().iter().find(|text| text.path == "Cargo.lock");
    let packages = lock.expect("Cargo.lock").content.matches("[[package]]").count();
    assert!(packages <= PACKAGES_MAX, "{packages} locked packages of {PACKAGES_MAX}");
}

#[test]
fn tidy_sees_what_it_looks_for() {
    assert!(is_hidden('\u{202e}') && is_hidden('\u{1b}') && is_hidden('\r') && is_hidden('\t'));
    assert!(!is_hidden('中') && !is_hidden('\n') && !is_hidden('é'));
    assert!(
        is_banner("    // ---- helpers ----") && is_banner("# =====") && is_banner("//////// x")
    );
    assert!(!is_banner("// - one point") && !is_banner("let x = 1; // ----"));
    assert!(repository().len() > 30, "the repository was not found");
}
