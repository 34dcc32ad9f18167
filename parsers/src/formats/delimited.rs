//! Values in columns: CSV as RFC 4180 has it, and the same with any other separator.
//!
//! Invariant: a doubled quote inside quotes is one quote, and nothing else is an escape; a quoted
//! value ends at a separator or at the end. Next on the trip: [`crate::fields`].

use std::fmt::Write as _;

use super::FormatError;
use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::grok::Reason;

/// How columns are found and named.
#[derive(Clone, Debug)]
pub struct DelimitedOptions {
    /// What stands between two values.
    pub separator: String,
    /// What a value may be enclosed in; none where it is `None`.
    pub quote: Option<char>,
    /// The names of the columns, in order.
    pub columns: Vec<String>,
    /// Columns beyond those are named `column4` and so on; else they are left out.
    pub autogenerate_column_names: bool,
    /// Empty values are no fields.
    pub skip_empty_columns: bool,
}

impl Default for DelimitedOptions {
    /// Commas, double quotes, all columns.
    fn default() -> DelimitedOptions {
        DelimitedOptions {
            separator: ",".to_owned(),
            quote: Some('"'),
            columns: Vec::new(),
            autogenerate_column_names: true,
            skip_empty_columns: false,
        }
    }
}

/// The compiled options.
#[derive(Clone, Debug)]
pub struct Delimited {
    options: DelimitedOptions,
}

impl Delimited {
    /// Compiles the options.
    ///
    /// # Errors
    /// An empty separator, one that is the quote, and two columns of one name.
    pub fn compile(options: &DelimitedOptions) -> Result<Delimited, FormatError> {
        let error = |option, message: String, help: &str| FormatError {
            option,
            span: 0..0,
            message,
            help: Some(help.to_owned()),
        };
        if options.separator.is_empty() {
            return Err(error("separator", "an empty separator".to_owned(), "for example `,`"));
        }
        if options.quote.is_some_and(|quote| options.separator.contains(quote)) {
            let message = "the separator holds the quote".to_owned();
            return Err(error("quote", message, "take another quote"));
        }
        for (index, column) in options.columns.iter().enumerate() {
            if column.is_empty() || options.columns[..index].contains(column) {
                let message = "a column stands twice or has no name".to_owned();
                return Err(error("columns", message, "give each column a name of its own"));
            }
        }
        Ok(Delimited { options: options.clone() })
    }

    /// The names of its fields; `None` where more may come.
    pub(super) fn names(&self) -> Option<Vec<&str>> {
        let named = self.options.columns.iter().map(String::as_str).collect();
        (!self.options.autogenerate_column_names).then_some(named)
    }

    /// A line of one value where several columns are expected is not of this format.
    pub(super) fn read(&self, writer: &mut Writer<'_>) -> Read {
        let mut rest = Some(writer.text);
        let mut column = 0;
        while let Some(text) = rest {
            let (value, after) = self.value(text, writer)?;
            rest = after;
            if column == 0 && rest.is_none() && self.options.columns.len() != 1 {
                return Err(Reason::NoMatch);
            }
            self.save(writer, column, value)?;
            column += 1;
        }
        Ok(())
    }

    fn save(&self, writer: &mut Writer<'_>, column: usize, value: Piece) -> Read {
        let is_empty = writer.fields.show(value, writer.text).is_empty();
        if is_empty && self.options.skip_empty_columns {
            return Ok(());
        }
        let name = match self.options.columns.get(column) {
            Some(name) => writer.fields.compose(|buffer| buffer.push_str(name)),
            None if self.options.autogenerate_column_names => {
                let number = column + 1;
                writer.fields.compose(|buffer| {
                    let _infallible = write!(buffer, "column{number}");
                })
            }
            None => return Ok(()),
        };
        writer.add(name, value, FieldKind::Text, Duplicates::All)
    }

    /// The value at the front, and what follows its separator.
    fn value<'t>(
        &self,
        text: &'t str,
        writer: &mut Writer<'_>,
    ) -> Result<(Piece, Option<&'t str>), Reason> {
        let separator = self.options.separator.as_str();
        let opened = self.options.quote.and_then(|quote| Some((quote, text.strip_prefix(quote)?)));
        let Some((quote, inside)) = opened else {
            return Ok(match text.split_once(separator) {
                Some((value, rest)) => {
                    super::looked_at(value.len());
                    (writer.piece(value), Some(rest))
                }
                None => (writer.piece(text), None),
            });
        };
        let (value, doubled) = enclosed(inside, quote).ok_or(Reason::Invalid)?;
        let rest = &inside[value.len() + quote.len_utf8()..];
        let rest = match rest.strip_prefix(separator) {
            Some(rest) => Some(rest),
            None if rest.is_empty() => None,
            None => return Err(Reason::Invalid),
        };
        let piece = if doubled {
            writer.fields.compose(|buffer| {
                let mut is_second = false;
                for letter in value.chars() {
                    is_second = letter == quote && !is_second;
                    if letter != quote || is_second {
                        buffer.push(letter);
                    }
                }
            })
        } else {
            writer.piece(value)
        };
        Ok((piece, rest))
    }
}

/// The text up to a quote that is not doubled, and whether there are doubled ones in it.
fn enclosed(inside: &str, quote: char) -> Option<(&str, bool)> {
    let mut from = 0;
    let mut doubled = false;
    loop {
        let at = from + inside[from..].find(quote)?;
        super::looked_at(at - from);
        let after = at + quote.len_utf8();
        if !inside[after..].starts_with(quote) {
            return Some((&inside[..at], doubled));
        }
        doubled = true;
        from = after + quote.len_utf8();
    }
}
