//! What may be named in conditions, templates and selectors, and how a name is read.
//!
//! Invariant: a name is checked once, at load; what comes out can be looked up without a further
//! error. Next stop: `condition`, `template`, `selector`, which bind names to values.
use std::fmt;

use riverhog_parsers::number::push_name;

use crate::numbers::is_metric_name;
use crate::suggest::{closest, did_you_mean};

/// A checked name. `Display` gives it back as it is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    /// The event's time.
    Timestamp,
    /// The record's time, `received`.
    Received,
    /// The level, ordered `trace` to `fatal`.
    Level,
    /// The component that logged.
    Component,
    /// The content, the line itself where no parser found one.
    Content,
    /// The raw line as text.
    Message,
    /// The host's name, `unknown` where there is none.
    Host,
    /// A column of the host table.
    HostColumn(String),
    /// The rank, a whole number.
    Rank,
    /// The event's tags, such as `_unparsed`.
    Tags,
    /// Kafka topic or file name.
    Topic,
    /// Kafka partition.
    Partition,
    /// Kafka key.
    Key,
    /// A Kafka header.
    Header(String),
    /// A field of the envelope by its dotted path; `host` is the envelope's host.
    Envelope(String),
    /// A parsed field; where the line has none, the envelope's `fields.<name>`.
    Field(String),
    /// A metric, always a number.
    Metric(String),
    /// A label.
    Label(String),
}

impl Name {
    /// True when the value may differ between two lines of one record, whatever the rules are.
    /// Labels, the host and `Field` depend on the rules and count as false here.
    pub fn is_of_line(&self) -> bool {
        matches!(
            self,
            Name::Timestamp
                | Name::Level
                | Name::Component
                | Name::Content
                | Name::Message
                | Name::Rank
                | Name::Tags
                | Name::Metric(_)
        )
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::HostColumn(name) => write!(out, "host.{name}"),
            Name::Header(name) => write!(out, "header.{name}"),
            Name::Envelope(name) => write!(out, "envelope.{name}"),
            Name::Field(name) => write!(out, "fields.{name}"),
            Name::Metric(name) => write!(out, "metrics.{name}"),
            Name::Label(name) => out.write_str(name),
            plain => {
                let found = PLAIN.iter().find(|(_, name)| name == plain);
                out.write_str(found.map_or("", |(text, _)| text))
            }
        }
    }
}

const PLAIN: [(&str, Name); 12] = [
    ("timestamp", Name::Timestamp),
    ("received", Name::Received),
    ("level", Name::Level),
    ("component", Name::Component),
    ("content", Name::Content),
    ("message", Name::Message),
    ("host", Name::Host),
    ("rank", Name::Rank),
    ("tags", Name::Tags),
    ("topic", Name::Topic),
    ("partition", Name::Partition),
    ("key", Name::Key),
];

const HEADS: [&str; 5] = ["header", "fields", "metrics", "envelope", "host"];

/// The stop of the trip at which a name is read: what comes later has no value yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// `when` and `field` of a parse rule: only what the record says. A label has the value that
    /// the record alone gives it.
    Parse,
    /// Transform steps: everything, but host and labels have the values that the record alone
    /// gives them.
    Transform,
    /// Candidates of the host: no host, no labels.
    Hosts,
    /// Candidates of a label: no labels.
    Labels,
    /// Routes and templates: everything.
    #[default]
    Route,
}

/// The names that exist under one configuration.
#[derive(Clone, Debug, Default)]
pub struct Names {
    labels: Vec<String>,
    columns: Option<Vec<String>>,
    stage: Stage,
}

/// A name that does not exist, or not here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameError {
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

impl Names {
    /// The built-in names alone, at the last stage.
    pub fn new() -> Names {
        Names::default()
    }

    /// Adds the labels.
    pub fn labels<T: Into<String>>(mut self, labels: impl IntoIterator<Item = T>) -> Names {
        self.labels = labels.into_iter().map(Into::into).collect();
        self
    }

    /// Adds the columns of the host table (without the host itself).
    pub fn columns<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Names {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// The same names as seen from another stage.
    pub fn at(&self, stage: Stage) -> Names {
        Names { stage, ..self.clone() }
    }

    /// True for what cannot be the name of a label.
    pub fn is_reserved(name: &str) -> bool {
        PLAIN.iter().any(|(plain, _)| *plain == name) || HEADS.contains(&name)
    }

    /// True for what can be written as a label's name: letters, digits, `_` and `-`.
    pub fn is_label(name: &str) -> bool {
        let allowed = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        name.len() <= 64
            && name.chars().all(allowed)
            && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
            && !Names::is_reserved(name)
    }

    /// Reads a name as conditions and templates write it.
    pub fn resolve(&self, text: &str) -> Result<Name, NameError> {
        let name = self.read(text)?;
        match self.too_early(&name) {
            None => Ok(name),
            Some(message) => Err(NameError { message, help: None }),
        }
    }

    fn read(&self, text: &str) -> Result<Name, NameError> {
        if let Some((_, name)) = PLAIN.iter().find(|(plain, _)| *plain == text) {
            return Ok(name.clone());
        }
        if self.labels.iter().any(|label| label == text) {
            return Ok(Name::Label(text.to_owned()));
        }
        if text == "@timestamp" {
            let help = Some("write `timestamp`".to_owned());
            return Err(NameError { message: unknown(text), help });
        }
        if let Some((head, rest)) = text.split_once('.') {
            match head {
                "header" if !rest.is_empty() => return Ok(Name::Header(rest.to_owned())),
                "envelope" if !rest.is_empty() => return Ok(Name::Envelope(rest.to_owned())),
                "fields" if !rest.is_empty() => return Ok(Name::Field(rest.to_owned())),
                "metrics" if !rest.is_empty() => return metric(rest),
                "host" if !rest.is_empty() => return self.host_column(rest),
                "labels" if self.labels.iter().any(|label| label == rest) => {
                    let help = Some(format!("labels are plain names: write `{rest}`"));
                    return Err(NameError { message: unknown(text), help });
                }
                _ => {}
            }
        }
        Err(NameError { message: unknown(text), help: self.help(text) })
    }

    fn host_column(&self, column: &str) -> Result<Name, NameError> {
        if column == "name" {
            return Ok(Name::Host);
        }
        let Some(columns) = &self.columns else {
            let message = format!("`host.{column}` needs a host table");
            let help = Some("name one with `table` under `[hosts]`".to_owned());
            return Err(NameError { message, help });
        };
        if columns.iter().any(|known| known == column) {
            return Ok(Name::HostColumn(column.to_owned()));
        }
        let message = format!("the host table has no column `{column}`");
        let help = closest(column, columns.iter().map(String::as_str))
            .map(|column| format!("did you mean `host.{column}`?"))
            .or_else(|| Some(format!("its columns are {}", list(columns))));
        Err(NameError { message, help })
    }

    fn help(&self, text: &str) -> Option<String> {
        let labels = self.labels.iter().map(String::as_str);
        let plain = PLAIN.iter().map(|(plain, _)| *plain);
        if let Some((head, rest)) = text.split_once('.') {
            if let Some(head) = closest(head, HEADS) {
                return Some(format!("did you mean `{head}.{rest}`?"));
            }
            return Some(format!("a field of the envelope is written `envelope.{text}`"));
        }
        if HEADS.contains(&text) {
            return Some(format!("write `{text}.<name>`"));
        }
        did_you_mean(text, labels.chain(plain))
            .or_else(|| Some(format!("a parsed field is written `fields.{text}`")))
    }

    fn too_early(&self, name: &Name) -> Option<String> {
        let later = match self.stage {
            Stage::Parse => {
                let after = matches!(name, Name::Field(_)) || name.is_of_line();
                (after && *name != Name::Message).then_some("parsing")
            }
            Stage::Hosts => match name {
                Name::Host | Name::HostColumn(_) => Some("the host is found"),
                Name::Label(_) => Some("labels are set"),
                Name::Metric(_) => {
                    return Some(format!("`{name}` is a number, and no host is named by one"));
                }
                _ => None,
            },
            Stage::Labels => matches!(name, Name::Label(_)).then_some("labels are set"),
            Stage::Transform | Stage::Route => None,
        };
        later.map(|later| format!("`{name}` has no value before {later}"))
    }
}

/// Any metric may come with a line: only its name is checked.
fn metric(name: &str) -> Result<Name, NameError> {
    if is_metric_name(name) {
        return Ok(Name::Metric(name.to_owned()));
    }
    let mut better = String::new();
    push_name(&mut better, name, "");
    let message = format!("`{name}` cannot be the name of a metric");
    let help = if is_metric_name(&better) {
        format!("write `metrics.{better}`")
    } else {
        "write `metrics.NAME`, of at most 64 small letters, digits and `_`".to_owned()
    };
    Err(NameError { message, help: Some(help) })
}

fn unknown(text: &str) -> String {
    format!("unknown name `{text}`")
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new().labels(["task", "role", "project"]).columns(["node", "gpu_model"])
    }

    fn check(stage: Stage, text: &str, expect: &str) {
        let found = match names().at(stage).resolve(text) {
            Ok(name) => format!("{name:?}"),
            Err(error) => match error.help {
                Some(help) => format!("{}; {help}", error.message),
                None => error.message,
            },
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn names_are_read() {
        check(Stage::Route, "timestamp", "Timestamp");
        check(Stage::Route, "host", "Host");
        check(Stage::Route, "host.name", "Host");
        check(Stage::Route, "host.node", "HostColumn(\"node\")");
        check(Stage::Route, "task", "Label(\"task\")");
        check(Stage::Route, "header.x-task", "Header(\"x-task\")");
        check(Stage::Route, "envelope.kubernetes.pod", "Envelope(\"kubernetes.pod\")");
        check(Stage::Route, "fields.a.b", "Field(\"a.b\")");
        check(Stage::Route, "metrics.grad_norm", "Metric(\"grad_norm\")");
    }

    #[test]
    fn unknown_names_get_advice() {
        check(Stage::Route, "porject", "unknown name `porject`; did you mean `project`?");
        let expect = "`GradNorm` cannot be the name of a metric; write `metrics.grad_norm`";
        check(Stage::Route, "metrics.GradNorm", expect);
        check(Stage::Route, "metric.x", "unknown name `metric.x`; did you mean `metrics.x`?");
        check(Stage::Route, "field.x", "unknown name `field.x`; did you mean `fields.x`?");
        check(Stage::Route, "@timestamp", "unknown name `@timestamp`; write `timestamp`");
        let expect = "unknown name `labels.task`; labels are plain names: write `task`";
        check(Stage::Route, "labels.task", expect);
        let expect = "unknown name `step`; a parsed field is written `fields.step`";
        check(Stage::Route, "step", expect);
        let expect = "the host table has no column `gpu_modle`; did you mean `host.gpu_model`?";
        check(Stage::Route, "host.gpu_modle", expect);
        check(Stage::Route, "header", "unknown name `header`; write `header.<name>`");
        let expect = "unknown name `kubernetes.pod`; a field of the envelope is written \
                      `envelope.kubernetes.pod`";
        check(Stage::Route, "kubernetes.pod", expect);
    }

    #[test]
    fn a_name_is_refused_before_it_has_a_value() {
        check(Stage::Parse, "fields.x", "`fields.x` has no value before parsing");
        check(Stage::Parse, "level", "`level` has no value before parsing");
        check(Stage::Parse, "message", "Message");
        check(Stage::Parse, "task", "Label(\"task\")");
        check(Stage::Parse, "metrics.loss", "`metrics.loss` has no value before parsing");
        let expect = "`metrics.loss` is a number, and no host is named by one";
        check(Stage::Hosts, "metrics.loss", expect);
        check(Stage::Hosts, "host.node", "`host.node` has no value before the host is found");
        check(Stage::Labels, "role", "`role` has no value before labels are set");
        check(Stage::Labels, "host.node", "HostColumn(\"node\")");
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        for text in ["timestamp", "tags", "host.node", "fields.a.b", "metrics.loss", "task"] {
            assert_eq!(names().resolve(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn labels_have_names_of_their_own() {
        assert!(Names::is_label("task"));
        assert!(Names::is_label("team-a"));
        for name in ["level", "header", "a.b", "1a", "", "a b", "host"] {
            assert!(!Names::is_label(name), "{name}");
        }
    }
}
