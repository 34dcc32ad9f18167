//! Reads the text of a template, with every error at its place.
//!
//! Invariant: every name and date format in a template that was read exists. Next stop:
//! `Template::render`.
use std::ops::Range;

use super::{Part, TemplateError};
use crate::date::DateFormat;
use crate::names::{Name, Names};

struct Reader<'a> {
    text: &'a str,
    names: &'a Names,
    used: Vec<Name>,
    parts: Vec<Part>,
}

pub(super) fn read(text: &str, names: &Names) -> Result<(Vec<Part>, Vec<Name>), TemplateError> {
    let mut reader = Reader { text, names, used: Vec::new(), parts: Vec::new() };
    reader.read()?;
    Ok((reader.parts, reader.used))
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), TemplateError> {
        let text = self.text;
        let mut at = 0;
        while let Some(found) = text[at..].find(['{', '}']) {
            self.push_literal(&text[at..at + found]);
            at += found;
            let rest = &text[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                self.push_literal(&rest[..1]);
                at += 2;
            } else if rest.starts_with('}') {
                let help = "write `}}` for the character itself";
                return Err(error(at..at + 1, "`}` closes nothing", help));
            } else {
                let Some(length) = rest.find('}') else {
                    let help = "add a `}`, or write `{{` for the character itself";
                    return Err(error(at..text.len(), "`{` is not closed", help));
                };
                if text[..at].ends_with('%') {
                    let message = "`%{…}` is Logstash's form";
                    let help = format!("write `{{{}}}`", rest[1..length].trim_matches(['[', ']']));
                    return Err(error(at - 1..at + length + 1, message, &help));
                }
                self.placeholder(at + 1..at + length)?;
                at += length + 1;
            }
        }
        self.push_literal(&text[at..]);
        Ok(())
    }

    fn placeholder(&mut self, span: Range<usize>) -> Result<(), TemplateError> {
        let inside = &self.text[span.clone()];
        let (written, format) = match inside.split_once(':') {
            Some((name, format)) => (name, Some(format)),
            None => (inside, None),
        };
        let name_span = span.start..span.start + written.len();
        if written.is_empty() {
            let help = "write for example `{task}` or `{timestamp:%Y.%m.%d}`";
            return Err(error(span.start - 1..span.end + 1, "a name is missing", help));
        }
        let name = self.names.resolve(written).map_err(|error| TemplateError {
            span: name_span.clone(),
            message: error.message,
            help: error.help,
        })?;
        match (&name, format) {
            (Name::Timestamp | Name::Received, Some(format)) => {
                let name = self.slot(name);
                self.date(name, format, name_span.end + 1)
            }
            (Name::Timestamp | Name::Received, None) => {
                let message = format!("`{written}` needs a date format");
                Err(error(name_span, &message, &format!("write `{{{written}:%Y.%m.%d}}`")))
            }
            (_, Some(_)) => {
                let message = format!("`{written}` takes no format");
                Err(error(name_span.end..span.end, &message, &format!("write `{{{written}}}`")))
            }
            (_, None) => {
                let name = self.slot(name);
                self.parts.push(Part::Value { name });
                Ok(())
            }
        }
    }

    /// A `/` within a date is a separator of the path like any other, so the date is cut there.
    fn date(&mut self, name: usize, format: &str, at: usize) -> Result<(), TemplateError> {
        DateFormat::compile(format).map_err(|error| TemplateError {
            span: at + error.span.start..at + error.span.end,
            message: error.message,
            help: error.help,
        })?;
        for (index, piece) in format.split('/').enumerate() {
            if index > 0 {
                self.push_literal("/");
            }
            match DateFormat::compile(piece) {
                Ok(format) => self.parts.push(Part::Date { name, format }),
                Err(_) => self.push_literal(&piece.replace("%%", "%")),
            }
        }
        Ok(())
    }

    fn slot(&mut self, name: Name) -> usize {
        if let Some(known) = self.used.iter().position(|used| *used == name) {
            return known;
        }
        self.used.push(name);
        self.used.len() - 1
    }

    fn push_literal(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Literal(literal)) => literal.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }
}

fn error(span: Range<usize>, message: &str, help: &str) -> TemplateError {
    TemplateError { span, message: message.to_owned(), help: Some(help.to_owned()) }
}
