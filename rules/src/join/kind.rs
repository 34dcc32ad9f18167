//! The forms of records of several lines: how each begins, and what continues it.
//!
//! Invariant: most lines are told to open nothing by their first bytes. Next stop: `python`,
//! `stack`, `repeated`, where the forms are; `own`, for those of a configuration.
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::own::JoinRule;
use super::python::{self, Python};
use super::repeated::Header;
use super::stack::{self, Stack};
use super::{Join, Step};

/// The form of an open record, with where in it the record stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Python(Python),
    Stack(Stack),
    /// A form of one's own, by its number.
    Own(usize),
    /// A message whose lines end in a return and have the same header each.
    Repeated(Header),
}

static OOM_KILLER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" oom-killer:"));

impl Kind {
    /// The form that a line opens.
    pub(super) fn opened_by(text: &str, returns: bool, join: &Join) -> Option<Kind> {
        let own = join.rules.iter().position(|rule: &JoinRule| rule.opens(text));
        if let Some(own) = own {
            return Some(Kind::Own(own));
        }
        if !join.builtin {
            return None;
        }
        if returns && let Some(header) = Header::of(text) {
            return Some(Kind::Repeated(header));
        }
        let bytes = text.as_bytes();
        let found = match bytes.first()? {
            // The last is the first byte of a box.
            b'T' | b' ' | 0xe2 => python::opened_by(text).map(Kind::Python),
            b'/' | b'<' => stack::warning(text).map(Kind::Stack),
            b'=' => stack::border(text).map(Kind::Stack),
            b'[' => stack::bracket(text).map(Kind::Stack),
            b'{' => stack::printed(text).map(Kind::Stack),
            b'0' | b'1' => stack::rich(text).map(Kind::Stack),
            b't' | b'E' | b'f' | b'*' | b'c' | b'j' | b'o' | b'i' => {
                stack::opened_by(text).map(Kind::Stack)
            }
            _ => None,
        };
        found.or_else(|| OOM_KILLER.find(bytes).map(|_| Kind::Stack(Stack::KernelOom)))
    }

    /// What the record makes of the next line of its stream.
    pub(super) fn next(&mut self, text: &str, returns: bool, join: &Join) -> Step {
        match self {
            Kind::Python(python) => python.next(text),
            Kind::Stack(stack) => stack.next(text),
            Kind::Repeated(header) => header.next(text, returns),
            Kind::Own(own) => join.rules.get(*own).map_or(Step::No, |rule| rule.next(text)),
        }
    }
}

/// True for a line that begins with a header of its own, and so continues nothing.
pub(super) fn has_header(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| {
        bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    match bytes.first() {
        Some(b'[' | b'{' | b'(') => true,
        Some(b'0'..=b'9') => {
            let date = digits(0, 4) && matches!(bytes.get(4), Some(b'-' | b'/' | b'.'));
            let clock = digits(0, 2) && matches!(bytes.get(2), Some(b':' | b'/'));
            date || clock
        }
        Some(b'I' | b'W' | b'E' | b'F' | b'D' | b'C') => {
            let word = text.split([' ', ':', '\t']).next().unwrap_or_default();
            digits(1, 5) || riverhog_parsers::level::Level::parse(word).is_some()
        }
        Some(b'T') => text.starts_with(python::TRACEBACK),
        Some(b'/') => stack::warning(text).is_some(),
        _ => false,
    }
}
