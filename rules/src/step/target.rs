//! What a step may give a value: the parts of an event that a line decides.
//!
//! Invariant: the raw line, the times, the host, labels and the origin are no targets. Next stop:
//! `transform/steps/edit`.
use std::fmt;

use crate::names::Names;
use crate::suggest::did_you_mean;

/// A part of an event that steps change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The level; only what names one.
    Level,
    /// The component.
    Component,
    /// The content. It is never absent: without one it is the line.
    Content,
    /// The rank; only whole numbers.
    Rank,
    /// A parsed field.
    Field(String),
    /// A metric; only numbers.
    Metric(String),
}

const PARTS: [(&str, Target); 4] = [
    ("level", Target::Level),
    ("component", Target::Component),
    ("content", Target::Content),
    ("rank", Target::Rank),
];

impl Target {
    /// Reads a target as a configuration writes it.
    ///
    /// # Errors
    /// What is wrong, and what to write in its place.
    pub fn parse(text: &str) -> Result<Target, (String, String)> {
        if let Some((_, target)) = PARTS.iter().find(|(name, _)| *name == text) {
            return Ok(target.clone());
        }
        if let Some(field) = text.strip_prefix("fields.").filter(|field| !field.is_empty()) {
            if field.len() > riverhog_parsers::fields::NAME_BYTES_MAX {
                let message = "the name of a field has more than 512 bytes".to_owned();
                return Err((message, "take a shorter one".to_owned()));
            }
            return Ok(Target::Field(field.to_owned()));
        }
        if let Some(metric) = text.strip_prefix("metrics.").filter(|name| !name.is_empty()) {
            return match Names::new().resolve(text) {
                Ok(_) => Ok(Target::Metric(metric.to_owned())),
                Err(error) => Err((error.message, error.help.unwrap_or_default())),
            };
        }
        let message = match text {
            "message" => "`message` is the raw line and stays what it is".to_owned(),
            "timestamp" | "received" | "tags" | "host" | "topic" | "partition" | "key" => {
                format!("`{text}` is not changed by steps")
            }
            _ => format!("`{text}` is nothing that a step can change"),
        };
        let help = match text {
            "message" => "change `content` instead".to_owned(),
            "tags" => "use `tag` and `untag`".to_owned(),
            "fields" | "fields." => "write `fields.NAME`".to_owned(),
            "metrics" | "metrics." => "write `metrics.NAME`".to_owned(),
            "timestamp" => "read it with `parse = { …, time = { … } }`".to_owned(),
            _ => did_you_mean(text, PARTS.iter().map(|(name, _)| *name))
                .unwrap_or_else(|| format!("a parsed field is written `fields.{text}`")),
        };
        Err((message, help))
    }

    /// The name of a parsed field.
    pub fn field(&self) -> Option<&str> {
        match self {
            Target::Field(field) => Some(field),
            _ => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Field(field) => write!(out, "fields.{field}"),
            Target::Metric(metric) => write!(out, "metrics.{metric}"),
            part => {
                let found = PARTS.iter().find(|(_, target)| target == part);
                out.write_str(found.map_or("", |(name, _)| name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let found = match Target::parse(text) {
            Ok(target) => {
                assert_eq!(target.to_string(), text);
                format!("{target:?}")
            }
            Err((message, help)) => format!("{message}; {help}"),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn targets_are_read() {
        check("content", "Content");
        check("fields.a.b", "Field(\"a.b\")");
        check("metrics.loss", "Metric(\"loss\")");
        let slip = "`a.b` cannot be the name of a metric; write `metrics.a_b`";
        check("metrics.a.b", slip);
        let raw = "`message` is the raw line and stays what it is; change `content` instead";
        check("message", raw);
        check("levle", "`levle` is nothing that a step can change; did you mean `level`?");
        let field = "`loss` is nothing that a step can change; \
                     a parsed field is written `fields.loss`";
        check("loss", field);
        check("tags", "`tags` is not changed by steps; use `tag` and `untag`");
    }
}
