//! Patterns of one's own. Invariant: a pattern that compiles can find a value in time that is
//! linear in the text. Next stop: `find`.
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::Action;

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

/// Why a pattern does not compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedactPatternError {
    /// Bytes of the pattern's own text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

/// A larger program is refused: each worker has its own caches of it.
const PROGRAM_BYTES_MAX: usize = 1 << 20;

impl RedactPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The place of what the regular expression cannot be read or compiled for.
    pub fn compile(
        name: &str,
        text: &str,
        action: Action,
    ) -> Result<RedactPattern, RedactPatternError> {
        let whole = 0..text.len();
        if let Err(error) = regex_syntax::Parser::new().parse(text) {
            let (span, message) = match error {
                regex_syntax::Error::Parse(error) => (of(error.span()), error.kind().to_string()),
                regex_syntax::Error::Translate(error) => {
                    (of(error.span()), error.kind().to_string())
                }
                other => (whole, other.to_string()),
            };
            return Err(RedactPatternError { span, message, help: None });
        }
        let regex = RegexBuilder::new(text).size_limit(PROGRAM_BYTES_MAX).build();
        let regex = regex.map_err(|_| RedactPatternError {
            span: whole.clone(),
            message: "the compiled expression is too large".to_owned(),
            help: Some("repeat less: `{1,1000}` of a class costs a thousand states".to_owned()),
        })?;
        if regex.is_match("") {
            let help = "let it match at least one character".to_owned();
            let message = "it matches the empty text, which is no value".to_owned();
            return Err(RedactPatternError { span: whole, message, help: Some(help) });
        }
        Ok(RedactPattern { name: name.to_owned(), regex, action })
    }
}

fn of(span: &regex_syntax::ast::Span) -> Range<usize> {
    span.start.offset..span.end.offset
}
