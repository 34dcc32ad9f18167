//! ColossalAI: `colossalai - colossalai - INFO: …`, once for the place and once for the message.
//!
//! Invariant: a content that is a path, a line and a function gives them as fields, and stays the
//! content. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::{all_consuming, opt};
use nom::sequence::{preceded, separated_pair, terminated};

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, &'t str, &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (level, name, content) = words::matched(header(line.text))?;
    writer.part("level", level)?;
    writer.part("component", name)?;
    let place: Part<'_, _> =
        all_consuming(separated_pair(words::place, char(' '), function)).parse(content);
    if let Ok((_, ((file, number), function))) = place {
        writer.part("file", file)?;
        writer.whole("line", number)?;
        writer.part("function", function)?;
    }
    writer.part("content", content)
}

/// `boost` or `<module>`
fn function(text: &str) -> Part<'_, &str> {
    nom::combinator::recognize((opt(char('<')), words::name, opt(char('>')))).parse(text)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, name) = preceded(tag("colossalai - "), words::name).parse(text)?;
    let (text, level) = preceded(tag(" - "), terminated(words::level, char(':'))).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, name, content)))
}
