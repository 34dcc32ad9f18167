//! Python's warnings: `/app/loader.py:171: RuntimeWarning: …`.
//!
//! Invariant: the content is the whole line, since the path says where to look; the component is
//! the file's own name. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::{tag, take_till1, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::verify;
use nom::sequence::terminated;

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

/// A longer path is none.
const PATH_BYTES_MAX: usize = 1024;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (path, number, category) = words::matched(header(line.text))?;
    writer.part("level", &category[category.len() - "Warning".len()..])?;
    let name = path.rsplit('/').next().unwrap_or(path);
    writer.part("component", name)?;
    writer.part("file", path)?;
    writer.whole("line", number)?;
    writer.part("category", category)?;
    writer.part("content", line.text)
}

type Header<'t> = (&'t str, &'t str, &'t str);

fn header(text: &str) -> Part<'_, Header<'_>> {
    let path = verify(take_till1(|letter| letter == ':'), |path: &str| {
        let is_python = path.strip_suffix(".py").is_some();
        let is_file = is_python && (path.starts_with('/') || !path.contains(' '));
        path.len() <= PATH_BYTES_MAX && (is_file || path.starts_with('<'))
    });
    let (text, (path, number)) =
        (terminated(path, char(':')), terminated(digit1, tag(": "))).parse(text)?;
    let category = take_while1(|letter: char| letter.is_alphanumeric() || "_.".contains(letter));
    let category = verify(category, |name: &str| name.ends_with("Warning"));
    let (_, category) = terminated(category, char(':')).parse(text)?;
    Ok(("", (path, number, category)))
}
