//! NCCL of all generations: `host:pid:thread [device] NCCL INFO …`, a time before it or none, the
//! source file before `NCCL WARN`.
//!
//! Invariant: the number in brackets is the process's own device, no rank. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{map, opt, recognize};
use nom::sequence::{preceded, terminated};

use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

struct Header<'t> {
    host: &'t str,
    process: (&'t str, &'t str),
    device: Option<&'t str>,
    rest: &'t str,
}

/// What stands between the device and `NCCL`.
#[derive(Default)]
struct Before<'t> {
    place: Option<(&'t str, &'t str)>,
    function: Option<&'t str>,
    elapsed: Option<&'t str>,
}

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if let Ok((rest, _)) = words::word("NCCL version ")(line.text) {
        let version: Part<'_, &str> = take_while1(|letter| letter > ' ')(rest);
        let version = words::matched(version)?;
        writer.part("version", version)?;
        return writer.part("content", line.text);
    }
    let text = match line.stamp {
        Some(_) => words::split(words::closed(line.rest))?.0,
        None => line.text,
    };
    let header = words::matched(header(text))?;
    let (before, name, level, content) = words::matched(message(header.rest))?;
    if let Some(stamp) = line.stamp {
        writer.log_time(stamp)?;
    }
    // Calls are a kind of message, not a level.
    if level != "CALL" {
        writer.part("level", level)?;
    }
    writer.part("component", name)?;
    writer.part("host", header.host)?;
    writer.whole("pid", header.process.0)?;
    writer.whole("thread", header.process.1)?;
    if let Some(device) = header.device {
        writer.whole("device", device)?;
    }
    if let Some((file, number)) = before.place {
        writer.part("file", file)?;
        writer.whole("line", number)?;
    }
    if let Some(function) = before.function {
        writer.part("function", function)?;
    }
    if let Some(elapsed) = before.elapsed {
        super::numbers::add(writer, "elapsed_ms", elapsed)?;
    }
    writer.part("content", content)
}

/// `host:pid:thread [device] `; calls have no device.
fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, host) = terminated(words::name, char(':')).parse(text)?;
    let (text, process) =
        (terminated(digit1, char(':')), terminated(digit1, char(' '))).parse(text)?;
    let (rest, device) =
        opt(terminated(words::in_brackets(words::whole), char(' '))).parse(text)?;
    Ok((rest, Header { host, process, device, rest }))
}

type Message<'t> = (Before<'t>, &'t str, &'t str, &'t str);

fn message(text: &str) -> Part<'_, Message<'_>> {
    let (text, before) = before(text)?;
    let (text, name) = terminated(tag("NCCL"), char(' ')).parse(text)?;
    let levels = (tag("INFO"), tag("WARN"), tag("TRACE"), tag("CALL"));
    let (text, level) = alt(levels).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (before, name, level, content)))
}

/// `p2p.cc:688 (ibCheckWc) `, `12.5 function:7 `, or nothing.
fn before(text: &str) -> Part<'_, Before<'_>> {
    let warned = map(
        (terminated(words::place, char(' ')), opt(terminated(function_name, char(' ')))),
        |(place, function)| Before { place: Some(place), function, elapsed: None },
    );
    let elapsed = recognize((digit1, char('.'), digit1));
    let traced = map(
        (terminated(elapsed, char(' ')), terminated(words::place, char(' '))),
        |(elapsed, (function, _))| Before {
            place: None,
            function: Some(function),
            elapsed: Some(elapsed),
        },
    );
    map(opt(alt((traced, warned))), Option::unwrap_or_default).parse(text)
}

fn function_name(text: &str) -> Part<'_, &str> {
    let inner = take_while1(|letter: char| letter > ' ' && letter != ')');
    terminated(preceded(char('('), inner), char(')')).parse(text)
}
