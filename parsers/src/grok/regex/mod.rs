//! Regular expressions in Ruby's syntax, as a tree.
//!
//! What it is for: every engine is built from the tree, so that what Ruby means (dot-all, line
//! anchors, ASCII `\w` beside Unicode `\b`, flags that end with their group) is settled in one
//! place. Invariant: flags are resolved: no node's meaning depends on where it stands. Next on the
//! trip: [`super::engine`].

mod class;
mod escape;
mod group;
mod parse;
mod set;

use std::ops::Range;

pub(super) use class::{Item, Named, Set, posix_ascii};
pub(super) use parse::parse;

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Regex {
    pub(super) root: Node,
    /// The groups that capture, in the order of their opening parentheses. When one has a name,
    /// those without capture nothing.
    pub(super) groups: Vec<Group>,
}

/// A capturing group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: Option<String>,
    /// Its opening, with the name.
    pub(super) span: Range<usize>,
}

/// A part of an expression and where it stands in the text.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Empty,
    /// `fold`: in any case.
    Char {
        letter: char,
        fold: bool,
    },
    /// Any character, line feeds included.
    Any,
    /// One character of a set.
    Set(Set),
    Assert(Assert),
    /// A group that does not capture.
    Group(Box<Node>),
    /// `slot`: index into [`Regex::groups`].
    Capture {
        slot: usize,
        node: Box<Node>,
    },
    Atomic(Box<Node>),
    Look {
        behind: bool,
        negated: bool,
        node: Box<Node>,
    },
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        mode: Mode,
    },
    Backreference {
        target: Target,
        fold: bool,
    },
    Condition {
        target: Target,
        yes: Box<Node>,
        no: Box<Node>,
    },
    /// `\K`.
    Keep,
    /// `\R`.
    LineBreak,
    /// `\X`.
    Grapheme,
}

/// Conditions on a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assert {
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    /// Before one line feed that ends the text, too.
    TextEndOrLineFeed,
    SearchStart,
    WordBoundary {
        ascii: bool,
    },
    NotWordBoundary {
        ascii: bool,
    },
}

/// How a repeat takes: as much or as little as can be, or as much and never less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Greedy,
    Lazy,
    Possessive,
}

/// The group that a back-reference or a condition means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Name(String),
    Number(usize),
}

/// Why an expression cannot be parsed.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    /// What to do about it.
    pub(super) help: Option<&'static str>,
}

impl Regex {
    /// True when a group has a name: then only such groups capture.
    pub(super) fn has_names(&self) -> bool {
        self.groups.iter().any(|group| group.name.is_some())
    }

    /// The slots of the groups that a target means, or why there are none.
    pub(super) fn slots(&self, target: &Target) -> Result<Vec<usize>, String> {
        match target {
            Target::Name(name) => {
                let named = |(slot, group): (usize, &Group)| {
                    (group.name.as_ref() == Some(name)).then_some(slot)
                };
                let slots: Vec<usize> = self.groups.iter().enumerate().filter_map(named).collect();
                if slots.is_empty() {
                    return Err(format!("reference to the undefined group `{name}`"));
                }
                Ok(slots)
            }
            Target::Number(_) if self.has_names() => {
                Err("a numbered reference beside named groups".to_owned())
            }
            Target::Number(number) if *number >= 1 && *number <= self.groups.len() => {
                Ok(vec![*number - 1])
            }
            Target::Number(number) => {
                Err(format!("reference to group {number}, which is not there"))
            }
        }
    }
}

impl Node {
    fn new(kind: Kind, span: Range<usize>) -> Node {
        Node { kind, span }
    }

    /// True when `test` holds for this node or one below it.
    pub(super) fn any(&self, test: &impl Fn(&Kind) -> bool) -> bool {
        test(&self.kind) || self.children().any(|child| child.any(test))
    }

    /// Number of places where a search may go one way or another.
    pub(super) fn choices(&self) -> usize {
        let own = match &self.kind {
            Kind::Alternate(nodes) => nodes.len() - 1,
            Kind::Repeat { min, max, .. } => usize::from(*max != Some(*min)),
            _ => 0,
        };
        own + self.children().map(Node::choices).sum::<usize>()
    }

    /// True when two expressions are the same but for where they stand and what their groups are
    /// numbered.
    pub(super) fn same_shape(&self, other: &Node) -> bool {
        let same_head = match (&self.kind, &other.kind) {
            (Kind::Repeat { min, max, mode, .. }, Kind::Repeat { min: m, max: x, mode: o, .. }) => {
                (min, max, mode) == (m, x, o)
            }
            (Kind::Look { behind, negated, .. }, Kind::Look { behind: b, negated: n, .. }) => {
                (behind, negated) == (b, n)
            }
            (Kind::Char { letter, fold }, Kind::Char { letter: l, fold: f }) => {
                (letter, fold) == (l, f)
            }
            (Kind::Set(set), Kind::Set(other)) => set == other,
            (Kind::Assert(assert), Kind::Assert(other)) => assert == other,
            (Kind::Backreference { .. } | Kind::Condition { .. }, _) => false,
            (kind, other) => std::mem::discriminant(kind) == std::mem::discriminant(other),
        };
        same_head
            && self.children().count() == other.children().count()
            && self.children().zip(other.children()).all(|(one, other)| one.same_shape(other))
    }

    /// The nodes right below.
    pub(super) fn children(&self) -> impl Iterator<Item = &Node> {
        let (list, one, other): (&[Node], Option<&Node>, Option<&Node>) = match &self.kind {
            Kind::Concat(nodes) | Kind::Alternate(nodes) => (nodes, None, None),
            Kind::Group(node)
            | Kind::Capture { node, .. }
            | Kind::Atomic(node)
            | Kind::Look { node, .. }
            | Kind::Repeat { node, .. } => (&[], Some(node), None),
            Kind::Condition { yes, no, .. } => (&[], Some(yes), Some(no)),
            _ => (&[], None, None),
        };
        list.iter().chain(one).chain(other)
    }

    /// The number of characters that every match of this node has, if there is one number.
    pub(super) fn width(&self) -> Option<usize> {
        match &self.kind {
            Kind::Empty | Kind::Assert(_) | Kind::Look { .. } | Kind::Keep => Some(0),
            Kind::Char { .. } | Kind::Any | Kind::Set(_) => Some(1),
            Kind::Group(node) | Kind::Capture { node, .. } | Kind::Atomic(node) => node.width(),
            Kind::Concat(nodes) => nodes.iter().map(Node::width).sum(),
            Kind::Alternate(nodes) => {
                let first = nodes.first()?.width()?;
                nodes.iter().all(|node| node.width() == Some(first)).then_some(first)
            }
            Kind::Repeat { node, min, max, .. } if Some(*min) == *max => {
                node.width()?.checked_mul(*min as usize)
            }
            Kind::Repeat { .. }
            | Kind::Backreference { .. }
            | Kind::Condition { .. }
            | Kind::LineBreak
            | Kind::Grapheme => None,
        }
    }
}
