//! torchtitan:
//! `[titan] 2024-05-15 10:23:45,123 - root - INFO - step: 10  loss:  2.10400  tps: 8,123  …`.
//!
//! Invariant: a step line gives its numbers, colours or none between them. Next on the trip:
//! [`super::numbers`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::sequence::{preceded, terminated};

use super::line::{Line, skip_color};
use super::llama_factory::no_time;
use super::numbers;
use super::stamp::{self, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (Stamp<'t>, &'t str, &'t str, &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (stamp, name, level, content) = words::matched(header(line.text))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("component", name)?;
    if skip_color(content).starts_with("step:") || content.starts_with("validate step:") {
        numbers::spaced(writer, content)?;
    }
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, _) = tag("[titan] ")(text)?;
    let (stamp, text) = stamp::date_time(text).ok_or_else(|| no_time(text))?;
    let (text, name) = preceded(tag(" - "), words::name).parse(text)?;
    let (text, level) = preceded(tag(" - "), terminated(words::level, tag(" -"))).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (stamp, name, level, content)))
}
