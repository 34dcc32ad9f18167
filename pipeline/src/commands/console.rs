//! The terminal, or the pipe: where a command's data and words go, and whether in colour.
//!
//! Invariant: in a pipe there is no colour, and no control character of log data reaches a terminal
//! raw. Next stop: the commands, which write.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::ValueEnum;

use super::{CommandError, Exit};
use crate::telemetry::log::LogColor;

/// `--color`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorWhen {
    // On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// `--format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    // For people.
    #[default]
    Text,
    // For programs: one object a line.
    Json,
}

/// What a word means, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Worth a look.
    Careful,
    /// Beside the point.
    Dim,
}

/// Where a command writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    color: ColorWhen,
    colors_out: bool,
    colors_err: bool,
    err_is_terminal: bool,
}

impl Console {
    pub(crate) fn new(color: ColorWhen) -> Console {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let no_color = is_set("NO_COLOR");
        let forced = std::env::var("CLICOLOR_FORCE").is_ok_and(|value| value != "0");
        let colors = |is_terminal: bool| match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => !no_color && (is_terminal || forced),
        };
        Console {
            color,
            colors_out: colors(io::stdout().is_terminal()),
            colors_err: colors(io::stderr().is_terminal()),
            err_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Standard output, buffered: flush it when a person is waiting.
    #[expect(clippy::unused_self, reason = "who writes must have a console")]
    pub(crate) fn out(self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(io::stdout().lock())
    }

    /// Whether standard output is coloured.
    pub(crate) fn colors_out(self) -> bool {
        self.colors_out
    }

    /// Whether standard error is coloured.
    pub(crate) fn colors_err(self) -> bool {
        self.colors_err
    }

    /// How the log is coloured.
    pub(crate) fn log_color(self) -> LogColor {
        match self.color {
            ColorWhen::Auto => LogColor::Auto,
            ColorWhen::Always => LogColor::Always,
            ColorWhen::Never => LogColor::Never,
        }
    }

    /// A word for standard output.
    pub(crate) fn paint(self, mood: Mood, text: &str) -> String {
        paint(self.colors_out, mood, text)
    }

    /// Writes words to standard error, with a newline at their end.
    #[expect(clippy::unused_self, reason = "who writes must have a console")]
    pub(crate) fn tell(self, text: &str) {
        write_err(&format!("{}\n", text.trim_end()));
    }

    /// Writes what is being waited for to standard error: a terminal shows the last one alone,
    /// anything else gets a line for each.
    pub(crate) fn tell_progress(self, text: &str) {
        write_err(&progress(self.err_is_terminal, text));
    }

    /// Takes what [`Console::tell_progress`] wrote off a terminal.
    pub(crate) fn end_progress(self) {
        if self.err_is_terminal {
            write_err(ERASE_LINE);
        }
    }

    /// Tells an error and answers what the process ends with.
    pub(crate) fn tell_error(self, error: &CommandError) -> Exit {
        if let CommandError::Output(cause) = error
            && cause.kind() == io::ErrorKind::BrokenPipe
        {
            // The reader of a pipe has seen enough: `riverhog parse | head`.
            return Exit::Done;
        }
        self.tell(&error.render(self.colors_err));
        error.exit()
    }
}

/// Back to the start of the line, and nothing on it.
const ERASE_LINE: &str = "\r\x1b[2K";

fn progress(is_terminal: bool, text: &str) -> String {
    if is_terminal { format!("{ERASE_LINE}{text}") } else { format!("{text}\n") }
}

fn write_err(text: &str) {
    let mut err = io::stderr().lock();
    // Whoever closed standard error wants to be told nothing.
    let _closed = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// `text` in the colour of its mood, where there is colour.
pub(crate) fn paint(colors: bool, mood: Mood, text: &str) -> String {
    if !colors {
        return text.to_owned();
    }
    let code = match mood {
        Mood::Good => 32,
        Mood::Bad => 31,
        Mood::Careful => 33,
        Mood::Dim => 2,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// `1 line`, `12,480 lines`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `1,204,000`
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `740.0 MiB`
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let grouped: Vec<String> =
            [0, 999, 1_000, 12_480, 1_204_000].into_iter().map(grouped).collect();
        assert_eq!(grouped, ["0", "999", "1,000", "12,480", "1,204,000"]);
        assert_eq!(plural(1, "line"), "1 line");
        assert_eq!(plural(1_000, "line"), "1,000 lines");
        let sizes: Vec<String> = [7, 1_024, 1_536, 776_000_000].into_iter().map(size).collect();
        assert_eq!(sizes, ["7 B", "1.0 KiB", "1.5 KiB", "740.1 MiB"]);
    }

    #[test]
    fn a_terminal_shows_the_last_progress_alone() {
        assert_eq!(progress(false, "asking a …"), "asking a …\n");
        assert_eq!(progress(true, "asking a …"), "\r\x1b[2Kasking a …");
    }

    #[test]
    fn a_pipe_has_no_colour() {
        assert_eq!(paint(false, Mood::Bad, "x"), "x");
        assert_eq!(paint(true, Mood::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
