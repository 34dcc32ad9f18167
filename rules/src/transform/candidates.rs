//! Which parse rules a line is worth trying on: of many patterns most are ruled out by what they
//! begin with and what they need, in one look at the line.
//!
//! Invariant: a rule that is ruled out would have answered that the line does not match. Next stop:
//! `parse`, which tries the others in their order.
use riverhog_parsers::grok::{Dispatch, Grok};

use super::tally::Bits;
use crate::plan::{LineParser, Plan};

/// With fewer patterns, trying them costs no more than looking.
const PATTERNS_MIN: usize = 4;

/// The rules of a plan that are worth a try on a line.
pub(super) struct Candidates {
    /// The patterns that read the line itself; `None` where there are too few.
    dispatch: Option<Dispatch>,
    /// By pattern: its rule.
    rules: Vec<usize>,
    /// The rules that are always worth a try: they are no patterns, or read something else.
    always: Bits,
    open: Bits,
}

impl Candidates {
    pub(super) fn new(plan: &Plan) -> Candidates {
        let (mut groks, mut rules): (Vec<Grok>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut always = Bits::none(plan.parse.len());
        for (index, rule) in plan.parse.iter().enumerate() {
            if let (LineParser::Grok(grok), None) = (&rule.parser, &rule.field) {
                groks.push(grok.clone());
                rules.push(index);
            } else {
                always.set(index);
            }
        }
        let dispatch = (groks.len() >= PATTERNS_MIN).then(|| Dispatch::new(&groks));
        if dispatch.is_none() {
            for rule in &rules {
                always.set(*rule);
            }
        }
        Candidates { dispatch, rules, open: always.clone(), always }
    }

    /// The rules that are worth a try on a line.
    pub(super) fn of(&mut self, line: &str) -> &Bits {
        if let Some(dispatch) = &self.dispatch {
            self.open.copy(&self.always);
            for pattern in dispatch.select(line) {
                self.open.set(self.rules[pattern]);
            }
        }
        &self.open
    }
}
