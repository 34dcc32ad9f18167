//! The general engine: PCRE2, compiled to machine code, with a limit on its steps.
//!
//! Invariant: a run ends. PCRE2 counts the steps of one starting position; a short text has few of
//! those, and a long one is searched from one position by an expression that does the search
//! itself. Next on the trip: [`super::Engine`].

use pcre2::bytes::{CaptureLocations, Regex as Pcre, RegexBuilder};

use super::pcre::{self, Runs};
use super::{ABSENT, Slot};
use crate::grok::regex::{Regex, SyntaxError};
use crate::grok::types::Reason;

/// Texts up to here are searched by PCRE2's own loop over the starting positions, the fastest way.
const SHORT_BYTES_MAX: usize = 1024;
/// Steps from one starting position of a short text: some milliseconds.
const SHORT_STEPS_MAX: u32 = 1_000_000;
/// Steps of a whole long text: tens of milliseconds, ten times that at worst. A line of 1 MiB in
/// which nothing is found takes one to two million.
const LONG_STEPS_MAX: u32 = 10_000_000;
/// What the machine code may push for a short text and for a long one. It takes memory as it needs
/// it and keeps it, per worker and pattern; enough for a repeat over the whole of a line of 1 MiB.
const SHORT_STACK_BYTES_MAX: usize = 256 * 1024;
const LONG_STACK_BYTES_MAX: usize = 1024 * 1024;

/// A compiled expression.
pub(super) struct Backtrack {
    short: Pcre,
    long: Pcre,
    /// Slot of each numbered group, from number 1.
    slots: Vec<usize>,
}

pub(super) struct Scratch {
    short: CaptureLocations,
    long: CaptureLocations,
}

impl Backtrack {
    pub(super) fn compile(regex: &Regex) -> Result<Backtrack, SyntaxError> {
        let (short, slots) =
            build(regex, Runs::Counted, &format!("(*LIMIT_MATCH={SHORT_STEPS_MAX})(*LF)"), "")?;
        let head = format!("(*LIMIT_MATCH={LONG_STEPS_MAX})(*LF)\\A(?:.*?)(?:");
        let (long, _) = build(regex, Runs::Pieces, &head, ")")?;
        Ok(Backtrack { short, long, slots })
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch { short: self.short.capture_locations(), long: self.long.capture_locations() }
    }

    /// Fills the slots and gives the end of the match.
    pub(super) fn run(
        &self,
        text: &str,
        scratch: &mut Scratch,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        self.run_as(text, text.len() > SHORT_BYTES_MAX, scratch, slots)
    }

    /// As [`Backtrack::run`], by the expression for long texts or by the one for short ones.
    pub(super) fn run_as(
        &self,
        text: &str,
        long: bool,
        scratch: &mut Scratch,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        let (regex, locations) =
            if long { (&self.long, &mut scratch.long) } else { (&self.short, &mut scratch.short) };
        let whole = match regex.captures_read(locations, text.as_bytes()) {
            Ok(Some(whole)) => whole,
            Ok(None) => return Err(Reason::NoMatch),
            Err(error) => return Err(reason(&error)),
        };
        for (index, slot) in self.slots.iter().enumerate() {
            slots[*slot] = match locations.get(index + 1) {
                Some((start, end)) => (start as u32, end as u32),
                None => (ABSENT, ABSENT),
            };
        }
        Ok(whole.end())
    }
}

/// Compiles an expression between a head and a tail; also gives the slots of its numbered groups.
fn build(
    regex: &Regex,
    runs: Runs,
    head: &str,
    tail: &str,
) -> Result<(Pcre, Vec<usize>), SyntaxError> {
    let mut shared = false;
    loop {
        let written = pcre::write(regex, runs, shared)?;
        let built = RegexBuilder::new()
            .utf(true)
            .ucp(true)
            .multi_line(true)
            .dotall(true)
            .jit_if_available(true)
            .max_jit_stack_size(Some(match runs {
                Runs::Counted => SHORT_STACK_BYTES_MAX,
                Runs::Pieces => LONG_STACK_BYTES_MAX,
            }))
            .build(&format!("{head}{}{tail}", written.text));
        match built {
            Ok(pcre) => return Ok((pcre, written.slots)),
            Err(error) if TOO_LARGE_CODES.contains(&error.code()) && !shared => shared = true,
            Err(error) => {
                let offset = error.offset().unwrap_or(0).saturating_sub(head.len());
                return Err(SyntaxError { span: written.origin(offset), message: message(&error) });
            }
        }
    }
}

/// PCRE2's codes for an expression that is too large or too complicated.
const TOO_LARGE_CODES: [i32; 2] = [120, 186];

/// PCRE2's codes for its limits on stack, steps, depth and heap.
const LIMIT_CODES: [i32; 4] = [-46, -47, -53, -63];

fn reason(error: &pcre2::Error) -> Reason {
    if LIMIT_CODES.contains(&error.code()) { Reason::Limit } else { Reason::Engine }
}

/// PCRE2's words without what the crate puts before them.
fn message(error: &pcre2::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("PCRE2: ").unwrap_or(&text);
    match text.split_once(": ") {
        Some((_, message)) => message.to_owned(),
        None => text.to_owned(),
    }
}
