//! NVRx:
//! `2024-05-15 10:23:45,123 [WARNING] [gpu-node-017] [workload:8(0) infra:8(0)] monitor.py:67 …`.
//!
//! Invariant: the rank is that of the workload. Next on the trip: [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::sequence::{delimited, preceded, separated_pair, terminated};

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

struct Header<'t> {
    level: &'t str,
    host: &'t str,
    workload: (&'t str, &'t str),
    infra: (&'t str, &'t str),
    place: (&'t str, &'t str),
    content: &'t str,
}

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let stamp = words::stamp(line)?;
    let header = words::matched(header(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", header.level)?;
    writer.part("host", header.host)?;
    writer.rank(header.workload.0)?;
    writer.whole("local_rank", header.workload.1)?;
    writer.whole("infra_rank", header.infra.0)?;
    writer.whole("infra_local_rank", header.infra.1)?;
    writer.source(header.place)?;
    writer.part("content", header.content)
}

/// `8(0)`
fn ranks(text: &str) -> Part<'_, (&str, &str)> {
    (words::whole, delimited(char('('), words::whole, char(')'))).parse(text)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let level = terminated(words::in_brackets(words::level), char(' '));
    let (text, level) = preceded(char(' '), level).parse(text)?;
    let (text, host) = terminated(words::in_brackets(words::name), char(' ')).parse(text)?;
    let workload = preceded(tag("workload:"), ranks);
    let both = separated_pair(workload, tag(" infra:"), ranks);
    let (text, (workload, infra)) = terminated(words::in_brackets(both), char(' ')).parse(text)?;
    let (text, place) = words::place(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, Header { level, host, workload, infra, place, content }))
}
