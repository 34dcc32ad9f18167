//! Names and numbers of lines that are made of them: `lm loss: 2.1E+00 | grad norm: 0.87 |`.
//!
//! Invariant: a name is its printed key in snake case, with the unit that stands glued to the
//! number behind it; it is never the name of a part of the header, so that `format` and `level`
//! mean one thing. `nan` and `inf` stay texts. Next on the trip: [`crate::fields`].

use super::line::skip_color;
use crate::fields::{Duplicates, FieldKind, NAME_BYTES_MAX, Piece};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Longer texts behind a number are no unit.
const UNIT_BYTES_MAX: usize = 12;

/// Keys are put together in a buffer of this size; longer ones take a slower way.
const KEY_BYTES: usize = 96;

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

/// Small letters and digits, parted by single underscores.
fn is_snake(printed: &str) -> bool {
    let mut before = b'_';
    for byte in printed.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => {}
            b'_' if before != b'_' => {}
            _ => return false,
        }
        before = byte;
    }
    before != b'_'
}

/// The field's name for a printed key, which stands in the line or is made up.
pub(super) fn key(writer: &mut Writer<'_>, printed: &str, unit: &str) -> Result<Piece, Reason> {
    if printed.len() > NAME_BYTES_MAX {
        return Err(Reason::Limit);
    }
    let is_in_line = writer.text.as_bytes().as_ptr_range().contains(&printed.as_ptr());
    if unit.is_empty() && is_in_line && is_snake(printed) && !is_reserved(printed) {
        return Ok(writer.piece(printed));
    }
    let unit = if unit == "%" { "percent" } else { unit };
    let name = writer.fields.compose(|buffer| {
        let start = buffer.len();
        if printed.len() + unit.len() < KEY_BYTES && printed.is_ascii() && unit.is_ascii() {
            snake_ascii(buffer, printed, unit);
        } else {
            snake(buffer, start, printed);
            buffer.push('_');
            snake(buffer, start, unit);
            while buffer.len() > start && buffer.ends_with('_') {
                buffer.pop();
            }
        }
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
        let start = name.len();
        snake(name, start, if unit == "%" { "percent" } else { unit });
    }
}

/// Letters in lower case and digits; 0 for every other byte.
static LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            lower[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// As [`snake`], of bytes: nearly all keys are ASCII.
fn snake_ascii(buffer: &mut String, printed: &str, unit: &str) {
    // Each byte gives at most itself and an underscore before it.
    let (mut name, mut length) = ([0; 2 * KEY_BYTES], 0);
    for word in [printed, unit] {
        let bytes = word.as_bytes();
        let (mut parted, mut after_lower) = (true, false);
        for (index, byte) in bytes.iter().enumerate() {
            let lower = LOWER[usize::from(*byte)];
            if lower == 0 {
                (parted, after_lower) = (true, false);
                continue;
            }
            let is_upper = lower != *byte;
            let is_word =
                is_upper && after_lower && bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase);
            if (parted || is_word) && length > 0 {
                name[length] = b'_';
                length += 1;
            }
            name[length] = lower;
            length += 1;
            (parted, after_lower) = (false, !is_upper);
        }
    }
    buffer.push_str(std::str::from_utf8(&name[..length]).unwrap_or_default());
}

/// Appends a key: words in lower case, parted by single underscores. A capital begins a word where
/// small letters stand on both sides of it: `GradNorm` has two words, `GiB` one.
fn snake(buffer: &mut String, start: usize, printed: &str) {
    let mut after_lower = false;
    let mut letters = printed.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            if buffer.len() > start && !buffer.ends_with('_') {
                buffer.push('_');
            }
            after_lower = false;
            continue;
        }
        let before_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && after_lower && before_lower {
            buffer.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        buffer.extend(letter.to_lowercase());
    }
}

/// A number at the front of a text.
pub(super) struct Number<'t> {
    text: &'t str,
    kind: FieldKind,
    has_commas: bool,
}

/// Reads a number off the front: digits (with commas between thousands), fraction, exponent, or
/// `nan` and `inf`; what follows it comes back too.
pub(super) fn number(text: &str) -> Option<(Number<'_>, &str)> {
    let bytes = text.as_bytes();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let words: &[&str] = match bytes.get(sign) {
        Some(b'0'..=b'9' | b'.') => &[],
        Some(b'n' | b'N') => &["nan"],
        Some(b'i' | b'I') => &["infinity", "inf"],
        _ => return None,
    };
    for word in words {
        let end = sign + word.len();
        let found = bytes.get(sign..end);
        if found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
            && is_word_end(&text[end..])
        {
            let number = Number { text: &text[..end], kind: FieldKind::Text, has_commas: false };
            return Some((number, &text[end..]));
        }
    }
    let digits = |from: usize| super::stamp::digits(&bytes[from.min(bytes.len())..]);
    let mut end = sign + digits(sign);
    if end == sign {
        return None;
    }
    let mut has_commas = false;
    while end - sign <= 32 && bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
        (has_commas, end) = (true, end + 4);
    }
    let mut kind = FieldKind::Int;
    if bytes.get(end) == Some(&b'.') && (digits(end + 1) > 0 || sign + digits(sign) == end) {
        end += 1 + digits(end + 1);
        kind = FieldKind::Float;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let count = digits(end + 1 + sign);
        if count > 0 {
            end += 1 + sign + count;
            kind = FieldKind::Float;
        }
    }
    Some((Number { text: &text[..end], kind, has_commas }, &text[end..]))
}

/// `nan` and `nanms` are numbers that are none, `info` and `nanotron` are words.
fn is_word_end(rest: &str) -> bool {
    rest == "ms" || rest == "s" || !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_')
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
    let rest = rest.trim_end();
    if let Some(total) = rest.strip_prefix('/')
        && let Some((total, "")) = number(total.trim_start())
    {
        let (first, second) = printed.split_once('/').unwrap_or((printed, ""));
        named(writer, first, "", &found)?;
        let second_key = if second.is_empty() { (first, "total") } else { (second, "") };
        named(writer, second_key.0, second_key.1, &total)?;
        return Ok(true);
    }
    // `61.75GiB(78.01%)`
    let inner = rest.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    let Some((found, unit)) = with_unit(value) else { return Ok(false) };
    named(writer, printed, unit, &found)?;
    if let Some((share, "%")) = inner.and_then(number) {
        named(writer, printed, "%", &share)?;
    }
    Ok(true)
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
    is_unit.then_some((found, unit))
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
        let value = until_space(skip_color(rest.trim_start_matches(' ')));
        // A duration has several parts.
        if printed != "eta" {
            add(writer, printed, value)?;
        }
    }
}

fn until_space(text: &str) -> &str {
    &text[..memchr::memchr2(b' ', 0x1b, text.as_bytes()).unwrap_or(text.len())]
}
