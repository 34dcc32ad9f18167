//! Templates for index names, buckets and prefixes: `{task}/{timestamp:%Y-%m-%d}/{role}/`.
//!
//! Invariant: a placeholder never reaches a store: a missing value is an answer of its own, and
//! what log data says is made fit by `sanitise` while it is written. Rendering allocates nothing
//! but the growth of its buffer. Next stop: `transform`, which interns the result as a destination.
mod read;

use std::ops::Range;

use crate::date::{DateFormat, Window};
use crate::names::{Name, Names};
use crate::sanitise::{self, TargetKind};
use crate::value::{Value, Values};
use crate::zone::Zone;

/// A compiled template.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    names: Vec<Name>,
    parts: Vec<Part>,
    /// Bytes each value may take in an index name, so that what follows it is not cut off.
    index_value_max: usize,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(String),
    Date { name: usize, format: DateFormat },
    Value { name: usize },
}

/// Why a template does not compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateError {
    /// Bytes of the template's own text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

impl Template {
    /// Compiles a template whose names must all exist in `names`.
    pub fn compile(text: &str, names: &Names) -> Result<Template, TemplateError> {
        let (parts, used) = read::read(text, names)?;
        let fixed: usize = parts.iter().map(Part::length_max).sum();
        let values = parts.iter().filter(|part| matches!(part, Part::Value { .. })).count();
        let room = sanitise::INDEX_BYTES_MAX.saturating_sub(fixed);
        Ok(Template {
            text: text.to_owned(),
            names: used,
            parts,
            index_value_max: (room / values.max(1)).max(8),
        })
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The distinct names it reads; `Values` is asked by the index in this list.
    pub fn names_used(&self) -> &[Name] {
        &self.names
    }

    /// The parts that stand in every result, in order, for checks of what a store would refuse.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Appends the result to `out`.
    ///
    /// # Errors
    /// The index of the name that has no value; `out` is as it was then.
    pub fn render(
        &self,
        values: &impl Values,
        zone: Zone,
        kind: TargetKind,
        out: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let start = out.len();
        let rendered = match kind {
            TargetKind::Index => self.render_index(values, zone, out),
            TargetKind::Path => self.render_path(values, zone, out),
            TargetKind::Text => self.write_text(values, zone, out).inspect(|()| {
                sanitise::truncate(out, start + sanitise::TEXT_BYTES_MAX);
            }),
        };
        if rendered.is_err() {
            out.truncate(start);
        }
        rendered
    }

    /// Appends the result to `out` as plain text, nothing of it made fit for a store.
    ///
    /// # Errors
    /// The index of the name that has no value; `out` is as it was then.
    pub(crate) fn write_text(
        &self,
        values: &impl Values,
        zone: Zone,
        out: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let start = out.len();
        let written = self.parts.iter().try_for_each(|part| match part {
            Part::Literal(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Part::Date { name, format } => write_date(out, values, *name, format, zone),
            Part::Value { name } => {
                with_text(values, *name, |text| out.extend_from_slice(text.as_bytes()))
            }
        });
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// The index of the one name that the template is, without anything beside it.
    pub(crate) fn single(&self) -> Option<usize> {
        match self.parts[..] {
            [Part::Value { name }] => Some(name),
            _ => None,
        }
    }

    /// The times around `epoch_ns` for which the dates of this name are written alike.
    pub(crate) fn window(&self, name: &Name, epoch_ns: i64, zone: Zone) -> Window {
        self.parts.iter().fold(Window::ALWAYS, |window, part| match part {
            Part::Date { name: used, format } if self.names[*used] == *name => {
                window.intersect(format.window(epoch_ns, zone))
            }
            _ => window,
        })
    }

    fn render_index(
        &self,
        values: &impl Values,
        zone: Zone,
        out: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let start = out.len();
        for part in &self.parts {
            match part {
                Part::Literal(text) => sanitise::push_index_literal(out, text),
                Part::Date { name, format } => {
                    let start = out.len();
                    write_date(out, values, *name, format, zone)?;
                    sanitise::fix_index_ascii(&mut out[start..]);
                }
                Part::Value { name } => with_text(values, *name, |text| {
                    sanitise::push_index_value(out, text, self.index_value_max);
                })?,
            }
        }
        sanitise::finish_index(out, start);
        Ok(())
    }

    fn render_path(
        &self,
        values: &impl Values,
        zone: Zone,
        out: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let mut segment = Segment { start: out.len(), holds_value: false };
        for part in &self.parts {
            match part {
                Part::Literal(text) => segment.push_literal(out, text),
                Part::Date { name, format } => write_date(out, values, *name, format, zone)?,
                Part::Value { name } => {
                    segment.holds_value = true;
                    with_text(values, *name, |text| sanitise::push_path_value(out, text))?;
                }
            }
        }
        segment.finish(out);
        Ok(())
    }
}

impl Part {
    fn length_max(&self) -> usize {
        match self {
            Part::Literal(text) => text.len(),
            Part::Date { format, .. } => format.length_max(),
            Part::Value { .. } => 0,
        }
    }
}

/// The path segment being written.
struct Segment {
    start: usize,
    holds_value: bool,
}

impl Segment {
    fn push_literal(&mut self, out: &mut Vec<u8>, mut text: &str) {
        while let Some((before, after)) = text.split_once('/') {
            out.extend_from_slice(before.as_bytes());
            self.finish(out);
            out.push(b'/');
            *self = Segment { start: out.len(), holds_value: false };
            text = after;
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn finish(&self, out: &mut Vec<u8>) {
        if self.holds_value {
            sanitise::finish_segment(out, self.start);
        }
    }
}

fn write_date(
    out: &mut Vec<u8>,
    values: &impl Values,
    name: usize,
    format: &DateFormat,
    zone: Zone,
) -> Result<(), usize> {
    match values.value(name, 0) {
        Some(Value::Time(epoch_ns)) => {
            format.write(out, epoch_ns, zone);
            Ok(())
        }
        _ => Err(name),
    }
}

/// Calls `write` with the value as text.
fn with_text(values: &impl Values, name: usize, write: impl FnOnce(&str)) -> Result<(), usize> {
    match values.value(name, 0).ok_or(name)? {
        Value::Text(text) => write(text),
        Value::Level(level) => write(level.as_str()),
        Value::Int(number) => write_number(write, format_args!("{number}")),
        // Nothing is named after a metric that is no number.
        Value::Float(number) if number.is_nan() => return Err(name),
        Value::Float(number) => write_number(write, format_args!("{number:?}")),
        Value::Time(_) => return Err(name),
    }
    Ok(())
}

fn write_number(write: impl FnOnce(&str), number: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // The longest number is an f64 of 24 characters.
    let mut digits = [0_u8; 32];
    let mut free = &mut digits[..];
    free.write_fmt(number).expect("a number has at most 24 characters");
    let length = 32 - free.len();
    write(std::str::from_utf8(&digits[..length]).expect("numbers are written in ASCII"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Fixed;
    use proptest::prelude::*;
    use riverhog_parsers::level::Level;

    fn names() -> Names {
        Names::new().labels(["task", "role", "project"]).columns(["node"])
    }

    fn value(name: &Name) -> Vec<Value<'static>> {
        match name.to_string().as_str() {
            "timestamp" => vec![Value::Time(1_773_282_225_000_000_000)],
            "received" => vec![Value::Time(1_773_400_000_000_000_000)],
            "task" => vec![Value::Text("SFT qwen/7B")],
            "role" => vec![Value::Text("..")],
            "level" => vec![Value::Level(Level::Error)],
            "rank" => vec![Value::Int(37)],
            "fields.x" => vec![Value::Float(1.5)],
            "fields.empty" => vec![Value::Text("")],
            _ => Vec::new(),
        }
    }

    fn check(kind: TargetKind, text: &str, expect: &str) {
        let template =
            Template::compile(text, &names()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let values = Fixed(template.names_used().iter().map(value).collect());
        let mut out = b"before".to_vec();
        let found = match template.render(&values, Zone::parse("+08:00").unwrap(), kind, &mut out) {
            Ok(()) => String::from_utf8(out.split_off(6)).unwrap(),
            Err(name) => format!("no {}", template.names_used()[name]),
        };
        assert_eq!(out, b"before");
        assert_eq!(found, expect, "{text}");
    }

    fn check_error(text: &str, at: &str, message: &str, help: &str) {
        let error = Template::compile(text, &names()).expect_err(text);
        assert_eq!(&text[error.span.clone()], at, "{text}: {error:?}");
        assert_eq!(
            (error.message.as_str(), error.help.as_deref()),
            (message, Some(help)),
            "{text}"
        );
    }

    #[test]
    fn index_names() {
        let index = TargetKind::Index;
        let expect = "ms-swift-train-logs-2026.03.12";
        check(index, "ms-swift-train-logs-{timestamp:%Y.%m.%d}", expect);
        check(index, "{task}-{timestamp:%Y.%m}", "sft-qwen-7b-2026.03");
        check(index, "-{level}-{rank}", "error-37");
        check(index, "{project}", "no project");
        check(index, "a-{timestamp:%Y/%m}", "a-2026-03");
    }

    #[test]
    fn paths() {
        let path = TargetKind::Path;
        let expect = "SFT qwen_7B/2026-03-12/__/";
        check(path, "{task}/{timestamp:%Y-%m-%d}/{role}/", expect);
        check(path, "{timestamp:%Y/%m/%d}/{received:%H}", "2026/03/12/19");
        check(path, "logs/{fields.empty}/{fields.x}.{role}/", "logs/_/1.5.../");
        check(path, "{{{role}}}/{role}{role}", "{..}/....");
        check(path, "", "");
        check(path, "fixed/", "fixed/");
        check(path, "a/{project}/", "no project");
    }

    #[test]
    fn what_follows_a_long_value_is_kept() {
        let template = Template::compile("{task}-{role}-{timestamp:%F}", &names()).unwrap();
        let long = "x".repeat(500);
        let values = template.names_used().iter().map(|name| match name {
            Name::Timestamp => value(name),
            _ => vec![Value::Text(long.as_str())],
        });
        let mut out = Vec::new();
        let values = Fixed(values.collect());
        template.render(&values, Zone::UTC, TargetKind::Index, &mut out).unwrap();
        assert!(out.len() <= 200 && out.ends_with(b"x-2026-03-12"), "{}", out.len());
    }

    #[test]
    fn errors_name_place_and_cure() {
        check_error("a-{taks}", "taks", "unknown name `taks`", "did you mean `task`?");
        let message = "`timestamp` needs a date format";
        check_error("{timestamp}", "timestamp", message, "write `{timestamp:%Y.%m.%d}`");
        check_error("{task:%Y}", ":%Y", "`task` takes no format", "write `{task}`");
        let message = "`YYYY.MM.dd` shows no part of a date";
        check_error("{timestamp:YYYY.MM.dd}", "YYYY.MM.dd", message, "write `%Y.%m.%d`");
        let help = "add a `}`, or write `{{` for the character itself";
        check_error("a{task", "{task", "`{` is not closed", help);
        let help = "write `}}` for the character itself";
        check_error("a}b", "}", "`}` closes nothing", help);
        let message = "`%{…}` is Logstash's form";
        check_error("a-%{[task]}", "%{[task]}", message, "write `{task}`");
        let help = "write for example `{task}` or `{timestamp:%Y.%m.%d}`";
        check_error("{}", "{}", "a name is missing", help);
    }

    proptest! {
        #[test]
        fn any_text_compiles_or_says_why(text in "\\PC{0,40}|([{}:%YmdH/.]|task|timestamp){0,12}") {
            match Template::compile(&text, &names()) {
                Ok(template) => {
                    let values = Fixed(template.names_used().iter().map(value).collect());
                    for kind in [TargetKind::Index, TargetKind::Path] {
                        let _rendered =
                            template.render(&values, Zone::UTC, kind, &mut Vec::new());
                    }
                }
                Err(error) => prop_assert!(text.get(error.span).is_some()),
            }
        }

        #[test]
        fn values_stay_within_their_place(task in any::<String>(), role in "[./]{0,4}|\\PC*") {
            let text = "logs/{task}/x{role}/{role}{task}/{timestamp:%F}/";
            let template = Template::compile(text, &names()).unwrap();
            let values = Fixed(template.names_used().iter().map(|name| match name {
                Name::Label(label) if label == "task" => vec![Value::Text(task.as_str())],
                Name::Label(_) => vec![Value::Text(role.as_str())],
                _ => value(name),
            }).collect());
            let mut out = Vec::new();
            template.render(&values, Zone::UTC, TargetKind::Path, &mut out).unwrap();
            let path = String::from_utf8(out).unwrap();
            let segments: Vec<&str> = path.split('/').collect();
            prop_assert_eq!(segments.len(), 6);
            for segment in &segments[..5] {
                prop_assert!(!matches!(*segment, "" | "." | ".."), "{}", path);
                prop_assert!(segment.len() <= 128 && !segment.contains(char::is_control));
            }
            let mut out = Vec::new();
            template.render(&values, Zone::UTC, TargetKind::Index, &mut out).unwrap();
            let index = String::from_utf8(out).unwrap();
            let forbidden = |letter: char| "\\/*?\"<>| ,#:".contains(letter) || letter.is_control();
            prop_assert!(!index.contains(forbidden), "{}", index);
            prop_assert!(index.len() <= 200 && !index.starts_with(['-', '_', '+']));
            prop_assert_eq!(index.to_lowercase(), index);
        }
    }
}
