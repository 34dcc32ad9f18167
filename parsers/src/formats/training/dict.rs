//! A flat dictionary as Python prints it, or a JSON object: `{'loss': 2.104, 'epoch': '0.42'}`.
//!
//! Invariant: the text is read once from left to right, and is a dictionary to its very end or
//! none. Numbers are numbers in quotes and out of them; values that hold others are stepped over.
//! Next on the trip: [`super::numbers`].

use super::numbers;
use crate::fields::{Duplicates, FieldKind};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;
use crate::number::{duration, number};

/// Deeper values are no metrics.
const DEPTH_MAX: usize = 16;

/// Adds the members of a dictionary and gives how many of them are numbers.
///
/// # Errors
/// `NoMatch`, when the text is no dictionary; members before the fault have been added then.
pub(super) fn read(writer: &mut Writer<'_>, text: &str) -> Result<usize, Reason> {
    read_members(writer, text, false)
}

/// As [`read`], of a dictionary without words: its texts are numbers and durations.
///
/// # Errors
/// As there.
pub(super) fn read_numbers(writer: &mut Writer<'_>, text: &str) -> Result<usize, Reason> {
    read_members(writer, text, true)
}

fn read_members(writer: &mut Writer<'_>, text: &str, without_words: bool) -> Result<usize, Reason> {
    let mut rest = text.trim_end().strip_prefix('{').ok_or(Reason::NoMatch)?;
    let mut numbers = 0;
    loop {
        let (printed, after) = quoted(after_spaces(rest)).ok_or(Reason::NoMatch)?;
        let after = after_spaces(after).strip_prefix(':').ok_or(Reason::NoMatch)?;
        let (value, after) = value(after_spaces(after)).ok_or(Reason::NoMatch)?;
        let is_number = member(writer, printed, value)?;
        if without_words && !is_number && is_word(value) {
            return Err(Reason::NoMatch);
        }
        numbers += usize::from(is_number);
        let after = after_spaces(after);
        match after.as_bytes().first() {
            Some(b',') => rest = &after[1..],
            Some(b'}') if after.len() == 1 => return Ok(numbers),
            _ => return Err(Reason::NoMatch),
        }
    }
}

/// Adds the members of a content that may be a dictionary; one that breaks off gives those before.
pub(super) fn read_content(writer: &mut Writer<'_>, content: &str) -> Read {
    if !content.starts_with('{') {
        return Ok(());
    }
    match read(writer, content) {
        Ok(_) | Err(Reason::NoMatch) => Ok(()),
        Err(limit) => Err(limit),
    }
}

fn is_word(value: &str) -> bool {
    let inner = quoted(value).map_or(value, |(inner, _)| inner);
    let is_share = inner.split_once('/').is_some_and(|(one, total)| {
        number(one).is_some_and(|it| it.1.is_empty())
            && number(total).is_some_and(|it| it.1.is_empty())
    });
    !is_share && duration(inner).is_none() && !matches!(value, "null" | "None" | "true" | "false")
}

fn member(writer: &mut Writer<'_>, printed: &str, value: &str) -> Result<bool, Reason> {
    if printed.is_empty() || value.starts_with(['[', '(', '{']) {
        return Ok(false);
    }
    if matches!(value, "None" | "null") {
        return Ok(false);
    }
    if numbers::add(writer, printed, value)? {
        return Ok(true);
    }
    let inner = quoted(value).map_or(value, |(inner, _)| inner);
    let name = numbers::key(writer, printed, "")?;
    if writer.fields.show(name, writer.text).is_empty() {
        return Ok(false);
    }
    let value = writer.piece(inner);
    writer.add(name, value, FieldKind::Text, Duplicates::All)?;
    Ok(false)
}

fn after_spaces(text: &str) -> &str {
    &text[text.bytes().take_while(|byte| *byte == b' ').count()..]
}

/// The text between two quotes of one kind, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let quote = *bytes.first().filter(|quote| matches!(quote, b'\'' | b'"'))?;
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => {
                crate::formats::looked_at(at);
                return Some((&text[1..at], &text[at + 1..]));
            }
            _ => at += 1,
        }
    }
}

/// A value with its quotes or brackets, and what follows.
fn value(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0);
    loop {
        match *bytes.get(at)? {
            b'\'' | b'"' => {
                let (_, rest) = quoted(&text[at..])?;
                at = text.len() - rest.len();
                continue;
            }
            b'[' | b'(' | b'{' if depth == DEPTH_MAX => return None,
            b'[' | b'(' | b'{' => depth += 1,
            b',' | b'}' if depth == 0 => break,
            b']' | b')' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    crate::formats::looked_at(at);
    let found = text[..at].trim_end();
    (!found.is_empty()).then_some((found, &text[at..]))
}
