//! Lines of names and numbers alone, as training scripts print them (nanoGPT, llm.c,
//! DeepSpeed-Chat), and JSON objects of numbers alone, as trainers write them into files.
//!
//! Invariant: every member is a number, quoted or not, a duration, or nothing. Next on the trip:
//! [`super::pairs`].

use super::line::Line;
use super::{dict, pairs};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let numbers = match line.text.as_bytes() {
        [b'{', ..] => dict::read_numbers(writer, line.text)?,
        _ => pairs::read(writer, line.text)?,
    };
    if numbers == 0 {
        return Err(Reason::NoMatch);
    }
    writer.part("content", line.text)
}
