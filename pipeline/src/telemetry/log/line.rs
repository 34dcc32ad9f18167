//! One line of the log, made of an event's fields, as text or as JSON.
//!
//! Invariant: the only newline and the only control characters of a line are the ones written
//! here: its end, and colours. Next stop: [`super`], which writes it.

use std::error::Error;
use std::fmt::{Debug, Write};

use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value};
use tracing::Level;
use tracing::field::{Field, Visit};

use crate::telemetry::escape::{escape_control, escape_json};

/// How lines are written, once format, colour and terminal are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Json,
    Plain,
    Colored,
}

/// The fields of one event.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) others: Vec<(&'static str, Value)>,
}

impl Fields {
    /// The text of a field; empty when there is none.
    pub(super) fn text(&self, name: &str) -> String {
        let found = self.others.iter().find(|(other, _)| *other == name);
        found.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_owned()
    }

    fn push(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", value) => self.message = value.to_string(),
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.push(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON knows neither NaN nor infinity: those are told as text.
        let number = serde_json::Number::from_f64(value);
        self.push(field, number.map_or_else(|| value.to_string().into(), Value::Number));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            write!(text, ": {error}").expect("a string takes any text");
            cause = error.source();
        }
        self.push(field, text.into());
    }
}

impl Style {
    /// One line with its newline.
    pub(super) fn line(self, time_ms: i64, level: Level, target: &str, fields: &Fields) -> String {
        let time = DateTime::from_timestamp_millis(time_ms)
            .unwrap_or_default()
            .to_rfc3339_opts(SecondsFormat::Millis, true);
        let mut line = match self {
            Style::Json => json_line(time, level, target, fields),
            Style::Plain => text_line(&time, level, target, fields, |_| ("", "")),
            Style::Colored => text_line(&time, level, target, fields, paint),
        };
        line.push('\n');
        line
    }
}

fn json_line(time: String, level: Level, target: &str, fields: &Fields) -> String {
    let mut object = Map::new();
    object.insert("time".to_owned(), time.into());
    object.insert("level".to_owned(), level.as_str().to_ascii_lowercase().into());
    object.insert("target".to_owned(), target.into());
    object.insert("message".to_owned(), fields.message.clone().into());
    for (name, value) in &fields.others {
        let mut key = (*name).to_owned();
        if object.contains_key(&key) {
            key.insert_str(0, "fields.");
        }
        object.insert(key, value.clone());
    }
    escape_json(&Value::Object(object).to_string()).into_owned()
}

/// A part of a line of text.
#[derive(Debug, Clone, Copy)]
enum Part {
    Dim,
    Level(Level),
}

/// What is written before and after a part to colour it.
fn paint(part: Part) -> (&'static str, &'static str) {
    let start = match part {
        Part::Dim => "\x1b[2m",
        Part::Level(Level::ERROR) => "\x1b[1;31m",
        Part::Level(Level::WARN) => "\x1b[33m",
        Part::Level(Level::INFO) => "\x1b[32m",
        Part::Level(_) => "\x1b[34m",
    };
    (start, "\x1b[0m")
}

fn text_line(
    time: &str,
    level: Level,
    target: &str,
    fields: &Fields,
    paint: impl Fn(Part) -> (&'static str, &'static str),
) -> String {
    let mut line = String::new();
    let mut push = |text: &str, part: Option<Part>| {
        let (start, end) = part.map_or(("", ""), &paint);
        line.push_str(start);
        line.push_str(text);
        line.push_str(end);
    };
    push(time, Some(Part::Dim));
    push(" ", None);
    push(&format!("{:>5}", level.as_str()), Some(Part::Level(level)));
    push(" ", None);
    // Whose words these are: ours need no name.
    if !target.starts_with("riverhog") {
        push(&escape_control(target), Some(Part::Dim));
        push(": ", None);
    }
    push(&escape_control(&fields.message), None);
    for (name, value) in &fields.others {
        push(" ", None);
        push(name, Some(Part::Dim));
        push("=", Some(Part::Dim));
        push(&text_value(value), None);
    }
    line
}

/// A value of one word as it is, others in quotes, so that no value can pose as a second field.
fn text_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => escape_control(text),
        other => other.to_string().into(),
    };
    if text.is_empty() || text.contains([' ', '"', '=', '\u{a0}', '\u{3000}']) {
        return format!("\"{}\"", text.replace('"', "\\\""));
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(style: Style, fields: &Fields, expect: &str) {
        let line = style.line(1_773_282_225_123, Level::WARN, "riverhog::sink", fields);
        assert_eq!(line, expect);
    }

    fn fields(message: &str, others: &[(&'static str, Value)]) -> Fields {
        Fields { message: message.to_owned(), others: others.to_vec() }
    }

    #[test]
    fn a_line_of_each_style() {
        let fields = fields("halted", &[("sink", "search".into()), ("lines", 3.into())]);
        check(Style::Plain, &fields, "2026-03-12T02:23:45.123Z  WARN halted sink=search lines=3\n");
        check(
            Style::Colored,
            &fields,
            "\x1b[2m2026-03-12T02:23:45.123Z\x1b[0m \x1b[33m WARN\x1b[0m halted \
             \x1b[2msink\x1b[0m\x1b[2m=\x1b[0msearch \x1b[2mlines\x1b[0m\x1b[2m=\x1b[0m3\n",
        );
        check(
            Style::Json,
            &fields,
            "{\"time\":\"2026-03-12T02:23:45.123Z\",\"level\":\"warn\",\
             \"target\":\"riverhog::sink\",\"message\":\"halted\",\"sink\":\"search\",\
             \"lines\":3}\n",
        );
    }

    #[test]
    fn data_cannot_pose_as_something_else() {
        let evil = fields(
            "x\n2026 ERROR \x1b[31mforged",
            &[("detail", "a sink=other\u{202e} \"q\"".into()), ("level", "\u{9b}2J".into())],
        );
        check(
            Style::Plain,
            &evil,
            "2026-03-12T02:23:45.123Z  WARN x\\n2026 ERROR \\x1b[31mforged \
             detail=\"a sink=other\\u{202e} \\\"q\\\"\" level=\\x9b2J\n",
        );
        check(
            Style::Json,
            &evil,
            "{\"time\":\"2026-03-12T02:23:45.123Z\",\"level\":\"warn\",\
             \"target\":\"riverhog::sink\",\
             \"message\":\"x\\n2026 ERROR \\u001b[31mforged\",\
             \"detail\":\"a sink=other\\u202e \\\"q\\\"\",\"fields.level\":\"\\u009b2J\"}\n",
        );
    }
}
