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
        write(&mut self.text);
        self.places.push(Place { path: start, value, end: self.text.len() as u32 });
    }

    /// Takes away all but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(place) = self.places.get(len) {
            self.text.truncate(place.path as usize);
            self.places.truncate(len);
        }
    }

    fn show(&self, place: Place) -> (&str, &str) {
        let path = &self.text[place.path as usize..place.value as usize];
        (path, &self.text[place.value as usize..place.end as usize])
    }
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
