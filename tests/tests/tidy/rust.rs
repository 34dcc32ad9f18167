//! Rules for source files: heads, sizes, tests that run and do not wait, and unsafe code.
//!
//! The invariant: an exception stands in a table here with its reason, and the tables can only
//! shrink: an entry that is no longer needed is a finding.

use crate::files::{Text, repository};
use crate::report;

/// A file without its tests.
const FILE_LINES_MAX: usize = 600;
/// A file of tests alone.
const TEST_FILE_LINES_MAX: usize = 900;
/// The files that may hold unsafe code: what librdkafka's safe interface cannot do, and one call
/// that sets the C library's number of heaps.
const UNSAFE_FILES: [&str; 2] = ["pipeline/src/source/kafka/queue.rs", "pipeline/src/allocator.rs"];
/// Files above the limit: path, the lines it may have, why.
const LONG_FILES: &[(&str, usize, &str)] = &[];

fn sources() -> impl Iterator<Item = &'static Text> {
    repository().iter().filter(|text| text.is_rust())
}

/// What no test may do, and what to do instead.
const NOT_IN_TESTS: [(&str, &str); 3] = [
    ("#[ignore", "a test that does not run proves nothing; `services()` skips and says so"),
    ("should_panic", "return a value and compare it"),
    ("thread::sleep", "wait by `eventually`"),
];

#[test]
fn every_file_has_a_head() {
    let headless = sources().filter(|text| !text.content.starts_with("//! "));
    report(headless.map(|text| {
        format!("{}:1: begins with `//!`: what it is for, its invariant, the next stop", text.path)
    }));
}

#[test]
fn files_are_small() {
    let mut findings = Vec::new();
    for text in sources() {
        let (limit, tests) = if text.is_test() {
            (TEST_FILE_LINES_MAX, usize::MAX)
        } else {
            (FILE_LINES_MAX, text.first_test_line())
        };
        let lines = text.content.lines().count().min(tests - 1);
        let listed = LONG_FILES.iter().find(|(path, ..)| *path == text.path);
        match listed {
            None if lines > limit => {
                findings.push(format!("{}: {lines} lines of {limit}", text.path));
            }
            Some((_, allowed, _)) if lines > *allowed || lines <= limit => {
                findings.push(format!("{}: {lines} lines; its entry says {allowed}", text.path));
            }
            _ => {}
        }
    }
    for (path, ..) in LONG_FILES {
        if !sources().any(|text| text.path == *path) {
            findings.push(format!("{path}: listed as long, but not there"));
        }
    }
    report(findings);
}

#[test]
fn tests_run_and_do_not_wait() {
    let mut findings = Vec::new();
    for text in sources() {
        let first = if text.is_test() { 1 } else { text.first_test_line() };
        // On tokio's paused clock a sleep takes no time.
        let paused = text.path.contains("/simulation")
            || text.code_lines().any(|(_, line)| {
                line.contains("start_paused = true") || line.contains("time::pause()")
            });
        for (number, line) in text.code_lines().filter(|(number, _)| *number >= first) {
            let place = format!("{}:{number}", text.path);
            for (word, instead) in NOT_IN_TESTS.iter().filter(|(word, _)| line.contains(word)) {
                findings.push(format!("{place}: `{word}`: {instead}"));
            }
            if line.contains("sleep(") && !line.contains("thread::sleep") && !paused {
                findings.push(format!("{place}: a sleep on the real clock: wait by `eventually`"));
            }
        }
    }
    report(findings);
}

#[test]
fn unsafe_code_has_two_homes() {
    let mut findings = Vec::new();
    for text in sources().filter(|text| !UNSAFE_FILES.contains(&&*text.path)) {
        for (number, line) in text.code_lines() {
            let opens = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"];
            let allows = line.contains("allow(unsafe_code)") || line.contains("expect(unsafe_code");
            if allows || opens.iter().any(|open| line.contains(open)) {
                findings.push(format!("{}:{number}: only {UNSAFE_FILES:?} may", text.path));
            }
        }
    }
    report(findings);
}

#[test]
fn nothing_is_generated_while_building() {
    let at_root = |path: &str| path.matches('/').count() == 1 && path.ends_with("/build.rs");
    let scripts = sources().filter(|text| at_root(&text.path));
    report(scripts.map(|text| format!("{}: build scripts are not for us", text.path)));
}
