//! Regular expressions as a configuration writes them, compiled with a bound.
//!
//! Invariant: what compiles matches in linear time, and each worker's caches of it stay small. Next
//! stop: `redact/pattern`, `step/gsub`.
use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// A larger program is refused: each worker has its own caches of it.
const PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Why a regular expression does not compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionError {
    /// Bytes of the expression.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

/// Compiles a regular expression.
///
/// # Errors
/// The place of what it cannot be read or compiled for.
pub(crate) fn compile(text: &str) -> Result<Regex, ExpressionError> {
    let whole = 0..text.len();
    if let Err(error) = regex_syntax::Parser::new().parse(text) {
        let (span, message) = match error {
            regex_syntax::Error::Parse(error) => (of(error.span()), error.kind().to_string()),
            regex_syntax::Error::Translate(error) => (of(error.span()), error.kind().to_string()),
            other => (whole, other.to_string()),
        };
        return Err(ExpressionError { span, message, help: None });
    }
    RegexBuilder::new(text).size_limit(PROGRAM_BYTES_MAX).build().map_err(|_| ExpressionError {
        span: whole,
        message: "the compiled expression is too large".to_owned(),
        help: Some("repeat less: `{1,1000}` of a class costs a thousand states".to_owned()),
    })
}

fn of(span: &regex_syntax::ast::Span) -> Range<usize> {
    span.start.offset..span.end.offset
}
