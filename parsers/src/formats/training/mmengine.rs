//! MMEngine:
//! `2024/05/15 10:23:45 - mmengine - INFO - Epoch(train)  [3][  50/1000]  lr: 1.0000e-02  …`; on a
//! console without the year.
//!
//! Invariant: counters in brackets and two-space pairs are numbers, durations are texts. Next on
//! the trip: [`super::numbers`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1, space0};
use nom::combinator::opt;
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use super::contents;
use super::line::Line;
use super::numbers;
use super::stamp::{Form, Stamp, has_shape};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

type Header<'t> = (&'t str, &'t str, &'t str);

/// Reads a line of a file or a console.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (stamp, rest) = match line.stamp {
        Some(stamp) if matches!(stamp.form, Form::Slashes | Form::SlashesPoint) => {
            (stamp, line.rest)
        }
        None if has_shape(line.text.as_bytes(), b"99/99 99:99:99 ") => {
            (Stamp { text: &line.text[..14], form: Form::SlashesNoYear }, &line.text[14..])
        }
        _ => return Err(Reason::NoMatch),
    };
    let (level, name, content) = words::matched(header(rest))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("component", name)?;
    numbers(writer, content)?;
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let dash = |text| tag(" - ")(text);
    let (text, name) = preceded(dash, words::name).parse(text)?;
    let (text, _) = (dash, words::color).parse(text)?;
    let (text, level) = terminated(words::level, (words::color, dash)).parse(text)?;
    Ok(("", (level, name, text)))
}

/// `Epoch(train)  [3][  50/1000]  lr: …` and `Iter(train) [  10/10000]  lr: …`
fn numbers(writer: &mut Writer<'_>, content: &str) -> Read {
    let count = || separated_pair(preceded(space0, digit1), char('/'), preceded(space0, digit1));
    let epoch = opt(delimited(char('['), preceded(space0, digit1), char(']')));
    let name = alt((tag("Epoch("), tag("Iter(")));
    let mode = (name, terminated(words::name, (char(')'), words::spaces)));
    let found: Part<'_, _> = (mode, epoch, delimited(char('['), count(), char(']'))).parse(content);
    let Ok((rest, (_, epoch, (step, total)))) = found else {
        return contents::read(writer, content);
    };
    if let Some(epoch) = epoch {
        writer.whole("epoch", epoch)?;
    }
    writer.whole("iter", step)?;
    writer.whole("iter_total", total)?;
    numbers::spaced(writer, rest)
}
