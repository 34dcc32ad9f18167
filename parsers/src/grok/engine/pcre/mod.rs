//! A tree as PCRE2's text.
//!
//! Invariant: what is written means in PCRE2 (UTF, multi-line, dot-all) what the tree means in
//! Ruby; every class is written out, so that PCRE2's own `\w`, `\h` or `[:alpha:]` are never used.
//! Next on the trip: [`super::backtrack`].

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

mod chars;

use crate::grok::regex::{Kind, Mode, Node, Regex, SyntaxError, Target};
use chars::{assert_text, push_char, push_folded, set_text};

/// The text, and where its parts came from.
pub(super) struct Written {
    pub(super) text: String,
    /// (offset in the text, span in the expression), by offset.
    origins: Vec<(usize, Range<usize>)>,
    /// Slot of each numbered group, from number 1.
    pub(super) slots: Vec<usize>,
}

impl Written {
    /// The part of the expression that an offset of the text belongs to.
    pub(super) fn origin(&self, offset: usize) -> Range<usize> {
        let after = self.origins.partition_point(|(start, _)| *start <= offset);
        match after.checked_sub(1).and_then(|index| self.origins.get(index)) {
            Some((_, span)) => span.clone(),
            None => 0..0,
        }
    }
}

/// How a run of one kind of character is written. PCRE2 counts steps where a group or a repeat is
/// done with, so that what a run takes going forward counts as nothing, and what it gives back does
/// not where PCRE2 merges it with the letter behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// In a group of its own: each character that it gives back counts.
    Counted,
    /// In pieces of [`PIECE_CHARS`]: each piece that it takes counts too.
    Pieces,
}

/// Smaller groups are not worth a call.
const SHARED_BYTES_MIN: usize = 200;

/// Characters of a run that count as one step.
const PIECE_CHARS: u32 = 64;
/// Pieces of a run that has a most: PCRE2 writes each of them out.
const PIECES_MAX: u32 = 64;

/// Writes an expression. `shared`: larger groups that capture nothing are written once and called,
/// for expressions that PCRE2 finds too large otherwise (a dozen IP addresses).
pub(super) fn write(regex: &Regex, runs: Runs, shared: bool) -> Result<Written, SyntaxError> {
    let looks_back =
        |kind: &Kind| matches!(kind, Kind::Backreference { .. } | Kind::Condition { .. });
    let has_names = regex.has_names();
    let numbers_all = !has_names && regex.root.any(&looks_back);
    let mut writer = Writer {
        regex,
        runs,
        shared: shared.then(HashMap::new),
        numbers: vec![None; regex.groups.len()],
        written: Written { text: String::new(), origins: Vec::new(), slots: Vec::new() },
    };
    for (slot, group) in regex.groups.iter().enumerate() {
        if group.name.is_some() || numbers_all {
            writer.written.slots.push(slot);
            writer.numbers[slot] = Some(writer.written.slots.len());
        }
    }
    writer.node(&regex.root)?;
    writer.define_shared();
    Ok(writer.written)
}

struct Writer<'r> {
    regex: &'r Regex,
    runs: Runs,
    /// The groups that are called, by their text, with the number in their name.
    shared: Option<HashMap<String, usize>>,
    /// The number of each group that captures.
    numbers: Vec<Option<usize>>,
    written: Written,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.written.text.push_str(text);
    }

    fn node(&mut self, node: &Node) -> Result<(), SyntaxError> {
        self.written.origins.push((self.written.text.len(), node.span.clone()));
        match &node.kind {
            Kind::Empty => {}
            Kind::Char { letter, fold: false } => push_char(&mut self.written.text, *letter),
            Kind::Char { letter, fold: true } => push_folded(&mut self.written.text, &[*letter]),
            Kind::Any => self.push("."),
            Kind::Set(set) => {
                let text = set_text(set);
                self.push(&text);
            }
            Kind::Assert(assert) => self.push(assert_text(*assert)),
            Kind::Capture { slot, node: inner } if self.numbers[*slot].is_some() => {
                self.wrapped("(", inner)?;
            }
            Kind::Group(inner) | Kind::Capture { node: inner, .. } => {
                let start = self.written.text.len();
                self.wrapped("(?:", inner)?;
                self.share(start, inner);
            }
            Kind::Atomic(inner) => self.wrapped("(?>", inner)?,
            Kind::Look { behind, negated, node: inner } => {
                let open = match (behind, negated) {
                    (false, false) => "(?=",
                    (false, true) => "(?!",
                    (true, false) => "(?<=",
                    (true, true) => "(?<!",
                };
                self.wrapped(open, inner)?;
            }
            Kind::Concat(nodes) => self.concat(nodes)?,
            Kind::Alternate(nodes) => {
                for (index, branch) in nodes.iter().enumerate() {
                    if index > 0 {
                        self.push("|");
                    }
                    self.node(branch)?;
                }
            }
            Kind::Repeat { node: inner, min, max, mode } => {
                self.repeat(inner, *min, *max, *mode)?;
            }
            Kind::Backreference { target, fold } => self.backreference(target, *fold, node)?,
            Kind::Condition { target, yes, no } => {
                let slots = self.slots(target, node)?;
                let [slot] = slots[..] else {
                    return Err(fault(node, "a condition on a name that several groups have"));
                };
                let number = self.numbers[slot].expect("groups are numbered where one is meant");
                write!(self.written.text, "(?({number})").expect("a string takes all text");
                self.wrapped("(?:", yes)?;
                self.push("|");
                self.wrapped("(?:", no)?;
                self.push(")");
            }
            Kind::Keep => self.push(r"\K"),
            Kind::LineBreak => self.push(r"(?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}])"),
            Kind::Grapheme => self.push(r"\X"),
        }
        Ok(())
    }

    fn wrapped(&mut self, open: &str, node: &Node) -> Result<(), SyntaxError> {
        self.push(open);
        self.node(node)?;
        self.push(")");
        Ok(())
    }

    /// Puts a call in the place of the group that was written from `start` on, if groups are shared
    /// and it is worth it.
    fn share(&mut self, start: usize, inner: &Node) {
        let Some(shared) = &mut self.shared else { return };
        let numbers = &self.numbers;
        let is_own = |kind: &Kind| match kind {
            Kind::Capture { slot, .. } => numbers[*slot].is_some(),
            Kind::Backreference { .. } | Kind::Condition { .. } => true,
            _ => false,
        };
        let is_large = self.written.text.len() - start >= SHARED_BYTES_MIN;
        if !is_large || inner.any(&is_own) {
            return;
        }
        let body = self.written.text.split_off(start);
        let next = shared.len();
        let number = *shared.entry(body).or_insert(next);
        write!(self.written.text, "(?&shared{number})").expect("a string takes all text");
    }

    /// Writes what is called, at the end, so that the other groups' numbers stay as they are.
    fn define_shared(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        for (body, number) in &shared {
            write!(self.written.text, "(?(DEFINE)(?<shared{number}>{body}))")
                .expect("a string takes all text");
        }
    }

    /// Letters in any case are written by the run: a run may fold into fewer letters (`ss` and
    /// `ß`).
    fn concat(&mut self, nodes: &[Node]) -> Result<(), SyntaxError> {
        let mut rest = nodes;
        while let Some((first, others)) = rest.split_first() {
            let folded = |node: &Node| match node.kind {
                Kind::Char { letter, fold: true } => Some(letter),
                _ => None,
            };
            let run: Vec<char> = rest.iter().map_while(folded).collect();
            if run.len() > 1 {
                self.written.origins.push((self.written.text.len(), first.span.clone()));
                push_folded(&mut self.written.text, &run);
                rest = &rest[run.len()..];
            } else if matches!(first.kind, Kind::Alternate(_)) {
                self.wrapped("(?:", first)?;
                rest = others;
            } else {
                self.node(first)?;
                rest = others;
            }
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        mode: Mode,
    ) -> Result<(), SyntaxError> {
        let is_char = matches!(node.kind, Kind::Char { .. } | Kind::Any | Kind::Set(_));
        match max {
            None if is_char => return self.run(node, min, mode),
            Some(max) if is_char && self.runs == Runs::Pieces && max > PIECE_CHARS => {
                return self.bounded_run(node, min, max, mode);
            }
            _ => {}
        }
        if is_char || matches!(node.kind, Kind::Group(_) | Kind::Capture { .. } | Kind::Atomic(_)) {
            self.node(node)?;
        } else {
            self.wrapped("(?:", node)?;
        }
        self.quantifier(min, max, mode);
        Ok(())
    }

    /// An unbounded repeat of one character.
    fn run(&mut self, node: &Node, min: u32, mode: Mode) -> Result<(), SyntaxError> {
        // A lazy run counts each character as it is: the rest is tried after every one.
        if self.runs == Runs::Counted || mode == Mode::Lazy {
            self.push("(?:");
            self.node(node)?;
            self.quantifier(min, None, mode);
            self.push(")");
            return Ok(());
        }
        self.push(if mode == Mode::Possessive { "(?>" } else { "(?:" });
        if min > 0 {
            self.node(node)?;
            self.quantifier(min, Some(min), Mode::Greedy);
        }
        self.push("(?:");
        self.node(node)?;
        self.quantifier(PIECE_CHARS, Some(PIECE_CHARS), Mode::Greedy);
        self.push(")*");
        self.node(node)?;
        self.quantifier(0, Some(PIECE_CHARS - 1), Mode::Greedy);
        self.push(")");
        Ok(())
    }

    /// A repeat of one character that has a most too large for one step. A greedy one takes whole
    /// pieces while it can, then what is left; the tail is as long as a piece, so that every
    /// length can be reached, the longest first.
    fn bounded_run(
        &mut self,
        node: &Node,
        min: u32,
        max: u32,
        mode: Mode,
    ) -> Result<(), SyntaxError> {
        let piece = PIECE_CHARS.max(max.div_ceil(PIECES_MAX));
        self.push(if mode == Mode::Possessive { "(?>" } else { "(?:" });
        if min > 0 {
            self.fixed_run(node, min, piece)?;
        }
        let more = max - min;
        if mode == Mode::Lazy {
            // Each character counts: what follows is tried after every one.
            self.node(node)?;
            self.quantifier(0, Some(more), Mode::Lazy);
        } else if more > 0 {
            let pieces = (more + 1).saturating_sub(piece) / piece;
            if pieces > 0 {
                self.push("(?:");
                self.node(node)?;
                self.quantifier(piece, Some(piece), Mode::Greedy);
                self.push(")");
                self.quantifier(0, Some(pieces), Mode::Greedy);
            }
            self.node(node)?;
            self.quantifier(0, Some(more - pieces * piece), Mode::Greedy);
        }
        self.push(")");
        Ok(())
    }

    /// A character a number of times, in pieces.
    fn fixed_run(&mut self, node: &Node, count: u32, piece: u32) -> Result<(), SyntaxError> {
        if count >= piece {
            self.push("(?:");
            self.node(node)?;
            self.quantifier(piece, Some(piece), Mode::Greedy);
            self.push(")");
            self.quantifier(count / piece, Some(count / piece), Mode::Greedy);
        }
        if !count.is_multiple_of(piece) {
            self.node(node)?;
            self.quantifier(count % piece, Some(count % piece), Mode::Greedy);
        }
        Ok(())
    }

    fn quantifier(&mut self, min: u32, max: Option<u32>, mode: Mode) {
        let text = &mut self.written.text;
        match (min, max) {
            (0, None) => text.push('*'),
            (1, None) => text.push('+'),
            (0, Some(1)) => text.push('?'),
            (min, None) => write!(text, "{{{min},}}").expect("a string takes all text"),
            (min, Some(max)) if min == max => {
                write!(text, "{{{min}}}").expect("a string takes all text");
            }
            (min, Some(max)) => write!(text, "{{{min},{max}}}").expect("a string takes all text"),
        }
        match mode {
            Mode::Greedy => {}
            Mode::Lazy => text.push('?'),
            Mode::Possessive => text.push('+'),
        }
    }

    fn backreference(
        &mut self,
        target: &Target,
        fold: bool,
        node: &Node,
    ) -> Result<(), SyntaxError> {
        let slots = self.slots(target, node)?;
        self.push(if fold { "(?i:" } else { "(?:" });
        // Of several groups with the name the last that took part is meant.
        for (index, slot) in slots.iter().rev().enumerate() {
            let number = self.numbers[*slot].expect("groups are numbered where one is meant");
            let between = if index > 0 { "|" } else { "" };
            write!(self.written.text, "{between}\\g{{{number}}}").expect("a string takes all text");
        }
        self.push(")");
        Ok(())
    }

    fn slots(&self, target: &Target, node: &Node) -> Result<Vec<usize>, SyntaxError> {
        self.regex.slots(target).map_err(|message| fault(node, &message))
    }
}

fn fault(node: &Node, message: &str) -> SyntaxError {
    SyntaxError { span: node.span.clone(), message: message.to_owned(), help: None }
}
