//! The engines, from the cheapest to the most general.
//!
//! What it is for: choosing, per pattern, the cheapest engine that gives the general one's answers.
//! Invariant: every engine agrees with [`backtrack`] on every text, or hands the text to it. Next
//! on the trip: [`super::Grok`] delivers what an engine found.

mod backtrack;
mod gate;
mod hir;
mod linear;
mod literals;
mod pcre;
mod sequence;

use super::regex::{Kind, Mode, Node, Regex, SyntaxError};
use super::types::Reason;
use backtrack::Backtrack;
use gate::Gate;
pub(super) use gate::{Start, begins, first_bytes};
pub(super) use hir::least;
use linear::Linear;
pub(super) use literals::Literals;
use regex_automata::nfa::thompson::NFA;
use sequence::{Miss, Sequence};

/// Where a group matched: start and end; both [`ABSENT`] where it did not take part.
pub(super) type Slot = (u32, u32);

/// In place of a position: the group took no part in the match.
pub(super) const ABSENT: u32 = u32::MAX;

/// The engine that runs a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tier {
    /// Matchers in a row at the start of the line; a line that they do not accept goes to the
    /// engines below.
    Sequence,
    /// The backtracking engine with a linear one behind it: whatever the line, there is an answer.
    Linear,
    /// The backtracking engine alone, whose steps are limited.
    Backtrack,
}

impl Tier {
    /// The word used in `explain` and as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Sequence => "sequence",
            Tier::Linear => "linear",
            Tier::Backtrack => "backtrack",
        }
    }
}

/// A pattern's engines.
pub(super) struct Engine {
    sequence: Result<Sequence, &'static str>,
    gate: Gate,
    backtrack: Backtrack,
    linear: Result<Linear, &'static str>,
    rest: Option<Rest>,
    groups: usize,
}

/// A final `.*`, which no engine runs: it always takes the text to its end.
struct Rest {
    slots: Vec<usize>,
}

/// What an engine needs beside the text; one per worker and pattern.
pub(super) struct Scratch {
    pub(super) slots: Vec<Slot>,
    gate: gate::Scratch,
    backtrack: backtrack::Scratch,
    linear: linear::Scratch,
    /// Whether the last text matched: the next is likely to do the same, which decides who is asked
    /// first and never what is answered.
    pub(super) matched_last: bool,
}

impl Engine {
    pub(super) fn compile(mut regex: Regex) -> Result<Engine, SyntaxError> {
        let rest = cut_rest(&mut regex.root);
        let backtrack = Backtrack::compile(&regex)?;
        Ok(Engine {
            sequence: Sequence::compile(&regex),
            gate: Gate::new(&regex),
            backtrack,
            linear: Linear::compile(&regex),
            rest,
            groups: regex.groups.len(),
        })
    }

    pub(super) fn tier(&self) -> Tier {
        match (&self.sequence, &self.linear) {
            (Ok(_), _) => Tier::Sequence,
            (_, Ok(_)) => Tier::Linear,
            _ => Tier::Backtrack,
        }
    }

    /// Why the pattern got its tier, and not a cheaper one.
    pub(super) fn reason(&self) -> &'static str {
        match &self.sequence {
            Ok(_) => "a sequence of simple parts, none of which has to be tried twice",
            Err(reason) => reason,
        }
    }

    /// Why the pattern may end at the limit of its steps; `None` where it cannot.
    pub(super) fn limit_reason(&self) -> Option<&'static str> {
        self.linear.as_ref().err().copied()
    }

    /// Where a match may start.
    pub(super) fn start(&self) -> Start {
        self.gate.start()
    }

    /// Literals that every match has.
    pub(super) fn literals(&self) -> &Literals {
        self.gate.literals()
    }

    /// An automaton of all that the pattern matches, and more; `None` where it is too large.
    pub(super) fn automaton(&self) -> Option<&NFA> {
        self.gate.automaton()
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            slots: vec![(ABSENT, ABSENT); self.groups],
            gate: self.gate.scratch(),
            backtrack: self.backtrack.scratch(),
            linear: linear::Scratch::default(),
            matched_last: true,
        }
    }

    /// Fills the scratch's slots, or says why not.
    pub(super) fn run(&self, text: &str, scratch: &mut Scratch) -> Result<(), Reason> {
        if text.len() >= ABSENT as usize {
            return Err(Reason::Engine);
        }
        if let Ok(sequence) = &self.sequence {
            match sequence.run(text.as_bytes(), &mut scratch.slots) {
                Ok(end) => {
                    self.fill_rest(end, text, &mut scratch.slots);
                    return Ok(());
                }
                // There is no other start.
                Err(Miss::No) if self.gate.is_anchored(text.as_bytes()) => {
                    return Err(Reason::NoMatch);
                }
                Err(_) => {}
            }
        }
        if !self.gate.may_match(text) {
            return Err(Reason::NoMatch);
        }
        let found = self.search(text, scratch);
        scratch.matched_last = found.is_ok();
        self.fill_rest(found?, text, &mut scratch.slots);
        Ok(())
    }

    /// The end of the match. The gate's automaton costs a text that matches a second reading, and
    /// saves one that does not match all of the backtracking; asked before or after, it gives the
    /// same answer.
    fn search(&self, text: &str, scratch: &mut Scratch) -> Result<usize, Reason> {
        let Scratch { slots, gate, backtrack, linear, matched_last } = scratch;
        let is_long = self.backtrack.is_long(text);
        let mut from = 0;
        if is_long {
            from = self.gate.earliest_start(text, gate).ok_or(Reason::NoMatch)?;
        } else if !*matched_last && !self.gate.admits(text, gate) {
            return Err(Reason::NoMatch);
        }
        let found = self.backtrack.run(text, from, backtrack, slots);
        if found != Err(Reason::Limit) {
            return found;
        }
        if !is_long && *matched_last && !self.gate.admits(text, gate) {
            return Err(Reason::NoMatch);
        }
        match &self.linear {
            Ok(engine) => engine.run(text, from, linear, slots),
            Err(_) => Err(Reason::Limit),
        }
    }

    /// As [`Engine::run`], by one engine alone.
    #[cfg(test)]
    pub(super) fn run_by(&self, by: By, text: &str, scratch: &mut Scratch) -> Option<Answer> {
        let slots = &mut scratch.slots;
        let found = match by {
            By::Sequence => {
                let sequence = self.sequence.as_ref().ok()?;
                match sequence.run(text.as_bytes(), slots) {
                    Err(Miss::No) if self.gate.is_anchored(text.as_bytes()) => Err(Reason::NoMatch),
                    found => Ok(found.ok()?),
                }
            }
            By::Linear => {
                let linear = self.linear.as_ref().ok()?;
                linear.run(text, 0, &mut scratch.linear, slots)
            }
            By::Short => self.backtrack.run(text, 0, &mut scratch.backtrack, slots),
            By::Long => self.backtrack.run_long(text, 0, &mut scratch.backtrack, slots),
            By::Gate => {
                let admitted = self.gate.may_match(text) && {
                    let start = self.gate.earliest_start(text, &mut scratch.gate);
                    assert_eq!(start.is_some(), self.gate.admits(text, &mut scratch.gate));
                    start.is_some()
                };
                return Some(if admitted { Err(Reason::Limit) } else { Err(Reason::NoMatch) });
            }
        };
        Some(found.map(|end| {
            self.fill_rest(end, text, &mut scratch.slots);
            scratch.slots.clone()
        }))
    }

    fn fill_rest(&self, end: usize, text: &str, slots: &mut [Slot]) {
        if let Some(rest) = &self.rest {
            for slot in &rest.slots {
                slots[*slot] = (end as u32, text.len() as u32);
            }
        }
    }
}

/// What one engine alone answers.
#[cfg(test)]
pub(super) type Answer = Result<Vec<Slot>, Reason>;

/// The backtracking engine alone with as many steps as a test gives it.
#[cfg(test)]
pub(super) struct Limited {
    backtrack: Backtrack,
    groups: usize,
}

#[cfg(test)]
impl Limited {
    pub(super) fn compile(pattern: &str, steps: u32) -> Limited {
        use super::{GrokOptions, regex, syntax};
        let mut definitions = syntax::Definitions::new(&GrokOptions::default()).unwrap();
        let text = syntax::expand(pattern, &mut definitions, true).unwrap().text;
        let regex = regex::parse(&text).unwrap();
        let backtrack =
            Backtrack::compile_with(&regex, backtrack::Steps { short: 1, long: steps }).unwrap();
        Limited { backtrack, groups: regex.groups.len() }
    }

    pub(super) fn run_long(&self, text: &str) -> Result<usize, Reason> {
        let mut slots = vec![(ABSENT, ABSENT); self.groups];
        self.backtrack.run_long(text, 0, &mut self.backtrack.scratch(), &mut slots)
    }
}

/// Engines to be compared.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    Sequence,
    Linear,
    Short,
    Long,
    /// Answers that nothing matches, or does not know.
    Gate,
}

/// The end of the first match of an expression, by the backtracking engine alone.
pub(super) fn end_of_match(regex: &Regex, text: &str) -> Option<usize> {
    let backtrack = Backtrack::compile(regex).ok()?;
    let mut slots = vec![(ABSENT, ABSENT); regex.groups.len()];
    backtrack.run(text, 0, &mut backtrack.scratch(), &mut slots).ok()
}

/// The cheapest engine that could run a part of an expression by itself, and what it is to that
/// engine, or why no cheaper one can run it.
pub(super) fn describe(regex: &Regex, node: &Node) -> (Tier, &'static str) {
    if is_rest(node, &mut Vec::new()) {
        return (Tier::Sequence, "the rest of the line, if it is the last part");
    }
    match (sequence::describe(regex, node), hir::exact_part(regex, node)) {
        (Ok(what), _) => (Tier::Sequence, what),
        (Err(reason), Ok(())) => (Tier::Linear, reason),
        (_, Err(reason)) => (Tier::Backtrack, reason),
    }
}

/// Cuts a final greedy `.*` off. It takes line feeds too, so that it ends at the end of the text,
/// and nothing after it can make it give some back. Not where something looks back at what was
/// matched.
fn cut_rest(root: &mut Node) -> Option<Rest> {
    let looks_back = |kind: &Kind| {
        matches!(kind, Kind::Keep | Kind::Backreference { .. } | Kind::Condition { .. })
    };
    if root.any(&looks_back) {
        return None;
    }
    let mut slots = Vec::new();
    let node = last_part(root);
    if !is_rest(node, &mut slots) {
        return None;
    }
    node.kind = Kind::Empty;
    Some(Rest { slots })
}

/// The part with which every match ends, through groups that capture nothing.
fn last_part(node: &mut Node) -> &mut Node {
    if !matches!(&node.kind, Kind::Group(_) | Kind::Concat(_)) {
        return node;
    }
    match &mut node.kind {
        Kind::Group(inner) => last_part(inner),
        Kind::Concat(nodes) => last_part(nodes.last_mut().expect("a concatenation has parts")),
        _ => unreachable!("the kinds were checked above"),
    }
}

fn is_rest(node: &Node, slots: &mut Vec<usize>) -> bool {
    match &node.kind {
        Kind::Group(node) => is_rest(node, slots),
        Kind::Capture { slot, node } => {
            slots.push(*slot);
            is_rest(node, slots)
        }
        Kind::Repeat { node, min: 0, max: None, mode: Mode::Greedy | Mode::Possessive } => {
            matches!(node.kind, Kind::Any)
        }
        _ => false,
    }
}
