//! Conditions that the record alone may answer: asked once a record, not once a line.
//!
//! Invariant: the answer is the one that the whole condition would give. Next stop: `steps`.
use super::bind::Slot;
use super::view::{Bind, View};
use crate::condition::Condition;

/// What the record alone says about a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Applies {
    Yes,
    No,
    AskLine,
}

impl Applies {
    /// `of_record`: the condition reads nothing but the record.
    pub(super) fn ask(
        (when, slots): (Option<&Condition>, &[Slot]),
        of_record: bool,
        view: &View<'_>,
    ) -> Applies {
        match when {
            None => Applies::Yes,
            Some(_) if !of_record => Applies::AskLine,
            Some(when) if when.holds(&Bind(view, slots)) => Applies::Yes,
            Some(_) => Applies::No,
        }
    }

    /// The whole answer; the line is only shown where it is needed.
    pub(super) fn holds<'a>(
        self,
        when: Option<&Condition>,
        slots: &[Slot],
        view: impl FnOnce() -> View<'a>,
    ) -> bool {
        match self {
            Applies::Yes => true,
            Applies::No => false,
            Applies::AskLine => when.is_none_or(|when| when.holds(&Bind(&view(), slots))),
        }
    }
}
