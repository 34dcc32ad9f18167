//! Python's tracebacks: chains, exception groups, the boxes of `rich`, torchrun's table.
//!
//! Source of the forms: CPython's `traceback` module, `rich.traceback`, and torch's
//! `distributed/elastic/multiprocessing/errors`. Invariant: an exception's line belongs to its
//! traceback; a blank line does only where a chain goes on behind it. Next stop: `stack`.
use super::Step;
use super::stack::{continues_message, is_border};

pub(super) const TRACEBACK: &str = "Traceback (most recent call last):";
const GROUP: &str = "Exception Group Traceback (most recent call last):";
/// What stands between the tracebacks of a chain.
const CHAINS: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];
/// The exception whose message is torchrun's table.
const CHILD_FAILED: &str = "ChildFailedError";
/// Longer names of exceptions are none.
const NAME_BYTES_MAX: usize = 200;

/// Where in a traceback a record stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Python {
    /// Among the frames.
    Frames,
    /// Behind the exception's line, in its message.
    Raised,
    /// Behind the line of torchrun's `ChildFailedError`.
    ChildFailed,
    /// Behind a blank line.
    Blank,
    /// Behind the sentence that chains.
    Chained,
    /// In the tree of an exception group.
    Group,
    /// In a box.
    Box,
    /// Behind a box.
    Boxed,
    /// In torchrun's table.
    Table,
}

/// The traceback that a line opens.
pub(super) fn opened_by(text: &str) -> Option<Python> {
    let start = text.trim_start_matches(' ');
    if start.starts_with(TRACEBACK) {
        return Some(Python::Frames);
    }
    if start.strip_prefix("+ ").is_some_and(|rest| rest.starts_with(GROUP)) {
        return Some(Python::Group);
    }
    (start.starts_with('╭') && start.contains("Traceback")).then_some(Python::Box)
}

impl Python {
    pub(super) fn next(&mut self, text: &str) -> Step {
        let (step, next) = match self {
            Python::Frames => frames(text),
            Python::Raised => raised(text),
            Python::ChildFailed if is_border(text) => (Step::Take, Python::Table),
            Python::ChildFailed => raised(text),
            Python::Blank => blank(text),
            Python::Chained => chained(text),
            Python::Group => match text.trim_start_matches(' ').bytes().next() {
                Some(b'|' | b'+') => (Step::Take, Python::Group),
                _ => raised(text),
            },
            Python::Box => in_box(text),
            Python::Boxed => match exception(text) {
                Some(next) => (Step::Take, next),
                None => (Step::No, Python::Boxed),
            },
            Python::Table if is_border(text) => (Step::End, Python::Table),
            Python::Table if text.starts_with(TRACEBACK) => (Step::No, Python::Table),
            Python::Table => (Step::Take, Python::Table),
        };
        if step != Step::No {
            *self = next;
        }
        step
    }
}

fn frames(text: &str) -> (Step, Python) {
    let first = text.chars().next();
    match first {
        // Frames, code, carets; `>` and the trees are loguru's.
        Some(' ' | '\t' | '>' | '│' | '└' | '├') => (Step::Take, Python::Frames),
        None => (Step::Maybe, Python::Frames),
        _ => match exception(text) {
            Some(next) => (Step::Take, next),
            None => (Step::No, Python::Frames),
        },
    }
}

fn raised(text: &str) -> (Step, Python) {
    if text.trim().is_empty() {
        return (Step::Maybe, Python::Blank);
    }
    if CHAINS.contains(&text.trim_end()) {
        return (Step::Take, Python::Chained);
    }
    if text.trim_start_matches(' ').starts_with("File \"") {
        // The traceback of a worker, inside of the message of the one that called it.
        return (Step::Take, Python::Frames);
    }
    let step = if continues_message(text) { Step::Take } else { Step::No };
    (step, Python::Raised)
}

fn blank(text: &str) -> (Step, Python) {
    if text.trim().is_empty() {
        return (Step::Maybe, Python::Blank);
    }
    if CHAINS.contains(&text.trim_end()) {
        return (Step::Take, Python::Chained);
    }
    let goes_on = text.starts_with("Exception raised from") || text.starts_with("frame #");
    (if goes_on { Step::Take } else { Step::No }, Python::Raised)
}

fn chained(text: &str) -> (Step, Python) {
    if text.trim().is_empty() {
        return (Step::Take, Python::Chained);
    }
    match opened_by(text) {
        Some(next) => (Step::Take, next),
        None => (Step::No, Python::Chained),
    }
}

fn in_box(text: &str) -> (Step, Python) {
    match text.trim_start_matches(' ').chars().next() {
        Some('╰') => (Step::Take, Python::Boxed),
        Some('│' | '❱' | '╭' | '├') => (Step::Take, Python::Box),
        _ => (Step::No, Python::Box),
    }
}

/// Where a record stands behind this line, if it is an exception's: `package.Name: message`, or the
/// name alone.
fn exception(text: &str) -> Option<Python> {
    let whole = text.split([':', ' ']).next().unwrap_or_default();
    let after = &text[whole.len()..];
    // Ray names the cause in parentheses.
    let name = whole.split_once('(').map_or(
        whole,
        |(name, cause)| {
            if cause.ends_with(')') { name } else { whole }
        },
    );
    let is_word = |part: &str| {
        part.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
            && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let is_name = name.len() <= NAME_BYTES_MAX
        && name.split('.').all(|part| is_word(part) || part == "<locals>");
    // A log line whose level stands first looks alike.
    let is_level = riverhog_parsers::level::Level::parse(name).is_some();
    if !is_name || is_level || !(after.trim_end().is_empty() || after.starts_with(':')) {
        return None;
    }
    Some(if name.ends_with(CHILD_FAILED) { Python::ChildFailed } else { Python::Raised })
}
