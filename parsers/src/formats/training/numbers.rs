//! Names and numbers of lines that are made of them: `lm loss: 2.1E+00 | grad norm: 0.87 |`.
//!
//! Invariant: a name is its printed key in snake case, with the unit that stands glued to the
//! number behind it; it is never the name of a part of the header, so that `format` and `level`
//! mean one thing. `nan` and `inf` stay texts. Next on the trip: [`crate::fields`].

use super::line::skip_color;
use crate::fields::{Duplicates, FieldKind, NAME_BYTES_MAX, Piece};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;
use crate::number::{Number, duration, is_count, is_name, last_word, number, power, push_name};

/// Longer texts behind a number are no unit.
const UNIT_BYTES_MAX: usize = 12;
/// Longer texts are no durations: an `eta:` looks no further.
const DURATION_BYTES_MAX: usize = 64;

/// Names that a printed key does not get: an underscore is put behind it.
fn is_reserved(name: &str) -> bool {
    match name.len() {
        3 => name == "pid",
        4 => matches!(name, "host" | "line" | "node" | "rank" | "file"),
        5 => name == "level",
        6 => matches!(name, "format" | "thread" | "device" | "uptime"),
        7 => name == "content",
        8 => matches!(name, "log_time" | "function"),
        9 => name == "component",
        10 => matches!(name, "local_rank" | "world_size"),
        _ => false,
    }
}

/// The field's name for a printed key, which stands in the line or is made up.
pub(super) fn key(writer: &mut Writer<'_>, printed: &str, unit: &str) -> Result<Piece, Reason> {
    if printed.len() > NAME_BYTES_MAX {
        return Err(Reason::Limit);
    }
    let is_in_line = writer.text.as_bytes().as_ptr_range().contains(&printed.as_ptr());
    if unit.is_empty() && is_in_line && is_name(printed) && !is_reserved(printed) {
        return Ok(writer.piece(printed));
    }
    let name = writer.fields.compose(|buffer| {
        let start = buffer.len();
        push_name(buffer, printed, unit);
        if is_reserved(&buffer[start..]) {
            buffer.push('_');
        }
    });
    Ok(name)
}

/// Appends a unit to a name.
pub(super) fn add_unit(name: &mut String, unit: &str) {
    if !unit.is_empty() {
        name.push('_');
        push_name(name, "", unit);
    }
}

/// Adds a printed number under a printed key: quotes are taken off, a unit goes into the name, and
/// `100/1000` becomes two fields. False where the value is no number; nothing is added then.
pub(super) fn add(writer: &mut Writer<'_>, printed: &str, value: &str) -> Result<bool, Reason> {
    crate::formats::looked_at(printed.len() + value.len());
    let value = bare(value);
    let Some((found, rest)) = number(value) else { return Ok(false) };
    if rest.is_empty() {
        named(writer, printed, "", &found)?;
        return Ok(true);
    }
    let rest = rest.trim();
    if let Some(total) = rest.strip_prefix('/')
        && let Some((total, "")) = number(total.trim_start())
    {
        let Some((first, second)) = share_names(printed) else { return Ok(false) };
        named(writer, first, "", &found)?;
        let second_key = if second.is_empty() { (first, "total") } else { (second, "") };
        named(writer, second_key.0, second_key.1, &total)?;
        return Ok(true);
    }
    // `61.75GiB(78.01%)`
    let inner = rest.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    let Some((found, unit)) = with_unit(value) else { return Ok(false) };
    if let Some(power) = power(unit).filter(|_| found.kind != FieldKind::Text) {
        scaled(writer, printed, &found, power)?;
    } else {
        named(writer, printed, unit, &found)?;
    }
    if let Some((share, "%")) = inner.and_then(number) {
        named(writer, printed, "%", &share)?;
    }
    Ok(true)
}

/// The names of the two parts of `100/1000`; the second is none where it is the first's total.
/// `None` where the value is no count: `train/loss` is a path, and an `eta` is a time.
fn share_names(printed: &str) -> Option<(&str, &str)> {
    match printed.split_once('/') {
        Some((first, second)) if is_count(first) && is_count(second) => Some((first, second)),
        Some(_) if !is_count(printed) => None,
        _ if is_time(printed) => None,
        _ => Some((printed, "")),
    }
}

fn is_time(printed: &str) -> bool {
    const WORDS: [&str; 6] = ["eta", "elapsed", "remaining", "time", "seconds", "runtime"];
    WORDS.iter().any(|word| last_word(printed).eq_ignore_ascii_case(word))
}

/// Without the spaces, quotes, brackets and colours around it: of a list the only value.
fn bare(value: &str) -> &str {
    let is_around = |byte: &u8| matches!(byte, b' ' | b'\'' | b'"' | b'[' | b']');
    let bytes = value.as_bytes();
    let start = bytes.iter().take_while(|byte| is_around(byte)).count();
    let end = bytes[start..].iter().rev().take_while(|byte| is_around(byte)).count();
    skip_color(&value[start..value.len() - end])
}

/// A number and the unit behind it, which may be none; something in parentheses may follow.
pub(super) fn with_unit(value: &str) -> Option<(Number<'_>, &str)> {
    let (found, rest) = number(value)?;
    let unit = rest.split('(').next().unwrap_or_default().trim();
    let is_unit = |letter: char| letter.is_alphabetic() || "%/".contains(letter);
    let is_unit = unit.len() <= UNIT_BYTES_MAX && unit.chars().all(is_unit);
    // `1.5e` is a number that was cut off.
    (is_unit && !matches!(unit, "e" | "E")).then_some((found, unit))
}

/// `11.5K`: the power of ten becomes an exponent.
fn scaled(writer: &mut Writer<'_>, printed: &str, number: &Number<'_>, power: u8) -> Read {
    let name = key(writer, printed.trim(), "")?;
    let is_named = !writer.fields.show(name, writer.text).is_empty();
    // One that has an exponent already is left as it is: nobody prints both.
    if !is_named || number.text.contains(['e', 'E']) {
        return Ok(());
    }
    let value = writer.fields.compose(|buffer| {
        buffer.extend(number.text.chars().filter(|letter| *letter != ','));
        buffer.push_str(match power {
            3 => "e3",
            6 => "e6",
            9 => "e9",
            _ => "e12",
        });
    });
    writer.add(name, value, FieldKind::Float, Duplicates::All)
}

fn named(writer: &mut Writer<'_>, printed: &str, unit: &str, number: &Number<'_>) -> Read {
    let name = key(writer, printed.trim(), unit)?;
    write(writer, name, number)
}

/// Adds a number under a name; a key of signs alone has none.
pub(super) fn write(writer: &mut Writer<'_>, name: Piece, number: &Number<'_>) -> Read {
    if writer.fields.show(name, writer.text).is_empty() {
        return Ok(());
    }
    let value = if number.has_commas {
        let digits = number.text.bytes().filter(|byte| *byte != b',').map(char::from);
        writer.fields.compose(|buffer| buffer.extend(digits))
    } else {
        writer.piece(number.text)
    };
    writer.add(name, value, number.kind, Duplicates::All)
}

/// `lm loss: 2.1E+00 | grad norm: 0.87 |`, or parted otherwise: adds what is a number under a key
/// without brackets, skips the rest. Gives how many there were.
pub(super) fn pairs(
    writer: &mut Writer<'_>,
    text: &str,
    between: u8,
    colon: u8,
) -> Result<usize, Reason> {
    let (mut count, mut rest) = (0, text);
    loop {
        let end = memchr::memchr(between, rest.as_bytes()).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        if let Some(at) = memchr::memchr(colon, part.as_bytes())
            && memchr::memchr2(b'[', b']', &part.as_bytes()[..at]).is_none()
        {
            count += usize::from(add(writer, part[..at].trim_matches(' '), &part[at + 1..])?);
        }
        match after.get(1..) {
            Some(after) => rest = after,
            None => return Ok(count),
        }
    }
}

/// `step: 10  loss:  2.10400  memory: 61.75GiB(78.01%)`: a key, a colon, spaces, a value without
/// spaces, colours anywhere between. Words that are no key are skipped.
pub(super) fn spaced(writer: &mut Writer<'_>, text: &str) -> Read {
    let mut rest = text;
    loop {
        rest = skip_color(rest.trim_start_matches(' ')).trim_start_matches([' ', '\u{1b}']);
        if rest.is_empty() {
            return Ok(());
        }
        let word = until_space(rest);
        rest = &rest[word.len()..];
        let Some(printed) = word.strip_suffix(':') else { continue };
        let behind = skip_color(rest.trim_start_matches(' '));
        if printed == "eta" {
            if let Some(value) = duration_at(behind) {
                writer.part("eta", value)?;
            }
            continue;
        }
        // `time` alone is a time of day elsewhere.
        let printed = if printed == "time" { "iter_time" } else { printed };
        add(writer, printed, until_space(behind))?;
    }
}

/// The duration that a text begins with, which ends at two spaces: `1 day, 2:03:04  time: …`.
fn duration_at(text: &str) -> Option<&str> {
    // One more, so that a text that goes on is seen to be too long.
    let head = &text[..text.floor_char_boundary(DURATION_BYTES_MAX + 1)];
    crate::formats::looked_at(head.len());
    let value = head.split("  ").next().unwrap_or_default();
    let value = Some(value).filter(|value| value.len() <= DURATION_BYTES_MAX)?.trim_end();
    duration(value).map(|_| value)
}

fn until_space(text: &str) -> &str {
    &text[..memchr::memchr2(b' ', 0x1b, text.as_bytes()).unwrap_or(text.len())]
}
