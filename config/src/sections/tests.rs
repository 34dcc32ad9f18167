//! `[[tests]]`. Next: `compile.rs`.

use super::TopLevel;
use crate::declare;
use crate::document::{Entry, Node, Text, Value};
use crate::reader::Reader;
use crate::settings::{Expectation, LineTest};
use serde_json::Value as Json;

/// A test and the places others must agree with.
pub(crate) struct TestDraft {
    pub(crate) test: LineTest,
    /// Names of sinks that are expected, with their places.
    pub(crate) sinks: Vec<Text>,
}

pub(super) fn read(top: &TopLevel<'_>) -> Vec<TestDraft> {
    top.list("tests", &declare::TEST).iter().map(read_one).collect()
}

fn read_one(reader: &Reader<'_>) -> TestDraft {
    let line = reader.text("line").map(|text| text.value).unwrap_or_default();
    let name = reader.text("name").map_or_else(|| shortened(&line), |text| text.value);
    let key = reader.text("key").map(|text| text.value);
    let headers: Vec<(String, String)> = reader
        .text_map("headers")
        .into_iter()
        .map(|(entry, text)| (entry.key.clone(), text.value))
        .collect();
    let mut expect = Vec::new();
    let mut sinks = None;
    let entries = reader.table("expect");
    if entries.is_some_and(|entries| entries.iter().all(|entry| is_nothing(&entry.node))) {
        let message = format!("`{}` is empty: nothing is tested", reader.name_of("expect"));
        let help = "write what must hold, such as `expect = { level = \"error\" }`";
        reader.context.error(&reader.place_of("expect"), message, help);
    }
    for entry in entries.unwrap_or_default() {
        if entry.key == "sinks" {
            sinks = Some(sink_names(reader, entry));
        } else {
            expectation(reader, "", entry, &mut expect);
        }
    }
    reader.reject_unknown();
    let names = sinks.as_ref().map(|it| it.iter().map(|text| text.value.clone()).collect());
    let place = reader.place.clone();
    TestDraft {
        test: LineTest { name, line, key, headers, expect, sinks: names, place },
        sinks: sinks.unwrap_or_default(),
    }
}

/// A table without a value at any depth.
fn is_nothing(node: &Node) -> bool {
    match &node.value {
        Value::Table(table) => table.entries.iter().all(|entry| is_nothing(&entry.node)),
        _ => false,
    }
}

/// `sinks = []` says that the event reaches none.
fn sink_names(reader: &Reader<'_>, entry: &Entry) -> Vec<Text> {
    let name = reader.name_of("expect.sinks");
    if let Value::Array(nodes) = &entry.node.value {
        return nodes.iter().filter_map(|node| reader.element(&name, node)).collect();
    }
    let message = format!("`{name}` is {}, expected an array", entry.node.value.kind());
    reader.context.error(&entry.node.place, message, "write `sinks = [\"…\"]`");
    Vec::new()
}

/// A nested table is a dotted name: `host = { rack = "r3" }` or `fields.x = "1"`.
fn expectation(reader: &Reader<'_>, before: &str, entry: &Entry, out: &mut Vec<Expectation>) {
    let name = format!("{before}{}", entry.key);
    if let Value::Table(table) = &entry.node.value {
        for inner in &table.entries {
            expectation(reader, &format!("{name}."), inner, out);
        }
        return;
    }
    if let Some(value) = json(&entry.node) {
        out.push(Expectation { name, value, place: entry.key_place.clone() });
        return;
    }
    let name = reader.name_of(&format!("expect.{name}"));
    let message = format!("`{name}` is {}", entry.node.value.kind());
    let help = "expect a string, a number, a boolean or an array of these";
    reader.context.error(&entry.node.place, message, help);
}

fn json(node: &Node) -> Option<Json> {
    match &node.value {
        Value::Text(text) => Some(Json::from(text.value.as_str())),
        Value::Integer(number) => number.parse::<i64>().ok().map(Json::from),
        Value::Float(number) => number.parse::<f64>().ok().map(Json::from),
        Value::Flag(flag) => Some(Json::from(*flag)),
        Value::Array(nodes) => nodes.iter().map(json).collect::<Option<Vec<_>>>().map(Json::from),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn shortened(line: &str) -> String {
    const NAME_MAX_CHARS: usize = 60;
    match line.char_indices().nth(NAME_MAX_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
