//! Brackets: `[a-z]`, `[^[:alpha:]_]`, `[[[:alnum:]]_%]`, `[a-z&&[^aeiou]]`.
//!
//! Invariant: a set inside a set is kept apart only where it cannot be merged (a negated one). Next
//! on the trip: [`super::parse`].

use super::SyntaxError;
use super::class::{self, Item, Set};
use super::escape::{Charset, Escaped};
use super::parse::Parser;

/// What one step through a bracket found.
enum Member {
    Char(char),
    Items(Vec<Item>),
}

impl Parser<'_> {
    /// After the opening bracket.
    pub(super) fn bracket(&mut self, start: usize, depth: usize) -> Result<Set, SyntaxError> {
        self.check_depth(start, depth)?;
        let negated = self.eat("^");
        let fold = self.flags.fold;
        let mut set = Set { negated, fold, ..Set::default() };
        let mut items = Vec::new();
        let mut is_first = true;
        loop {
            let at = self.position();
            // A bracket that would close an empty set is a character of it, if another closes it.
            if self.peek() == Some(']') && !(is_first && self.rest()[1..].contains(']')) {
                if is_first && set.within.is_empty() {
                    return Err(self.error(start, "an empty set of characters"));
                }
                self.bump();
                break;
            }
            if self.eat("&&") {
                let union = Set { fold, items: std::mem::take(&mut items), ..Set::default() };
                set.within.push(union);
                is_first = false;
                continue;
            }
            match self.member(start, depth)? {
                Member::Items(found) => items.extend(found),
                Member::Char(first) => {
                    let last = self.range_end(start, depth, &mut items)?.unwrap_or(first);
                    if last < first {
                        return Err(self.error(at, "a range whose end is before its start"));
                    }
                    items.push(Item::Range(first, last));
                }
            }
            is_first = false;
        }
        set.items = items;
        Ok(set)
    }

    /// After a character: the end of a range that begins with it. What follows the hyphen and is no
    /// character makes the hyphen one.
    fn range_end(
        &mut self,
        start: usize,
        depth: usize,
        items: &mut Vec<Item>,
    ) -> Result<Option<char>, SyntaxError> {
        let rest = self.rest();
        if !rest.starts_with('-') || rest.starts_with("-]") || rest.starts_with("-&&") {
            return Ok(None);
        }
        // `[a-[b]]`: a hyphen before a set is a hyphen.
        if rest.starts_with("-[") {
            return Ok(None);
        }
        self.bump();
        match self.member(start, depth)? {
            Member::Char(last) => Ok(Some(last)),
            Member::Items(found) => {
                items.push(Item::Range('-', '-'));
                items.extend(found);
                Ok(None)
            }
        }
    }

    fn member(&mut self, start: usize, depth: usize) -> Result<Member, SyntaxError> {
        let at = self.position();
        let Some(letter) = self.bump() else {
            return Err(self.error(start, "a set of characters that is not closed"));
        };
        match letter {
            '[' => {
                if let Some(items) = self.posix() {
                    return Ok(Member::Items(items));
                }
                let inner = self.bracket(at, depth + 1)?;
                let merges = !inner.negated && inner.within.is_empty();
                Ok(Member::Items(if merges { inner.items } else { vec![Item::Set(inner)] }))
            }
            '\\' => match self.peek() {
                Some('b') => {
                    self.bump();
                    Ok(Member::Char('\x08'))
                }
                Some('R' | 'X') => Ok(Member::Char(self.bump().expect("a letter was seen"))),
                Some('1'..='7') => {
                    let digits = self
                        .rest()
                        .bytes()
                        .take(3)
                        .take_while(|digit| (b'0'..=b'7').contains(digit));
                    let length = digits.count();
                    let value = u32::from_str_radix(&self.rest()[..length], 8).unwrap_or(0);
                    self.advance(length);
                    Ok(Member::Char(char::from_u32(value).unwrap_or('\0')))
                }
                _ => Ok(match self.escaped(at)? {
                    Escaped::Char(letter) => Member::Char(letter),
                    Escaped::Items(items) => Member::Items(items),
                }),
            },
            letter => Ok(Member::Char(letter)),
        }
    }

    /// After an opening bracket inside a bracket: `:alpha:]` or `:^alpha:]`.
    fn posix(&mut self) -> Option<Vec<Item>> {
        let rest = self.rest().strip_prefix(':')?;
        let (negated, name) = match rest.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let name = &name[..name.find(":]")?];
        let ranges = class::posix_ascii(name)?;
        self.advance(1 + usize::from(negated) + name.len() + 2);
        let unicode = class::posix_unicode(name).filter(|_| self.flags.charset != Charset::Ascii);
        Some(match unicode {
            Some(named) => vec![Item::Named { named, negated }],
            None if negated => class::complement(ranges)
                .iter()
                .map(|(first, last)| Item::Range(*first, *last))
                .collect(),
            None => ranges.iter().map(|(first, last)| Item::Range(*first, *last)).collect(),
        })
    }
}
