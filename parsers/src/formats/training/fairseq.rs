//! fairseq: `2024-05-15 10:23:45 | INFO | fairseq.trainer | …`, whose content may be JSON with
//! quoted numbers, and its plain progress `epoch 001:    100 / 5000 loss=8.1, ppl=274, …`.
//!
//! Invariant: the logger's name stands between bars. Next on the trip: [`super::dict`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1};
use nom::combinator::opt;
use nom::sequence::{delimited, separated_pair, terminated};

use super::line::Line;
use super::loguru::level_in_bars;
use super::words::{self, Part};
use super::{dict, numbers};
use crate::formats::writer::{Read, Writer};

/// Reads a line of either kind.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let Some(stamp) = line.stamp else { return progress(writer, line.text) };
    let (level, name, content) = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("component", name)?;
    dict::read_content(writer, content)?;
    if content.starts_with("epoch ") && progress(writer, content).is_ok() {
        return Ok(());
    }
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, (&str, &str, &str)> {
    let (text, level) = level_in_bars(text)?;
    let (text, name) = terminated(words::name, tag(" |")).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, name, content)))
}

/// `epoch 001:    100 / 5000 loss=8.1, ppl=274`, with a bar before the numbers in older versions
fn progress(writer: &mut Writer<'_>, text: &str) -> Read {
    let count = separated_pair(digit1, tag(" / "), digit1);
    let epoch = delimited(tag("epoch "), digit1, (char(':'), opt(tag(" |")), words::spaces));
    let found: Part<'_, _> = (epoch, terminated(count, char(' '))).parse(text);
    let (rest, (epoch, (step, total))) = words::split(found)?;
    writer.whole("epoch", epoch)?;
    writer.whole("step", step)?;
    writer.whole("step_total", total)?;
    numbers::pairs(writer, rest, b',', b'=')?;
    writer.part("content", text)
}
