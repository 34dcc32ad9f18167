//! What keeps hopeless texts from the backtracking engine.
//!
//! What it is for: backtracking is fast where a pattern matches and slow where it does not, and
//! most lines match only one of many patterns. Invariant: the gate shuts out only texts that the
//! pattern does not match, in one pass over the text. Next on the trip: [`super::backtrack`].

use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{self, Cache, DFA};
use regex_automata::nfa::thompson::{self, Compiler, NFA, State, Transition, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, HalfMatch, Input, MatchError, MatchKind};
use regex_syntax::hir::Hir;

use super::hir::{self, Bounds};
use super::literals::Literals;
use crate::grok::regex::{Assert, Kind, Node, Regex};

/// Bytes of an automaton before it is run; a pattern beyond has no gate but its literals.
const NFA_BYTES_MAX: usize = 1 << 20;
/// Bytes of what a worker remembers of an automaton's states.
const CACHE_BYTES: usize = 1 << 19;
/// A text of more bytes may need states without end: it gets so many fillings of an empty cache,
/// and goes on to the backtracking engine when they do not do. Emptied first, so that the answer
/// is a matter of the text alone.
const BOUNDED_BYTES_MIN: usize = 4 * 1024;
const FILLINGS_MAX: usize = 16;

pub(super) struct Gate {
    start: Start,
    /// Where a match starts with one of some bytes.
    firsts: Option<Box<[bool; 256]>>,
    literals: Literals,
    automaton: Option<Automaton>,
}

/// Where a match may start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::grok) enum Start {
    /// At the start of the text.
    Text,
    /// At the start of a line.
    Line,
    Anywhere,
}

struct Automaton {
    hir: Hir,
    /// For short texts; never gives up.
    forward: DFA,
    /// For long texts; gives up.
    bounded: DFA,
    /// For the start of a match in a long text; made for the first.
    backward: OnceLock<Option<DFA>>,
}

pub(super) struct Scratch {
    forward: Option<Cache>,
    backward: Option<Cache>,
}

impl Gate {
    pub(super) fn new(regex: &Regex) -> Gate {
        let start = start(&regex.root);
        let literals = Literals::of(&regex.root);
        let firsts = firsts(&regex.root).map(|bounds| Box::new(bounds.first_bytes()));
        Gate { start, firsts, literals, automaton: Automaton::new(hir::wide(regex)) }
    }

    pub(super) fn scratch(&self) -> Scratch {
        let forward = self.automaton.as_ref().map(|automaton| automaton.forward.create_cache());
        Scratch { forward, backward: None }
    }

    /// False: nothing in the text matches. Looks for what is found at once.
    #[inline]
    pub(super) fn may_match(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if let Some(firsts) = &self.firsts
            && self.is_anchored(bytes)
            && !bytes.first().is_some_and(|first| firsts[usize::from(*first)])
        {
            return false;
        }
        self.literals.are_in(bytes)
    }

    /// False: nothing in the text matches. Reads the text as far as it takes.
    pub(super) fn admits(&self, text: &str, scratch: &mut Scratch) -> bool {
        let (Some(automaton), Some(cache)) = (&self.automaton, &mut scratch.forward) else {
            return true;
        };
        let input = self.input(text).earliest(true);
        !matches!(automaton.search(&input, cache), Ok(None))
    }

    /// No match starts before this place; `None` where nothing matches.
    pub(super) fn earliest_start(&self, text: &str, scratch: &mut Scratch) -> Option<usize> {
        let (Some(automaton), Some(cache)) = (&self.automaton, &mut scratch.forward) else {
            return Some(0);
        };
        if self.start == Start::Text {
            return self.admits(text, scratch).then_some(0);
        }
        let Ok(found) = automaton.search(&self.input(text), cache) else { return Some(0) };
        let end = found?.offset();
        let Some(backward) = automaton.backward() else { return Some(0) };
        let cache = scratch.backward.get_or_insert_with(|| backward.create_cache());
        backward.reset_cache(cache);
        let input = Input::new(text).range(..end).anchored(Anchored::Yes);
        let start = backward.try_search_rev(cache, &input).ok().flatten();
        Some(start.map_or(0, |start| start.offset()))
    }

    fn input<'t>(&self, text: &'t str) -> Input<'t> {
        let anchored = if self.is_anchored(text.as_bytes()) { Anchored::Yes } else { Anchored::No };
        Input::new(text).anchored(anchored)
    }

    /// True when a match can start at the start of the text only.
    pub(super) fn is_anchored(&self, text: &[u8]) -> bool {
        match self.start {
            Start::Text => true,
            Start::Line => memchr::memchr(b'\n', text).is_none(),
            Start::Anywhere => false,
        }
    }

    pub(super) fn start(&self) -> Start {
        self.start
    }

    pub(super) fn literals(&self) -> &Literals {
        &self.literals
    }

    /// The automaton of all that the pattern matches, and more.
    pub(super) fn automaton(&self) -> Option<&NFA> {
        self.automaton.as_ref().map(|automaton| automaton.forward.get_nfa())
    }
}

/// The bytes that may stand at the first offsets of a text that an automaton matches at its start;
/// the last entry of a table is the end of the text.
pub(in crate::grok) fn first_bytes(nfa: &NFA, offsets: usize) -> Vec<[bool; 257]> {
    let mut tables = Vec::with_capacity(offsets);
    let mut states = vec![nfa.start_anchored()];
    while tables.len() < offsets {
        let (table, next, is_open) = step(nfa, states);
        // What comes after a match may be anything.
        let Some(table) = table else { break };
        tables.push(table);
        if is_open {
            break;
        }
        states = next;
    }
    tables
}

/// The bytes that lead on from some states and the states behind them; no table where there is a
/// match already. True: some of the bytes are none of the match.
fn step(nfa: &NFA, states: Vec<StateID>) -> (Option<[bool; 257]>, Vec<StateID>, bool) {
    let mut table = [false; 257];
    let mut seen = vec![[false; 2]; nfa.states().len()];
    let mut next = Vec::new();
    let mut is_open = false;
    let mut take = |transition: &Transition| {
        table[usize::from(transition.start)..=usize::from(transition.end)].fill(true);
        next.push(transition.next);
    };
    // With what was seen: whether the line ends here.
    let mut open: Vec<(StateID, bool)> = states.into_iter().map(|state| (state, false)).collect();
    while let Some((state, ends)) = open.pop() {
        if std::mem::replace(&mut seen[state.as_usize()][usize::from(ends)], true) {
            continue;
        }
        match nfa.state(state) {
            State::ByteRange { trans } => take(trans),
            State::Sparse(transitions) => transitions.transitions.iter().for_each(&mut take),
            State::Dense(transitions) => {
                // State 0 is the one that nothing leaves.
                let leads = |(_, next): &(u8, &StateID)| **next != StateID::ZERO;
                for (byte, next) in (0..=u8::MAX).zip(&transitions.transitions).filter(leads) {
                    take(&Transition { start: byte, end: byte, next: *next });
                }
            }
            State::Look { look, next } => {
                open.push((*next, ends || matches!(look, Look::End | Look::EndLF)));
            }
            State::Capture { next, .. } => open.push((*next, ends)),
            State::Union { alternates } => open.extend(alternates.iter().map(|it| (*it, ends))),
            State::BinaryUnion { alt1, alt2 } => open.extend([(*alt1, ends), (*alt2, ends)]),
            State::Match { .. } if ends => is_open = true,
            State::Match { .. } => return (None, Vec::new(), true),
            State::Fail => {}
        }
    }
    if is_open {
        table[usize::from(b'\n')] = true;
        table[256] = true;
    }
    next.sort_unstable();
    next.dedup();
    (Some(table), next, is_open)
}

impl Automaton {
    fn new(hir: Hir) -> Option<Automaton> {
        let nfa = nfa(&hir, false)?;
        let prefilter =
            Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &hir).filter(Prefilter::is_fast);
        let config = config().specialize_start_states(prefilter.is_some()).prefilter(prefilter);
        let forward = DFA::builder().configure(config.clone()).build_from_nfa(nfa.clone()).ok()?;
        let config = config.minimum_cache_clear_count(Some(FILLINGS_MAX));
        let bounded = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        Some(Automaton { hir, forward, bounded, backward: OnceLock::new() })
    }

    /// `Err` where it gave up.
    fn search(
        &self,
        input: &Input<'_>,
        cache: &mut Cache,
    ) -> Result<Option<HalfMatch>, MatchError> {
        if input.haystack().len() < BOUNDED_BYTES_MIN {
            return self.forward.try_search_fwd(cache, input);
        }
        self.bounded.reset_cache(cache);
        let found = self.bounded.try_search_fwd(cache, input);
        self.forward.reset_cache(cache);
        found
    }

    fn backward(&self) -> Option<&DFA> {
        let make = || {
            let config =
                config().match_kind(MatchKind::All).minimum_cache_clear_count(Some(FILLINGS_MAX));
            DFA::builder().configure(config).build_from_nfa(nfa(&self.hir, true)?).ok()
        };
        self.backward.get_or_init(make).as_ref()
    }
}

fn config() -> dfa::Config {
    DFA::config().cache_capacity(CACHE_BYTES).skip_cache_capacity_check(true)
}

fn nfa(hir: &Hir, reverse: bool) -> Option<NFA> {
    let config = thompson::Config::new()
        .nfa_size_limit(Some(NFA_BYTES_MAX))
        .which_captures(WhichCaptures::None)
        .reverse(reverse);
    Compiler::new().configure(config).build_from_hir(hir).ok()
}

/// Where every match starts.
fn start(node: &Node) -> Start {
    match &node.kind {
        Kind::Assert(Assert::TextStart | Assert::SearchStart) => Start::Text,
        Kind::Assert(Assert::LineStart) => Start::Line,
        Kind::Group(inner) | Kind::Capture { node: inner, .. } | Kind::Atomic(inner) => {
            start(inner)
        }
        Kind::Concat(nodes) => nodes.first().map_or(Start::Anywhere, start),
        Kind::Alternate(nodes) => {
            let starts: Vec<Start> = nodes.iter().map(start).collect();
            if starts.contains(&Start::Anywhere) {
                Start::Anywhere
            } else if starts.contains(&Start::Line) {
                Start::Line
            } else {
                Start::Text
            }
        }
        _ => Start::Anywhere,
    }
}

/// What every match begins with; `None` where it may be empty.
pub(super) fn firsts(root: &Node) -> Option<Bounds> {
    let (bounds, may_be_empty) = begins(root);
    (!may_be_empty).then_some(bounds)
}

/// What a match of a node may begin with, and whether it may be empty.
pub(in crate::grok) fn begins(node: &Node) -> (Bounds, bool) {
    match &node.kind {
        Kind::Empty | Kind::Assert(_) | Kind::Look { .. } | Kind::Keep => (Bounds::NOTHING, true),
        // In any case it may be a part of a ligature.
        Kind::Char { fold: true, .. } => (Bounds::ANY, true),
        Kind::Char { letter, fold: false } => (Bounds::of_char(*letter, false), false),
        Kind::Set(set) => (Bounds::of_set(set), false),
        Kind::Any | Kind::LineBreak | Kind::Grapheme => (Bounds::ANY, false),
        Kind::Backreference { .. } => (Bounds::ANY, true),
        Kind::Group(inner) | Kind::Capture { node: inner, .. } | Kind::Atomic(inner) => {
            begins(inner)
        }
        Kind::Concat(nodes) => {
            let mut all = Bounds::NOTHING;
            for node in nodes {
                let (bounds, may_be_empty) = begins(node);
                all = all.or(bounds);
                if !may_be_empty {
                    return (all, false);
                }
            }
            (all, true)
        }
        Kind::Alternate(nodes) => any_of(nodes.iter()),
        Kind::Repeat { node: inner, min, max, .. } => {
            let (bounds, may_be_empty) = begins(inner);
            if *max == Some(0) {
                return (Bounds::NOTHING, true);
            }
            (bounds, may_be_empty || *min == 0)
        }
        Kind::Condition { yes, no, .. } => any_of([&**yes, &**no].into_iter()),
    }
}

fn any_of<'n>(nodes: impl Iterator<Item = &'n Node>) -> (Bounds, bool) {
    nodes.map(begins).fold((Bounds::NOTHING, false), |(all, empty), (bounds, may_be_empty)| {
        (all.or(bounds), empty || may_be_empty)
    })
}
