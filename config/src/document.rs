//! The configuration as a tree of values that know where they stand. Invariant: strings are fully
//! resolved (`${NAME}`), yet every byte of them still leads back to its place in the file; entries
//! keep the order of the text. Next stop: `reader.rs`, which asks this tree for settings.

mod files;
mod interpolate;
mod strings;

pub(crate) use files::read;
pub(crate) use strings::PositionMap;

use crate::diagnostic::Place;
use std::ops::Range;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(Text),
    /// As written; it may not fit any integer type.
    Integer(String),
    Float(String),
    Flag(bool),
    /// As TOML writes it.
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What it is, for "expected …, found …".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number with a fraction",
            Self::Flag(_) => "a boolean",
            Self::Datetime(_) => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

/// Entries in the order of the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// A resolved string.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) value: String,
    /// The whole literal, quotes included.
    pub(crate) place: Place,
    /// The text as the file has it; present when something in it came from outside the file.
    written: Option<String>,
    /// A reference in it could not be resolved, which has been reported.
    pub(crate) unresolved: bool,
    map: PositionMap,
}

impl Text {
    /// A text that stands nowhere, such as a default; its place is the section's.
    pub(crate) fn fixed(value: &str, place: &Place) -> Self {
        let map = PositionMap::whole(place.span());
        let (place, written) = (place.clone(), None);
        Self { value: value.to_owned(), place, written, unresolved: false, map }
    }

    /// Something in it came from the environment or a secret file, and must not be printed.
    pub(crate) fn is_secret(&self) -> bool {
        self.written.is_some()
    }

    /// What may be printed: the value, or the text with `${NAME}` unexpanded.
    pub(crate) fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.value)
    }

    /// Where these bytes of the value stand in the file.
    pub(crate) fn place_of(&self, range: Range<usize>) -> Place {
        Place::new(self.place.file(), self.map.source_of(range))
    }
}
