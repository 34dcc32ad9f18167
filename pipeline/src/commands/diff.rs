//! What a `[[tests]]` entry expects, compared with the event it became.
//!
//! Invariant: a name means here what it means in conditions; a value that is written as text equals
//! the number or time it spells. Next stop: `test.rs`, which tells the differences.

use chrono::DateTime;
use riverhog_config::LineTest;
use riverhog_parsers::envelope::Envelope;
use riverhog_parsers::level::Level;
use riverhog_rules::names::{Name, Names};
use riverhog_rules::plan::Plan;
use serde_json::Value;

/// One value that is not as expected.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// Its name, or `sinks`.
    pub(super) name: String,
    pub(super) expected: Value,
    /// `None`: the event has no such value.
    pub(super) got: Option<Value>,
}

/// What a test's line became.
pub(super) struct Seen<'a> {
    pub(super) test: &'a LineTest,
    /// The document; null for an event that was dropped.
    pub(super) document: &'a Value,
    pub(super) envelope: Option<&'a Envelope>,
    /// Names of the sinks it reached, in the order of the file.
    pub(super) sinks: &'a [String],
}

/// All names that a plan's rules may use.
pub(super) fn names(plan: &Plan) -> Names {
    let names = Names::new().labels(plan.labels.iter().map(|label| label.name.clone()));
    match &plan.tables.hosts {
        None => names,
        Some(table) => names.columns(table.columns().iter().cloned()),
    }
}

/// What is not as expected, in the order of the file.
pub(super) fn differences(names: &Names, seen: &Seen<'_>) -> Vec<Difference> {
    let mut differences = Vec::new();
    for expectation in &seen.test.expect {
        let name = names.resolve(&expectation.name).ok();
        let got = name.as_ref().and_then(|name| seen.value(name));
        let same = name.zip(got.as_ref());
        if !same.is_some_and(|(name, got)| is_same(&name, &expectation.value, got)) {
            let (name, expected) = (expectation.name.clone(), expectation.value.clone());
            differences.push(Difference { name, expected, got });
        }
    }
    if let Some(expected) = &seen.test.sinks {
        let (mut want, mut have) = (expected.clone(), seen.sinks.to_vec());
        want.sort_unstable();
        have.sort_unstable();
        if want != have {
            let (expected, got) = (Value::from(expected.clone()), Some(seen.sinks.into()));
            differences.push(Difference { name: "sinks".to_owned(), expected, got });
        }
    }
    differences
}

impl Seen<'_> {
    fn value(&self, name: &Name) -> Option<Value> {
        let document = self.document;
        let found = match name {
            Name::Timestamp => document.get("@timestamp"),
            Name::Received => document.get("received"),
            Name::Level => document.get("level"),
            Name::Component => document.get("component"),
            Name::Content => document.get("content"),
            // Left out where `content` is the whole line.
            Name::Message => document.get("message").or_else(|| document.get("content")),
            Name::Host => document.pointer("/host/name"),
            Name::HostColumn(column) => document.get("host")?.get(column),
            Name::Rank => document.get("rank"),
            Name::Tags => {
                return Some(
                    document.get("tags").cloned().unwrap_or_else(|| Value::Array(Vec::new())),
                );
            }
            Name::Topic => document.pointer("/origin/topic"),
            Name::Partition => document.pointer("/origin/partition"),
            Name::Key => return self.test.key.clone().map(Value::from),
            Name::Header(header) => {
                let mut headers = self.test.headers.iter().rev();
                let found = headers.find(|(name, _)| name == header);
                return found.map(|(_, value)| value.as_str().into());
            }
            Name::Envelope(path) if path == "host" => {
                return self.envelope?.host.clone().map(Value::from);
            }
            Name::Envelope(path) => return self.of_envelope(path),
            Name::Field(field) => {
                let fields = document.get("fields");
                let found =
                    fields.and_then(|fields| fields.get(field).or_else(|| walk(fields, field)));
                return found.cloned().or_else(|| self.of_envelope(&format!("fields.{field}")));
            }
            Name::Metric(metric) => document.get("metrics")?.get(metric),
            Name::Label(label) => document.get("labels")?.get(label),
        };
        found.cloned()
    }

    fn of_envelope(&self, path: &str) -> Option<Value> {
        self.envelope?.fields.get(path).map(Value::from)
    }
}

/// A dotted path in nested objects.
fn walk<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| value.get(step))
}

fn is_same(name: &Name, expected: &Value, got: &Value) -> bool {
    match (name, expected, got) {
        (Name::Timestamp | Name::Received, Value::String(expected), Value::String(got)) => {
            let (expected, got) =
                (DateTime::parse_from_rfc3339(expected), DateTime::parse_from_rfc3339(got));
            matches!((expected, got), (Ok(expected), Ok(got)) if expected == got)
        }
        (Name::Level, Value::String(expected), Value::String(got)) => {
            expected == got || Level::parse(expected).is_some_and(|it| it.as_str() == got)
        }
        (Name::Tags, Value::Array(expected), Value::Array(got)) => {
            expected.len() == got.len() && expected.iter().all(|tag| got.contains(tag))
        }
        // A metric that is no finite number is null in the document.
        (Name::Metric(_), Value::String(expected), Value::Null) => {
            expected.parse().is_ok_and(|number: f64| !number.is_finite())
        }
        (_, Value::String(expected), Value::Number(got)) => *expected == got.to_string(),
        (_, Value::Number(expected), Value::String(got)) => expected.to_string() == *got,
        (_, Value::Number(expected), Value::Number(got)) => expected.as_f64() == got.as_f64(),
        _ => expected == got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(name: &Name, expected: &Value, got: &Value, expect: bool) {
        assert_eq!(is_same(name, expected, got), expect, "{name} {expected} {got}");
    }

    #[test]
    fn text_equals_what_it_spells() {
        let field = Name::Field("x".to_owned());
        check(&field, &json!("3"), &json!(3), true);
        check(&field, &json!(3), &json!("3"), true);
        check(&field, &json!(3), &json!(3.0), true);
        check(&field, &json!("3"), &json!(4), false);
        check(&field, &json!("a"), &json!("b"), false);
        let metric = Name::Metric("loss".to_owned());
        check(&metric, &json!("nan"), &json!(null), true);
        check(&metric, &json!("1"), &json!(null), false);
        check(&metric, &json!(3), &json!(3.0), true);
        check(&Name::Level, &json!("ERROR"), &json!("error"), true);
        check(&Name::Level, &json!("warn"), &json!("error"), false);
        check(&Name::Tags, &json!(["a", "b"]), &json!(["b", "a"]), true);
        check(&Name::Tags, &json!(["a"]), &json!(["a", "b"]), false);
        let utc = json!("2026-03-12T02:23:45.123000000Z");
        check(&Name::Timestamp, &json!("2026-03-12T10:23:45.123+08:00"), &utc, true);
        check(&Name::Timestamp, &json!("2026-03-12T10:23:45.124+08:00"), &utc, false);
    }

    #[test]
    fn a_dotted_field_is_found_in_objects() {
        let fields = json!({"a": {"b": 1}, "c.d": 2});
        assert_eq!(walk(&fields, "a.b"), Some(&json!(1)));
        assert_eq!(walk(&fields, "a.c"), None);
    }
}
