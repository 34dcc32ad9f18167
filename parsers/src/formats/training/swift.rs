//! ms-swift: `[INFO:swift] …` as it writes now, `2024-05-15 10:23:45,123 - swift - INFO - …` as it
//! wrote before.
//!
//! Invariant: only the logger `swift` and those below it are its own in the older form. Next on the
//! trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::verify;
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use super::contents;
use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, &'t str, &'t str);

/// Reads a line of either form.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let header = match line.stamp {
        None => bracketed(line.text),
        Some(_) => dashed(line.rest),
    };
    let (level, name, content) = words::matched(header)?;
    if let Some(stamp) = line.stamp {
        writer.log_time(stamp)?;
    }
    writer.part("level", level)?;
    writer.part("component", name)?;
    contents::read(writer, content)?;
    writer.part("content", content)
}

fn bracketed(text: &str) -> Part<'_, Header<'_>> {
    let pair = separated_pair(words::level, char(':'), words::name);
    let (text, (level, name)) = delimited(char('['), pair, char(']')).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, name, content)))
}

fn dashed(text: &str) -> Part<'_, Header<'_>> {
    let own = |name: &str| name == "swift" || name.starts_with("swift.");
    let name = preceded(tag(" - "), verify(words::name, own));
    let level = preceded(tag(" - "), words::level);
    let (text, (name, level)) = terminated((name, level), tag(" - ")).parse(text)?;
    Ok(("", (level, name, text)))
}
