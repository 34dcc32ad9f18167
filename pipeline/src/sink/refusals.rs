//! How many of a destination's lines were refused in the last five minutes, and why: a mapping that
//! takes nothing must halt its index, not fill the dead letters.
//!
//! Invariant: a few refused lines are never too many, and nothing is remembered for longer than the
//! window. Time is an argument. Next stop: [`super::elasticsearch`], which halts.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use riverhog_rules::step::Share;
use tokio::time::Instant;

/// What is looked at.
const WINDOW: Duration = Duration::from_mins(5);
/// How finely it moves.
const STEP: Duration = Duration::from_secs(10);
/// Fewer refused lines halt nothing, whatever their share.
const REFUSED_MIN: u64 = 100;
/// Reasons that are told apart; all beyond them count as one.
const REASONS_MAX: usize = 32;
const OTHER: &str = "other";

/// Destinations that are told apart; all beyond them count as one.
const DESTINATIONS_MAX: usize = 1024;

/// The last minutes of each destination of a sink: what one refuses halts no other.
#[derive(Debug)]
pub(crate) struct AllRefusals {
    above: Share,
    by_destination: BTreeMap<String, Refusals>,
}

impl AllRefusals {
    pub(crate) fn new(above: Share) -> AllRefusals {
        AllRefusals { above, by_destination: BTreeMap::new() }
    }

    /// The last minutes of one.
    pub(crate) fn of(&mut self, destination: &str, now: Instant) -> &mut Refusals {
        let known = &mut self.by_destination;
        if known.len() >= DESTINATIONS_MAX && !known.contains_key(destination) {
            known.retain(|_, refusals| refusals.is_recent(now));
        }
        let has_room = known.len() < DESTINATIONS_MAX || known.contains_key(destination);
        let name = if has_room { destination } else { OTHER };
        if !known.contains_key(name) {
            known.insert(name.to_owned(), Refusals::new(self.above));
        }
        known.get_mut(name).expect("it was just put in")
    }
}

/// The last minutes of one destination.
#[derive(Debug)]
pub(crate) struct Refusals {
    /// The share of lines that may be refused for one reason.
    above: Share,
    steps: VecDeque<Step>,
}

#[derive(Debug)]
struct Step {
    begins: Instant,
    lines: u64,
    refused: BTreeMap<String, u64>,
}

/// Too many lines were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TooMany {
    pub(crate) refused: u64,
    pub(crate) lines: u64,
}

impl Refusals {
    pub(crate) fn new(above: Share) -> Refusals {
        Refusals { above, steps: VecDeque::new() }
    }

    /// Lines were answered.
    pub(crate) fn lines(&mut self, lines: u64, now: Instant) {
        self.step(now).lines += lines;
    }

    /// One of them was refused. `Some` when those of the window that were refused for this reason
    /// are too many, this one included.
    pub(crate) fn refused(&mut self, reason: &str, now: Instant) -> Option<TooMany> {
        if self.above == Share::ALL {
            return None;
        }
        let known = |step: &Step| step.refused.contains_key(reason);
        let is_known = self.steps.iter().any(known);
        let reasons = self.steps.iter().map(|step| step.refused.len()).max().unwrap_or_default();
        let reason = if is_known || reasons < REASONS_MAX { reason } else { OTHER };
        *self.step(now).refused.entry(reason.to_owned()).or_default() += 1;
        let refused = self.steps.iter().filter_map(|step| step.refused.get(reason)).sum::<u64>();
        let lines = self.steps.iter().map(|step| step.lines).sum::<u64>().max(refused);
        let is_too_many = refused >= REFUSED_MIN && self.above.is_exceeded_by(refused, lines);
        is_too_many.then_some(TooMany { refused, lines })
    }

    fn is_recent(&self, now: Instant) -> bool {
        self.steps.back().is_some_and(|step| now.saturating_duration_since(step.begins) < WINDOW)
    }

    /// What was refused counts no more: somebody has mended it.
    pub(crate) fn forget(&mut self) {
        self.steps.clear();
    }

    fn step(&mut self, now: Instant) -> &mut Step {
        let old = |step: &Step| now.saturating_duration_since(step.begins) >= WINDOW;
        while self.steps.front().is_some_and(old) {
            self.steps.pop_front();
        }
        let last = self.steps.back().map(|step| now.saturating_duration_since(step.begins));
        if last.is_none_or(|age| age >= STEP) {
            self.steps.push_back(Step { begins: now, lines: 0, refused: BTreeMap::new() });
        }
        let at = self.steps.len() - 1;
        &mut self.steps[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    fn ten_per_cent() -> Refusals {
        Refusals::new(Share::parse("10%").expect("a share"))
    }

    /// So many lines of which so many were refused, evenly: how many until it was too much.
    fn until(refusals: &mut Refusals, (lines, refused): (u64, u64), now: Instant) -> Option<u64> {
        for number in 1..=refused {
            refusals.lines(lines / refused, now);
            if refusals.refused("mapping", now).is_some() {
                return Some(number);
            }
        }
        None
    }

    #[test]
    fn a_share_above_the_limit_is_too_much_once_there_are_enough() {
        let now = clock::instant();
        let mut all = ten_per_cent();
        assert_eq!(until(&mut all, (1_000, 1_000), now), Some(REFUSED_MIN));
        // A tenth is not above a tenth; one in a thousand is far below.
        let mut tenth = ten_per_cent();
        assert_eq!(until(&mut tenth, (10_000, 1_000), now), None);
        let mut few = ten_per_cent();
        assert_eq!(until(&mut few, (1_000_000, 1_000), now), None);
        let mut never = Refusals::new(Share::ALL);
        assert_eq!(until(&mut never, (1_000, 1_000), now), None);
    }

    #[test]
    fn what_is_older_than_the_window_counts_no_more() {
        let mut now = clock::instant();
        let mut refusals = ten_per_cent();
        for _ in 0..20 {
            assert_eq!(until(&mut refusals, (50, 25), now), None);
            now += WINDOW / 2;
        }
        assert!(refusals.steps.len() <= 3, "{refusals:?}");
        assert_eq!(until(&mut refusals, (200, 99), now), Some(75), "with 25 of half a window ago");
        refusals.forget();
        assert_eq!(until(&mut refusals, (99, 99), now), None);
    }

    #[test]
    fn what_one_destination_refuses_is_not_held_against_another() {
        let now = clock::instant();
        let mut all = AllRefusals::new(Share::parse("10%").expect("a share"));
        assert_eq!(until(all.of("bad", now), (99, 99), now), None);
        assert_eq!(until(all.of("good", now), (1_000, 10), now), None);
        assert_eq!(until(all.of("bad", now), (10, 10), now), Some(1));
        for number in 0..2 * DESTINATIONS_MAX {
            all.of(&number.to_string(), now).lines(1, now);
        }
        assert!(all.by_destination.len() <= DESTINATIONS_MAX + 1);
    }

    #[test]
    fn reasons_are_told_apart_up_to_a_bound() {
        let now = clock::instant();
        let mut refusals = ten_per_cent();
        for number in 0..REFUSED_MIN - 1 {
            refusals.lines(1, now);
            assert_eq!(refusals.refused(&format!("reason {number}"), now), None);
        }
        assert!(refusals.steps.iter().all(|step| step.refused.len() <= REASONS_MAX + 1));
    }
}
