//! Tracebacks of Python, as one line or as the record that their lines were joined to:
//! `Traceback (most recent call last):`, exception groups, boxes of rich.
//!
//! Invariant: the content is the whole record; the exception is the one that ended it, so of a
//! chain the last and of a group the group. A traceback says no level. Next on the trip:
//! [`super::words`].

use super::line::Line;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Longer names are none: those of classes.
const NAME_BYTES_MAX: usize = 200;

/// Reads a traceback.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let is_traceback = line.text.starts_with("Traceback (most recent call last)")
        || line.text.starts_with("+ Exception Group Traceback (most recent call last)")
        || (line.text.starts_with('╭')
            && line.text.contains(" Traceback (most recent call last) "));
    if !is_traceback {
        return Err(Reason::NoMatch);
    }
    if let Some((name, message)) = exception(line.text) {
        writer.part("exception", name)?;
        if !message.is_empty() {
            writer.part("exception_message", message)?;
        }
    }
    writer.part("content", line.text)
}

/// The exception that ended it: its class, and the first line of its message.
fn exception(text: &str) -> Option<(&str, &str)> {
    let is_group = text.starts_with('+');
    let (mut found, mut is_behind_frame) = (None, false);
    for line in text.split('\n').skip(1) {
        // The lines of a group stand behind a rule.
        let line = if is_group { line.trim_start_matches(' ').strip_prefix("| ")? } else { line };
        let named = if is_behind_frame { named(line) } else { None };
        if is_group && named.is_some() {
            return named;
        }
        found = named.or(found);
        // A message may be of several lines, and none of them is an exception.
        is_behind_frame = line.starts_with([' ', '\t', '│', '╰']);
    }
    found
}

/// `torch.OutOfMemoryError: CUDA out of memory`
fn named(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once(':').unwrap_or((line.trim_end(), ""));
    let class = name.rsplit('.').next().unwrap_or_default();
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    let is_class = class.starts_with(char::is_uppercase) && name.len() <= NAME_BYTES_MAX;
    (is_class && name.chars().all(is_name)).then_some((name, message.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = exception(text).map(|(name, message)| format!("{name} | {message}"));
        assert_eq!(shown.as_deref().unwrap_or("-"), expect, "{text}");
    }

    #[test]
    fn the_exception_that_ended_it() {
        let frames = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    x()";
        check(&format!("{frames}\nKeyError: 'a'"), "KeyError | 'a'");
        check(&format!("{frames}\n    ^^^\nKeyboardInterrupt"), "KeyboardInterrupt | ");
        check(
            &format!("{frames}\ntorch.OutOfMemoryError: CUDA out of memory.\nGPU 0: Foo\nBar: x"),
            "torch.OutOfMemoryError | CUDA out of memory.",
        );
        check(&format!("{frames}\nKeyError: 1\n\nDuring handling\n\n{frames}\nA: 2"), "A | 2");
        check(frames, "-");
        check(&format!("{frames}\nnot a class: x"), "-");
        check("╭─ Traceback ─╮\n│ a.py:1 │\n╰──╯\nValueError: b", "ValueError | b");
        check(
            "+ Exception Group Traceback (most recent call last):\n  |   File \"a.py\"\n  | \
             ExceptionGroup: workers (2)\n  +-+---- 1 ----\n    | ValueError: a",
            "ExceptionGroup | workers (2)",
        );
    }
}
