//! Patterns of one's own. Invariant: a pattern that compiles can find a value in time that is
//! linear in the text. Next stop: `find`.
use regex::Regex;

use super::Action;
use crate::expression::{self, ExpressionError};

/// A pattern of one's own.
#[derive(Clone, Debug)]
pub struct RedactPattern {
    /// Its name, a metric label and part of what is left of a value.
    pub name: String,
    /// What it finds is the value.
    pub(super) regex: Regex,
    /// What becomes of it.
    pub action: Action,
}

impl RedactPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The place of what the regular expression cannot be read or compiled for.
    pub fn compile(
        name: &str,
        text: &str,
        action: Action,
    ) -> Result<RedactPattern, ExpressionError> {
        let regex = expression::compile(text)?;
        if regex.is_match("") {
            let help = "let it match at least one character".to_owned();
            let message = "it matches the empty text, which is no value".to_owned();
            return Err(ExpressionError { span: 0..text.len(), message, help: Some(help) });
        }
        Ok(RedactPattern { name: name.to_owned(), regex, action })
    }
}
