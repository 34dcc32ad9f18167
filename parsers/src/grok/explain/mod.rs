//! What became of a pattern: its expansion, its parts and the engine that each could have, and
//! what is suspicious about it; and where a line stopped to match.
//!
//! What it is for: `grok --explain`, the editor's diagnostics, the caret under a line. Invariant:
//! it describes and changes nothing; it may be slow. Next on the trip: [`lint`] has the findings,
//! [`stop`] the place in the line.

mod lint;
mod slips;
mod stop;

use std::ops::Range;

pub use lint::{Finding, FindingKind};
pub use slips::slips;
pub use stop::Stop;

use super::engine::{Tier, describe};
use super::regex::{Kind, Node, Regex};
use super::syntax::Expanded;
use super::{Grok, regex};

/// Deeper parts are not listed.
const DEPTH_MAX: usize = 4;
/// Parts of one part beyond this are not listed.
const PARTS_MAX: usize = 64;

/// All there is to say about a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The regular expression that it expands to, in Ruby's syntax.
    pub expansion: String,
    /// The engine.
    pub tier: Tier,
    /// Why that engine and no cheaper one.
    pub reason: &'static str,
    /// Why a line may end at the limit of steps; `None` where every line has an answer.
    pub limit_reason: Option<&'static str>,
    /// Literals that every matching line has, in this order.
    pub literals: Vec<String>,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// What is suspicious about it.
    pub findings: Vec<Finding>,
}

/// A part of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Bytes of the pattern as it was given.
    pub span: Range<usize>,
    /// What it expands to.
    pub expression: String,
    /// The field that captures just this.
    pub field: Option<String>,
    /// The cheapest engine that could run it if it stood by itself.
    pub tier: Tier,
    /// What it is to that engine, or why no cheaper one can run it.
    pub reason: &'static str,
    /// The parts it is made of.
    pub parts: Vec<Part>,
}

impl Grok {
    /// Says what became of the pattern.
    pub fn explain(&self) -> Explanation {
        let engine = &self.inner.engine;
        let expanded = &self.inner.expanded;
        let literals = engine.literals().iter();
        let literals = literals.map(|literal| String::from_utf8_lossy(literal).into_owned());
        // It has been parsed before.
        let tree = regex::parse(&expanded.text).ok();
        let (parts, findings) = match &tree {
            None => (Vec::new(), Vec::new()),
            Some(regex) => {
                let parts = Explainer { grok: self, expanded, regex }.parts(&regex.root, 0);
                let mut findings = slips(self.pattern());
                findings.extend(lint::findings(self.pattern(), expanded, regex, engine.start()));
                (parts, findings)
            }
        };
        Explanation {
            expansion: expanded.text.clone(),
            tier: self.tier(),
            reason: self.tier_reason(),
            limit_reason: engine.limit_reason(),
            literals: literals.collect(),
            parts,
            findings,
        }
    }

    /// On a text that the pattern does not match: how far it does. `None` where it matches, or
    /// where not even its first part does.
    pub fn longest_prefix(&self, text: &str) -> Option<Stop> {
        stop::longest_prefix(&self.inner.expanded, text)
    }
}

struct Explainer<'g> {
    grok: &'g Grok,
    expanded: &'g Expanded,
    regex: &'g Regex,
}

impl Explainer<'_> {
    /// The parts of a concatenation or of alternatives; runs of letters are one part.
    fn parts(&self, node: &Node, depth: usize) -> Vec<Part> {
        let nodes = match &node.kind {
            Kind::Group(inner) if depth == 0 => return self.parts(inner, depth),
            Kind::Concat(nodes) => &nodes[..],
            Kind::Alternate(nodes) if depth > 0 => &nodes[..],
            _ if depth == 0 => std::slice::from_ref(node),
            _ => return Vec::new(),
        };
        let mut parts = Vec::new();
        let mut rest = nodes;
        let is_concat = matches!(node.kind, Kind::Concat(_));
        while let Some(first) = rest.first()
            && parts.len() < PARTS_MAX
        {
            let is_letter = |node: &&Node| matches!(node.kind, Kind::Char { .. });
            let letters = rest.iter().take_while(is_letter).count();
            let taken = if is_concat { letters.max(1) } else { 1 };
            let span = first.span.start..rest[taken - 1].span.end;
            parts.push(self.part(first, span, depth));
            rest = &rest[taken..];
        }
        parts
    }

    fn part(&self, node: &Node, span: Range<usize>, depth: usize) -> Part {
        let (field, inner) = self.field(node);
        let (tier, reason) = describe(self.regex, node);
        Part {
            span: self.expanded.origin(span.clone()),
            expression: self.expanded.text.get(span).unwrap_or_default().to_owned(),
            field,
            tier,
            reason,
            parts: if depth < DEPTH_MAX { self.parts(inner, depth + 1) } else { Vec::new() },
        }
    }

    /// The field that captures a node, and what is in it.
    fn field<'n>(&self, node: &'n Node) -> (Option<String>, &'n Node) {
        match &node.kind {
            Kind::Capture { slot, node: inner } => {
                let mut deliveries = self.grok.inner.deliveries.iter();
                let field = deliveries.find(|delivery| delivery.slot == *slot);
                let name =
                    field.map(|found| self.grok.fields()[usize::from(found.field)].name.clone());
                (name, inner)
            }
            Kind::Group(inner) => (None, inner),
            _ => (None, node),
        }
    }
}
