//! Actions that give values: by a template, from a table, as a hash.
//!
//! Invariant: where there is nothing to give, the event stays as it is. Next stop: `fields`.
use riverhog_parsers::fields::FieldKind;
use sha2::{Digest, Sha256};

use super::super::bind::Slot;
use super::super::record::push_text;
use super::super::view::{Bind, View};
use super::edit::{Edit, Failed};
use crate::json::{write_float, write_int};
use crate::step::{Lookup, Target};
use crate::table::{CellKind, Table};
use crate::template::Template;
use crate::value::{Value, Values};
use crate::zone::Zone;

/// Gives values by templates, in order; each sees what the one before gave.
pub(super) fn set(
    edit: &mut Edit,
    base: &View<'_>,
    given: &[(Target, Template)],
    (slots, zone): (&[Vec<Slot>], Zone),
) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    let mut result = Ok(());
    for ((target, template), slots) in given.iter().zip(slots) {
        bytes.clear();
        let view = edit.view(base);
        let values = Bind(&view, slots);
        let kind = match template.single().map(|name| values.value(name, 0)) {
            Some(None) => continue,
            Some(Some(Value::Int(number))) => {
                write_int(&mut bytes, number);
                FieldKind::Int
            }
            Some(Some(Value::Float(number))) if number.is_finite() => {
                write_float(&mut bytes, number);
                FieldKind::Float
            }
            _ => {
                if template.write_text(&values, zone, &mut bytes).is_err() {
                    continue;
                }
                FieldKind::Text
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        result = edit.set(target, (&text, kind), true).and(result);
    }
    result
}

/// Gives what a table says about a value.
pub(super) fn lookup(
    edit: &mut Edit,
    base: &View<'_>,
    (lookup, table): (&Lookup, &Table),
    slot: Slot,
) -> Result<(), Failed> {
    let mut key = String::new();
    let row = push_text(&mut key, slot, &edit.view(base)).then(|| table.get(&key)).flatten();
    let mut result = Ok(());
    for (column, target) in &lookup.columns {
        let given = match row {
            Some(row) => row.cell(*column).map(|cell| {
                let kind = match cell.kind {
                    CellKind::Text => FieldKind::Text,
                    CellKind::Number => FieldKind::Number,
                    CellKind::Bool => FieldKind::Bool,
                };
                (&*cell.text, kind)
            }),
            None => lookup.default.as_deref().map(|text| (text, FieldKind::Text)),
        };
        if let Some(given) = given {
            result = edit.set(target, given, false).and(result);
        }
    }
    result
}

/// Gives the hash of several values: the first half of a SHA-256, so that nobody finds two lines
/// with one.
pub(super) fn fingerprint(
    edit: &mut Edit,
    base: &View<'_>,
    (slots, into): (&[Slot], &Target),
) -> Result<(), Failed> {
    use std::fmt::Write as _;
    let mut hasher = Sha256::new();
    let mut text = String::new();
    for slot in slots {
        text.clear();
        let present = push_text(&mut text, *slot, &edit.view(base));
        let length = if present { text.len() as u64 } else { u64::MAX };
        hasher.update(length.to_le_bytes());
        hasher.update(&text);
    }
    text.clear();
    for byte in hasher.finalize().iter().take(16) {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
    }
    edit.set(into, (&text, FieldKind::Text), false)
}
