//! LLaMA-Factory:
//! `[INFO|2024-05-15 10:23:45] llamafactory.train.callbacks:143 >> {'loss': 2.1, …}`.
//!
//! Invariant: a content that is a dictionary gives its numbers too. Next on the trip:
//! [`super::contents`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::sequence::{preceded, terminated};

use super::contents;
use super::line::Line;
use super::stamp::{self, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};

type Header<'t> = (&'t str, Stamp<'t>, (&'t str, &'t str), &'t str);

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (level, stamp, place, content) = words::matched(header(line.text))?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.source(place)?;
    contents::read(writer, content)?;
    writer.part("content", content)
}

fn header(text: &str) -> Part<'_, Header<'_>> {
    let (text, level) = terminated(preceded(char('['), words::level), char('|')).parse(text)?;
    let (stamp, text) = stamp::date_time(text).ok_or_else(|| no_time(text))?;
    let (text, place) = preceded(tag("] "), words::place).parse(text)?;
    let (text, _) = tag(" >>")(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (level, stamp, place, content)))
}

/// The error of a line whose time cannot be read.
pub(super) fn no_time(text: &str) -> nom::Err<nom::error::Error<&str>> {
    nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Digit))
}
