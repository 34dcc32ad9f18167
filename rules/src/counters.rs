//! What a worker counts while it transforms; the pipeline adds it to the metrics once a batch.
//!
//! Invariant: plain numbers of one worker, so counting costs no atomic and no lock per line.
use riverhog_parsers::grok::Reason;

use crate::redact::Redacted;

/// Counts since the last `take`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Lines taken in.
    pub lines: u64,
    /// Lines cut at the source's `line_max`.
    pub cut: u64,
    /// Frames of progress bars that a later one wrote over.
    pub overwritten_frames: u64,
    /// Lines that no parser accepted.
    pub unparsed: u64,
    /// Lines whose time field was there but no time.
    pub time_failures: u64,
    /// Lines whose host the host table does not know, or that name no host; only with a table.
    pub unknown_hosts: u64,
    /// Lines that no route took.
    pub no_route: u64,
    /// Targets that became dead letters for a missing value.
    pub missing_values: u64,
    /// Lines, or records, on which the program failed.
    pub panicked: u64,
    /// Values redacted, by `Redact::kinds`; kinds of which there was none may be missing at the
    /// end.
    pub redacted: Vec<u64>,
    /// One entry for each parse rule, in order.
    pub parsers: Vec<ParserCounters>,
    /// One entry for each transform step, in order.
    pub steps: Vec<StepCounters>,
    /// Lines that were measured; none where the transform was given no clock.
    pub parse_times: Vec<ParseTime>,
}

/// Counts of one transform step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepCounters {
    /// Events that it took and that went on.
    pub applied: u64,
    /// Events that it took and could not do everything on.
    pub failed: u64,
    /// Events that it dropped.
    pub dropped: u64,
}

/// How long a parse rule took for a line that it accepted, its time and level included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseTime {
    /// Index of the rule.
    pub rule: u16,
    /// Nanoseconds.
    pub ns: u64,
}

/// Counts of one parse rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ParserCounters {
    /// Lines it accepted.
    pub matched: u64,
    /// Lines it did not accept, by `Reason::ALL`.
    pub unmatched: [u64; Reason::ALL.len()],
}

impl ParserCounters {
    pub(crate) fn count_unmatched(&mut self, reason: Reason) {
        self.unmatched[reason as usize] += 1;
    }
}

impl Counters {
    pub(crate) fn new(parsers: usize, steps: usize) -> Counters {
        Counters {
            parsers: vec![ParserCounters::default(); parsers],
            steps: vec![StepCounters::default(); steps],
            ..Counters::default()
        }
    }

    /// Adds what another worker counted.
    pub fn merge(&mut self, other: &Counters) {
        self.lines += other.lines;
        self.cut += other.cut;
        self.overwritten_frames += other.overwritten_frames;
        self.unparsed += other.unparsed;
        self.time_failures += other.time_failures;
        self.unknown_hosts += other.unknown_hosts;
        self.no_route += other.no_route;
        self.missing_values += other.missing_values;
        self.panicked += other.panicked;
        for (kind, values) in other.redacted.iter().enumerate() {
            self.count_redacted(kind, *values);
        }
        self.parse_times.extend_from_slice(&other.parse_times);
        if self.parsers.len() < other.parsers.len() {
            self.parsers.resize(other.parsers.len(), ParserCounters::default());
        }
        for (parser, other) in self.parsers.iter_mut().zip(&other.parsers) {
            parser.matched += other.matched;
            for (count, other) in parser.unmatched.iter_mut().zip(&other.unmatched) {
                *count += other;
            }
        }
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), StepCounters::default());
        }
        for (step, other) in self.steps.iter_mut().zip(&other.steps) {
            step.applied += other.applied;
            step.failed += other.failed;
            step.dropped += other.dropped;
        }
    }

    /// Counts everything that was redacted in a text.
    pub(crate) fn count_all_redacted(&mut self, redacted: &Redacted) {
        for kind in redacted.kinds() {
            self.count_redacted(kind, 1);
        }
    }

    pub(crate) fn count_redacted(&mut self, kind: usize, values: u64) {
        if self.redacted.len() <= kind {
            self.redacted.resize(kind + 1, 0);
        }
        self.redacted[kind] += values;
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        let mut parsers = std::mem::take(&mut self.parsers);
        parsers.fill(ParserCounters::default());
        let mut steps = std::mem::take(&mut self.steps);
        steps.fill(StepCounters::default());
        *self = Counters { parsers, steps, ..Counters::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut left = Counters::new(1, 0);
        left.lines = 2;
        left.parsers[0].matched = 2;
        let mut right = Counters::new(2, 1);
        right.unknown_hosts = 1;
        right.count_redacted(2, 3);
        right.parsers[1].count_unmatched(Reason::Limit);
        right.steps[0].dropped = 4;
        left.merge(&right);
        assert_eq!((left.lines, left.unknown_hosts, left.parsers[0].matched), (2, 1, 2));
        assert_eq!(left.parsers[1].unmatched[Reason::Limit as usize], 1);
        assert_eq!(left.redacted, [0, 0, 3]);
        assert_eq!(left.steps[0].dropped, 4);
        left.clear();
        assert_eq!(left, Counters::new(2, 1));
    }

    #[test]
    fn reasons_are_their_own_index() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
        }
    }
}
