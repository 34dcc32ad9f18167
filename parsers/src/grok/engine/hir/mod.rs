//! A tree as the linear engines' own: exactly where that can be proved, or wider than it is.
//!
//! What it is for: the linear engines never take more than one look at a byte, whatever the line.
//! Invariant: an exact translation finds what the backtracking engine finds, group by group; a
//! wide one matches wherever the tree does, and maybe elsewhere. Both are made from the tree, never
//! by way of text. Next on the trip: [`super::linear`] and [`super::gate`] run them.

mod class;

use regex_syntax::hir::{Capture, Class, ClassUnicode, Hir, Look, Repetition};

use crate::grok::regex::{Assert, Kind, Mode, Node, Regex};
pub(in crate::grok) use class::Bounds;

/// An exact translation.
pub(super) struct Exact {
    pub(super) hir: Hir,
    /// Slot of each group that captures, from number 1.
    pub(super) slots: Vec<usize>,
    /// True: only texts of ASCII; boundaries of words are told from their bytes.
    pub(super) ascii_only: bool,
}

/// Pairs of letters that, in any case, are one letter too (`ß`, `ﬁ`).
const LIGATURES: [(char, char); 5] = [('s', 's'), ('f', 'f'), ('f', 'i'), ('f', 'l'), ('s', 't')];

/// Translates a tree exactly, or says why that cannot be.
pub(super) fn exact(regex: &Regex) -> Result<Exact, &'static str> {
    let mut numbers = vec![None; regex.groups.len()];
    let mut slots = Vec::new();
    for (slot, group) in regex.groups.iter().enumerate() {
        if group.name.is_some() {
            slots.push(slot);
            numbers[slot] = Some(slots.len() as u32);
        }
    }
    let mut translator = Translator { numbers, ascii_only: false };
    let hir = translator.node(&regex.root, 0)?;
    Ok(Exact { hir, slots, ascii_only: translator.ascii_only })
}

/// Whether a part of a tree translates exactly, by itself.
pub(super) fn exact_part(regex: &Regex, node: &Node) -> Result<(), &'static str> {
    let mut translator = Translator { numbers: vec![None; regex.groups.len()], ascii_only: false };
    translator.node(node, 1).map(drop)
}

/// Translates a tree to one that matches wherever the tree does.
pub(super) fn wide(regex: &Regex) -> Hir {
    wide_node(&regex.root)
}

fn class(class: ClassUnicode) -> Hir {
    Hir::class(Class::Unicode(class))
}

fn repetition(min: u32, max: Option<u32>, greedy: bool, sub: Hir) -> Hir {
    Hir::repetition(Repetition { min, max, greedy, sub: Box::new(sub) })
}

struct Translator {
    /// The number of each group that captures.
    numbers: Vec<Option<u32>>,
    ascii_only: bool,
}

impl Translator {
    /// `after`: the least number of characters that follow the node in every match.
    fn node(&mut self, node: &Node, after: usize) -> Result<Hir, &'static str> {
        Ok(match &node.kind {
            Kind::Empty => Hir::empty(),
            Kind::Char { letter, fold: true } if letter.is_ascii_alphabetic() => {
                class(class::folded(*letter))
            }
            Kind::Char { letter, fold: true } if !letter.is_ascii() => {
                return Err("a letter beyond ASCII in any case");
            }
            Kind::Char { letter, .. } => literal(*letter),
            Kind::Any => class(class::range('\0', char::MAX)),
            Kind::Set(set) => class(class::exact(set)?),
            Kind::Assert(assert) => Hir::look(self.look(*assert, after)?),
            Kind::Group(inner) => self.node(inner, after)?,
            Kind::Capture { slot, node: inner } => {
                let sub = self.node(inner, after)?;
                match self.numbers[*slot] {
                    None => sub,
                    Some(index) => Hir::capture(Capture { index, name: None, sub: Box::new(sub) }),
                }
            }
            Kind::Concat(nodes) => self.concat(nodes, after)?,
            Kind::Alternate(nodes) => {
                let branches: Result<Vec<Hir>, _> =
                    nodes.iter().map(|node| self.node(node, after)).collect();
                Hir::alternation(branches?)
            }
            Kind::Repeat { mode: Mode::Possessive, .. } => return Err("a possessive repeat"),
            Kind::Repeat { node: inner, min, max, mode } => {
                // What a repeat does with a part that took nothing differs between engines.
                if max.is_none_or(|max| max > 1) && least(inner) == 0 {
                    return Err("a repeat of a part that may be empty");
                }
                let sub = self.node(inner, after)?;
                repetition(*min, *max, *mode == Mode::Greedy, sub)
            }
            Kind::Atomic(_) => return Err("an atomic group"),
            Kind::Look { .. } => return Err("a look-around"),
            Kind::Backreference { .. } => return Err("a back-reference"),
            Kind::Condition { .. } => return Err("a condition on a group"),
            Kind::Keep => return Err("`\\K`"),
            Kind::LineBreak => return Err("`\\R`, which is atomic"),
            Kind::Grapheme => return Err("`\\X`, which depends on tables"),
        })
    }

    fn concat(&mut self, nodes: &[Node], after: usize) -> Result<Hir, &'static str> {
        let folded = |node: &Node| match node.kind {
            Kind::Char { letter, fold: true } => Some(letter.to_ascii_lowercase()),
            _ => None,
        };
        for pair in nodes.windows(2) {
            if let (Some(one), Some(other)) = (folded(&pair[0]), folded(&pair[1]))
                && LIGATURES.contains(&(one, other))
            {
                return Err("letters that are one letter in another case");
            }
        }
        let mut parts = Vec::with_capacity(nodes.len());
        let mut after = after;
        for node in nodes.iter().rev() {
            parts.push(self.node(node, after)?);
            after = after.saturating_add(least(node));
        }
        parts.reverse();
        Ok(Hir::concat(parts))
    }

    fn look(&mut self, assert: Assert, after: usize) -> Result<Look, &'static str> {
        Ok(match assert {
            // After a line feed that ends the text no line starts for Ruby and PCRE2.
            Assert::LineStart if after > 0 => Look::StartLF,
            Assert::LineStart => return Err("a line start that may be the end of the text"),
            Assert::LineEnd => Look::EndLF,
            Assert::TextStart | Assert::SearchStart => Look::Start,
            Assert::TextEnd => Look::End,
            Assert::TextEndOrLineFeed => return Err("`\\Z`, which looks ahead"),
            Assert::WordBoundary { .. } => {
                self.ascii_only = true;
                Look::WordAscii
            }
            Assert::NotWordBoundary { .. } => {
                self.ascii_only = true;
                Look::WordAsciiNegate
            }
        })
    }
}

fn literal(letter: char) -> Hir {
    Hir::literal(letter.encode_utf8(&mut [0; 4]).as_bytes())
}

/// The least number of characters that a match of a node has.
pub(in crate::grok) fn least(node: &Node) -> usize {
    match &node.kind {
        Kind::Char { .. } | Kind::Any | Kind::Set(_) | Kind::LineBreak | Kind::Grapheme => 1,
        Kind::Empty
        | Kind::Assert(_)
        | Kind::Look { .. }
        | Kind::Keep
        | Kind::Backreference { .. } => 0,
        Kind::Group(node) | Kind::Capture { node, .. } | Kind::Atomic(node) => least(node),
        Kind::Concat(nodes) => nodes.iter().map(least).fold(0, usize::saturating_add),
        Kind::Alternate(nodes) => nodes.iter().map(least).min().unwrap_or(0),
        Kind::Repeat { node, min, .. } => least(node).saturating_mul(*min as usize),
        Kind::Condition { yes, no, .. } => least(yes).min(least(no)),
    }
}

/// At most this many repeats are written out; more are taken for any number.
const WIDE_REPEAT_MAX: u32 = 64;

fn wide_node(node: &Node) -> Hir {
    let any = || class(class::range('\0', char::MAX));
    match &node.kind {
        Kind::Empty | Kind::Look { .. } | Kind::Keep => Hir::empty(),
        Kind::Char { letter, fold: false } => literal(*letter),
        Kind::Char { letter, fold: true } if !letter.is_ascii() => {
            repetition(0, Some(3), true, any())
        }
        Kind::Char { letter, fold: true } => {
            let sub = class(Bounds::of_char(*letter, true).or(Bounds::beyond()).class());
            // It may be a part of a ligature: that is one letter in the place of two or three.
            match letter.to_ascii_lowercase() {
                's' | 'f' | 'i' | 'l' | 't' => repetition(0, Some(1), true, sub),
                _ => sub,
            }
        }
        Kind::Any => any(),
        Kind::Set(set) => class(Bounds::of_set(set).class()),
        Kind::Assert(assert) => match assert {
            Assert::LineStart => Hir::look(Look::StartLF),
            Assert::LineEnd | Assert::TextEndOrLineFeed => Hir::look(Look::EndLF),
            Assert::TextStart | Assert::SearchStart => Hir::look(Look::Start),
            Assert::TextEnd => Hir::look(Look::End),
            Assert::WordBoundary { .. } | Assert::NotWordBoundary { .. } => Hir::empty(),
        },
        Kind::Group(inner) | Kind::Capture { node: inner, .. } | Kind::Atomic(inner) => {
            wide_node(inner)
        }
        Kind::Concat(nodes) => Hir::concat(nodes.iter().map(wide_node).collect()),
        Kind::Alternate(nodes) => Hir::alternation(nodes.iter().map(wide_node).collect()),
        Kind::Repeat { node: inner, min, max, .. } => {
            let max = max.filter(|max| *max <= WIDE_REPEAT_MAX);
            repetition((*min).min(WIDE_REPEAT_MAX), max, true, wide_node(inner))
        }
        Kind::Backreference { .. } => repetition(0, None, true, any()),
        Kind::Condition { yes, no, .. } => Hir::alternation(vec![wide_node(yes), wide_node(no)]),
        Kind::LineBreak => {
            let breaks = [('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')];
            let mut one = class::range('\n', '\r');
            for (first, last) in breaks {
                one.union(&class::range(first, last));
            }
            repetition(1, Some(2), true, class(one))
        }
        Kind::Grapheme => repetition(1, None, true, any()),
    }
}
