//! Accelerate: its adapter puts `[RANK 3] ` before a message and says no more.
//!
//! Invariant: the rank is of the message; header there is none. Next on the trip: [`super::c10`]
//! for brackets that name a rank.

use super::c10::rank_in_brackets;
use super::contents;
use super::line::Line;
use super::words;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if !line.text.starts_with("[RANK ") {
        return Err(Reason::NoMatch);
    }
    let (content, rank) = rank_in_brackets(line.text).map_err(|_| Reason::NoMatch)?;
    writer.rank(rank)?;
    let content = words::matched(words::content(content))?;
    contents::read(writer, content)?;
    writer.part("content", content)
}
