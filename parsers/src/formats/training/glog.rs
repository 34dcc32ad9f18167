//! The header that glog brought about and many took over:
//! `E0515 10:23:45.123456 1234 file.py:12] `.
//!
//! Invariant: this file knows the header and not whose line it is; that is told from the source
//! file by [`super::torch`], [`super::klog`] and [`super::absl`]. Next on the trip: those.

use nom::Parser as _;
use nom::bytes::complete::{take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, space1};
use nom::combinator::{opt, recognize, rest, verify};
use nom::sequence::{delimited, preceded, terminated};

use super::line::Line;
use super::stamp::{Form, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// What a header says.
pub(super) struct Header<'t> {
    level: &'t str,
    stamp: Stamp<'t>,
    thread: &'t str,
    pub(super) file: &'t str,
    line: &'t str,
    pub(super) content: &'t str,
}

/// Reads a header and the content behind it.
pub(super) fn header<'t>(line: &Line<'t>) -> Result<Header<'t>, Reason> {
    words::matched(parse(line.text))
}

fn parse(text: &str) -> Part<'_, Header<'_>> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let (text, level) = words::letter(text)?;
    let date = take_while_m_n(4, 4, is_digit);
    let clock = take_while1(|letter: char| letter.is_ascii_digit() || ":.".contains(letter));
    let long_enough = |clock: &&str| clock.len() > 8 && clock.as_bytes()[2] == b':';
    let clock = verify(clock, move |clock: &str| long_enough(&clock));
    let (after, (date, clock)) =
        verify((terminated(date, char(' ')), clock), |(_, clock): &(&str, &str)| clock.len() < 32)
            .parse(text)?;
    // Before absl is set up, the date and the clock are zero and the seconds count from the epoch.
    let stamp = match clock.strip_prefix("00:00:") {
        Some(epoch) if date == "0000" => Stamp { text: epoch, form: Form::Unix },
        _ => Stamp { text: &text[..date.len() + 1 + clock.len()], form: Form::MonthDay },
    };
    let (text, thread) = delimited(space1, digit1, space1).parse(after)?;
    let (text, (file, line)) = words::place(text)?;
    let (text, content) = preceded((char(']'), opt(char(' '))), rest).parse(text)?;
    Ok((text, Header { level, stamp, thread, file, line, content }))
}

/// Adds what a header says. `thread` is the name of its number, which some fill with a process.
pub(super) fn write(writer: &mut Writer<'_>, header: &Header<'_>, thread: &'static str) -> Read {
    writer.log_time(header.stamp)?;
    writer.part("level", header.level)?;
    writer.whole(thread, header.thread)?;
    writer.source((header.file, header.line))?;
    writer.part("content", header.content)
}

/// `[0/1]` or `[__artifact]` at the front of a content, and what follows.
pub(super) fn tag(text: &str) -> Part<'_, &str> {
    let inner = recognize(take_while1(|letter: char| letter > ' ' && !"[]".contains(letter)));
    terminated(words::in_brackets(inner), opt(char(' '))).parse(text)
}
