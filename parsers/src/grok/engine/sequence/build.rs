//! Building a sequence: what each part of an expression is.
//!
//! Invariant: refuses wherever it is not plain what backtracking would try first. Next on the trip:
//! [`super::finish`] gives the parts their matchers.

use super::finish::{Finisher, Follow};
use super::words::Words;
use super::{Matcher, Sequence, Table, timestamp};
use crate::grok::regex::{Assert, Kind, Mode, Node, Regex};

/// Parts, those within alternatives too.
const PARTS_MAX: usize = 256;

/// A part before it is known what follows it.
pub(super) struct Piece<'r> {
    pub(super) shape: Shape<'r>,
    /// The groups that begin with it, and those that end with it.
    pub(super) opens: Vec<usize>,
    pub(super) closes: Vec<usize>,
}

pub(super) enum Shape<'r> {
    Literal(Vec<u8>),
    Run {
        table: Box<Table>,
        min: usize,
        max: usize,
        mode: Mode,
    },
    /// With the node they were made of, which may be taken otherwise.
    Words(Words, &'r Node),
    Timestamp,
    Either(Vec<Vec<Piece<'r>>>),
    Look {
        behind: bool,
        negated: bool,
        tables: Vec<Table>,
    },
    Check(Assert),
}

pub(super) fn build(regex: &Regex) -> Result<Sequence, &'static str> {
    let mut builder = Builder::new(regex);
    builder.flatten(&regex.root)?;
    let mut pieces = builder.pieces;
    // At the very start these hold.
    if let [Piece { shape: Shape::Check(assert), opens, closes }, ..] = &pieces[..]
        && matches!(assert, Assert::LineStart | Assert::TextStart | Assert::SearchStart)
        && opens.is_empty()
        && closes.is_empty()
    {
        pieces.remove(0);
    }
    if pieces.is_empty() {
        return Err("nothing before the rest of the line");
    }
    let parts = Finisher { regex }.finish(pieces, &Follow::anything())?;
    let mut optional = Vec::new();
    for part in &parts {
        if let Matcher::Either(branches) = &part.matcher {
            optional.extend(branches.iter().flat_map(|branch| branch.slots.iter().copied()));
        }
    }
    Ok(Sequence { parts, optional: optional.into() })
}

/// What a part would be to a sequence, or why it is nothing to it.
pub(in crate::grok::engine) fn describe(
    regex: &Regex,
    node: &Node,
) -> Result<&'static str, &'static str> {
    let mut builder = Builder::new(regex);
    builder.flatten(node)?;
    Ok(match &builder.pieces[..] {
        [] => "nothing to take",
        [piece] => match &piece.shape {
            Shape::Literal(_) => "a literal",
            Shape::Run { min: 1, max: 1, .. } => "one character",
            Shape::Run { .. } => "a run of one kind of character",
            Shape::Words(..) => "one of some words",
            Shape::Timestamp => "a timestamp",
            Shape::Either(_) => "the first that fits of several",
            Shape::Look { .. } | Shape::Check(_) => "a look at the neighbours",
        },
        _ => "several parts, each of which is simple",
    })
}

pub(super) struct Builder<'r> {
    regex: &'r Regex,
    pub(super) pieces: Vec<Piece<'r>>,
    /// Groups that begin with the next piece.
    opens: Vec<usize>,
    parts: usize,
}

impl<'r> Builder<'r> {
    pub(super) fn new(regex: &'r Regex) -> Builder<'r> {
        Builder { regex, pieces: Vec::new(), opens: Vec::new(), parts: 0 }
    }

    /// Takes concatenations and groups apart, down to what one matcher is made of.
    fn flatten(&mut self, node: &'r Node) -> Result<(), &'static str> {
        if timestamp::is_stock(node) {
            return self.push(Shape::Timestamp);
        }
        match &node.kind {
            Kind::Empty => Ok(()),
            // Of the ways through an atomic group only the first is taken here anyway.
            Kind::Group(inner) | Kind::Atomic(inner) => self.flatten(inner),
            Kind::Capture { slot, node: inner } => self.capture(*slot, inner),
            Kind::Concat(nodes) => nodes.iter().try_for_each(|node| self.flatten(node)),
            Kind::Char { letter, fold: false } => self.literal(*letter),
            Kind::Repeat { node: inner, min, max, mode } => {
                self.repeat(node, inner, *min, *max, *mode)
            }
            Kind::Alternate(nodes) => {
                if let Some(words) = Words::of(node, self.regex) {
                    return self.push(Shape::Words(words, node));
                }
                self.either(nodes)
            }
            Kind::Any | Kind::Set(_) => {
                let table = table(node)?;
                if table[0x80] {
                    return Err("one character that may have several bytes");
                }
                self.push(Shape::Run { table, min: 1, max: 1, mode: Mode::Greedy })
            }
            Kind::Assert(assert) => self.push(Shape::Check(*assert)),
            Kind::Look { behind, negated, node: inner } => {
                let mut tables = Vec::new();
                look_tables(inner, &mut tables)?;
                if tables.len() > 1 && tables.iter().any(|table| table[0x80]) || tables.is_empty() {
                    return Err("a look-around at more than letters of ASCII");
                }
                self.push(Shape::Look { behind: *behind, negated: *negated, tables })
            }
            _ => Err("a part that needs a general engine"),
        }
    }

    fn push(&mut self, shape: Shape<'r>) -> Result<(), &'static str> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err("too many parts");
        }
        let opens = std::mem::take(&mut self.opens);
        self.pieces.push(Piece { shape, opens, closes: Vec::new() });
        Ok(())
    }

    fn capture(&mut self, slot: usize, inner: &'r Node) -> Result<(), &'static str> {
        // Without a name a group is no field, whether it captures or not.
        if self.regex.groups[slot].name.is_none() {
            return self.flatten(inner);
        }
        self.opens.push(slot);
        self.flatten(inner)?;
        // What it opened with has taken note of it.
        match self.pieces.last_mut() {
            Some(last) if self.opens.is_empty() => {
                last.closes.push(slot);
                Ok(())
            }
            _ => Err("a field that is always empty"),
        }
    }

    fn literal(&mut self, letter: char) -> Result<(), &'static str> {
        let mut buffer = [0; 4];
        let bytes = letter.encode_utf8(&mut buffer).as_bytes();
        match self.pieces.last_mut() {
            Some(Piece { shape: Shape::Literal(literal), closes, .. })
                if closes.is_empty() && self.opens.is_empty() =>
            {
                literal.extend_from_slice(bytes);
                Ok(())
            }
            _ => self.push(Shape::Literal(bytes.to_vec())),
        }
    }

    fn repeat(
        &mut self,
        node: &'r Node,
        inner: &'r Node,
        min: u32,
        max: Option<u32>,
        mode: Mode,
    ) -> Result<(), &'static str> {
        let one = without_groups(inner);
        if matches!(one.kind, Kind::Set(_) | Kind::Any | Kind::Char { fold: false, .. })
            && let Ok(table) = table(one)
        {
            if (max.is_some() || min > 1) && table[0x80] {
                return Err("a number of characters that may have several bytes");
            }
            if mode == Mode::Lazy && max.is_some() {
                return Err("a lazy repeat with a most");
            }
            let max = max.map_or(usize::MAX, |max| max as usize);
            return self.push(Shape::Run { table, min: min as usize, max, mode });
        }
        match (min, max, mode) {
            (1, Some(1), _) => self.flatten(inner),
            (0, Some(1), Mode::Greedy | Mode::Possessive) => {
                let taken = self.branch(inner)?;
                self.push(Shape::Either(vec![taken, Vec::new()]))
            }
            _ => match Words::of(node, self.regex) {
                Some(words) => self.push(Shape::Words(words, node)),
                None => Err("a repeat of something other than one kind of character"),
            },
        }
    }

    pub(super) fn either(&mut self, nodes: &'r [Node]) -> Result<(), &'static str> {
        let branches: Result<Vec<_>, _> = nodes.iter().map(|node| self.branch(node)).collect();
        self.push(Shape::Either(branches?))
    }

    fn branch(&mut self, node: &'r Node) -> Result<Vec<Piece<'r>>, &'static str> {
        let opens = std::mem::take(&mut self.opens);
        let before = std::mem::take(&mut self.pieces);
        self.flatten(node)?;
        let pieces = std::mem::replace(&mut self.pieces, before);
        self.opens = opens;
        Ok(pieces)
    }
}

pub(super) fn without_groups(node: &Node) -> &Node {
    match &node.kind {
        Kind::Group(inner) => without_groups(inner),
        _ => node,
    }
}

fn table(node: &Node) -> Result<Box<Table>, &'static str> {
    match &node.kind {
        Kind::Any => Ok(Box::new([true; 256])),
        Kind::Set(set) => {
            let table = set.byte_table().ok_or("a set with some letters beyond ASCII only")?;
            Ok(Box::new(table))
        }
        Kind::Char { letter, fold: false } if letter.is_ascii() => {
            let mut table = Box::new([false; 256]);
            table[*letter as usize] = true;
            Ok(table)
        }
        _ => Err("a part that is no set of characters"),
    }
}

/// One table for each character that a look-around looks at.
fn look_tables(node: &Node, tables: &mut Vec<Table>) -> Result<(), &'static str> {
    match &node.kind {
        Kind::Group(inner) => look_tables(inner, tables),
        Kind::Concat(nodes) => nodes.iter().try_for_each(|node| look_tables(node, tables)),
        Kind::Char { .. } | Kind::Set(_) => {
            tables.push(*table(node)?);
            Ok(())
        }
        _ => Err("a look-around at more than some characters"),
    }
}
