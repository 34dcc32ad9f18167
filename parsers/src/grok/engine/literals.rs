//! Literals that every match has, one after the other.
//!
//! What it is for: most lines that a pattern does not match lack a literal of it, and looking for
//! one costs next to nothing. Invariant: a text without them, in this order and apart, has no
//! match. Next on the trip: [`super::gate`] asks, before any engine runs.

use memchr::memmem::Finder;

use crate::grok::regex::{Kind, Node};

/// More are not worth their cost.
const LITERALS_MAX: usize = 4;

/// Literals in the order in which every match has them.
pub(in crate::grok) struct Literals {
    finders: Vec<Finder<'static>>,
}

impl Literals {
    pub(in crate::grok) fn of(root: &Node) -> Literals {
        let mut collector = Collector { done: Vec::new(), open: String::new() };
        collector.node(root);
        collector.close();
        let mut literals: Vec<(usize, String)> =
            collector.done.into_iter().filter(|literal| tells(literal)).enumerate().collect();
        // The longest are the rarest.
        literals.sort_by_key(|(_, literal)| std::cmp::Reverse(literal.len()));
        literals.truncate(LITERALS_MAX);
        literals.sort_unstable();
        let finder = |(_, literal): (usize, String)| Finder::new(&literal).into_owned();
        Literals { finders: literals.into_iter().map(finder).collect() }
    }

    /// The literals, in order.
    pub(in crate::grok) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.finders.iter().map(Finder::needle)
    }

    /// False: nothing in the text matches.
    #[inline]
    pub(in crate::grok) fn are_in(&self, text: &[u8]) -> bool {
        let mut from = 0;
        self.finders.iter().all(|finder| match finder.find(&text[from..]) {
            Some(at) => {
                from += at + finder.needle().len();
                true
            }
            None => false,
        })
    }
}

/// A space, a letter or a digit by itself is in nearly every line.
fn tells(literal: &str) -> bool {
    literal.chars().count() > 1 || literal.chars().any(|one| !one.is_alphanumeric() && one != ' ')
}

struct Collector {
    done: Vec<String>,
    /// Letters that may go on.
    open: String,
}

impl Collector {
    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            // These take nothing: what stands on both sides of them touches.
            Kind::Empty | Kind::Assert(_) | Kind::Look { .. } | Kind::Keep => {}
            Kind::Char { letter, fold }
                if !*fold || letter.is_ascii() && !letter.is_ascii_alphabetic() =>
            {
                self.open.push(*letter);
            }
            Kind::Group(inner) | Kind::Capture { node: inner, .. } | Kind::Atomic(inner) => {
                self.node(inner);
            }
            Kind::Concat(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Kind::Repeat { node: inner, min, .. } if *min > 0 => {
                // The first time it touches what is before it, the last time what is after it.
                self.node(inner);
                self.close();
            }
            _ => self.close(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grok::regex::parse;

    #[track_caller]
    fn check(expression: &str, expect: &[&str]) {
        let literals = Literals::of(&parse(expression).unwrap().root);
        let found: Vec<&str> =
            literals.iter().map(|literal| std::str::from_utf8(literal).unwrap()).collect();
        assert_eq!(found, expect, "{expression:?}");
    }

    #[test]
    fn what_every_match_has() {
        check("ab(?=x)c|d", &[]);
        check("ab(?=x)c d*ef", &["abc ", "ef"]);
        check(r"\[(?<x>a+)\] (b|c)+: ", &["[a", "] ", ": "]);
        check("(?:xy)+z?(?i)w?", &["xy"]);
        check(r"a b\d c (?i)12 ab", &["a b", " c 12 "]);
        check("one two.three.four.five.s.seven", &["one two", "three", "four", "seven"]);
        check(r"(?<!ab)\bcd\K(?>ef)\1", &["cdef"]);
        check(r"(?:训)(?:练)", &["训练"]);
    }

    #[test]
    fn in_order_and_apart() {
        let literals = Literals::of(&parse("aa.*aa.*b:").unwrap().root);
        assert!(literals.are_in(b"aaaab:") && literals.are_in(b"xaa aa b:"));
        assert!(!literals.are_in(b"aaab:") && !literals.are_in(b"b:aaaa") && !literals.are_in(b""));
    }
}
