//! `[identity]` compiled: the candidates of presets, behind those of `[labels]`. Invariant: a
//! preset reads the record alone, so that its labels are found once for many lines. Next:
//! `parse.rs`.

use crate::presets::{self, LABELS, RANK};
use crate::sections::Drafts;
use riverhog_rules::{Candidate, LabelRule, RankRule};
use std::num::NonZeroU32;

/// The labels that presets give and the file does not have.
pub(super) fn added_labels(drafts: &Drafts) -> impl Iterator<Item = &'static str> {
    let is_there = |name: &str| drafts.labels.iter().any(|label| label.name == name);
    let given = |name: &str| !candidates(drafts, name).is_empty();
    LABELS.into_iter().filter(move |name| !is_there(name) && given(name))
}

/// A label of presets alone.
pub(super) fn label(drafts: &Drafts, name: &str) -> LabelRule {
    let presets = candidates(drafts, name);
    LabelRule { name: name.to_owned(), presets, ..LabelRule::default() }
}

/// What the presets of the file say about a label.
pub(super) fn candidates(drafts: &Drafts, label: &str) -> Vec<Candidate> {
    let words = drafts.identity.presets.iter();
    words.flat_map(|word| presets::candidates(word, label)).collect()
}

/// The rank of lines that state none.
pub(super) fn rank(drafts: &Drafts) -> RankRule {
    let per_node = u32::try_from(drafts.identity.ranks_per_node).ok().and_then(NonZeroU32::new);
    RankRule { from: candidates(drafts, RANK), per_node }
}
