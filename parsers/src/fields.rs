//! What a built-in format found in a line: names and values, as places in the line.
//!
//! Invariant: a name or value is a place in the text that was parsed, or in the buffer beside it
//! where it had to be put together (an escape taken off, a prefix); every place lies on character
//! boundaries. A value is converted where it is read, never copied. Reused from line to line, so
//! that a worker soon allocates nothing. Next on the trip: `rules` makes event fields of them.

use crate::grok::Reason;

/// A line with more fields than this, repeated ones included, is no record of anything, and
/// unmatched.
pub const FIELDS_MAX: usize = 1024;
/// Longer names are no names.
pub const NAME_BYTES_MAX: usize = 512;
/// Longer texts are not looked at: places are 32 bits wide.
pub const TEXT_BYTES_MAX: usize = 256 << 20;

/// How a field's text is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FieldKind {
    /// As it stands.
    #[default]
    Text,
    /// A whole number, see [`to_whole`].
    Int,
    /// A finite number.
    Float,
    /// A number as JSON writes it, of any size.
    Number,
    /// `true` or `false`.
    Bool,
    /// Nothing: JSON's null.
    Null,
    /// An array or an empty object, valid JSON as it stands.
    Json,
}

/// A field's value, converted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FieldValue<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A JSON number as it was written; it may be beyond what i64 and f64 hold.
    Number(&'a str),
    /// A truth value.
    Bool(bool),
    /// Nothing.
    Null,
    /// Valid JSON as it was written; it may hold line ends between its tokens.
    Json(&'a str),
}

/// One field as it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// The name; steps of nested objects are joined by dots.
    pub name: &'a str,
    /// The text of the value.
    pub text: &'a str,
    /// How the text is meant.
    pub kind: FieldKind,
}

impl<'a> Field<'a> {
    /// The value, converted as its kind says.
    pub fn value(&self) -> FieldValue<'a> {
        let text = self.text;
        match self.kind {
            FieldKind::Text => FieldValue::Text(text),
            FieldKind::Int => to_whole(text).map_or(FieldValue::Text(text), FieldValue::Int),
            FieldKind::Float => to_finite(text).map_or(FieldValue::Text(text), FieldValue::Float),
            FieldKind::Number => FieldValue::Number(text),
            FieldKind::Bool => FieldValue::Bool(text == "true"),
            FieldKind::Null => FieldValue::Null,
            FieldKind::Json => FieldValue::Json(text),
        }
    }
}

/// 2^63, the first float beyond i64.
const WHOLE_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// A decimal number cut to a whole one: `7`, `+7`, `27.9` is 27, `1e3` is 1000. `None` for anything
/// else and beyond i64.
pub fn to_whole(text: &str) -> Option<i64> {
    if let Ok(whole) = text.parse() {
        return Some(whole);
    }
    let float = to_finite(text)?.trunc();
    (-WHOLE_LIMIT..WHOLE_LIMIT).contains(&float).then_some(float as i64)
}

/// A decimal number: digits with an optional sign, fraction and exponent. `None` for anything else
/// (`inf` and `nan` too) and beyond f64.
pub fn to_finite(text: &str) -> Option<f64> {
    let decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    if !text.bytes().all(decimal) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A place in the text, in the buffer, or a name that the format itself gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    Text(u32, u32),
    Buffer(u32, u32),
    Fixed(&'static str),
}

/// What becomes of a second field of one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Duplicates {
    /// All values are kept; the event gets an array.
    #[default]
    All,
    /// As `All`, but a value that is there already is left out.
    Distinct,
    /// The first value stays.
    First,
    /// The last value takes the place of those before it.
    Last,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    name: Piece,
    value: Piece,
    kind: FieldKind,
    hash: u32,
    /// The first field of this name.
    first: u32,
    /// The next field of this name, or `NONE`.
    next: u32,
    /// Of a first field: the last one of its name.
    last: u32,
}

const NONE: u32 = u32::MAX;

/// The fields of one line.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    items: Vec<Item>,
    /// Fields that were given, those that took the place of others included: a name that comes
    /// again and again is put together each time.
    given: usize,
    buffer: String,
    /// Open addressing over the first field of each name; entries of an older `stamp` are empty.
    slots: Vec<(u32, u32)>,
    stamp: u32,
    /// See [`Fields::time_format`].
    pub(crate) time_format: Option<u8>,
    /// Places that a format notes while it reads.
    pub(crate) places: Vec<(u32, u32)>,
    /// Names compared: what the time goes into; read by tests.
    #[cfg(test)]
    pub(crate) steps: usize,
}

impl Fields {
    /// No fields.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Forgets all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.given = 0;
        self.buffer.clear();
        self.places.clear();
        self.time_format = None;
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.slots.fill((0, NONE));
            self.stamp = 1;
        }
    }

    /// How many fields there are, those of one name counted singly.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How this line's time is written, as an index into the formats of
    /// [`crate::formats::Format::time`]; `None` where the format leaves it to trying them in order.
    pub fn time_format(&self) -> Option<usize> {
        self.time_format.map(usize::from)
    }

    /// The field at an index, in the order in which it was found; `text` is what was parsed.
    pub fn get<'a>(&'a self, index: usize, text: &'a str) -> Option<Field<'a>> {
        let item = self.items.get(index)?;
        let (name, value) = (self.show(item.name, text), self.show(item.value, text));
        Some(Field { name, text: value, kind: item.kind })
    }

    /// All fields.
    pub fn iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Field<'a>> {
        (0..self.len()).filter_map(move |index| self.get(index, text))
    }

    /// Where the value stands in the parsed text; `None` for one that was put together.
    pub fn place(&self, index: usize) -> Option<std::ops::Range<usize>> {
        match self.items.get(index)?.value {
            Piece::Text(start, end) => Some(start as usize..end as usize),
            _ => None,
        }
    }

    /// The hash of the name, as [`name_hash`] gives it; 0 where there is no such field.
    pub fn hash_of(&self, index: usize) -> u32 {
        self.items.get(index).map_or(0, |item| item.hash)
    }

    /// True for the first field of its name.
    pub fn is_first(&self, index: usize) -> bool {
        self.items.get(index).is_some_and(|item| item.first as usize == index)
    }

    /// The next field of the same name.
    pub fn next_of_name(&self, index: usize) -> Option<usize> {
        let next = self.items.get(index)?.next;
        (next != NONE).then_some(next as usize)
    }

    /// The first field of a name.
    pub fn find(&self, name: &str, text: &str) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = name_hash(name);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (stamp, index) = self.slots[slot];
            if stamp != self.stamp {
                return None;
            }
            let item = &self.items[index as usize];
            if item.hash == hash && self.show(item.name, text) == name {
                return Some(index as usize);
            }
            slot = (slot + 1) & mask;
        }
    }

    pub(crate) fn show<'a>(&'a self, piece: Piece, text: &'a str) -> &'a str {
        let cut = |text: &'a str, start: u32, end: u32| {
            text.get(start as usize..end as usize).unwrap_or_default()
        };
        match piece {
            Piece::Text(start, end) => cut(text, start, end),
            Piece::Buffer(start, end) => cut(&self.buffer, start, end),
            Piece::Fixed(name) => name,
        }
    }

    /// Writes a text into the buffer.
    pub(crate) fn compose(&mut self, write: impl FnOnce(&mut String)) -> Piece {
        let start = self.buffer.len() as u32;
        write(&mut self.buffer);
        Piece::Buffer(start, self.buffer.len() as u32)
    }

    /// As [`Fields::compose`], of pieces.
    pub(crate) fn join(&mut self, parts: &[Piece], text: &str) -> Piece {
        let start = self.buffer.len();
        for part in parts {
            match *part {
                Piece::Text(from, to) => {
                    self.buffer.push_str(text.get(from as usize..to as usize).unwrap_or_default());
                }
                Piece::Buffer(from, to) => {
                    self.buffer.extend_from_within(from as usize..to as usize);
                }
                Piece::Fixed(part) => self.buffer.push_str(part),
            }
        }
        Piece::Buffer(start as u32, self.buffer.len() as u32)
    }

    /// Writes `glue` and a piece behind one that was written last.
    pub(crate) fn extend(&mut self, whole: Piece, glue: &str, added: Piece, text: &str) -> Piece {
        let Piece::Buffer(start, end) = whole else { return whole };
        debug_assert_eq!(end as usize, self.buffer.len());
        self.buffer.push_str(glue);
        let _added = self.join(&[added], text);
        Piece::Buffer(start, self.buffer.len() as u32)
    }

    /// Adds a field.
    ///
    /// # Errors
    /// `Limit`, when there are too many.
    pub(crate) fn push(
        &mut self,
        (name, value, kind): (Piece, Piece, FieldKind),
        duplicates: Duplicates,
        text: &str,
    ) -> Result<(), Reason> {
        self.given += 1;
        if self.given > FIELDS_MAX {
            return Err(Reason::Limit);
        }
        self.make_room(text);
        let index = self.items.len() as u32;
        let hash = name_hash(self.show(name, text));
        let mut item = Item { name, value, kind, hash, first: index, next: NONE, last: index };
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].0 == self.stamp {
            #[cfg(test)]
            {
                self.steps += 1;
            }
            let first = self.slots[slot].1;
            let known = self.items[first as usize];
            if known.hash == hash && self.show(known.name, text) == self.show(name, text) {
                match duplicates {
                    Duplicates::First => return Ok(()),
                    Duplicates::Last => {
                        let known = &mut self.items[first as usize];
                        (known.value, known.kind) = (value, kind);
                        return Ok(());
                    }
                    Duplicates::Distinct if self.has_value(first, value, text) => return Ok(()),
                    Duplicates::All | Duplicates::Distinct => {}
                }
                item.first = first;
                self.items[known.last as usize].next = index;
                self.items[first as usize].last = index;
                self.items.push(item);
                return Ok(());
            }
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = (self.stamp, index);
        self.items.push(item);
        Ok(())
    }

    fn has_value(&self, first: u32, value: Piece, text: &str) -> bool {
        let value = self.show(value, text);
        let mut at = first;
        while at != NONE {
            let item = &self.items[at as usize];
            if self.show(item.value, text) == value {
                return true;
            }
            at = item.next;
        }
        false
    }

    /// At most a quarter of the slots is taken, so that a search ends soon.
    fn make_room(&mut self, text: &str) {
        if self.slots.len() > 4 * self.items.len() + 1 {
            return;
        }
        let length = (8 * self.items.len()).next_power_of_two().max(64);
        self.slots.clear();
        self.slots.resize(length, (self.stamp.wrapping_sub(1), NONE));
        let mask = length - 1;
        for index in 0..self.items.len() {
            let item = self.items[index];
            debug_assert_eq!(name_hash(self.show(item.name, text)), item.hash);
            if item.first as usize != index {
                continue;
            }
            let mut slot = item.hash as usize & mask;
            while self.slots[slot].0 == self.stamp {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = (self.stamp, index as u32);
        }
    }
}

/// A hash of a name, for tables that are asked about many lines.
///
/// Eight bytes at a time: names are short, and the number of fields is bounded whoever chooses
/// them, so that mixing well is all that is asked for.
pub fn name_hash(name: &str) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = name.len() as u64;
    // Both halves of the product: names that differ in their last letter differ everywhere.
    let mut mix = |word: u64| {
        let product = u128::from(hash ^ word ^ FACTOR) * u128::from(FACTOR);
        hash = (product >> 64) as u64 ^ product as u64;
    };
    let (words, rest) = name.as_bytes().as_chunks::<8>();
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(last);
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(names: &[&str], duplicates: Duplicates) -> (String, Fields) {
        let text = names.concat();
        let mut fields = Fields::new();
        fields.clear();
        let mut at = 0;
        for name in names {
            let piece = Piece::Text(at, at + name.len() as u32);
            at += name.len() as u32;
            let value = fields.compose(|buffer| buffer.push_str(&at.to_string()));
            fields.push((piece, value, FieldKind::Int), duplicates, &text).unwrap();
        }
        (text, fields)
    }

    #[track_caller]
    fn check(names: &[&str], duplicates: Duplicates, expect: &[(&str, i64)]) {
        let (text, fields) = filled(names, duplicates);
        let found: Vec<_> = fields.iter(&text).map(|field| (field.name, field.value())).collect();
        let expect: Vec<_> =
            expect.iter().map(|(name, value)| (*name, FieldValue::Int(*value))).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn duplicates() {
        let names = ["a", "b", "a", "a"];
        check(&names, Duplicates::All, &[("a", 1), ("b", 2), ("a", 3), ("a", 4)]);
        check(&names, Duplicates::Distinct, &[("a", 1), ("b", 2), ("a", 3), ("a", 4)]);
        check(&names, Duplicates::First, &[("a", 1), ("b", 2)]);
        check(&names, Duplicates::Last, &[("a", 4), ("b", 2)]);
        let (text, fields) = filled(&names, Duplicates::All);
        assert_eq!((fields.next_of_name(0), fields.next_of_name(2)), (Some(2), Some(3)));
        assert_eq!((fields.next_of_name(3), fields.next_of_name(1)), (None, None));
        assert_eq!((fields.find("b", &text), fields.find("c", &text)), (Some(1), None));
        assert!(fields.is_first(0) && !fields.is_first(2));
    }

    #[test]
    fn numbers() {
        let check = |text: &str, whole: Option<i64>, finite: Option<f64>| {
            assert_eq!((to_whole(text), to_finite(text)), (whole, finite), "{text:?}");
        };
        check("7", Some(7), Some(7.0));
        check("+7", Some(7), Some(7.0));
        check("27.9", Some(27), Some(27.9));
        check("-27.9", Some(-27), Some(-27.9));
        check("1e3", Some(1000), Some(1000.0));
        check("9223372036854775808", None, Some(9_223_372_036_854_775_808.0));
        for text in ["", "1_0", "0x1", "inf", "nan", " 1", "1e999", "-", "."] {
            check(text, None, None);
        }
    }

    #[test]
    fn the_number_of_fields_is_bounded_and_reuse_is_clean() {
        let mut fields = Fields::new();
        for round in 0..3 {
            fields.clear();
            for index in 0..FIELDS_MAX {
                let text = format!("{round}.{index}");
                let name = fields.compose(|buffer| buffer.push_str(&text));
                fields.push((name, name, FieldKind::Text), Duplicates::All, "").unwrap();
            }
            let over = (Piece::Fixed("x"), Piece::Fixed("x"), FieldKind::Text);
            assert_eq!(fields.push(over, Duplicates::All, ""), Err(Reason::Limit));
            assert_eq!(fields.find(&format!("{round}.77"), ""), Some(77));
            assert_eq!(fields.find(&format!("{}.77", round + 1), ""), None);
        }
        assert!(fields.steps < 3 * 4 * FIELDS_MAX, "{}", fields.steps);
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_a_search(names in proptest::collection::vec("[a-c]{1,2}", 0..80)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (text, fields) = filled(&names, Duplicates::All);
            for (index, name) in names.iter().enumerate() {
                let first = names.iter().position(|known| known == name);
                prop_assert_eq!(fields.find(name, &text), first);
                prop_assert_eq!(fields.is_first(index), first == Some(index));
                let next = names[index + 1..].iter().position(|known| known == name);
                prop_assert_eq!(fields.next_of_name(index), next.map(|next| index + 1 + next));
            }
        }
    }
}
