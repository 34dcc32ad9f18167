//! How a format hands over what it finds.
//!
//! Invariant: a field goes through here, so that types are applied and limits kept in one place.
//! Next on the trip: [`crate::fields`].

use super::{FieldConversion, FieldKind};
use crate::fields::{Duplicates, Fields, Piece, to_finite, to_whole};
use crate::grok::Reason;

/// The line, and where its fields go.
pub(super) struct Writer<'w> {
    pub(super) text: &'w str,
    pub(super) fields: &'w mut Fields,
    pub(super) types: &'w [(String, FieldConversion)],
    pub(super) names: Names,
}

/// Names that differ between a format by itself and the same format among others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) time: &'static str,
    pub(super) host: &'static str,
}

impl Names {
    /// As a format by itself has them.
    pub(super) const ALONE: Names = Names { time: "time", host: "hostname" };
}

/// What a format answers: `Err` is why the line is unmatched.
pub(super) type Read = Result<(), Reason>;

impl Writer<'_> {
    /// The place of a part of the text.
    pub(super) fn piece(&self, part: &str) -> Piece {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        debug_assert!(start + part.len() <= self.text.len());
        Piece::Text(start as u32, (start + part.len()) as u32)
    }

    /// Adds a text that stands in the line, under a name that the format gives.
    pub(super) fn part(&mut self, name: &'static str, part: &str) -> Read {
        let value = self.piece(part);
        self.add(Piece::Fixed(name), value, FieldKind::Text, Duplicates::All)
    }

    /// Adds a whole number that stands in the line; a text that is none stays a text.
    pub(super) fn whole(&mut self, name: &'static str, part: &str) -> Read {
        let kind = if part.parse::<i64>().is_ok() { FieldKind::Int } else { FieldKind::Text };
        let value = self.piece(part);
        self.add(Piece::Fixed(name), value, kind, Duplicates::All)
    }

    /// Adds a text that does not stand in the line.
    pub(super) fn fixed(&mut self, name: &'static str, text: &'static str) -> Read {
        let value = Piece::Fixed(text);
        self.add(Piece::Fixed(name), value, FieldKind::Text, Duplicates::All)
    }

    /// Adds a field; a text is converted where a type is named for it.
    pub(super) fn add(
        &mut self,
        name: Piece,
        value: Piece,
        kind: FieldKind,
        duplicates: Duplicates,
    ) -> Read {
        let kind = match kind {
            FieldKind::Text if !self.types.is_empty() => self.converted(name, value),
            kind => kind,
        };
        self.fields.push((name, value, kind), duplicates, self.text)
    }

    fn converted(&self, name: Piece, value: Piece) -> FieldKind {
        let name = self.fields.show(name, self.text);
        let Ok(found) = self.types.binary_search_by(|(known, _)| known.as_str().cmp(name)) else {
            return FieldKind::Text;
        };
        let value = self.fields.show(value, self.text);
        match self.types[found].1 {
            FieldConversion::Int if to_whole(value).is_some() => FieldKind::Int,
            FieldConversion::Float if to_finite(value).is_some() => FieldKind::Float,
            _ => FieldKind::Text,
        }
    }
}
