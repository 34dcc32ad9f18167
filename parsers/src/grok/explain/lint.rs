//! What is suspicious about a pattern, though it compiles.
//!
//! Invariant: a finding points into the pattern as it was given and says what to do. Next on the
//! trip: `grok --explain` and `check` print them.

use std::ops::Range;

use super::super::engine::{Start, begins, least};
use super::super::regex::{Kind, Node, Regex};
use super::super::syntax::Expanded;

/// More are no help.
pub(super) const FINDINGS_MAX: usize = 32;

/// A remark about a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// Bytes of the pattern as it was given.
    pub span: Range<usize>,
    /// What is suspicious.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

/// Kinds of findings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FindingKind {
    /// A repeat of something that is little but a repeat itself.
    NestedRepeat,
    /// The pattern may match anywhere in the line.
    Unanchored,
    /// Two neighbours that take the same characters.
    AdjacentRepeats,
    /// A group without a name beside groups with one.
    NeedlessGroup,
    /// A `%{` without its brace or its name.
    Unclosed,
    /// Something inside a reference that is not looked at.
    Ignored,
    /// A word in the place of a type that is none.
    UnknownType,
}

impl FindingKind {
    /// The word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            FindingKind::NestedRepeat => "nested_repeat",
            FindingKind::Unanchored => "unanchored",
            FindingKind::AdjacentRepeats => "adjacent_repeats",
            FindingKind::NeedlessGroup => "needless_group",
            FindingKind::Unclosed => "unclosed",
            FindingKind::Ignored => "ignored",
            FindingKind::UnknownType => "unknown_type",
        }
    }
}

pub(super) fn findings(
    pattern: &str,
    expanded: &Expanded,
    regex: &Regex,
    start: Start,
) -> Vec<Finding> {
    let mut linter = Linter { pattern, expanded, regex, findings: Vec::new() };
    if start == Start::Anywhere && !pattern.is_empty() {
        linter.push(
            FindingKind::Unanchored,
            0..1,
            "the pattern may match anywhere in the line".to_owned(),
            "write `^` before it if it begins where the line does: other lines are let go sooner",
        );
    }
    linter.node(&regex.root);
    linter.findings
}

struct Linter<'r> {
    pattern: &'r str,
    expanded: &'r Expanded,
    regex: &'r Regex,
    findings: Vec<Finding>,
}

impl Linter<'_> {
    fn push(
        &mut self,
        kind: FindingKind,
        place: Range<usize>,
        message: String,
        help: &'static str,
    ) {
        let finding = Finding { kind, span: self.expanded.origin(place), message, help };
        // A definition is meant once, however often it stands in a pattern.
        if self.findings.len() < FINDINGS_MAX && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            Kind::Repeat { node: inner, max: None, .. } if repeats_alone(inner) => {
                self.push(
                    FindingKind::NestedRepeat,
                    node.span.clone(),
                    "a repeat of a repeat: the same text can be taken in many ways".to_owned(),
                    "let each turn of the outer repeat begin with a character that the inner \
                     one does not take",
                );
            }
            Kind::Concat(nodes) => self.neighbours(nodes),
            Kind::Capture { slot, .. }
                if self.regex.has_names() && self.regex.groups[*slot].name.is_none() =>
            {
                self.needless(node);
            }
            _ => {}
        }
        node.children().for_each(|child| self.node(child));
    }

    /// Two repeats side by side, or with a literal between them that both take.
    fn neighbours(&mut self, nodes: &[Node]) {
        let mut last: Option<&Node> = None;
        for node in nodes {
            let Some(repeated) = repeated(node) else {
                // What a repeat before it takes too does not tell where that ends.
                let may_be_taken = last.and_then(repeated).is_some_and(|before| {
                    matches!(node.kind, Kind::Char { .. })
                        && !begins(before).0.is_apart(begins(node).0)
                });
                last = last.filter(|_| may_be_taken);
                continue;
            };
            if let Some(before) = last
                && takes_any(before)
                && takes_any(node)
            {
                let message = "two parts that take anything: where the first ends is found by \
                               trying every place";
                self.push(
                    FindingKind::AdjacentRepeats,
                    before.span.start..node.span.end,
                    message.to_owned(),
                    "let the first take what cannot stand behind it, as `%{NOTSPACE}` or `[^,]*`",
                );
            } else if let Some(before) = last
                && before.span.end == node.span.start
                && self::repeated(before)
                    .is_some_and(|before| !begins(before).0.is_apart(begins(repeated).0))
            {
                self.push(
                    FindingKind::AdjacentRepeats,
                    before.span.start..node.span.end,
                    "two repeats side by side that take the same characters".to_owned(),
                    "put what parts them between them",
                );
            }
            last = Some(node);
        }
    }

    /// Only where the user wrote it: stock patterns are as they are.
    fn needless(&mut self, node: &Node) {
        let open = self.expanded.origin(node.span.start..node.span.start + 1);
        if self.pattern.get(open) == Some("(") {
            self.push(
                FindingKind::NeedlessGroup,
                node.span.start..node.span.start + 1,
                "a group without a name captures nothing beside groups with one".to_owned(),
                "write `(?:…)`, or give it a name: `(?<name>…)`",
            );
        }
    }
}

/// What an unbounded repeat repeats, through groups.
fn repeated(node: &Node) -> Option<&Node> {
    match &node.kind {
        Kind::Group(inner) | Kind::Capture { node: inner, .. } => repeated(inner),
        Kind::Repeat { node: inner, max: None, .. } => Some(inner),
        _ => None,
    }
}

fn takes_any(node: &Node) -> bool {
    repeated(node).is_some_and(|inner| matches!(inner.kind, Kind::Any))
}

/// True for a repeat without an end, and for one beside which there need be nothing.
fn repeats_alone(node: &Node) -> bool {
    match &node.kind {
        Kind::Group(inner) | Kind::Capture { node: inner, .. } => repeats_alone(inner),
        Kind::Repeat { max: None, .. } => true,
        Kind::Concat(nodes) => {
            nodes.iter().any(repeats_alone)
                && nodes.iter().filter(|node| least(node) > 0).all(repeats_alone)
        }
        Kind::Alternate(nodes) => nodes.iter().any(repeats_alone),
        _ => false,
    }
}
