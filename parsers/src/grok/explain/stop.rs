//! How far a pattern matches a text that it does not match.
//!
//! Invariant: what a pattern's first parts match contains a match of fewer of them, so that the
//! most is found by halving. Next on the trip: a caret under the line.

use std::ops::Range;

use super::super::engine::end_of_match;
use super::super::regex::{self, Kind, Node, Regex};
use super::super::syntax::Expanded;

/// Parts beyond these are taken as one: each step compiles an expression.
const PARTS_MAX: usize = 1_000;

/// Where a line stopped to match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Bytes of the pattern that matched …
    pub matched: Range<usize>,
    /// … and of the part that did not.
    pub failed: Range<usize>,
    /// The byte of the text where the first of them ends: where the other would have to begin.
    pub place: usize,
}

pub(super) fn longest_prefix(expanded: &Expanded, text: &str) -> Option<Stop> {
    let tree = regex::parse(&expanded.text).ok()?;
    let refers = |kind: &Kind| matches!(kind, Kind::Backreference { .. } | Kind::Condition { .. });
    if tree.root.any(&refers) {
        return None;
    }
    let mut parts = Vec::new();
    flatten(&tree.root, &mut parts);
    parts.truncate(PARTS_MAX);
    let end = |count: usize| -> Option<usize> {
        let nodes: Vec<Node> = parts[..count].iter().map(|node| (*node).clone()).collect();
        let span = 0..0;
        let root = Node { kind: Kind::Concat(nodes), span };
        end_of_match(&Regex { root, groups: Vec::new() }, text)
    };
    if end(parts.len()).is_some() {
        return None;
    }
    let (mut good, mut bad, mut place) = (0, parts.len(), None);
    while good + 1 < bad {
        let middle = usize::midpoint(good, bad);
        match end(middle) {
            Some(found) => (good, place) = (middle, Some(found)),
            None => bad = middle,
        }
    }
    let place = place?;
    let (first, failed) = (parts.first()?, parts.get(good)?);
    let matched = expanded.origin(first.span.start..failed.span.start);
    Some(Stop { matched, failed: expanded.origin(failed.span.clone()), place })
}

/// The parts one after the other, through groups; without their captures they match the same.
fn flatten<'n>(node: &'n Node, parts: &mut Vec<&'n Node>) {
    match &node.kind {
        Kind::Group(inner) | Kind::Capture { node: inner, .. } => flatten(inner, parts),
        Kind::Concat(nodes) => nodes.iter().for_each(|node| flatten(node, parts)),
        Kind::Empty => {}
        _ => parts.push(node),
    }
}
