//! UCX: `[node:227  :0:227] Caught signal 11 …`, and its log
//! `[1684167468.123456] [node:1234 :0]          sock.c:312  UCX  ERROR …`.
//!
//! Invariant: the host stands before the process, the component is `UCX`. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{opt, recognize};
use nom::sequence::{delimited, preceded, terminated};

use super::line::Line;
use super::stamp::{Form, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

/// Host, process, thread.
type Process<'t> = (&'t str, &'t str, &'t str);

/// Reads a line of either kind.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let found: Part<'_, _> = log(line.text);
    let Ok((content, (time, process, place, level))) = found else {
        let (content, process) = words::split(caught(line.text))?;
        writer.fixed("component", "UCX")?;
        write_process(writer, process)?;
        return writer.part("content", content);
    };
    writer.log_time(Stamp { text: time, form: Form::Unix })?;
    writer.part("level", level)?;
    writer.fixed("component", "UCX")?;
    write_process(writer, process)?;
    writer.part("file", place.0)?;
    writer.whole("line", place.1)?;
    writer.part("content", content)
}

fn write_process(writer: &mut Writer<'_>, (host, process, thread): Process<'_>) -> Read {
    writer.part("host", host)?;
    writer.whole("pid", process)?;
    writer.whole("thread", thread)
}

/// `node:227  :0:227` or `node:1234 :0`
fn process(text: &str) -> Part<'_, Process<'_>> {
    let host = terminated(words::name, char(':'));
    let spaces = take_while(|it| it == ' ');
    let thread = preceded((spaces, char(':')), digit1);
    let (text, (host, process, thread)) = (host, digit1, thread).parse(text)?;
    let (text, last) = opt(preceded(char(':'), digit1)).parse(text)?;
    Ok((text, (host, process, last.unwrap_or(thread))))
}

fn caught(text: &str) -> Part<'_, Process<'_>> {
    let (rest, found) = terminated(words::in_brackets(process), char(' ')).parse(text)?;
    // Others write a process in brackets too; this one says what it caught.
    let (_, _) = nom::branch::alt((tag("Caught signal"), tag("=="))).parse(rest)?;
    Ok((rest, found))
}

type Log<'t> = (&'t str, Process<'t>, (&'t str, &'t str), &'t str);

fn log(text: &str) -> Part<'_, Log<'_>> {
    let time = recognize((digit1, char('.'), digit1));
    let (text, time) = delimited(char('['), time, tag("] ")).parse(text)?;
    let (text, process) = words::in_brackets(process).parse(text)?;
    let (text, place) = delimited(words::spaces, words::place, words::spaces).parse(text)?;
    let (text, _) = (tag("UCX"), words::spaces).parse(text)?;
    // `DIAG` is a level of its own.
    let level = take_while1(|letter: char| letter.is_ascii_uppercase());
    let (text, level) = terminated(level, words::spaces).parse(text)?;
    Ok((text, (time, process, place, level)))
}
