//! DeepSpeed: `[2024-05-15 10:23:45,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=100, …`,
//! and its timers `time (ms) | fwd_microstep: 812.11 | …`.
//!
//! Invariant: numbers are read from contents that are made of them (steps, timers, memory) and from
//! no other. Next on the trip: [`super::numbers`].

use nom::Parser as _;
use nom::character::complete::{char, digit1};
use nom::combinator::opt;
use nom::sequence::{preceded, terminated};

use super::c10::rank_in_brackets;
use super::line::Line;
use super::numbers;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

struct Header<'t> {
    level: &'t str,
    place: (&'t str, &'t str),
    function: Option<&'t str>,
    content: &'t str,
}

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let Some(stamp) = line.stamp else { return timers(writer, line.text) };
    let header = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", header.level)?;
    writer.source(header.place)?;
    if let Some(function) = header.function {
        writer.part("function", function)?;
    }
    let (message, rank) = words::split(opt(rank_in_brackets).parse(header.content))?;
    if let Some(rank) = rank.or_else(|| rank_inside(message)) {
        writer.rank(rank)?;
    }
    numbers(writer, message)?;
    writer.part("content", header.content)
}

/// `] [INFO] [timer.py:264:stop] content`
fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, ()) = words::closed(text)?;
    let (text, level) = terminated(words::in_brackets(words::level), char(' ')).parse(text)?;
    let function = opt(preceded(char(':'), nom::branch::alt((words::name, angled))));
    let (text, (place, function)) = words::in_brackets((words::place, function)).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, Header { level, place, function, content }))
}

/// `<module>`
fn angled(text: &str) -> Part<'_, &str> {
    nom::combinator::recognize((char('<'), words::name, char('>'))).parse(text)
}

/// `… OVERFLOW! Rank 0 Skipping step.`
fn rank_inside(message: &str) -> Option<&str> {
    let (_, after) = message.get(..message.floor_char_boundary(64))?.split_once("Rank ")?;
    let found: Part<'_, &str> = terminated(digit1, char(' ')).parse(after);
    found.ok().map(|(_, rank)| rank)
}

fn numbers(writer: &mut Writer<'_>, message: &str) -> Read {
    if message.starts_with("MA ") {
        return memory(writer, message);
    }
    if message.starts_with("time (ms) |") {
        return numbers::pairs(writer, message, b'|', b':').map(drop);
    }
    let is_step = ["step=", "epoch="].iter().any(|start| message.starts_with(start));
    if !is_step {
        return Ok(());
    }
    // `epoch=0/micro_step=10/global_step=10, CurrSamplesPerSec=30.9, lr=[6e-05], mom=[(0.9, 0.95)]`
    let head = message.find(',').filter(|_| message.starts_with('e')).unwrap_or(0);
    numbers::pairs(writer, &message[..head], b'/', b'=')?;
    numbers::pairs(writer, &message[head..], b',', b'=').map(drop)
}

/// `MA 14.21 GB         Max_MA 61.75 GB         CA 62.0 GB         Max_CA 62 GB `
fn memory(writer: &mut Writer<'_>, message: &str) -> Read {
    let mut words = message.split_ascii_whitespace().peekable();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        let unit = words.next().unwrap_or_default();
        // The unit stands right behind its number, so both are one text of the line.
        let start = value.as_ptr() as usize - message.as_ptr() as usize;
        let length = if unit.is_empty() { value.len() } else { value.len() + 1 + unit.len() };
        let value = message.get(start..start + length).unwrap_or(value);
        numbers::add(writer, key, value)?;
    }
    Ok(())
}

/// Its timers have underscores in their names, Megatron's have none.
fn timers(writer: &mut Writer<'_>, text: &str) -> Read {
    let rest = text.strip_prefix("time (ms) | ").ok_or(Reason::NoMatch)?;
    let first = rest.split(':').next().unwrap_or_default();
    if !first.contains('_') || numbers::pairs(writer, rest, b'|', b':')? == 0 {
        return Err(Reason::NoMatch);
    }
    writer.part("content", text)
}
