//! The general engine: PCRE2, compiled to machine code, with a limit on its steps.
//!
//! Invariant: a run ends after at most [`STEPS_MAX`] steps, and a step does a bounded amount of
//! work. PCRE2 counts the steps of one starting position only; a short text has few of those, and
//! a long one, or one for which that is too little, is searched from one position by an expression
//! that does the search itself. Next on the trip: [`super::Engine`].

use pcre2::bytes::{CaptureLocations, Regex as Pcre, RegexBuilder};

use super::pcre::{self, Runs};
use super::{ABSENT, Slot};
use crate::grok::regex::{Assert, Kind, Regex, SyntaxError};
use crate::grok::types::Reason;

/// Texts up to here are searched by PCRE2's own loop over the starting positions, the fastest way.
const SHORT_BYTES_MAX: usize = 1024;
/// Steps of all expressions over a text, whatever its length.
const STEPS_MAX: u32 = 1_000_000;
/// Texts up to here may be searched by a pattern whose steps are not all of one size
/// (back-references compare, `\X` takes any number of marks).
const UNEVEN_BYTES_MAX: usize = 8 * 1024;
/// What the machine code may push for a short text and for a long one. It takes memory as it needs
/// it and keeps it, per worker and pattern; enough for a repeat over the whole of a line of 1 MiB.
const SHORT_STACK_BYTES_MAX: usize = 256 * 1024;
const LONG_STACK_BYTES_MAX: usize = 1024 * 1024;

/// How many steps a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Steps {
    /// From one starting position of a short text; a text that needs more is searched as a long
    /// one.
    pub(super) short: u32,
    /// Over a whole long text.
    pub(super) long: u32,
}

impl Steps {
    /// Together at most [`STEPS_MAX`]: a short text has at most [`SHORT_BYTES_MAX`] starting
    /// positions beside its end.
    const EVEN: Steps = Steps { short: 250, long: STEPS_MAX - 250 * (SHORT_BYTES_MAX as u32 + 1) };
    /// Where a step may look at the whole text.
    const UNEVEN: Steps = Steps { short: 100, long: 20_000 };
}

/// A compiled expression.
pub(super) struct Backtrack {
    short: Pcre,
    long: Pcre,
    /// Slot of each numbered group, from number 1.
    slots: Vec<usize>,
    text_bytes_max: usize,
    /// False: the expression asks where the search began.
    may_start_late: bool,
}

pub(super) struct Scratch {
    short: CaptureLocations,
    long: CaptureLocations,
}

impl Backtrack {
    pub(super) fn compile(regex: &Regex) -> Result<Backtrack, SyntaxError> {
        let is_uneven = regex
            .root
            .any(&|kind: &Kind| matches!(kind, Kind::Backreference { .. } | Kind::Grapheme));
        let steps = if is_uneven { Steps::UNEVEN } else { Steps::EVEN };
        let mut backtrack = Backtrack::compile_with(regex, steps)?;
        if is_uneven {
            backtrack.text_bytes_max = UNEVEN_BYTES_MAX;
        }
        Ok(backtrack)
    }

    pub(super) fn compile_with(regex: &Regex, steps: Steps) -> Result<Backtrack, SyntaxError> {
        let head = format!("(*LIMIT_MATCH={})(*LF)", steps.short);
        let (short, slots) = build(regex, Runs::Counted, &head, "")?;
        let head = format!("(*LIMIT_MATCH={})(*LF)\\G(?:.*?)(?:", steps.long);
        let (long, _) = build(regex, Runs::Pieces, &head, ")")?;
        let asks_start = |kind: &Kind| matches!(kind, Kind::Assert(Assert::SearchStart));
        let may_start_late = !regex.root.any(&asks_start);
        Ok(Backtrack { short, long, slots, text_bytes_max: usize::MAX, may_start_late })
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch { short: self.short.capture_locations(), long: self.long.capture_locations() }
    }

    /// True when a text is searched as a long one from the beginning, so that it is worth knowing
    /// where a match could start.
    pub(super) fn is_long(&self, text: &str) -> bool {
        text.len() > SHORT_BYTES_MAX && self.may_start_late
    }

    /// Fills the slots and gives the end of the match. No match may start before `from`.
    pub(super) fn run(
        &self,
        text: &str,
        from: usize,
        scratch: &mut Scratch,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        let from = if self.may_start_late { from } else { 0 };
        if text.len() <= SHORT_BYTES_MAX {
            let found = self.short.captures_read_at(&mut scratch.short, text.as_bytes(), from);
            match found.map_err(|error| reason(&error)) {
                Err(Reason::Limit) => {}
                found => return self.fill(found, &scratch.short, slots),
            }
        }
        self.run_long(text, from, scratch, slots)
    }

    /// As [`Backtrack::run`], by the expression for long texts whatever the length.
    pub(super) fn run_long(
        &self,
        text: &str,
        from: usize,
        scratch: &mut Scratch,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        if text.len() > self.text_bytes_max {
            return Err(Reason::Limit);
        }
        let from = if self.may_start_late { from } else { 0 };
        let found = self.long.captures_read_at(&mut scratch.long, text.as_bytes(), from);
        self.fill(found.map_err(|error| reason(&error)), &scratch.long, slots)
    }

    fn fill(
        &self,
        found: Result<Option<pcre2::bytes::Match<'_>>, Reason>,
        locations: &CaptureLocations,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        let whole = found?.ok_or(Reason::NoMatch)?;
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
                return Err(SyntaxError {
                    span: written.origin(offset),
                    message: message(&error),
                    help: None,
                });
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
