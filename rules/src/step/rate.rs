//! A rate limit: how many lines of a key pass in each window of record time.
//!
//! Invariant: what passes depends on the lines of one partition in their order and on their record
//! times; never on the clock. What is known of a partition begins anew when it is read anew, so a
//! window may then pass its number of lines once more; nothing that passed before is taken back.
//! Next stop: `transform/steps/choose`.
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::{NonZeroI64, NonZeroU64};

use crate::selector::Selector;

/// The field in which the first line of a window says how many lines of its key the windows before
/// it held back.
pub const HELD_BACK_FIELD: &str = "held_back";
/// Keys that one step knows of one partition; all beyond them count as one key.
pub const KEYS_MAX: usize = 2048;

/// Keeps a number of lines for each window of record time.
#[derive(Debug)]
pub struct RateLimit {
    /// Lines that pass in a window.
    pub lines: NonZeroU64,
    /// The length of a window in nanoseconds; windows begin at multiples of it since the epoch.
    pub per_ns: NonZeroI64,
    /// Lines with equal values here share a limit; none: all lines of a partition do.
    pub key: Vec<Selector>,
}

/// What the rate limits know of one partition.
#[derive(Clone, Debug, Default)]
pub struct RateState {
    /// By step.
    steps: Vec<HashMap<u64, Window>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    number: i64,
    passed: u64,
    held: u64,
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It passes; so many were held back before it.
    Pass(u64),
    /// It is held back.
    Hold,
}

impl RateState {
    /// One line with the hash of its key. `step` is the step's index.
    pub(crate) fn line(
        &mut self,
        step: usize,
        limit: &RateLimit,
        (hash, received_ns): (u64, i64),
    ) -> Verdict {
        if self.steps.len() <= step {
            self.steps.resize_with(step + 1, HashMap::new);
        }
        let number = received_ns.div_euclid(limit.per_ns.get());
        let windows = &mut self.steps[step];
        if windows.len() >= KEYS_MAX && !windows.contains_key(&hash) {
            windows.retain(|_, window| window.number >= number);
        }
        let hash = if windows.len() >= KEYS_MAX && !windows.contains_key(&hash) { 0 } else { hash };
        let window = match windows.entry(hash) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Window { number, ..Window::default() }),
        };
        let mut held = 0;
        // Late lines count for the window that has begun.
        if window.number < number {
            held = window.held;
            *window = Window { number, ..Window::default() };
        }
        if window.passed >= limit.lines.get() {
            window.held += 1;
            return Verdict::Hold;
        }
        window.passed += 1;
        Verdict::Pass(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn limit(lines: u64) -> RateLimit {
        let per_ns = NonZeroI64::new(60 * SECOND).unwrap();
        RateLimit { lines: NonZeroU64::new(lines).unwrap(), per_ns, key: Vec::new() }
    }

    #[test]
    fn a_window_passes_its_lines_and_the_next_says_what_was_held() {
        let (limit, mut state) = (limit(2), RateState::default());
        let mut line = |second: i64| state.line(3, &limit, (7, second * SECOND));
        assert_eq!(line(0), Verdict::Pass(0));
        assert_eq!(line(59), Verdict::Pass(0));
        assert_eq!((line(1), line(30)), (Verdict::Hold, Verdict::Hold));
        assert_eq!(line(60), Verdict::Pass(2));
        assert_eq!(line(10), Verdict::Pass(0), "late lines count for the window that has begun");
        assert_eq!(line(61), Verdict::Hold);
        assert_eq!(line(600), Verdict::Pass(1));
        assert_eq!(line(-1), Verdict::Pass(0));
    }

    #[test]
    fn keys_have_limits_of_their_own_up_to_a_number_of_keys() {
        let (limit, mut state) = (limit(1), RateState::default());
        for key in 1..=KEYS_MAX as u64 {
            assert_eq!(state.line(0, &limit, (key, 0)), Verdict::Pass(0));
        }
        assert_eq!(state.line(0, &limit, (1, 0)), Verdict::Hold);
        // All keys beyond the number are one; there is room again when a window has ended.
        assert_eq!(state.line(0, &limit, (90_000, 0)), Verdict::Pass(0));
        assert_eq!(state.line(0, &limit, (90_001, 0)), Verdict::Hold);
        assert_eq!(state.line(0, &limit, (90_002, 60 * SECOND)), Verdict::Pass(0));
        assert_eq!(state.line(0, &limit, (90_003, 60 * SECOND)), Verdict::Pass(0));
        assert!(state.steps[0].len() <= KEYS_MAX + 1);
    }
}
