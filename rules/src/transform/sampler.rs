//! How long the rule that takes a line needs for it, for one line in many.
//!
//! The clock is given by whoever runs the transform, and only asked for telemetry. Invariant: what
//! is measured says nothing about any event. Next stop: `counters`, which carries it out.
use crate::counters::{Counters, ParseTime};

/// Nanoseconds since any fixed point, never backwards.
pub type Ticks = fn() -> u64;

/// Every so many lines one is measured: asking a clock twice costs as much as a short pattern.
const LINES_PER_SAMPLE: u32 = 64;

/// Says which lines are measured.
#[derive(Default)]
pub(super) struct Sampler {
    ticks: Option<Ticks>,
    /// Lines since the last one that was measured.
    lines: u32,
}

impl Sampler {
    pub(super) fn set(&mut self, ticks: Ticks) {
        self.ticks = Some(ticks);
    }

    /// What was set.
    pub(super) fn ticks(&self) -> Option<Ticks> {
        self.ticks
    }

    /// The clock, if the next line is to be measured.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Ticks> {
        self.lines += 1;
        if self.lines < LINES_PER_SAMPLE {
            return None;
        }
        self.lines = 0;
        self.ticks
    }
}

/// Notes how long a rule took for a line that it accepted.
pub(super) fn note(rule: usize, ticks: Ticks, started: u64, counters: &mut Counters) {
    let ns = ticks().saturating_sub(started);
    counters.parse_times.push(ParseTime { rule: rule as u16, ns });
}
