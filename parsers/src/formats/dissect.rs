//! Dissect: a mapping of delimiters and fields, `%{time} %{+time} %{level->} %{content}`.
//!
//! Invariant: the answers are Logstash's, its quirks included: a delimiter found at the very start
//! of the text does not advance, fields without a delimiter between them never match, and what
//! follows a last delimiter is dropped. A delimiter is searched from where the last one ended, so
//! a text is looked at once. Next on the trip: [`crate::fields`].

mod mapping;

use std::ops::Range;

use memchr::memmem::Finder;

use super::FormatError;
use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::grok::Reason;
pub use mapping::DissectSlip;
use mapping::{Mapping, Part, Role};

/// A compiled mapping.
#[derive(Clone, Debug)]
pub struct Dissect {
    /// Text before the first field; must stand at the start.
    prefix: String,
    parts: Vec<Part>,
    /// By part: finds the delimiter after it. Empty delimiters are never found.
    finders: Vec<Option<Finder<'static>>>,
    /// In the order of saving.
    saves: Vec<Save>,
    unresolved: Vec<Range<usize>>,
    slips: Vec<DissectSlip>,
}

/// A field of the line and the parts that make its value.
#[derive(Clone, Debug)]
struct Save {
    name: SavedName,
    /// The parts, each after the first with the text that goes before it.
    first: usize,
    appended: Vec<(String, usize)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SavedName {
    /// Dotted, and its steps.
    Fixed(String, Vec<String>),
    /// The value of this part.
    Found(usize),
}

impl Dissect {
    /// Compiles a mapping.
    ///
    /// # Errors
    /// A mapping without a field, a field without a name that needs one, and what is too long.
    pub fn compile(mapping: &str) -> Result<Dissect, FormatError> {
        let Mapping { prefix, parts, unresolved, slips } = mapping::read(mapping)?;
        let finders = parts
            .iter()
            .map(|part| {
                let found = !part.delimiter.is_empty();
                found.then(|| Finder::new(part.delimiter.as_bytes()).into_owned())
            })
            .collect();
        Ok(Dissect { prefix, saves: saves(&parts), parts, finders, unresolved, slips })
    }

    /// Fields such as `%{&name}` whose name no other field takes; Logstash lets them pass, and
    /// nothing is saved for them.
    pub fn unresolved(&self) -> &[Range<usize>] {
        &self.unresolved
    }

    /// What is hardly meant: fields that touch, with which no line matches, and a `%{` without its
    /// brace, which stands for itself or swallows what follows.
    pub fn slips(&self) -> &[DissectSlip] {
        &self.slips
    }

    /// The steps of a name: two for `[outer][inner]`, which fields call `outer.inner`. `None` for a
    /// name that comes from the line.
    pub fn steps(&self, name: &str) -> Option<&[String]> {
        self.saves.iter().find_map(|save| match &save.name {
            SavedName::Fixed(known, steps) if known == name => Some(steps.as_slice()),
            _ => None,
        })
    }

    /// The names of its fields; `None` where a name comes from the line.
    pub(super) fn names(&self) -> Option<Vec<&str>> {
        self.saves
            .iter()
            .map(|save| match &save.name {
                SavedName::Fixed(name, _) => Some(name.as_str()),
                SavedName::Found(_) => None,
            })
            .collect()
    }

    pub(super) fn read(&self, writer: &mut Writer<'_>) -> Read {
        let text = writer.text;
        if text.is_empty() || !text.starts_with(&self.prefix) {
            return Err(Reason::NoMatch);
        }
        let mut left = self.prefix.len();
        let last = self.parts.len() - 1;
        for (index, part) in self.parts.iter().enumerate() {
            if index == last && part.delimiter.is_empty() {
                writer.fields.places.push((left as u32, text.len() as u32));
                break;
            }
            let finder = self.finders[index].as_ref().ok_or(Reason::NoMatch)?;
            let found = finder.find(&text.as_bytes()[left..]).ok_or(Reason::NoMatch)? + left;
            super::looked_at(found - left);
            writer.fields.places.push((left as u32, found as u32));
            if found > 0 {
                left = found + part.delimiter.len();
                if part.is_padded {
                    while text[left..].starts_with(&part.delimiter) {
                        left += part.delimiter.len();
                    }
                }
            }
        }
        self.save(writer)
    }

    fn save(&self, writer: &mut Writer<'_>) -> Read {
        for save in &self.saves {
            let name = match &save.name {
                SavedName::Fixed(name, _) => writer.fields.compose(|buffer| buffer.push_str(name)),
                SavedName::Found(key) => {
                    let (start, end) = writer.fields.places[*key];
                    // A name that is empty names nothing.
                    if start == end {
                        continue;
                    }
                    Piece::Text(start, end)
                }
            };
            let mut value = place(writer, save.first);
            if !save.appended.is_empty() {
                value = writer.fields.join(&[value], writer.text);
                for (glue, index) in &save.appended {
                    let added = place(writer, *index);
                    value = writer.fields.extend(value, glue, added, writer.text);
                }
            }
            writer.add(name, value, FieldKind::Text, Duplicates::Last)?;
        }
        Ok(())
    }
}

/// Which field each part goes to. Of several plain fields of one name the last counts; what is
/// appended stands behind it, parted by the delimiter that stands before it in the mapping.
fn saves(parts: &[Part]) -> Vec<Save> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.retain(|index| parts[*index].role != Role::Skip);
    order.sort_by_key(|index| parts[*index].role.rank());
    let mut saves: Vec<Save> = Vec::new();
    for index in order {
        let name = match parts[index].role {
            Role::Indirect(key) => SavedName::Found(key),
            _ => SavedName::Fixed(parts[index].name.clone(), parts[index].steps.clone()),
        };
        let known = saves.iter_mut().find(|save| save.name == name);
        match (known, parts[index].role) {
            (Some(save), Role::Append { .. }) => {
                let before = index.checked_sub(1).map(|before| parts[before].delimiter.as_str());
                let glue = before.filter(|before| !before.is_empty()).unwrap_or(" ");
                save.appended.push((glue.to_owned(), index));
            }
            (Some(save), _) => save.first = index,
            (None, _) => saves.push(Save { name, first: index, appended: Vec::new() }),
        }
    }
    saves
}

fn place(writer: &Writer<'_>, index: usize) -> Piece {
    let (start, end) = writer.fields.places[index];
    Piece::Text(start, end)
}
