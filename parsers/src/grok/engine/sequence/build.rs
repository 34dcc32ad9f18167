//! Building a sequence: what each part is, and whether what follows lets it end in one place only.
//!
//! Invariant: refuses wherever that is not plain. Next on the trip: [`super::Sequence`].

use super::words::Words;
use super::{Matcher, Part, Sequence, Table, timestamp};
use crate::grok::regex::{Assert, Kind, Mode, Node, Regex};

/// A part before it is known what follows it.
struct Piece {
    shape: Shape,
    slots: Vec<usize>,
}

enum Shape {
    Literal(Vec<u8>),
    Run { table: Box<Table>, min: usize, mode: Mode },
    Words(Words),
    Timestamp,
}

pub(super) fn build(regex: &Regex) -> Result<Sequence, &'static str> {
    let mut builder = Builder { regex, pieces: Vec::new() };
    builder.flatten(&regex.root, &[])?;
    let mut pieces = builder.pieces;
    let mut parts: Vec<Part> = Vec::new();
    // From the end, since a part asks what follows it.
    while let Some(piece) = pieces.pop() {
        let follows = parts.pop();
        let firsts = follows.as_ref().map(|part| part.matcher.firsts());
        let matcher = match (piece.shape, follows) {
            (
                Shape::Run { table, min, mode },
                Some(Part { matcher: Matcher::Literal(literal), slots }),
            ) if slots.is_empty() => run_to_literal(table, min, mode, literal)?,
            (Shape::Run { mode: Mode::Lazy, .. }, None) => {
                return Err("a lazy repeat at the end");
            }
            (Shape::Run { table, min, .. }, None) => Matcher::LastRun { table, min },
            (Shape::Run { .. }, Some(_)) => {
                return Err("a repeat that may end in several places");
            }
            (shape, follows) => {
                let matcher = match shape {
                    Shape::Literal(bytes) => Matcher::Literal(bytes.into()),
                    Shape::Words(words) if apart(words.letters(), firsts.as_ref()) => {
                        Matcher::Words(words)
                    }
                    Shape::Words(_) => return Err("a word that what follows may go on with"),
                    Shape::Timestamp if apart(&timestamp::continuation(), firsts.as_ref()) => {
                        Matcher::Timestamp
                    }
                    _ => return Err("a timestamp that what follows may go on with"),
                };
                parts.extend(follows);
                matcher
            }
        };
        parts.push(Part { matcher, slots: piece.slots });
    }
    if parts.is_empty() {
        return Err("nothing before the rest of the line");
    }
    parts.reverse();
    Ok(Sequence { parts })
}

/// True when what follows begins with nothing of the table; where nothing follows anything may.
fn apart(table: &Table, firsts: Option<&Table>) -> bool {
    firsts.is_some_and(|firsts| !table.iter().zip(firsts).any(|(one, other)| *one && *other))
}

fn run_to_literal(
    table: Box<Table>,
    min: usize,
    mode: Mode,
    literal: Box<[u8]>,
) -> Result<Matcher, &'static str> {
    let Some(inside) = literal.iter().position(|byte| !table[usize::from(*byte)]) else {
        return Err("a repeat that takes what follows it");
    };
    // A possessive run would take the literal's first bytes and never give them back.
    if inside > 0 && mode == Mode::Possessive {
        return Err("a possessive repeat that takes what follows it");
    }
    Ok(Matcher::Run { table, min, inside, literal })
}

impl Matcher {
    /// The bytes with which this part and what follows it may begin.
    fn firsts(&self) -> Table {
        let mut firsts = [false; 256];
        match self {
            Matcher::Literal(literal) => firsts[usize::from(literal[0])] = true,
            Matcher::Run { table, min, literal, .. } => {
                firsts = **table;
                firsts[usize::from(literal[0])] |= *min == 0;
            }
            // It may be empty, and then anything follows.
            Matcher::LastRun { .. } => firsts = [true; 256],
            Matcher::Words(words) => firsts = *words.letters(),
            Matcher::Timestamp => firsts[usize::from(b'0')..=usize::from(b'9')].fill(true),
        }
        firsts
    }
}

struct Builder<'r> {
    regex: &'r Regex,
    pieces: Vec<Piece>,
}

impl Builder<'_> {
    /// Takes concatenations and groups apart, down to what one matcher is made of.
    fn flatten(&mut self, node: &Node, slots: &[usize]) -> Result<(), &'static str> {
        if timestamp::is_stock(node) {
            self.pieces.push(Piece { shape: Shape::Timestamp, slots: slots.to_vec() });
            return Ok(());
        }
        match &node.kind {
            Kind::Empty if slots.is_empty() => Ok(()),
            // At the very start both hold.
            Kind::Assert(Assert::LineStart | Assert::TextStart)
                if slots.is_empty() && self.pieces.is_empty() =>
            {
                Ok(())
            }
            Kind::Group(inner) => self.flatten(inner, slots),
            Kind::Capture { slot, node: inner } => {
                // Without a name a group is no field, whether it captures or not.
                if self.regex.groups[*slot].name.is_none() {
                    return self.flatten(inner, slots);
                }
                let slots: Vec<usize> = slots.iter().copied().chain([*slot]).collect();
                self.flatten(inner, &slots)
            }
            Kind::Concat(nodes) if slots.is_empty() => {
                nodes.iter().try_for_each(|node| self.flatten(node, slots))
            }
            Kind::Char { letter, fold: false } if slots.is_empty() => {
                self.literal(*letter);
                Ok(())
            }
            Kind::Repeat { node: inner, min, max: None, mode } if *min <= 1 => {
                let Kind::Set(set) = &inner.kind else {
                    return Err("a repeat of something other than one kind of character");
                };
                let table = set.byte_table().ok_or("a set with some letters beyond ASCII only")?;
                let shape = Shape::Run { table: Box::new(table), min: *min as usize, mode: *mode };
                self.pieces.push(Piece { shape, slots: slots.to_vec() });
                Ok(())
            }
            Kind::Alternate(_) | Kind::Concat(_) | Kind::Char { .. } | Kind::Set(_) => {
                let words = Words::of(node, self.regex).ok_or("a part that is no list of words")?;
                self.pieces.push(Piece { shape: Shape::Words(words), slots: slots.to_vec() });
                Ok(())
            }
            _ => Err("a part that needs a general engine"),
        }
    }

    fn literal(&mut self, letter: char) {
        let mut buffer = [0; 4];
        let bytes = letter.encode_utf8(&mut buffer).as_bytes();
        match self.pieces.last_mut() {
            Some(Piece { shape: Shape::Literal(literal), slots }) if slots.is_empty() => {
                literal.extend_from_slice(bytes);
            }
            _ => {
                let shape = Shape::Literal(bytes.to_vec());
                self.pieces.push(Piece { shape, slots: Vec::new() });
            }
        }
    }
}
