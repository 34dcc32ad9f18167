//! Names and values of pairs with characters taken out of them, and in another case.
//!
//! Invariant: what has nothing to change stays a place in the line; only what differs is written
//! anew. Next on the trip: [`super::KeyValue`] saves the pair.

use super::super::looked_at;
use super::super::writer::Writer;
use crate::fields::Piece;

/// The case that a name or a value is put into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LetterCase {
    /// `lowercase`
    Lower,
    /// `uppercase`
    Upper,
    /// `capitalize`: the first letter upper case, all others lower case.
    Capital,
}

/// What is done to a name or a value, in this order.
#[derive(Clone, Copy)]
pub(super) struct Change<'o> {
    /// Characters that are taken out wherever they stand.
    pub(super) remove: &'o str,
    pub(super) case: Option<LetterCase>,
}

impl Change<'_> {
    /// A part of the line, changed.
    pub(super) fn of(self, writer: &mut Writer<'_>, (start, end): (usize, usize)) -> Piece {
        let text = &writer.text[start..end];
        let is_removed = |letter: char| self.remove.contains(letter);
        let as_it_is = match self.case {
            _ if text.contains(is_removed) => false,
            None => true,
            Some(_) => text.is_empty(),
        };
        if as_it_is {
            return Piece::Text(start as u32, end as u32);
        }
        looked_at(text.len());
        writer.fields.compose(|buffer| {
            let letters = text.chars().filter(|letter| !is_removed(*letter));
            for (index, letter) in letters.enumerate() {
                match self.case {
                    Some(LetterCase::Upper) => buffer.extend(letter.to_uppercase()),
                    Some(LetterCase::Capital) if index == 0 => {
                        buffer.extend(letter.to_uppercase());
                    }
                    Some(_) => buffer.extend(letter.to_lowercase()),
                    None => buffer.push(letter),
                }
            }
        })
    }
}
