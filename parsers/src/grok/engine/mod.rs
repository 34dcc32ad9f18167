//! The engines, from the cheapest to the most general.
//!
//! What it is for: choosing, per pattern, the cheapest engine that gives the general one's answers.
//! Invariant: every engine agrees with [`backtrack`] on every text, or hands the text to it. Next
//! on the trip: [`super::Grok`] delivers what an engine found.

mod backtrack;
mod pcre;
mod sequence;

use super::regex::{Kind, Mode, Node, Regex, SyntaxError};
use super::types::Reason;
use backtrack::Backtrack;
use sequence::Sequence;

/// Where a group matched: start and end; both [`ABSENT`] where it did not take part.
pub(super) type Slot = (u32, u32);

/// In place of a position: the group took no part in the match.
pub(super) const ABSENT: u32 = u32::MAX;

/// The engine that runs a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tier {
    /// A fixed sequence of matchers at the start of the line; a line that it does not accept goes
    /// to the backtracking engine.
    Sequence,
    /// The backtracking engine.
    Backtrack,
}

impl Tier {
    /// The word used in `explain` and as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Sequence => "sequence",
            Tier::Backtrack => "backtrack",
        }
    }
}

/// A pattern's engines.
pub(super) struct Engine {
    sequence: Result<Sequence, &'static str>,
    backtrack: Backtrack,
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
    backtrack: backtrack::Scratch,
}

impl Engine {
    pub(super) fn compile(mut regex: Regex) -> Result<Engine, SyntaxError> {
        let rest = cut_rest(&mut regex.root);
        let backtrack = Backtrack::compile(&regex)?;
        let sequence = Sequence::compile(&regex);
        Ok(Engine { sequence, backtrack, rest, groups: regex.groups.len() })
    }

    pub(super) fn tier(&self) -> Tier {
        if self.sequence.is_ok() { Tier::Sequence } else { Tier::Backtrack }
    }

    /// Why the pattern got its tier.
    pub(super) fn reason(&self) -> &'static str {
        match &self.sequence {
            Ok(_) => "a sequence of parts, each of which can end in one place only",
            Err(reason) => reason,
        }
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch { slots: vec![(ABSENT, ABSENT); self.groups], backtrack: self.backtrack.scratch() }
    }

    /// Fills the scratch's slots, or says why not.
    pub(super) fn run(&self, text: &str, scratch: &mut Scratch) -> Result<(), Reason> {
        if text.len() >= ABSENT as usize {
            return Err(Reason::Engine);
        }
        if let Ok(sequence) = &self.sequence
            && let Some(end) = sequence.run(text.as_bytes(), &mut scratch.slots)
        {
            self.fill_rest(end, text, &mut scratch.slots);
            return Ok(());
        }
        self.run_general(text, scratch)
    }

    /// As [`Engine::run`], by the general engine alone.
    pub(super) fn run_general(&self, text: &str, scratch: &mut Scratch) -> Result<(), Reason> {
        let end = self.backtrack.run(text, &mut scratch.backtrack, &mut scratch.slots)?;
        self.fill_rest(end, text, &mut scratch.slots);
        Ok(())
    }

    /// As [`Engine::run_general`], in the way of long texts whatever the length.
    #[cfg(test)]
    pub(super) fn run_long(&self, text: &str, scratch: &mut Scratch) -> Result<(), Reason> {
        let end = self.backtrack.run_as(text, true, &mut scratch.backtrack, &mut scratch.slots)?;
        self.fill_rest(end, text, &mut scratch.slots);
        Ok(())
    }

    /// Whether the cheapest engine takes a text without help.
    #[cfg(test)]
    pub(super) fn accepts_by_sequence(&self, text: &str) -> bool {
        let mut scratch = self.scratch();
        self.sequence
            .as_ref()
            .is_ok_and(|sequence| sequence.run(text.as_bytes(), &mut scratch.slots).is_some())
    }

    fn fill_rest(&self, end: usize, text: &str, slots: &mut [Slot]) {
        if let Some(rest) = &self.rest {
            for slot in &rest.slots {
                slots[*slot] = (end as u32, text.len() as u32);
            }
        }
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
