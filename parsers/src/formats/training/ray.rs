//! Ray: from Python `2024-05-15 10:23:45,123⇥INFO worker.py:1724 -- …`, from C++
//! `[2024-05-15 10:23:45,206 E 3934 3934] (raylet) node_manager.cc:3277: …`, and the tokens that
//! open a worker's log, `:actor_name:Trainer`.
//!
//! Invariant: the component is the source file; the program in parentheses is `process`. Next on
//! the trip: [`super::words`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1};
use nom::combinator::{opt, rest};
use nom::sequence::{delimited, preceded, terminated};

use super::contents;
use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

struct Core<'t> {
    level: &'t str,
    process: (&'t str, &'t str),
    program: Option<&'t str>,
    place: (&'t str, &'t str),
    content: &'t str,
}

/// Reads a line of any of the three.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let Some(stamp) = line.stamp else { return token(writer, line.text) };
    if !line.is_bracketed {
        let (level, place, content) = words::matched(python(line.rest))?;
        writer.log_time(stamp)?;
        writer.part("level", level)?;
        writer.source(place)?;
        contents::read(writer, content)?;
        return writer.part("content", content);
    }
    let core = words::matched(core(line.rest))?;
    writer.log_time(stamp)?;
    writer.part("level", core.level)?;
    writer.whole("pid", core.process.0)?;
    writer.whole("thread", core.process.1)?;
    if let Some(program) = core.program {
        writer.part("process", program)?;
    }
    writer.source(core.place)?;
    writer.part("content", core.content)
}

type Python<'t> = (&'t str, (&'t str, &'t str), &'t str);

fn python(text: &str) -> Part<'_, Python<'_>> {
    let (text, level) =
        delimited(alt((char('\t'), char(' '))), words::level, char(' ')).parse(text)?;
    let (text, place) = terminated(words::place, tag(" --")).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, place, content)))
}

fn core(text: &str) -> Part<'_, Core<'_>> {
    let (text, level) = delimited(char(' '), words::letter, char(' ')).parse(text)?;
    let process = (terminated(digit1, char(' ')), terminated(digit1, char(']')));
    let (text, process) = terminated(process, char(' ')).parse(text)?;
    let program = delimited(char('('), words::name, tag(") "));
    let (text, program) = opt(program).parse(text)?;
    let (text, place) = terminated(words::place, char(':')).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, Core { level, process, program, place, content }))
}

fn token(writer: &mut Writer<'_>, text: &str) -> Read {
    let name = alt((tag("actor_name"), tag("task_name"), tag("job_id")));
    let found: Part<'_, (&str, &str)> =
        (delimited(char(':'), name, char(':')), preceded(opt(char(' ')), rest)).parse(text);
    let (name, value) = words::matched(found)?;
    let name = match name {
        "actor_name" => "actor_name",
        "task_name" => "task_name",
        _ => "job_id",
    };
    writer.part(name, value)?;
    writer.part("content", text)
}
