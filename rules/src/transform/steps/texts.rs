//! Actions that write texts otherwise.
//!
//! Invariant: values that are no texts, and texts that come out as they were, are left alone. Next
//! stop: `reparse`, for the one action that parses.
use riverhog_parsers::fields::FieldKind;

use super::super::view::View;
use super::edit::{ADDED_BYTES_MAX, Edit, Entry, Failed};
use super::fields::text_of;
use crate::step::{Gsub, Restyle, Target};

/// Writes each text of a target anew. `write` appends the new text, or answers that it is as it
/// was.
fn rewrite(
    edit: &mut Edit,
    base: &View<'_>,
    (target, made): (&Target, bool),
    mut write: impl FnMut(&str, &mut String) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let mut new = String::new();
    if let Target::Field(name) = target {
        let mut result = Ok(());
        let mut at = edit.find(name, 0);
        while let Some(index) = at {
            let entry = edit.entries[index];
            new.clear();
            if entry.kind == FieldKind::Text {
                let written = match write(edit.show(entry.value), &mut new) {
                    Ok(true) => edit.add(&new).map(Some),
                    Ok(false) => Ok(None),
                    Err(failed) => Err(failed),
                };
                match written {
                    Ok(Some(value)) => {
                        let made = made || entry.made;
                        edit.entries[index] = Entry { value, made, ..entry };
                    }
                    Ok(None) => {}
                    Err(failed) => result = Err(failed),
                }
            }
            at = edit.find(name, index + 1);
        }
        return result;
    }
    let Some((text, _, was_made)) = text_of(edit, base, target) else { return Ok(()) };
    if write(&text, &mut new)? {
        edit.set(target, (&new, FieldKind::Text), made || was_made)?;
    }
    Ok(())
}

/// Writes letters or ends otherwise.
pub(super) fn restyle(
    edit: &mut Edit,
    base: &View<'_>,
    style: Restyle,
    targets: &[Target],
) -> Result<(), Failed> {
    let mut result = Ok(());
    for target in targets {
        let written = rewrite(edit, base, (target, false), |text, out| {
            match style {
                Restyle::Lowercase => out.extend(text.chars().flat_map(char::to_lowercase)),
                Restyle::Uppercase => out.extend(text.chars().flat_map(char::to_uppercase)),
                Restyle::Trim => out.push_str(text.trim()),
            }
            Ok(out != text)
        });
        result = written.and(result);
    }
    result
}

/// Replaces what a regular expression matches.
pub(super) fn gsub(edit: &mut Edit, base: &View<'_>, gsub: &Gsub) -> Result<(), Failed> {
    rewrite(edit, base, (&gsub.field, true), |text, out| {
        gsub.write(text, ADDED_BYTES_MAX, out).map_err(|()| Failed)
    })
}

/// Cuts values at a number of bytes.
pub(super) fn truncate(
    edit: &mut Edit,
    base: &View<'_>,
    limits: &[(Target, usize)],
) -> Result<(), Failed> {
    let mut result = Ok(());
    for (target, bytes_max) in limits {
        let written = rewrite(edit, base, (target, false), |text, out| {
            out.push_str(&text[..text.floor_char_boundary(*bytes_max)]);
            Ok(out.len() < text.len())
        });
        result = written.and(result);
    }
    result
}
