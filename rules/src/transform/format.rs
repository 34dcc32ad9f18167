//! What a built-in format found, as parts of the event and as its `fields`.
//!
//! Invariant: a field is one part of the event or one of its `fields`, never both and never
//! neither; values of one name are one member of the document. Next stop: `encode`.
use riverhog_parsers::fields::{FieldKind, FieldValue, Fields};

use super::bind::{BoundFormat, Role};
use super::parse::{give, take};
use super::times::{Zones, read_time};
use super::view::{Parsed, View};
use crate::json::{write_float, write_int, write_string};
use crate::plan::ParseRule;
use crate::value::Value;

/// Gives the fields their parts in the event.
pub(super) fn read(rule: &ParseRule, format: &BoundFormat, view: &mut View<'_>, zones: &mut Zones) {
    let (line, received_ns, parsed) = (view.line, view.received_ns, &mut view.parsed);
    let Some(fields) = parsed.fields else { return };
    let mut time_seen = false;
    for (index, field) in fields.iter(parsed.source).enumerate() {
        let text = field.text;
        match format.role(field.name) {
            // Members of JSON objects that are numbers are times too.
            Role::Time if parsed.time_ns.is_none() && field.kind != FieldKind::Null => {
                time_seen = true;
                let (known, place) = (fields.time_format(), (&*parsed, received_ns));
                let time = rule.time.as_ref();
                parsed.time_ns = time.and_then(|time| read_time((time, text), known, place, zones));
                take(&mut parsed.taken.time, index, parsed.time_ns.is_some());
            }
            Role::Rank if parsed.rank.is_none() => {
                parsed.rank = text.parse().ok();
                take(&mut parsed.taken.rank, index, parsed.rank.is_some());
            }
            _ if field.kind != FieldKind::Text => {}
            role => give(parsed, role, text, index),
        }
    }
    parsed.tags.time_failure = time_seen && parsed.time_ns.is_none();
    if parsed.content.is_none() {
        parsed.content = Some(line);
    }
}

/// The `nth` value of a field that rules read.
pub(super) fn value<'a>(
    fields: &'a Fields,
    format: &BoundFormat,
    parsed: &Parsed<'a>,
    (id, nth): (u16, usize),
) -> Option<Value<'a>> {
    let source = parsed.source;
    let first = fields.find(format.wanted.get(usize::from(id))?, source)?;
    let all = std::iter::successors(Some(first), |index| fields.next_of_name(*index));
    let is_metric = |index: &usize| parsed.numbers.is_some_and(|found| found.has_taken(*index));
    let index = all.filter(|index| !is_metric(index)).nth(nth)?;
    as_value(fields.get(index, source)?.value())
}

/// A field's value as rules see it; `None` for null.
pub(super) fn as_value(value: FieldValue<'_>) -> Option<Value<'_>> {
    Some(match value {
        FieldValue::Text(text) | FieldValue::Json(text) => Value::Text(text),
        FieldValue::Int(number) => Value::Int(number),
        FieldValue::Float(number) => Value::Float(number),
        FieldValue::Number(text) => match (text.parse(), text.parse()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::Float(number),
            _ => Value::Text(text),
        },
        FieldValue::Bool(flag) => Value::Text(if flag { "true" } else { "false" }),
        FieldValue::Null => return None,
    })
}

/// Appends `,"fields":{…}` with every field that is no other part of the event.
pub(super) fn write(out: &mut Vec<u8>, parsed: &Parsed<'_>, fields: &Fields) {
    if fields.len() == parsed.taken_count() {
        return;
    }
    let source = parsed.source;
    out.extend_from_slice(br#","fields":{"#);
    let mut is_first = true;
    for head in (0..fields.len()).filter(|index| fields.is_first(*index)) {
        let same = || {
            let chain = std::iter::successors(Some(head), |index| fields.next_of_name(*index));
            chain.filter(|index| !parsed.is_taken(*index))
        };
        let mut found = same().filter_map(|index| fields.get(index, source));
        let Some(first) = found.next() else { continue };
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write_string(out, first.name);
        out.push(b':');
        let Some(second) = found.next() else {
            write_value(out, first.value());
            continue;
        };
        out.push(b'[');
        write_value(out, first.value());
        for field in std::iter::once(second).chain(found) {
            out.push(b',');
            write_value(out, field.value());
        }
        out.push(b']');
    }
    out.push(b'}');
}

/// Appends a value as JSON.
pub(super) fn write_value(out: &mut Vec<u8>, value: FieldValue<'_>) {
    match value {
        FieldValue::Text(text) => write_string(out, text),
        FieldValue::Int(number) => write_int(out, number),
        FieldValue::Float(number) => write_float(out, number),
        FieldValue::Number(text) => out.extend_from_slice(text.as_bytes()),
        FieldValue::Bool(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
        FieldValue::Null => out.extend_from_slice(b"null"),
        // A document is one line: line ends can only stand between tokens here.
        FieldValue::Json(json) => out.extend(json.bytes().map(|byte| byte.max(b' '))),
    }
}
