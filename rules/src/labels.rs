//! Labels: what an event is about (`task`, `role`, `project`, free others), from the first
//! candidate that is present.
//!
//! Invariant: an empty value counts as absent, so that a label is never empty text. Next stop:
//! `route`.
use crate::selector::Selector;

/// How one label is found.
#[derive(Clone, Debug, Default)]
pub struct LabelRule {
    /// The label's name.
    pub name: String,
    /// Candidates; the first that is present and not empty wins.
    pub from: Vec<Selector>,
    /// The value where no candidate is present; without one the label is absent then.
    pub default: Option<String>,
}
