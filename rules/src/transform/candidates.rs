//! Which parse rules a line is worth trying on: of many patterns most are ruled out by what they
//! begin with and what they need, in one look at the line.
//!
//! Invariant: a rule that is ruled out would have answered that the line does not match. Next stop:
//! `parse`, which tries the others in their order.
use riverhog_parsers::grok::{Dispatch, DispatchScratch, Grok};

use crate::plan::{LineParser, Plan};

/// With fewer patterns, trying them costs no more than looking.
const PATTERNS_MIN: usize = 4;

/// The patterns of a plan that read the line itself.
pub(super) struct Candidates {
    dispatch: Dispatch,
    /// By pattern: its rule.
    rules: Vec<usize>,
    scratch: DispatchScratch,
    /// By rule: whether it is worth a try.
    open: Vec<bool>,
}

impl Candidates {
    /// `None` where there are too few patterns.
    pub(super) fn new(plan: &Plan) -> Option<Candidates> {
        let (mut groks, mut rules): (Vec<Grok>, Vec<usize>) = (Vec::new(), Vec::new());
        for (index, rule) in plan.parse.iter().enumerate() {
            if let (LineParser::Grok(grok), None) = (&rule.parser, &rule.field) {
                groks.push(grok.clone());
                rules.push(index);
            }
        }
        if groks.len() < PATTERNS_MIN {
            return None;
        }
        let dispatch = Dispatch::new(&groks);
        let open = vec![true; plan.parse.len()];
        Some(Candidates { scratch: dispatch.scratch(), dispatch, rules, open })
    }

    /// By rule: whether it is worth a try on a line. What reads something else always is.
    pub(super) fn of(&mut self, line: &str) -> &[bool] {
        for rule in &self.rules {
            self.open[*rule] = false;
        }
        for pattern in self.dispatch.select(line, &mut self.scratch) {
            self.open[self.rules[pattern]] = true;
        }
        &self.open
    }
}
