//! Python's logging module: `WARNING:root:…` and what programs make of its `asctime`: with dashes,
//! with brackets, with the level before the logger or behind it; uvicorn's `INFO:     …` too.
//!
//! Invariant: a level stands in the header, or the line is none. A word behind the level is the
//! component where it ends in a colon, is dotted or names a source file. Next on the trip:
//! [`super::words`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_till};
use nom::character::complete::char;
use nom::combinator::{map, opt, success, verify};
use nom::sequence::{delimited, preceded, terminated};

use super::c10::rank_in_brackets;
use super::contents;
use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

struct Header<'t> {
    level: &'t str,
    component: Option<&'t str>,
    line: Option<&'t str>,
    content: &'t str,
}

/// Reads a line with a time or without.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let header = match line.stamp {
        None => words::matched(alt((basic, uvicorn)).parse(line.text))?,
        Some(stamp) => {
            let forms = alt((dashed, bracketed, placed, hydra, level_first, name_first));
            let header = words::matched({ forms }.parse(behind_bracket(line)))?;
            writer.log_time(stamp)?;
            header
        }
    };
    writer.part("level", header.level)?;
    if let Some(component) = header.component {
        writer.part("component", component)?;
    }
    if let Some(line) = header.line {
        writer.whole("line", line)?;
    }
    if header.content.starts_with("[R")
        && let Ok((_, rank)) = rank_in_brackets(header.content)
    {
        writer.rank(rank)?;
    }
    contents::read(writer, header.content)?;
    writer.part("content", header.content)
}

/// A time in brackets is followed by the same forms.
fn behind_bracket<'t>(line: &Line<'t>) -> &'t str {
    if line.is_bracketed { line.rest.strip_prefix(']').unwrap_or("") } else { line.rest }
}

/// `WARNING:root:content`
fn basic(text: &str) -> Part<'_, Header<'_>> {
    let name = map(terminated(words::name, char(':')), Some);
    let (text, (level, component)) = (terminated(words::level, char(':')), name).parse(text)?;
    Ok(("", Header { level, component, line: None, content: text }))
}

/// `INFO:     content`: the level and its colon fill ten columns.
fn uvicorn(text: &str) -> Part<'_, Header<'_>> {
    let header = (terminated(words::level, char(':')), words::spaces);
    let (text, (level, _)) =
        verify(header, |(level, spaces): &(&str, &str)| level.len() + spaces.len() == 9)
            .parse(text)?;
    Ok(("", Header { level, component: None, line: None, content: text }))
}

/// A component with a line number or without.
fn component(text: &str) -> Part<'_, (&str, Option<&str>)> {
    let place = map(words::place, |(file, line)| (file, Some(line)));
    let is_file = |(file, _): &(&str, Option<&str>)| file.contains('.');
    alt((verify(place, is_file), map(words::name, |name| (name, None)))).parse(text)
}

/// ` - name - LEVEL - content` and ` - LEVEL - name - content`
fn dashed(text: &str) -> Part<'_, Header<'_>> {
    let dash = tag(" - ");
    let (text, _) = tag(" - ")(text)?;
    let first: Part<'_, &str> = terminated(words::level, tag(" - ")).parse(text);
    if let Ok((text, level)) = first {
        let named: Part<'_, _> = terminated(component, dash).parse(text);
        let (text, (component, line)) = match named {
            Ok((text, (name, line))) => (text, (Some(name), line)),
            Err(_) => (text, (None, None)),
        };
        return Ok(("", Header { level, component, line, content: text }));
    }
    let (text, (name, line)) = terminated(component, dash).parse(text)?;
    let (text, level) = terminated(words::level, alt((tag(" - "), tag(": ")))).parse(text)?;
    Ok(("", Header { level, component: Some(name), line, content: text }))
}

/// ` [LEVEL] name: content`, the name in brackets or out of them or absent
fn bracketed(text: &str) -> Part<'_, Header<'_>> {
    let level = delimited(char('['), words::level, (opt(words::spaces), char(']')));
    let (text, level) = preceded(words::spaces, level).parse(text)?;
    let (text, _) = opt(words::spaces).parse(text)?;
    let (text, (component, line)) = alt((in_brackets, optional_name)).parse(text)?;
    Ok(("", Header { level, component, line, content: text }))
}

/// ` [LEVEL|DP=0|PP=1|TP=0|host]: content`, as nanotron has it
fn placed(text: &str) -> Part<'_, Header<'_>> {
    let level = preceded(tag(" ["), terminated(words::level, char('|')));
    let place = terminated(take_till(|letter| letter == ']' || letter == '['), tag("]: "));
    let (text, (level, _)) = (level, place).parse(text)?;
    Ok(("", Header { level, component: None, line: None, content: text }))
}

/// `[name][LEVEL] - content`
fn hydra(text: &str) -> Part<'_, Header<'_>> {
    let header = (words::in_brackets(component), words::in_brackets(words::level), tag(" - "));
    let (text, ((name, line), level, _)) = { header }.parse(text)?;
    Ok(("", Header { level, component: Some(name), line, content: text }))
}

type Name<'t> = (Option<&'t str>, Option<&'t str>);

/// `[name] ` or `[name]: `
fn in_brackets(text: &str) -> Part<'_, Name<'_>> {
    let end = alt((tag(": "), tag(" ")));
    let (text, (name, line)) = terminated(words::in_brackets(component), end).parse(text)?;
    Ok((text, (Some(name), line)))
}

/// `name: `, `in name: `, `a.dotted.name ` or `file.py:12 `, or nothing.
fn optional_name(text: &str) -> Part<'_, Name<'_>> {
    let named = terminated(component, (char(':'), opt(char(' '))));
    let named = preceded(opt(tag("in ")), named);
    let dotted =
        verify(terminated(component, char(' ')), |(name, line)| line.is_some() || is_dotted(name));
    let found = map(alt((named, dotted)), |(name, line)| (Some(name), line));
    alt((found, success((None, None)))).parse(text)
}

/// `a.b`, not `2.5` and not the end of a sentence.
fn is_dotted(name: &str) -> bool {
    let is_word = |part: &str| part.starts_with(|it: char| it.is_alphabetic() || it == '_');
    name.contains('.') && name.split('.').all(is_word)
}

/// ` LEVEL name: content` and ` LEVEL content`
fn level_first(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = preceded(words::spaces, words::level).parse(text)?;
    let (text, _) = alt((tag(": "), words::spaces)).parse(text)?;
    let (text, _) = opt(words::spaces).parse(text)?;
    let (text, (component, line)) = alt((in_brackets, optional_name)).parse(text)?;
    Ok(("", Header { level, component, line, content: text }))
}

/// ` name LEVEL: content` and ` name: LEVEL: content`
fn name_first(text: &str) -> Part<'_, Header<'_>> {
    let name = terminated(component, (opt(char(':')), char(' ')));
    let (text, (name, line)) = preceded(char(' '), name).parse(text)?;
    let level = alt((words::level, words::in_brackets(words::level)));
    let (text, level) = terminated(level, alt((tag(": "), tag(" ")))).parse(text)?;
    Ok(("", Header { level, component: Some(name), line, content: text }))
}
