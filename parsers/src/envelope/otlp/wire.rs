//! OpenTelemetry's logs in protobuf: the few fields of them that an event is made of.
//!
//! Invariant: a value is a request when it is one to its last byte; lengths and depths are checked
//! before they are used, and nothing is copied but texts. Next on the trip: the envelope.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use super::{ATTRIBUTES, Hosts, RESOURCE, SCOPE, SCOPE_ATTRIBUTES, time_ns};
use crate::envelope::many::Many;
use crate::lines::to_text;

/// Lists and maps inside each other in a body; what is deeper makes it none.
const DEPTH_MAX: usize = 16;

/// One field of a message.
#[derive(Clone, Copy)]
enum Wire<'t> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'t [u8]),
}

/// How many records the request has; `None` when it is none.
pub(in crate::envelope) fn count(value: &[u8]) -> Option<usize> {
    let (mut records, mut scratch) = (0, Vec::new());
    walk(value, |number, resource| {
        let (1, Wire::Bytes(resource)) = (number, resource) else { return None };
        walk(resource, |number, scope| match (number, scope) {
            (1, Wire::Bytes(resource)) => walk(resource, |_, _| Some(())),
            (2, Wire::Bytes(scope)) => walk(scope, |number, record| match (number, record) {
                (1, Wire::Bytes(scope)) => walk(scope, |_, _| Some(())),
                (2, Wire::Bytes(record)) => {
                    records += 1;
                    walk(record, |number, field| check_record(number, field, &mut scratch))
                }
                (3, Wire::Bytes(_)) => Some(()),
                _ => None,
            }),
            (3 | 1000, Wire::Bytes(_)) => Some(()),
            _ => None,
        })
    })?;
    Some(records)
}

/// Fields of versions to come are let through.
fn check_record(number: u32, field: Wire<'_>, scratch: &mut Vec<u8>) -> Option<()> {
    match (number, field) {
        (5, Wire::Bytes(body)) => {
            scratch.clear();
            write_body(body, scratch)
        }
        (1 | 11, Wire::Fixed64(_)) | (2 | 7, Wire::Varint(_)) | (8, Wire::Fixed32) => Some(()),
        (3 | 6 | 9 | 10 | 12, Wire::Bytes(_)) => Some(()),
        (13..=1000, _) => Some(()),
        _ => None,
    }
}

/// Gives the records away.
pub(in crate::envelope) fn give(value: &[u8], many: &mut Many<'_, '_>) -> ControlFlow<()> {
    let base = many.mark();
    for resource in messages(value, 1) {
        many.restore(&base);
        let mut hosts = Hosts::default();
        for of_resource in messages(resource, 1) {
            push_attributes(of_resource, 1, RESOURCE, &mut hosts, many);
        }
        let known = many.mark();
        for scope in messages(resource, 2) {
            many.restore(&known);
            for of_scope in messages(scope, 1) {
                for (number, name) in [(1, "name"), (2, "version")] {
                    for text in messages(of_scope, number).filter(|text| !text.is_empty()) {
                        many.push(SCOPE, name, &to_text(text));
                    }
                }
                push_attributes(of_scope, 3, SCOPE_ATTRIBUTES, &mut hosts.clone(), many);
            }
            let known = many.mark();
            for record in messages(scope, 2) {
                many.restore(&known);
                give_record(record, hosts, many)?;
            }
        }
    }
    ControlFlow::Continue(())
}

fn give_record(record: &[u8], mut hosts: Hosts, many: &mut Many<'_, '_>) -> ControlFlow<()> {
    let (mut own, mut observed, mut body) = (0, 0, None);
    for (number, field) in fields(record) {
        match (number, field) {
            (1, Wire::Fixed64(time)) => own = time,
            (11, Wire::Fixed64(time)) => observed = time,
            (2, Wire::Varint(severity)) if severity > 0 => {
                many.push("", "severity_number", &severity.to_string());
            }
            (3, Wire::Bytes(text)) if !text.is_empty() => {
                many.push("", "severity_text", &to_text(text));
            }
            (5, Wire::Bytes(any)) => body = Some(any),
            (9, Wire::Bytes(id)) if !id.is_empty() => many.push("", "trace_id", &hex(id)),
            (10, Wire::Bytes(id)) if !id.is_empty() => many.push("", "span_id", &hex(id)),
            (12, Wire::Bytes(name)) if !name.is_empty() => {
                many.push("", "event_name", &to_text(name));
            }
            _ => {}
        }
    }
    push_attributes(record, 6, ATTRIBUTES, &mut hosts, many);
    many.set_time(time_ns(own, observed));
    many.give(|message| {
        if let Some(body) = body {
            let _checked: Option<()> = write_body(body, message);
        }
    })
}

fn push_attributes(
    message: &[u8],
    number: u32,
    prefix: &str,
    hosts: &mut Hosts,
    many: &mut Many<'_, '_>,
) {
    for attribute in messages(message, number) {
        let (Some(key), Some(value)) =
            (messages(attribute, 1).last(), messages(attribute, 2).last())
        else {
            continue;
        };
        // A list or a map has no text that a label could be made of.
        let mut text = Vec::new();
        let value = match any(value) {
            Some(Any::List(_) | Any::Map(_) | Any::Nothing) | None => continue,
            Some(Any::Bytes(text)) => to_text(text),
            Some(scalar) => {
                let _scalar: Option<()> = write_json(scalar, 0, &mut text);
                to_text(&text)
            }
        };
        let key = to_text(key);
        if prefix != SCOPE_ATTRIBUTES {
            hosts.look(&key, &value, many);
        }
        many.push(prefix, &key, &value);
    }
}

/// A value of any type.
#[derive(Clone, Copy)]
enum Any<'t> {
    Nothing,
    /// Text, or bytes.
    Bytes(&'t [u8]),
    Bool(bool),
    Int(i64),
    Float(f64),
    List(&'t [u8]),
    Map(&'t [u8]),
}

/// Reads a value; `None` when it is broken.
fn any(message: &[u8]) -> Option<Any<'_>> {
    let mut found = Any::Nothing;
    walk(message, |number, field| {
        found = match (number, field) {
            (1 | 7, Wire::Bytes(text)) => Any::Bytes(text),
            (2, Wire::Varint(flag)) => Any::Bool(flag != 0),
            (3, Wire::Varint(number)) => Any::Int(number as i64),
            (4, Wire::Fixed64(bits)) => Any::Float(f64::from_bits(bits)),
            (5, Wire::Bytes(list)) => Any::List(list),
            (6, Wire::Bytes(map)) => Any::Map(map),
            _ => return None,
        };
        Some(())
    })?;
    Some(found)
}

/// Appends a body: a text as it is, anything else as JSON; `None` when it is broken or too deep.
fn write_body(body: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match any(body)? {
        Any::Nothing => {}
        Any::Bytes(text) => out.extend_from_slice(text),
        other => write_json(other, 0, out)?,
    }
    Some(())
}

/// Appends a value as JSON. No tree is made of it: two bytes can be a value, and a hundred a node.
fn write_json(value: Any<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Any::Nothing => out.extend_from_slice(b"null"),
        Any::Bytes(text) => serde_json::to_writer(out, &to_text(text)).ok()?,
        Any::Bool(flag) => serde_json::to_writer(out, &flag).ok()?,
        Any::Int(number) => serde_json::to_writer(out, &number).ok()?,
        Any::Float(number) => serde_json::to_writer(out, &number).ok()?,
        Any::List(_) | Any::Map(_) if depth >= DEPTH_MAX => return None,
        Any::List(list) => {
            out.push(b'[');
            let mut is_first = true;
            walk(list, |_, value| {
                let Wire::Bytes(value) = value else { return None };
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                write_json(any(value)?, depth + 1, out)
            })?;
            out.push(b']');
        }
        Any::Map(map) => {
            out.push(b'{');
            let mut is_first = true;
            walk(map, |_, pair| {
                let Wire::Bytes(pair) = pair else { return None };
                walk(pair, |_, _| Some(()))?;
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                let key = messages(pair, 1).last().unwrap_or_default();
                serde_json::to_writer(&mut *out, &to_text(key)).ok()?;
                out.push(b':');
                write_json(any(messages(pair, 2).last().unwrap_or_default())?, depth + 1, out)
            })?;
            out.push(b'}');
        }
    }
    Some(())
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(out, "{byte:02x}").expect("writing to a String cannot fail");
    }
    out
}

/// Looks at every field; `None` when the message is broken or `each` says so.
fn walk<'t>(message: &'t [u8], mut each: impl FnMut(u32, Wire<'t>) -> Option<()>) -> Option<()> {
    let mut rest = message;
    while !rest.is_empty() {
        let (number, field) = field(&mut rest)?;
        each(number, field)?;
    }
    Some(())
}

/// The fields of a message up to where it is broken.
fn fields(message: &[u8]) -> impl Iterator<Item = (u32, Wire<'_>)> {
    let mut rest = message;
    std::iter::from_fn(move || if rest.is_empty() { None } else { field(&mut rest) })
}

/// The messages and texts of one number.
fn messages(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    fields(message).filter_map(move |(found, field)| match field {
        Wire::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    })
}

fn field<'t>(rest: &mut &'t [u8]) -> Option<(u32, Wire<'t>)> {
    let tag = varint(rest)?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
    let field = match tag & 7 {
        0 => Wire::Varint(varint(rest)?),
        1 => Wire::Fixed64(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Wire::Bytes(take(rest, length)?)
        }
        5 => take(rest, 4).map(|_| Wire::Fixed32)?,
        _ => return None,
    };
    Some((number, field))
}

fn take<'t>(rest: &mut &'t [u8], length: usize) -> Option<&'t [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
