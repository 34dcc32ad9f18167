//! A form of one's own: what begins a record, what goes on with it, what ends it.
//!
//! Invariant: matching takes linear time. Next stop: `open`.
use regex::Regex;

use super::Step;
use crate::expression::{self, ExpressionError};

/// A form of one's own.
#[derive(Clone, Debug)]
pub struct JoinRule {
    start: Regex,
    goes_on: Option<Regex>,
    end: Option<Regex>,
}

/// Which of the expressions does not compile, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinRuleError {
    /// `start`, `continue` or `end`.
    pub key: &'static str,
    /// Why.
    pub error: ExpressionError,
}

impl JoinRule {
    /// Compiles a form. Without `continue` and `end` a record goes on until another begins.
    ///
    /// # Errors
    /// The first expression that does not compile.
    pub fn compile(
        start: &str,
        goes_on: Option<&str>,
        end: Option<&str>,
    ) -> Result<JoinRule, JoinRuleError> {
        let compile = |key, text: &str| {
            expression::compile(text).map_err(|error| JoinRuleError { key, error })
        };
        Ok(JoinRule {
            start: compile("start", start)?,
            goes_on: goes_on.map(|text| compile("continue", text)).transpose()?,
            end: end.map(|text| compile("end", text)).transpose()?,
        })
    }

    pub(super) fn opens(&self, text: &str) -> bool {
        self.start.is_match(text)
    }

    pub(super) fn next(&self, text: &str) -> Step {
        if self.end.as_ref().is_some_and(|end| end.is_match(text)) {
            return Step::End;
        }
        let goes_on = match &self.goes_on {
            Some(goes_on) => goes_on.is_match(text),
            None => !self.start.is_match(text),
        };
        if goes_on { Step::Take } else { Step::No }
    }
}
