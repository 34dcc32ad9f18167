//! What container runtimes write: `2016-10-06T00:17:09.669794202Z stdout F content`.
//!
//! Invariant: the content is the rest of the line, its spaces included. Next on the trip:
//! [`crate::fields`].

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::char;
use nom::combinator::{eof, rest, verify};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser as _};

use super::writer::{Read, Writer};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::grok::Reason;

/// The fields it gives. `partial` stands on a part of a long line that is not its last.
pub(super) const NAMES: [&str; 4] = ["time", "stream", "partial", "content"];

/// Time, stream, tags, content.
type Line<'t> = (&'t str, &'t str, &'t str, &'t str);

/// Reads a line; the format of its log is that of the Kubernetes container runtime interface.
pub(super) fn read(writer: &mut Writer<'_>) -> Read {
    let (_, (time, stream, tags, content)) = line(writer.text).map_err(|_| Reason::NoMatch)?;
    writer.part("time", time)?;
    writer.part("stream", stream)?;
    // Further tags may follow the first, parted by colons.
    if tags.starts_with('P') {
        let (name, value) = (Piece::Fixed("partial"), Piece::Fixed("true"));
        writer.add(name, value, FieldKind::Bool, Duplicates::All)?;
    }
    writer.part("content", content)
}

fn line(text: &str) -> IResult<&str, Line<'_>> {
    let time = verify(take_while1(|letter: char| letter != ' '), is_time);
    let stream = alt((tag("stdout"), tag("stderr")));
    let tags = verify(take_while1(|letter: char| letter != ' '), |tags: &str| {
        matches!(tags.split(':').next(), Some("P" | "F"))
    });
    let content = alt((preceded(char(' '), rest), eof));
    (terminated(time, char(' ')), terminated(stream, char(' ')), tags, content).parse(text)
}

/// `2016-10-06T…`: the rest is read by the rule's time.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes[0].is_ascii_digit() && bytes[4] == b'-' && bytes[10] == b'T'
}
