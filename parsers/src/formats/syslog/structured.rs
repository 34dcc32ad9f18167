//! Structured data of RFC 5424: `[id name="value" …][…]`.
//!
//! Invariant: a parameter becomes `sd.id.name`; inside a value `\"`, `\\` and `\]` are escapes and
//! any other backslash stands for itself. Next on the trip: [`super::read`].

use nom::bytes::complete::take_while_m_n;
use nom::character::complete::char;
use nom::sequence::terminated;
use nom::{IResult, Parser as _};

use super::super::looked_at;
use super::super::writer::Writer;
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::grok::Reason;

/// RFC 5424 has 32; what is really sent is longer.
const NAME_BYTES_MAX: usize = 128;

/// Reads the elements off the front, or the nil; gives what follows.
pub(super) fn read<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    if let Some(rest) = text.strip_prefix('-') {
        return Ok(rest);
    }
    if !text.starts_with('[') {
        return Err(Reason::Invalid);
    }
    let mut rest = text;
    while let Some(inside) = rest.strip_prefix('[') {
        rest = element(writer, inside)?;
    }
    Ok(rest)
}

fn name(text: &str) -> IResult<&str, &str> {
    let plain = |letter: char| letter > ' ' && !"=]\"".contains(letter);
    take_while_m_n(1, NAME_BYTES_MAX, plain)(text)
}

/// An element from behind its bracket.
fn element<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let (mut rest, id) = name(text).map_err(|_| Reason::Invalid)?;
    let id = writer.piece(id);
    loop {
        if let Some(rest) = rest.strip_prefix(']') {
            return Ok(rest);
        }
        let inside = rest.strip_prefix(' ').ok_or(Reason::Invalid)?.trim_start_matches(' ');
        if let Some(rest) = inside.strip_prefix(']') {
            return Ok(rest);
        }
        let parameter: IResult<&str, &str> = terminated(name, (char('='), char('"'))).parse(inside);
        let (inside, key) = parameter.map_err(|_| Reason::Invalid)?;
        let (end, escaped) = closing(inside).ok_or(Reason::Invalid)?;
        let value = &inside[..end];
        let value = if escaped {
            writer.fields.compose(|buffer| unescape(value, buffer))
        } else {
            writer.piece(value)
        };
        let parts = [Piece::Fixed("sd."), id, Piece::Fixed("."), writer.piece(key)];
        let key = writer.fields.join(&parts, writer.text);
        writer.add(key, value, FieldKind::Text, Duplicates::All)?;
        rest = &inside[end + 1..];
    }
}

/// The place of the closing quote, and whether there are backslashes before it.
fn closing(text: &str) -> Option<(usize, bool)> {
    let bytes = text.as_bytes();
    let (mut at, mut escaped) = (0, false);
    loop {
        match bytes.get(at)? {
            b'"' => {
                looked_at(at);
                return Some((at, escaped));
            }
            b'\\' => {
                escaped = true;
                at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'"' | b'\\' | b']')));
            }
            _ => at += 1,
        }
    }
}

fn unescape(value: &str, out: &mut String) {
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters.next_if(|next| letter == '\\' && "\"\\]".contains(*next));
        out.push(escaped.unwrap_or(letter));
    }
}
