//! Finishing a sequence: which matcher each part gets, and what it means that it fails.
//!
//! Invariant: a part's failure counts as the pattern's own only where no part before it could be
//! taken otherwise. Next on the trip: [`super::Sequence`] runs the matchers.

use memchr::memmem::Finder;

use super::build::{Builder, Piece, Shape, without_groups};
use super::{Branch, Matcher, Miss, Part, Table, timestamp};
use crate::grok::regex::{Kind, Mode, Regex};

/// What may come next.
#[derive(Clone)]
pub(super) struct Follow {
    table: Table,
    /// Anything may: the expression ends.
    open: bool,
}

/// Gives pieces their matchers.
pub(super) struct Finisher<'r> {
    pub(super) regex: &'r Regex,
}

impl<'r> Finisher<'r> {
    /// `after`: what follows all of them.
    pub(super) fn finish(
        &self,
        mut pieces: Vec<Piece<'r>>,
        after: &Follow,
    ) -> Result<Box<[Part]>, &'static str> {
        let mut parts: Vec<Part> = Vec::with_capacity(pieces.len());
        // What follows a part in the whole expression, and what in this list alone: only a part of
        // this list can make it fail.
        let mut follow = after.clone();
        let mut inner = Follow::anything();
        let mut rigid = Vec::with_capacity(pieces.len());
        // From the end, since a part asks what follows it.
        while let Some(piece) = pieces.pop() {
            let literal = match parts.last() {
                Some(Part { matcher: Matcher::Literal(literal), opens, closes, .. })
                    if opens.is_empty() && closes.is_empty() =>
                {
                    Some(literal.clone())
                }
                _ => None,
            };
            let (matcher, takes_literal) =
                self.matcher(piece.shape, literal.as_deref(), &follow)?;
            if takes_literal {
                parts.pop();
                rigid.pop();
                // The literal is the matcher's own: what follows that does not matter to it.
                (follow, inner) = (Follow::nothing(), Follow::nothing());
            }
            rigid.push(matcher.is_rigid(&inner));
            follow = matcher.before(&follow);
            inner = matcher.before(&inner);
            let (opens, closes) = (piece.opens.into(), piece.closes.into());
            parts.push(Part { matcher, opens, closes, miss: Miss::No });
        }
        parts.reverse();
        let mut is_rigid = true;
        for (part, rigid) in parts.iter_mut().zip(rigid.into_iter().rev()) {
            part.miss = if is_rigid { Miss::No } else { Miss::Unknown };
            is_rigid &= rigid;
        }
        Ok(parts.into())
    }

    /// The matcher, and whether it takes the literal that follows.
    fn matcher(
        &self,
        shape: Shape<'r>,
        literal: Option<&[u8]>,
        follow: &Follow,
    ) -> Result<(Matcher, bool), &'static str> {
        Ok(match shape {
            Shape::Literal(bytes) => (Matcher::Literal(bytes.into()), false),
            Shape::Run { table, min, max: usize::MAX, mode } if literal.is_some() => {
                (run_to_literal(table, min, mode, literal.unwrap_or_default())?, true)
            }
            Shape::Run { mode: Mode::Lazy, .. } => {
                return Err("a lazy repeat with no literal behind it");
            }
            Shape::Run { table, min, max, .. } => (Matcher::Run { table, min, max }, false),
            Shape::Words(words, _) if follow.is_apart(words.letters()) => {
                (Matcher::Words(words), false)
            }
            Shape::Words(_, node) => {
                let Kind::Alternate(nodes) = &without_groups(node).kind else {
                    return Err("a word that what follows may go on with");
                };
                let mut builder = Builder::new(self.regex);
                builder.either(nodes)?;
                let Some(Piece { shape: Shape::Either(branches), .. }) = builder.pieces.pop()
                else {
                    return Err("a word that what follows may go on with");
                };
                (self.either(branches, follow)?, false)
            }
            Shape::Timestamp if follow.is_apart(&timestamp::continuation()) => {
                (Matcher::Timestamp, false)
            }
            Shape::Timestamp => return Err("a timestamp that what follows may go on with"),
            Shape::Either(branches) => (self.either(branches, follow)?, false),
            Shape::Look { behind, negated, tables } => {
                (Matcher::Look { behind, negated, tables: tables.into() }, false)
            }
            Shape::Check(assert) => (Matcher::Check(assert), false),
        })
    }

    fn either(
        &self,
        branches: Vec<Vec<Piece<'r>>>,
        follow: &Follow,
    ) -> Result<Matcher, &'static str> {
        let branch = |pieces: Vec<Piece<'r>>| -> Result<Branch, &'static str> {
            let parts = self.finish(pieces, follow)?;
            let mut slots = Vec::new();
            for part in &parts {
                slots.extend(part.opens.iter().copied());
                if let Matcher::Either(branches) = &part.matcher {
                    slots.extend(branches.iter().flat_map(|branch| branch.slots.iter().copied()));
                }
            }
            Ok(Branch { parts, slots: slots.into() })
        };
        let branches: Result<Vec<Branch>, _> = branches.into_iter().map(branch).collect();
        Ok(Matcher::Either(branches?.into()))
    }
}

fn run_to_literal(
    table: Box<Table>,
    min: usize,
    mode: Mode,
    literal: &[u8],
) -> Result<Matcher, &'static str> {
    let inside = literal.iter().position(|byte| !table[usize::from(*byte)]);
    Ok(match (mode, inside) {
        (Mode::Lazy, _) => {
            let takes_all = table.iter().all(|takes| *takes);
            let literal = Box::new(Finder::new(literal).into_owned());
            Matcher::RunToFirst { table, takes_all, min, literal }
        }
        // A possessive run would take the literal's first bytes and never give them back.
        (Mode::Possessive, None | Some(1..)) => {
            return Err("a possessive repeat that takes what follows it");
        }
        (_, Some(inside)) => Matcher::RunTo { table, min, inside, literal: literal.into() },
        (Mode::Greedy, None) => Matcher::RunToLast { table, min, literal: literal.into() },
    })
}

impl Follow {
    /// The expression ends.
    pub(super) fn anything() -> Follow {
        Follow { table: [false; 256], open: true }
    }

    fn nothing() -> Follow {
        Follow { table: [false; 256], open: false }
    }

    /// True when what follows begins with nothing of the table.
    fn is_apart(&self, table: &Table) -> bool {
        !self.open && !self.table.iter().zip(table).any(|(one, other)| *one && *other)
    }

    fn add(&mut self, table: &Table) {
        for (known, more) in self.table.iter_mut().zip(table) {
            *known |= more;
        }
    }
}

impl Matcher {
    /// What may come where this part begins.
    fn before(&self, follow: &Follow) -> Follow {
        let mut firsts = Follow::nothing();
        match self {
            Matcher::Literal(literal) => firsts.table[usize::from(literal[0])] = true,
            Matcher::Run { table, min, .. } => {
                if *min == 0 {
                    firsts = follow.clone();
                }
                firsts.add(table);
            }
            Matcher::RunTo { table, min, literal, .. }
            | Matcher::RunToLast { table, min, literal } => {
                firsts.add(table);
                firsts.table[usize::from(literal[0])] |= *min == 0;
            }
            Matcher::RunToFirst { table, literal, .. } => {
                firsts.add(table);
                firsts.table[usize::from(literal.needle()[0])] = true;
            }
            Matcher::Words(words) => firsts.add(words.letters()),
            Matcher::Timestamp => {
                firsts.table[usize::from(b'0')..=usize::from(b'9')].fill(true);
            }
            Matcher::Either(branches) => {
                for branch in branches {
                    let first = branch.before(follow);
                    firsts.add(&first.table);
                    firsts.open |= first.open;
                }
            }
            Matcher::Look { .. } | Matcher::Check(_) => firsts = follow.clone(),
        }
        firsts
    }

    /// True when there is but one way to take this part, given what follows, so that a failure
    /// further on is one of all.
    fn is_rigid(&self, follow: &Follow) -> bool {
        match self {
            Matcher::Literal(_)
            | Matcher::RunTo { .. }
            | Matcher::Words(_)
            | Matcher::Timestamp
            | Matcher::Look { .. }
            | Matcher::Check(_) => true,
            Matcher::Run { table, min, max } => min == max || follow.is_apart(table),
            Matcher::RunToLast { .. } | Matcher::RunToFirst { .. } => false,
            Matcher::Either(branches) => {
                let mut taken = Follow::nothing();
                branches.iter().all(|branch| {
                    // Alone, it tells what the branch begins with, and whether it may be empty.
                    let first = branch.before(&Follow::anything());
                    let with = if first.open { branch.before(follow) } else { first };
                    let is_apart = !with.open && taken.is_apart(&with.table);
                    taken.add(&with.table);
                    is_apart && branch.is_rigid(follow)
                })
            }
        }
    }
}

impl Branch {
    fn before(&self, follow: &Follow) -> Follow {
        self.parts.iter().rev().fold(follow.clone(), |follow, part| part.matcher.before(&follow))
    }

    fn is_rigid(&self, follow: &Follow) -> bool {
        let mut follow = follow.clone();
        self.parts.iter().rev().all(|part| {
            let is_rigid = part.matcher.is_rigid(&follow);
            follow = part.matcher.before(&follow);
            is_rigid
        })
    }
}
