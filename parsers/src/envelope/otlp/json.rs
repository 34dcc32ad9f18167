//! OpenTelemetry's logs in JSON.
//!
//! Invariant: see the folder. Next on the trip: [`super::wire`].

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::base64;
use super::{ATTRIBUTES, Hosts, RESOURCE, SCOPE, SCOPE_ATTRIBUTES, time_ns};
use crate::envelope::many::Many;
use crate::envelope::text::{Source, Span, Text};
use crate::lines::to_text;

/// A longer body that is no scalar stays as it stands: a tree of it takes many times its bytes.
const TREE_BYTES_MAX: usize = 1 << 20;

/// How many records the request has; `None` when it is none.
pub(in crate::envelope) fn count(source: &Source<'_>, logs: Span) -> Option<usize> {
    let mut records = 0;
    for resource in array(source, Some(logs))? {
        let [of_resource, scopes] = members(source, resource, ["resource", "scopeLogs"])?;
        object(source, of_resource)?;
        for scope in array(source, scopes)? {
            let [of_scope, of_records] = members(source, scope, ["scope", "logRecords"])?;
            object(source, of_scope)?;
            for record in array(source, of_records)? {
                object(source, Some(record))?;
                records += 1;
            }
        }
    }
    Some(records)
}

/// Gives the records away.
pub(in crate::envelope) fn give(
    source: &Source<'_>,
    logs: Span,
    many: &mut Many<'_, '_>,
) -> ControlFlow<()> {
    let base = many.mark();
    for resource in source.elements(logs) {
        let found = members(source, resource, ["resource", "scopeLogs"]);
        let Some([of_resource, scopes]) = found else { continue };
        many.restore(&base);
        let mut hosts = Hosts::default();
        push_attributes(source, of_resource, RESOURCE, &mut hosts, many);
        let known = many.mark();
        for scope in array(source, scopes).into_iter().flatten() {
            let found = members(source, scope, ["scope", "logRecords"]);
            let Some([of_scope, records]) = found else { continue };
            many.restore(&known);
            push_scope(source, of_scope, many);
            let known = many.mark();
            for record in array(source, records).into_iter().flatten() {
                many.restore(&known);
                give_record(source, record, hosts, many)?;
            }
        }
    }
    ControlFlow::Continue(())
}

fn give_record(
    source: &Source<'_>,
    record: Span,
    mut hosts: Hosts,
    many: &mut Many<'_, '_>,
) -> ControlFlow<()> {
    let (mut own, mut observed, mut body) = (0, 0, None);
    for (key, value) in source.members(record) {
        let name = match source.raw(key) {
            b"timeUnixNano" => {
                own = nanos(source, value);
                continue;
            }
            b"observedTimeUnixNano" => {
                observed = nanos(source, value);
                continue;
            }
            b"body" => {
                body = Some(value);
                continue;
            }
            b"severityText" => "severity_text",
            b"severityNumber" => "severity_number",
            b"traceId" => "trace_id",
            b"spanId" => "span_id",
            b"eventName" => "event_name",
            _ => continue,
        };
        if let Some(text) = source.scalar(value).filter(|text| !text.is_empty()) {
            many.push("", name, &source.to_string(text));
        }
    }
    push_attributes(source, Some(record), ATTRIBUTES, &mut hosts, many);
    many.set_time(time_ns(own, observed));
    many.give(|message| {
        if let Some(body) = body {
            push_any(source, body, message);
        }
    })
}

fn push_scope(source: &Source<'_>, scope: Option<Span>, many: &mut Many<'_, '_>) {
    for (key, value) in scope.into_iter().flat_map(|scope| source.members(scope)) {
        let is_known = matches!(source.raw(key), b"name" | b"version");
        if let Some(text) = source.scalar(value).filter(|text| is_known && !text.is_empty()) {
            many.push(SCOPE, &source.to_string(key), &source.to_string(text));
        }
    }
    push_attributes(source, scope, SCOPE_ATTRIBUTES, &mut Hosts { is_named: true }, many);
}

/// Adds the `attributes` of an object that are scalars.
fn push_attributes(
    source: &Source<'_>,
    object: Option<Span>,
    prefix: &str,
    hosts: &mut Hosts,
    many: &mut Many<'_, '_>,
) {
    let Some([attributes]) = object.and_then(|it| members(source, it, ["attributes"])) else {
        return;
    };
    for attribute in array(source, attributes).into_iter().flatten() {
        let Some([Some(key), Some(value)]) = members(source, attribute, ["key", "value"]) else {
            continue;
        };
        let Some(key) = source.string(key).filter(|_| source.is_object(value)) else { continue };
        // An array or a map has no text that a label could be made of.
        if let Some((kind, scalar)) = scalar(source, value) {
            let mut bytes = Vec::new();
            push_scalar(source, (kind, scalar), &mut bytes);
            let (key, value) = (source.to_string(key), to_text(&bytes));
            if prefix != SCOPE_ATTRIBUTES {
                hosts.look(&key, &value, many);
            }
            many.push(prefix, &key, &value);
        }
    }
}

/// Appends a body: a scalar as text, anything else as plain JSON.
fn push_any(source: &Source<'_>, body: Span, message: &mut Vec<u8>) {
    let found = if source.is_object(body) {
        scalar(source, body)
    } else {
        source.scalar(body).map(|text| (&[][..], text))
    };
    if let Some(found) = found {
        push_scalar(source, found, message);
        return;
    }
    let bytes = &source.bytes[body.start..body.end];
    if bytes.len() > TREE_BYTES_MAX {
        message.extend_from_slice(bytes);
        return;
    }
    match serde_json::from_slice::<Value>(bytes).map(|body| plain(&body)) {
        Ok(Value::Null) => {}
        Ok(body) => message.extend_from_slice(body.to_string().as_bytes()),
        Err(_) => message.extend_from_slice(bytes),
    }
}

/// The first scalar of a value, and the name of its type.
fn scalar<'t>(source: &Source<'t>, value: Span) -> Option<(&'t [u8], Text)> {
    source.members(value).find_map(|(kind, inner)| Some((source.raw(kind), source.scalar(inner)?)))
}

/// Appends a scalar: bytes as what they are, not as what they stand as.
fn push_scalar(source: &Source<'_>, (kind, text): (&[u8], Text), out: &mut Vec<u8>) {
    let start = out.len();
    source.decode(text, out);
    if kind == b"bytesValue"
        && let Some(bytes) = base64(&out[start..])
    {
        out.truncate(start);
        out.extend_from_slice(&bytes);
    }
}

/// A value without the names of its types.
fn plain(any: &Value) -> Value {
    let Some((kind, value)) = any.as_object().and_then(|object| object.iter().next()) else {
        return Value::Null;
    };
    let values = value.get("values").and_then(Value::as_array);
    match kind.as_str() {
        "arrayValue" => values.into_iter().flatten().map(plain).collect(),
        "kvlistValue" => {
            let member = |pair: &Value| {
                let key = pair.get("key")?.as_str()?.to_owned();
                Some((key, pair.get("value").map_or(Value::Null, plain)))
            };
            Value::Object(values.into_iter().flatten().filter_map(member).collect::<Map<_, _>>())
        }
        "bytesValue" => {
            let bytes = value.as_str().and_then(|text| base64(text.as_bytes()));
            bytes.map_or_else(|| value.clone(), |bytes| Value::from(to_text(&bytes)))
        }
        // 64 bits stand as text, so that no reader rounds them.
        "intValue" => {
            let number = value.as_str().and_then(|text| text.parse::<i64>().ok());
            number.map_or_else(|| value.clone(), Value::from)
        }
        _ => value.clone(),
    }
}

fn nanos(source: &Source<'_>, value: Span) -> u64 {
    let text = source.scalar(value).map(|text| source.raw(text));
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Some members of an object; `None` when it is none.
fn members<const N: usize>(
    source: &Source<'_>,
    object: Span,
    names: [&str; N],
) -> Option<[Option<Span>; N]> {
    if !source.is_object(object) {
        return None;
    }
    let mut found = [None; N];
    for (key, value) in source.members(object) {
        let place = names.iter().position(|name| source.raw(key) == name.as_bytes());
        if let Some(place) = place {
            found[place] = Some(value);
        }
    }
    Some(found)
}

/// The elements of an array, none where it is absent; `None` when it is none.
fn array<'t>(
    source: &Source<'t>,
    array: Option<Span>,
) -> Option<impl Iterator<Item = Span> + use<'t>> {
    if array.is_some_and(|array| !source.is_array(array)) {
        return None;
    }
    let elements = array.map(|array| source.elements(array));
    Some(elements.into_iter().flatten())
}

/// `None` when there is something else than an object.
fn object(source: &Source<'_>, object: Option<Span>) -> Option<()> {
    object.is_none_or(|object| source.is_object(object)).then_some(())
}
