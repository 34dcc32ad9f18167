//! The numbers stop: which of a line's captures or fields are metrics.
//!
//! It runs behind the redaction, so that no name of a metric shows what was taken out of the line.
//! Invariant: a capture or field that became a part of the event is no metric. Next stop: `steps`,
//! which may change them.
use riverhog_parsers::fields::name_hash;

use super::view::Parsed;
use crate::numbers::{Found, of_capture};
use crate::plan::Plan;

/// Finds the metrics of a line, if its parser asks for them.
pub(super) fn read<'a>(
    plan: &Plan,
    is_wanted: bool,
    parsed: &mut Parsed<'a>,
    found: &'a mut Found,
) {
    read_behind(plan, is_wanted, parsed, (found, std::iter::empty()));
}

/// As [`read`], of a line whose event has metrics of these names already: they stay.
pub(super) fn read_behind<'a, 'n>(
    plan: &Plan,
    is_wanted: bool,
    parsed: &mut Parsed<'a>,
    (found, before): (&'a mut Found, impl Iterator<Item = &'n str>),
) {
    let Some(names) = plan.numbers.as_deref().filter(|_| is_wanted) else { return };
    found.clear();
    found.keep(names, before);
    if let Some(fields) = parsed.fields {
        for index in (0..fields.len()).filter(|index| !parsed.taken.has(*index)) {
            let Some(field) = fields.get(index, parsed.source) else { continue };
            let name = (field.name, fields.hash_of(index));
            found.take(names, index, name, (field.text, field.kind));
        }
    } else if let Some(rule) = parsed.rule {
        for (index, capture) in parsed.captures.iter().enumerate() {
            if capture.is_absent() || parsed.taken.has(index) {
                continue;
            }
            let field = &rule.fields[usize::from(capture.field)];
            let text = capture.text(parsed.source);
            if let Some(value) = of_capture(field.kind.value(text), text) {
                found.take(names, index, (&field.name, name_hash(&field.name)), value);
            }
        }
    }
    if !found.is_empty() {
        parsed.tags.not_finite |= found.not_finite();
        parsed.numbers = Some(found);
    }
}
