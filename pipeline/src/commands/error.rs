//! Why a command could not do what it was asked to, and what to do about it.
//!
//! Invariant: the first line says what, where and which value; the cure stands below it after
//! `help:`. Next stop: `console.rs`, which tells it.

use std::io;

use riverhog_config::Report;

use super::Exit;
use super::console::{Mood, paint};
use crate::assemble::AssembleError;
use crate::telemetry::escape::escape_control;

/// The cure of input that cannot be read.
const INPUT_HELP: &str = "give it lines, as in `< train.log` or `cat train.log | riverhog …`";

/// See the module documentation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The configuration is wrong; the report has all of it.
    #[error("the configuration is wrong")]
    Config(Report),
    /// Standard output cannot be written to.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Anything else.
    #[error("{message}")]
    Other {
        /// What the process ends with.
        exit: Exit,
        /// What, where, which value.
        message: String,
        /// The cure.
        help: Option<String>,
    },
}

impl CommandError {
    /// In a line of the log, which has no room for snippets.
    pub(crate) fn in_a_line(&self) -> String {
        match self {
            CommandError::Config(report) => crate::tables::in_a_line(report),
            other => other.to_string(),
        }
    }

    /// What was given is wrong.
    pub(crate) fn wrong(message: impl Into<String>) -> CommandError {
        CommandError::Other { exit: Exit::WrongInput, message: message.into(), help: None }
    }

    /// The thing itself failed.
    pub(crate) fn failed(message: impl Into<String>) -> CommandError {
        CommandError::Other { exit: Exit::Failed, message: message.into(), help: None }
    }

    /// A service could not be reached.
    pub(crate) fn unreachable(message: impl Into<String>) -> CommandError {
        CommandError::Other { exit: Exit::Partial, message: message.into(), help: None }
    }

    /// The same with a cure.
    pub(crate) fn with_help(mut self, cure: impl Into<String>) -> CommandError {
        if let CommandError::Other { help, .. } = &mut self {
            *help = Some(cure.into());
        }
        self
    }

    /// What the process ends with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CommandError::Config(_) => Exit::WrongInput,
            CommandError::Output(_) | CommandError::Input(_) => Exit::Failed,
            CommandError::Other { exit, .. } => *exit,
        }
    }

    /// The text that is told.
    pub(crate) fn render(&self, colors: bool) -> String {
        let (message, help) = match self {
            CommandError::Config(report) => return report.render(colors),
            CommandError::Output(_) => (self.to_string(), None),
            CommandError::Input(_) => (self.to_string(), Some(INPUT_HELP)),
            CommandError::Other { message, help, .. } => (message.clone(), help.as_deref()),
        };
        let mut text = paint(colors, Mood::Bad, "error");
        text.push_str(": ");
        text.push_str(&lines_escaped(&message));
        if let Some(help) = help {
            text.push_str("\nhelp: ");
            text.push_str(&lines_escaped(help));
        }
        text
    }
}

impl From<AssembleError> for CommandError {
    fn from(error: AssembleError) -> CommandError {
        let message = error.to_string();
        if error.is_wrong_input() {
            CommandError::wrong(message)
        } else {
            CommandError::failed(message)
        }
    }
}

/// Our own line breaks stay, everything else that moves a cursor is written out.
fn lines_escaped(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escape_control).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_cure_below() {
        let error = CommandError::wrong("no such file `a\x1b[2J`").with_help("name another");
        assert_eq!(error.render(false), "error: no such file `a\\x1b[2J`\nhelp: name another");
        assert_eq!(error.exit(), Exit::WrongInput);
        assert_eq!(CommandError::failed("x").render(false), "error: x");
    }
}
