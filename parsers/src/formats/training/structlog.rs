//! structlog without a configuration:
//! `2024-05-15 10:23:45 [info     ] step done      loss=2.1 step=100`.
//!
//! Invariant: the content is the event; what follows it as `key=value` is fields. Next on the trip:
//! [`super::numbers`].

use nom::Parser as _;
use nom::bytes::complete::take_while;
use nom::character::complete::char;
use nom::combinator::verify;
use nom::sequence::preceded;

use super::line::Line;
use super::numbers;
use super::words::{self, Part};
use crate::fields::{Duplicates, FieldKind};
use crate::formats::writer::{Read, Writer};

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let stamp = words::stamp(line)?;
    let (level, rest) = words::matched(header(line.rest))?;
    let (event, values) = parted(rest);
    let event = event.trim_end();
    let (event, name) = match event.rsplit_once(" [") {
        Some((event, name)) if name.ends_with(']') && !values.is_empty() => {
            (event, name.strip_suffix(']'))
        }
        _ => (event, None),
    };
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    if let Some(name) = name {
        writer.part("component", name)?;
    }
    members(writer, values)?;
    writer.part("content", event.trim_end())
}

/// ` [info     ] `: the level in lower case, padded to nine columns.
fn header(text: &str) -> Part<'_, (&str, &str)> {
    let is_lower = |level: &str| level.bytes().all(|byte| byte.is_ascii_lowercase());
    let padded = verify((words::level, take_while(|letter| letter == ' ')), move |(level, pad)| {
        let (level, pad): (&str, &str) = (level, pad);
        level.len() + pad.len() == 9 && is_lower(level)
    });
    let (text, (level, _)) = preceded(char(' '), words::in_brackets(padded)).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, content)))
}

/// The event, and the pairs behind it.
fn parted(text: &str) -> (&str, &str) {
    let Some(equals) = text.find('=') else { return (text, "") };
    let key = text[..equals].rfind(' ').map_or(0, |space| space + 1);
    if key == 0 || key == equals { (text, "") } else { text.split_at(key) }
}

/// `loss=2.1 name='a b'`
fn members(writer: &mut Writer<'_>, text: &str) -> Read {
    let mut rest = text;
    while let Some((printed, after)) = rest.split_once('=') {
        let quote = after.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let end = match quote {
            Some(quote) => after[1..].find(quote).map_or(after.len(), |end| end + 2),
            None => after.find(' ').unwrap_or(after.len()),
        };
        let (value, after) = after.split_at(end);
        rest = after;
        let printed = printed.trim();
        if printed.contains(' ') {
            continue;
        }
        if !numbers::add(writer, printed, value)? {
            let name = numbers::key(writer, printed, "")?;
            let value = writer.piece(value.trim_matches(['\'', '"']));
            if !writer.fields.show(name, writer.text).is_empty() {
                writer.add(name, value, FieldKind::Text, Duplicates::All)?;
            }
        }
    }
    Ok(())
}
