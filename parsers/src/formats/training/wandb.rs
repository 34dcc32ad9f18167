//! Weights & Biases on a terminal: `wandb: Find logs at: …`, `wandb: WARNING …`.
//!
//! Invariant: the level is a word in capitals right behind the name. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::{opt, verify};
use nom::sequence::terminated;

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (name, level, content) = words::matched(header(line.text))?;
    writer.part("component", name)?;
    if let Some(level) = level {
        writer.part("level", level)?;
    }
    writer.part("content", content)
}

type Header<'t> = (&'t str, Option<&'t str>, &'t str);

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, name) = tag("wandb")(text)?;
    let (text, _) = (words::color, char(':'), opt(char(' ')), words::color).parse(text)?;
    let is_upper = |level: &str| level.bytes().all(|byte| byte.is_ascii_uppercase());
    let level = terminated(verify(words::level, is_upper), (words::color, char(' ')));
    let (text, level) = opt(level).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (name, level, content)))
}
