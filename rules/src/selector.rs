//! A selector names one place where a label or the host may be found: `header.task`, `key`,
//! `fields.task`, `kubernetes.labels.job`.
//!
//! Invariant: a selector that compiled names something that can exist; a slip in its first word is
//! refused at load. Next stop: `labels`, `hosts`.
use crate::names::{Name, NameError, Names};
use crate::suggest::closest;

/// One candidate of a label or of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    name: Name,
}

impl Selector {
    /// Reads a selector. Besides the names of `Names`, any dotted path names a field of the
    /// envelope.
    pub fn compile(text: &str, names: &Names) -> Result<Selector, NameError> {
        let error = match names.resolve(text) {
            Ok(name @ (Name::Timestamp | Name::Received)) => {
                let message = format!("`{name}` is a time, not the name of anything");
                return Err(NameError { message, help: None });
            }
            Ok(name) => return Ok(Selector { name }),
            Err(error) => error,
        };
        let Some((head, rest)) = text.split_once('.') else {
            return Err(error);
        };
        let known = [
            "header", "fields", "envelope", "host", "labels", "headers", "field", "metrics",
            "metric",
        ];
        let path = !head.is_empty()
            && !rest.is_empty()
            && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if path && closest(head, known).is_none() {
            return Ok(Selector { name: Name::Envelope(text.to_owned()) });
        }
        Err(error)
    }

    /// The name it reads.
    pub fn name(&self) -> &Name {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Stage;

    fn check(text: &str, expect: &str) {
        let names = Names::new().labels(["task"]).columns(["node"]).at(Stage::Labels);
        let found = match Selector::compile(text, &names) {
            Ok(selector) => format!("{:?}", selector.name()),
            Err(error) => error.help.unwrap_or(error.message),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn selectors_are_read() {
        check("header.task", "Header(\"task\")");
        check("fields.task", "Field(\"task\")");
        check("envelope.host", "Envelope(\"host\")");
        check("kubernetes.labels.job", "Envelope(\"kubernetes.labels.job\")");
        check("key", "Key");
        check("host.node", "HostColumn(\"node\")");
    }

    #[test]
    fn slips_are_refused() {
        check("heder.task", "did you mean `header.task`?");
        check("headers.task", "did you mean `header.task`?");
        check("field.task", "did you mean `fields.task`?");
        check("kay", "did you mean `key`?");
        check("task", "`task` has no value before labels are set");
        check("a b.c", "a field of the envelope is written `envelope.a b.c`");
    }
}
