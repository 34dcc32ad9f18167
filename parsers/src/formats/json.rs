//! JSON objects: nested members become dotted names, numbers stay as they are written.
//!
//! Invariant: a line is matched exactly when it is one valid JSON object within the limits; a key
//! that stands twice has its last value. Nothing here recurses: nesting is a stack of fixed depth.
//! Next on the trip: [`crate::fields`].

mod scan;

use super::escape::unquoted;
use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind, NAME_BYTES_MAX, Piece};
use crate::grok::Reason;
use scan::Scanner;
pub(crate) use scan::number_end;

/// Objects and arrays inside each other; one level more is a limit.
const DEPTH_MAX: usize = 32;

/// How JSON is taken apart.
#[derive(Clone, Debug, Default)]
pub struct JsonOptions {
    /// Put before every name with a dot: `target.name`; none where empty.
    pub target: String,
}

/// The compiled options.
#[derive(Clone, Debug)]
pub struct Json {
    /// With its dot, or empty.
    prefix: String,
}

impl Json {
    /// Any options will do.
    pub fn new(options: &JsonOptions) -> Json {
        let target = &options.target;
        Json { prefix: if target.is_empty() { String::new() } else { format!("{target}.") } }
    }

    pub(super) fn read(&self, writer: &mut Writer<'_>) -> Read {
        let text = writer.text;
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
        scanner.skip_space();
        if !scanner.take(b'{') {
            return Err(Reason::NoMatch);
        }
        let prefix = writer.fields.compose(|buffer| buffer.push_str(&self.prefix));
        // The prefix of the names in each open object.
        let mut open = [prefix; DEPTH_MAX];
        let mut depth = 1;
        let mut is_first = true;
        while depth > 0 {
            let prefix = open[depth - 1];
            scanner.skip_space();
            if scanner.take(b'}') {
                depth -= 1;
                is_first = false;
                continue;
            }
            if !is_first && !scanner.take(b',') {
                return Err(Reason::Invalid);
            }
            scanner.skip_space();
            let (place, escaped) = scanner.string()?;
            let key = unquoted(writer.fields, text, place, escaped);
            scanner.skip_space();
            if !scanner.take(b':') {
                return Err(Reason::Invalid);
            }
            scanner.skip_space();
            is_first = scanner.opens_members();
            if is_first {
                if depth == DEPTH_MAX {
                    return Err(Reason::Limit);
                }
                open[depth] = named(writer, &[prefix, key, Piece::Fixed(".")])?;
                depth += 1;
                continue;
            }
            let name = named(writer, &[prefix, key])?;
            let (value, kind) = value(&mut scanner, writer, DEPTH_MAX - depth)?;
            writer.add(name, value, kind, Duplicates::Last)?;
        }
        scanner.skip_space();
        if scanner.at < text.len() { Err(Reason::Invalid) } else { Ok(()) }
    }
}

/// A name of its parts; where it stands, if it is the key alone.
fn named(writer: &mut Writer<'_>, parts: &[Piece]) -> Result<Piece, Reason> {
    let text = writer.text;
    let length: usize = parts.iter().map(|part| writer.fields.show(*part, text).len()).sum();
    if length > NAME_BYTES_MAX {
        return Err(Reason::Limit);
    }
    match *parts {
        [prefix, key] if writer.fields.show(prefix, text).is_empty() => Ok(key),
        _ => Ok(writer.fields.join(parts, text)),
    }
}

/// A value that is no object with members.
fn value(
    scanner: &mut Scanner<'_>,
    writer: &mut Writer<'_>,
    depth_left: usize,
) -> Result<(Piece, FieldKind), Reason> {
    let start = scanner.at;
    let kind = match scanner.peek() {
        Some(b'"') => {
            let (place, escaped) = scanner.string()?;
            let value = unquoted(writer.fields, writer.text, place, escaped);
            return Ok((value, FieldKind::Text));
        }
        Some(b't') => scanner.word(b"true").map(|()| FieldKind::Bool)?,
        Some(b'f') => scanner.word(b"false").map(|()| FieldKind::Bool)?,
        Some(b'n') => scanner.word(b"null").map(|()| FieldKind::Null)?,
        Some(b'[' | b'{') => scanner.container(depth_left).map(|()| FieldKind::Json)?,
        _ => scanner.number().map(|()| FieldKind::Number)?,
    };
    Ok((Piece::Text(start as u32, scanner.at as u32), kind))
}
