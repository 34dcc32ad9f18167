//! Actions on whole fields: moved, taken away, given a type, split, joined.
//!
//! Invariant: several values of one name stay several, in their order. Next stop: `texts`.
use riverhog_parsers::fields::{FIELDS_MAX, FieldKind, to_finite, to_whole};

use super::super::view::View;
use super::edit::{Edit, Entry, Failed, Part};
use crate::json::{write_float, write_int};
use crate::step::{Conversion, NamePattern, Target};

/// Moves values; several of one name stay several.
pub(super) fn rename(
    edit: &mut Edit,
    base: &View<'_>,
    moved: &[(Target, Target)],
) -> Result<(), Failed> {
    let mut result = Ok(());
    for (from, to) in moved {
        let done = match (from, to) {
            (Target::Field(from), Target::Field(to)) => rename_field(edit, from, to),
            (Target::Metric(from), Target::Metric(to)) => edit.rename_metric(from, to),
            (from, to) if from == to => Ok(()),
            _ => match text_of(edit, base, from) {
                // What is not finite is `null` as a field too.
                Some((_, FieldKind::Null, _)) if is_metric_to_field(from, to) => {
                    let done = edit.set(to, ("", FieldKind::Null), false);
                    if done.is_ok() {
                        edit.remove(from);
                    }
                    done
                }
                // `null` is no value: a part of the event cannot be that word.
                Some((_, FieldKind::Null, _)) | None => Ok(()),
                Some((text, kind, made)) => {
                    let done = edit.set(to, (&text, kind), made);
                    if done.is_ok() {
                        edit.remove(from);
                    }
                    done
                }
            },
        };
        result = done.and(result);
    }
    result
}

fn is_metric_to_field(from: &Target, to: &Target) -> bool {
    matches!((from, to), (Target::Metric(_), Target::Field(_)))
}

fn rename_field(edit: &mut Edit, from: &str, to: &str) -> Result<(), Failed> {
    if from == to || edit.find(from, 0).is_none() {
        return Ok(());
    }
    let name = edit.add(to)?;
    edit.remove_fields(|known| known == to);
    let mut at = edit.find(from, 0);
    while let Some(index) = at {
        edit.entries[index].name = name;
        at = edit.find(from, index + 1);
    }
    Ok(())
}

/// A copy of the first value of a target.
pub(super) fn text_of(
    edit: &Edit,
    base: &View<'_>,
    target: &Target,
) -> Option<(String, FieldKind, bool)> {
    let view = edit.view(base);
    let part = |part: Part| matches!(part, Part::Given { made: true, .. });
    match target {
        Target::Level => Some((view.parsed.level?.as_str().to_owned(), FieldKind::Text, false)),
        Target::Rank => Some((view.parsed.rank?.to_string(), FieldKind::Int, false)),
        Target::Component => {
            let made = part(edit.component);
            Some((view.parsed.component?.to_owned(), FieldKind::Text, made))
        }
        Target::Content => {
            Some((view.parsed.content?.to_owned(), FieldKind::Text, part(edit.content)))
        }
        Target::Metric(name) => {
            let text = edit.metric_text(name)?;
            let kind = if text == "null" { FieldKind::Null } else { FieldKind::Float };
            Some((text.to_owned(), kind, false))
        }
        Target::Field(name) => {
            let entry = &edit.entries[edit.find(name, 0)?];
            Some((edit.show(entry.value).to_owned(), entry.kind, entry.made))
        }
    }
}

/// Takes every field away that no pattern names.
pub(super) fn keep(edit: &mut Edit, kept: &[NamePattern]) {
    edit.remove_fields(|name| !kept.iter().any(|pattern| pattern.matches(name)));
}

/// Gives the values of fields other types; those that have no such value stay what they are.
pub(super) fn convert(edit: &mut Edit, wanted: &[(Target, Conversion)]) -> Result<(), Failed> {
    let mut result = Ok(());
    for (target, conversion) in wanted {
        let Some(name) = target.field() else { continue };
        let mut at = edit.find(name, 0);
        while let Some(index) = at {
            let entry = edit.entries[index];
            if entry.kind != FieldKind::Null {
                result = convert_one(edit, index, entry, *conversion).and(result);
            }
            at = edit.find(name, index + 1);
        }
    }
    result
}

fn convert_one(
    edit: &mut Edit,
    index: usize,
    entry: Entry,
    conversion: Conversion,
) -> Result<(), Failed> {
    let text = edit.show(entry.value).trim();
    let mut number = Vec::new();
    let kind = match conversion {
        Conversion::Int => {
            write_int(&mut number, to_whole(text).ok_or(Failed)?);
            FieldKind::Int
        }
        Conversion::Float => {
            write_float(&mut number, to_finite(text).ok_or(Failed)?);
            FieldKind::Float
        }
        Conversion::Boolean => {
            number.extend_from_slice(truth(text).ok_or(Failed)?.as_bytes());
            FieldKind::Bool
        }
        Conversion::Text => {
            edit.entries[index].kind = FieldKind::Text;
            return Ok(());
        }
    };
    let value = edit.add(&String::from_utf8_lossy(&number))?;
    (edit.entries[index].value, edit.entries[index].kind) = (value, kind);
    Ok(())
}

fn truth(text: &str) -> Option<&'static str> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(&["true", "t", "yes", "y", "on", "1"]) {
        Some("true")
    } else {
        is_one_of(&["false", "f", "no", "n", "off", "0"]).then_some("false")
    }
}

/// Makes several values of the first one of a field.
pub(super) fn split(edit: &mut Edit, separators: &[(Target, String)]) -> Result<(), Failed> {
    let mut result = Ok(());
    for (target, separator) in separators {
        let Some(name) = target.field() else { continue };
        let Some(index) = edit.find(name, 0) else { continue };
        let entry = edit.entries[index];
        if entry.kind != FieldKind::Text {
            continue;
        }
        let text = edit.show(entry.value).to_owned();
        let parts = text.split(separator.as_str()).count();
        if edit.entries.len() + parts > FIELDS_MAX {
            result = Err(Failed);
            continue;
        }
        for (at, part) in (index..).zip(text.split(separator.as_str())) {
            let Ok(value) = edit.add(part) else {
                result = Err(Failed);
                break;
            };
            let piece = Entry { value, ..entry };
            if at == index {
                edit.entries[index] = piece;
            } else {
                edit.entries.insert(at, piece);
            }
        }
    }
    result
}

/// Makes one value of the several of a field.
pub(super) fn join(edit: &mut Edit, separators: &[(Target, String)]) -> Result<(), Failed> {
    let mut result = Ok(());
    for (target, separator) in separators {
        let Some(name) = target.field() else { continue };
        let Some(first) = edit.find(name, 0) else { continue };
        if edit.find(name, first + 1).is_none() {
            continue;
        }
        let mut whole = String::new();
        let mut at = Some(first);
        while let Some(index) = at {
            if index != first {
                whole.push_str(separator);
            }
            whole.push_str(edit.show(edit.entries[index].value));
            at = edit.find(name, index + 1);
        }
        result = edit.set(target, (&whole, FieldKind::Text), true).and(result);
    }
    result
}
