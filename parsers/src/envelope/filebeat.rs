//! Filebeat's envelope, as its Kafka output writes it (version 5 to 9).
//!
//! Invariant: see the folder. Next on the trip: [`crate::lines`].

use serde_json::{Map, Value};

use super::{Envelope, FIELDS_MAX};
use crate::time;

/// Deeper objects than this hold nothing that a label is made of.
const DEPTH_MAX: usize = 8;

/// Takes an object apart that carries Filebeat's marks; `None` when it does not.
pub(super) fn unwrap(mut object: Map<String, Value>) -> Option<Envelope> {
    if !is_filebeat(&object) {
        return None;
    }
    let Some(Value::String(message)) = object.remove("message") else { return None };
    let host = host(&object);
    let time_ns = object.get("@timestamp").and_then(Value::as_str).and_then(time::parse_rfc3339);
    let mut fields = Vec::new();
    let mut path = String::new();
    collect(&object, &mut path, 0, &mut fields);
    Some(Envelope { message, host, time_ns, fields, kind: "filebeat" })
}

fn is_filebeat(object: &Map<String, Value>) -> bool {
    if !object.get("message").is_some_and(Value::is_string) {
        return false;
    }
    // A program's own JSON lines have `message`, `host` and the like too: only what Filebeat alone
    // writes counts.
    let at = |first: &str, second: &str| object.get(first).and_then(|inner| inner.get(second));
    let says = |first, second| at(first, second).is_some_and(Value::is_string);
    let is_timed = object.get("@timestamp").is_some_and(Value::is_string);
    says("@metadata", "beat")
        || at("agent", "type").is_some_and(|kind| kind == "filebeat")
        || (is_timed && says("beat", "hostname"))
}

fn host(object: &Map<String, Value>) -> Option<String> {
    let at = |first: &str, second: &str| match object.get(first)?.get(second)? {
        Value::String(name) if !name.is_empty() => Some(name.clone()),
        _ => None,
    };
    at("host", "name")
        .or_else(|| at("host", "hostname"))
        .or_else(|| object.get("host")?.as_str().map(str::to_owned))
        .or_else(|| at("agent", "hostname"))
        .or_else(|| at("agent", "name"))
        .or_else(|| at("beat", "hostname"))
}

/// Pushes every scalar below `object` with its dotted path.
fn collect(
    object: &Map<String, Value>,
    path: &mut String,
    depth: usize,
    fields: &mut Vec<(String, String)>,
) {
    for (key, value) in object {
        if fields.len() >= FIELDS_MAX {
            return;
        }
        let length = path.len();
        if depth > 0 {
            path.push('.');
        }
        path.push_str(key);
        match value {
            Value::String(text) => fields.push((path.clone(), text.clone())),
            Value::Number(number) => fields.push((path.clone(), number.to_string())),
            Value::Bool(flag) => fields.push((path.clone(), flag.to_string())),
            Value::Object(inner) if depth + 1 < DEPTH_MAX => {
                collect(inner, path, depth + 1, fields);
            }
            Value::Object(_) | Value::Array(_) | Value::Null => {}
        }
        path.truncate(length);
    }
}
