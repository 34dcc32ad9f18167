//! NeMo: `[NeMo I 2024-05-15 10:23:45 megatron_gpt_model:1587] …` with colours around the bracket
//! or without, and its progress `Training epoch 0, iteration 99/999 | lr: 1e-05 | …`.
//!
//! Invariant: the header ends at its own bracket; ` rank:3` before it is the rank. Next on the
//! trip: [`super::numbers`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1};
use nom::combinator::opt;
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use super::contents;
use super::line::Line;
use super::llama_factory::no_time;
use super::numbers;
use super::stamp::{self, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

struct Header<'t> {
    level: &'t str,
    stamp: Stamp<'t>,
    place: (&'t str, &'t str),
    rank: Option<&'t str>,
    content: &'t str,
}

/// Reads a line of either kind.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if line.text.starts_with('T') {
        return progress(writer, line.text);
    }
    let header = words::matched(header(line.text))?;
    writer.log_time(header.stamp)?;
    writer.part("level", header.level)?;
    writer.source(header.place)?;
    if let Some(rank) = header.rank {
        writer.rank(rank)?;
    }
    contents::read(writer, header.content)?;
    writer.part("content", header.content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = delimited(tag("[NeMo "), words::letter, char(' ')).parse(text)?;
    let (stamp, text) = stamp::date_time(text).ok_or_else(|| no_time(text))?;
    let (text, place) = preceded(char(' '), words::place).parse(text)?;
    let (text, rank) = opt(preceded(tag(" rank:"), digit1)).parse(text)?;
    let (text, content) = preceded(char(']'), words::content).parse(text)?;
    Ok((text, Header { level, stamp, place, rank, content }))
}

fn progress(writer: &mut Writer<'_>, text: &str) -> Read {
    let count = separated_pair(digit1, char('/'), digit1);
    let epoch = delimited(tag("Training epoch "), digit1, tag(", iteration "));
    let found: Part<'_, _> = (epoch, terminated(count, tag(" |"))).parse(text);
    let (rest, (epoch, (step, total))) = words::split(found)?;
    writer.whole("epoch", epoch)?;
    writer.whole("iteration", step)?;
    writer.whole("iteration_total", total)?;
    numbers::pairs(writer, rest, b'|', b':')?;
    writer.part("content", text)
}
