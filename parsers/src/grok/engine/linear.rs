//! Tier 1: an engine whose work grows with the text and never faster.
//!
//! What it is for: where backtracking runs out of steps, a pattern that translates exactly is
//! still answered. It takes longer than machine code that backtracks little, so that it stands
//! behind that and not before it. Invariant: the answer is the backtracking engine's, group by
//! group, or there is none. Next on the trip: [`super::Engine`].

use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::meta::{Cache, Regex as Meta};
use regex_automata::nfa::thompson::{self, Compiler};
use regex_automata::util::primitives::NonMaxUsize;

use super::{ABSENT, Slot, hir};
use crate::grok::regex::Regex;
use crate::grok::types::Reason;

/// Bytes of an automaton before it is run.
const NFA_BYTES_MAX: usize = 1 << 20;
/// Bytes of what a worker remembers of its states.
const CACHE_BYTES: usize = 1 << 20;
/// States × bytes of a text: more than that is not looked at. Seldom does a byte meet more than a
/// few of the states.
const WORK_MAX: usize = 1 << 30;

pub(super) struct Linear {
    exact: hir::Exact,
    states: usize,
    /// Made for the first text that needs it.
    meta: OnceLock<Option<Meta>>,
}

#[derive(Default)]
pub(super) struct Scratch {
    made: Option<(Cache, Vec<Option<NonMaxUsize>>)>,
}

impl Linear {
    /// Compiles an expression, or says why its answers are not proved to be the same.
    pub(super) fn compile(regex: &Regex) -> Result<Linear, &'static str> {
        let exact = hir::exact(regex)?;
        let config = thompson::Config::new().nfa_size_limit(Some(NFA_BYTES_MAX));
        let nfa = Compiler::new().configure(config).build_from_hir(&exact.hir);
        let states = nfa.map_err(|_| "an automaton that is too large")?.states().len();
        Ok(Linear { exact, states, meta: OnceLock::new() })
    }

    /// Fills the slots and gives the end of the match.
    pub(super) fn run(
        &self,
        text: &str,
        from: usize,
        scratch: &mut Scratch,
        slots: &mut [Slot],
    ) -> Result<usize, Reason> {
        let is_too_much = self.states.saturating_mul(text.len()) > WORK_MAX;
        if is_too_much || self.exact.ascii_only && !text.is_ascii() {
            return Err(Reason::Limit);
        }
        let meta = self.meta.get_or_init(|| self.build()).as_ref().ok_or(Reason::Limit)?;
        let (cache, places) = scratch.made.get_or_insert_with(|| {
            (meta.create_cache(), vec![None; 2 * (self.exact.slots.len() + 1)])
        });
        places.fill(None);
        let input = Input::new(text).range(from..);
        meta.search_slots_with(cache, &input, places).ok_or(Reason::NoMatch)?;
        for (slot, place) in self.exact.slots.iter().zip(places.chunks_exact(2).skip(1)) {
            slots[*slot] = match place {
                [Some(start), Some(end)] => (start.get() as u32, end.get() as u32),
                _ => (ABSENT, ABSENT),
            };
        }
        places[1].map(NonMaxUsize::get).ok_or(Reason::Engine)
    }

    fn build(&self) -> Option<Meta> {
        let config = Meta::config()
            .nfa_size_limit(Some(NFA_BYTES_MAX))
            .hybrid_cache_capacity(CACHE_BYTES)
            .dfa(false);
        Meta::builder().configure(config).build_from_hir(&self.exact.hir).ok()
    }
}
