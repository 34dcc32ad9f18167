//! NVIDIA's Fabric Manager:
//! `[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error …`.
//!
//! Invariant: the number of a switch's error is the field `sxid`. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::{char, digit1};
use nom::combinator::opt;
use nom::sequence::{delimited, preceded};

use super::line::Line;
use super::stamp::{self, Form, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

type Header<'t> = (&'t str, Option<&'t str>, &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let inner = line.text.strip_prefix('[').ok_or(Reason::NoMatch)?;
    let length = stamp::month_name_year(inner.as_bytes()).ok_or(Reason::NoMatch)?;
    let (time, rest) = inner.split_at(length);
    let (level, thread, content) = words::matched(header(rest))?;
    writer.log_time(Stamp { text: time, form: Form::MonthNameYear })?;
    writer.part("level", level)?;
    if let Some(thread) = thread {
        writer.whole("thread", thread)?;
    }
    let code: Part<'_, &str> =
        preceded((take_until("NVSwitch "), tag("NVSwitch "), severity, tag(" error ")), digit1)
            .parse(content);
    if let Ok((_, code)) = code {
        writer.whole("sxid", code)?;
    }
    writer.part("content", content)
}

fn severity(text: &str) -> Part<'_, &str> {
    nom::branch::alt((tag("fatal"), tag("non-fatal"))).parse(text)
}

/// `] [ERROR] [tid 841] content`
fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, ()) = words::closed(text)?;
    let (text, level) = words::in_brackets(words::level).parse(text)?;
    let thread = delimited(tag(" [tid "), digit1, char(']'));
    let (text, thread) = opt(thread).parse(text)?;
    let (text, content) = preceded(char(' '), words::content).parse(text)?;
    Ok((text, (level, thread, content)))
}
