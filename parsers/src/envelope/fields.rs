//! What an envelope says beside its line: dotted paths and their texts, in one buffer.
//!
//! Invariant: a field costs no allocation of its own once the buffer has grown; a path that stands
//! twice has its last text. Next on the trip: the files of the shippers fill it.

use std::fmt;

/// Scalars of an envelope by their dotted path, in the order they were found.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct EnvelopeFields {
    // Invariant: path and value of every field, one behind the other.
    text: String,
    places: Vec<Place>,
    // Invariant: the signs of all paths, and of no other. Rules ask every record for paths that
    // most shippers do not write: those cost a look at this.
    signs: u128,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    path: u32,
    value: u32,
    end: u32,
}

impl EnvelopeFields {
    /// No fields.
    pub fn new() -> EnvelopeFields {
        EnvelopeFields::default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of all paths and texts.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Path and text of each.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.places.iter().map(|place| self.show(*place))
    }

    /// The text of a path, of several the last.
    pub fn get(&self, path: &str) -> Option<&str> {
        if self.signs & sign(path) == 0 {
            return None;
        }
        let found = self.places.iter().rev().find(|place| {
            (place.value - place.path) as usize == path.len() && self.show(**place).0 == path
        });
        found.map(|place| self.show(*place).1)
    }

    /// Adds one.
    pub fn push(&mut self, path: &str, value: &str) {
        self.push_with(path, |text| text.push_str(value));
    }

    /// Adds one whose text `write` appends.
    pub(super) fn push_with(&mut self, path: &str, write: impl FnOnce(&mut String)) {
        let start = self.text.len() as u32;
        self.text.push_str(path);
        let value = self.text.len() as u32;
        self.signs |= sign(path);
        write(&mut self.text);
        self.places.push(Place { path: start, value, end: self.text.len() as u32 });
    }

    /// Takes away all but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(place) = self.places.get(len) {
            self.text.truncate(place.path as usize);
            self.places.truncate(len);
            self.signs = self.iter().fold(0, |signs, (path, _)| signs | sign(path));
        }
    }

    fn show(&self, place: Place) -> (&str, &str) {
        let path = &self.text[place.path as usize..place.value as usize];
        (path, &self.text[place.value as usize..place.end as usize])
    }
}

/// One bit by a path's length and last byte: what tells the paths of one envelope apart best.
#[inline]
fn sign(path: &str) -> u128 {
    let last = path.as_bytes().last().copied().unwrap_or_default();
    1 << ((path.len() * 31 + usize::from(last)) % 128)
}

impl fmt::Debug for EnvelopeFields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<P: AsRef<str>, V: AsRef<str>> FromIterator<(P, V)> for EnvelopeFields {
    fn from_iter<I: IntoIterator<Item = (P, V)>>(given: I) -> EnvelopeFields {
        let mut fields = EnvelopeFields::new();
        for (path, value) in given {
            fields.push(path.as_ref(), value.as_ref());
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_text_of_a_path_counts() {
        let mut fields: EnvelopeFields =
            [("a", "1"), ("a.b", ""), ("a", "2")].into_iter().collect();
        assert_eq!(
            (fields.get("a"), fields.get("a.b"), fields.get("b")),
            (Some("2"), Some(""), None)
        );
        fields.truncate(2);
        assert_eq!(fields.get("a"), Some("1"));
        fields.truncate(5);
        fields.push("c", "训");
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", "1"), ("a.b", ""), ("c", "训")]);
        assert_eq!((fields.len(), fields.bytes()), (3, 9));
    }
}
