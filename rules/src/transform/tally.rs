//! Which parse rules a record wants tried, and how many lines each was asked about, without a step
//! for a rule that was passed over.
//!
//! Where a line's parsing ended says which rules it passed; adding that up once a batch gives what
//! counting at each rule would. Invariant: a rule that wants a line and stands before the one that
//! took it is counted once for the line. Next stop: `parse`.
use riverhog_parsers::grok::Reason;

use super::bind::Bound;
use super::view::{Bind, View};
use crate::counters::Counters;
use crate::plan::Plan;

/// A set of rules, by index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// The empty set of so many rules.
    pub(super) fn none(rules: usize) -> Bits {
        Bits { words: vec![0; rules.div_ceil(64)] }
    }

    pub(super) fn set(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Becomes another set of as many rules.
    pub(super) fn copy(&mut self, other: &Bits) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = *other;
        }
    }

    fn put(&mut self, index: usize, is_in: bool) {
        let bit = 1 << (index % 64);
        let word = &mut self.words[index / 64];
        *word = if is_in { *word | bit } else { *word & !bit };
    }
}

/// What the records of late want, and what became of their lines.
pub(super) struct Tally {
    /// Rules whose `when` asks the record alone: without any, all records want the same.
    asking_record: Vec<usize>,
    /// Of the record that was asked last.
    generation: u64,
    /// Rules that want every line of the record.
    wanted: Bits,
    /// The same of the record that is being asked.
    fresh: Bits,
    /// Rules whose `when` asks the line.
    asking: Bits,
    /// Rules that read the line itself: nothing can be missing for them to read.
    of_line: Bits,
    /// By rule: lines that it took; at the end, lines that no rule took. Not counted yet.
    ended: Vec<u64>,
    /// By rule: lines that it was tried on and that are counted already.
    counted: Vec<u64>,
}

impl Tally {
    pub(super) fn new(plan: &Plan, bound: &Bound) -> Tally {
        let rules = plan.parse.len();
        let none = Bits::none(rules);
        let (mut wanted, mut asking, mut of_line) = (none.clone(), none.clone(), none);
        let mut asking_record = Vec::new();
        for (index, (rule, bound)) in plan.parse.iter().zip(&bound.rules).enumerate() {
            match &rule.when {
                None => wanted.set(index),
                Some(_) if bound.when_of_record => asking_record.push(index),
                Some(_) => asking.set(index),
            }
            of_line.put(index, rule.field.is_none());
        }
        Tally {
            asking_record,
            generation: 0,
            fresh: wanted.clone(),
            wanted,
            asking,
            of_line,
            ended: vec![0; rules + 1],
            counted: vec![0; rules],
        }
    }

    /// Finds out which rules a record wants; nothing to do where the one before wanted the same.
    pub(super) fn ask_record(
        &mut self,
        (plan, bound): (&Plan, &Bound),
        generation: u64,
        view: &View<'_>,
        counters: &mut Counters,
    ) {
        if self.asking_record.is_empty() || self.generation == generation {
            return;
        }
        self.generation = generation;
        for index in &self.asking_record {
            let (rule, bound) = (&plan.parse[*index], &bound.rules[*index]);
            let when = rule.when.as_ref();
            let is_wanted = when.is_none_or(|when| when.holds(&Bind(view, &bound.when)));
            self.fresh.put(*index, is_wanted);
        }
        if self.fresh != self.wanted {
            // What is not counted yet was passed by the lines of records that wanted otherwise.
            self.flush(counters);
            self.wanted.copy(&self.fresh);
        }
    }

    /// The rules among `open` that may want the line, and those whose `when` must be asked, open or
    /// not; in their order, from `from` on.
    pub(super) fn next(&self, open: &Bits, from: usize) -> Option<usize> {
        let sets = self.wanted.words.iter().zip(&self.asking.words).zip(&open.words);
        for (number, ((wanted, asking), open)) in sets.enumerate().skip(from / 64) {
            let mut word = wanted & open | asking;
            if number == from / 64 {
                word &= u64::MAX << (from % 64);
            }
            if word != 0 {
                return Some(number * 64 + word.trailing_zeros() as usize);
            }
        }
        None
    }

    /// True for a rule whose `when` must be asked about the line.
    pub(super) fn is_asking(&self, index: usize) -> bool {
        self.asking.has(index)
    }

    /// A rule did not take the line.
    pub(super) fn unmatched(&mut self, index: usize, reason: Reason, counters: &mut Counters) {
        if !self.is_passed(index) {
            counters.parsers[index].count_unmatched(reason);
        } else if reason != Reason::NoMatch {
            // Whoever is passed is taken to have said that the line does not match.
            counters.parsers[index].count_unmatched(reason);
            self.counted[index] += 1;
        }
    }

    /// The line was taken by a rule, or, behind the last, by none.
    pub(super) fn ended_at(&mut self, index: usize) {
        self.ended[index] += 1;
    }

    /// A line that gets behind the rule was refused by it.
    fn is_passed(&self, index: usize) -> bool {
        self.wanted.has(index) && self.of_line.has(index)
    }

    /// Adds what is not counted yet to the counters.
    pub(super) fn flush(&mut self, counters: &mut Counters) {
        let mut passed = 0;
        for index in (0..self.ended.len()).rev() {
            if let Some(parser) = counters.parsers.get_mut(index) {
                parser.matched += self.ended[index];
                if self.is_passed(index) {
                    let refused = passed - std::mem::take(&mut self.counted[index]);
                    parser.unmatched[Reason::NoMatch as usize] += refused;
                }
            }
            passed += std::mem::take(&mut self.ended[index]);
        }
    }
}
