//! logfmt: `level=info msg="epoch done" step=100`, as Go and Rust programs write it.
//!
//! Invariant: the whole line is pairs parted by spaces, or it is unmatched; what holds other words
//! too is for `kv`. Next on the trip: [`crate::fields`].

use nom::branch::alt;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, space1};
use nom::combinator::eof;
use nom::sequence::terminated;
use nom::{IResult, Parser as _};

use super::escape;
use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind, NAME_BYTES_MAX, Piece};
use crate::grok::Reason;

/// Reads a line of pairs.
pub(super) fn read(writer: &mut Writer<'_>) -> Read {
    let text = writer.text;
    let mut rest = text.trim_start_matches(' ');
    if key(rest).is_err() {
        return Err(Reason::NoMatch);
    }
    while !rest.is_empty() {
        let (name, value, after) = pair(writer, rest)?;
        let name = writer.piece(name);
        writer.add(name, value, FieldKind::Text, Duplicates::All)?;
        rest = after;
    }
    Ok(())
}

/// A name, its value, and what follows the spaces behind it.
pub(super) fn pair<'t>(
    writer: &mut Writer<'_>,
    text: &'t str,
) -> Result<(&'t str, Piece, &'t str), Reason> {
    let (after, name) = key(text).map_err(|_| Reason::Invalid)?;
    if name.len() > NAME_BYTES_MAX {
        return Err(Reason::Limit);
    }
    let (value, after) = value(writer, after)?;
    let (rest, _) = separator(after).map_err(|_| Reason::Invalid)?;
    Ok((name, value, rest))
}

/// A name and its `=`.
fn key(text: &str) -> IResult<&str, &str> {
    let plain = |letter: char| letter > ' ' && letter != '=' && letter != '"';
    terminated(take_while1(plain), char('=')).parse(text)
}

fn separator(text: &str) -> IResult<&str, &str> {
    alt((eof, space1)).parse(text)
}

fn value<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<(Piece, &'t str), Reason> {
    let Some(inside) = text.strip_prefix('"') else {
        let (rest, value) = bare(text).map_err(|_| Reason::Invalid)?;
        return Ok((writer.piece(value), rest));
    };
    let whole = writer.text;
    let start = inside.as_ptr() as usize - whole.as_ptr() as usize;
    let (end, escaped) =
        escape::scan(whole.as_bytes(), start, false).map_err(|_| Reason::Invalid)?;
    let value = escape::unquoted(writer.fields, whole, (start, end), escaped);
    Ok((value, &inside[end - start + 1..]))
}

fn bare(text: &str) -> IResult<&str, &str> {
    take_while(|letter: char| letter > ' ' && letter != '"')(text)
}
