//! Numbers in the content of a log line: a dictionary, pairs, a progress bar.
//!
//! Invariant: a content is made of numbers from one end to the other, or none are read from it; a
//! sentence with a number in it is a sentence. Next on the trip: [`super::pairs`].

use super::{bar, dict, pairs};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Adds the numbers of a content.
pub(super) fn read(writer: &mut Writer<'_>, content: &str) -> Read {
    match content.as_bytes() {
        [b'{', ..] => return dict::read_content(writer, content),
        [.., b']'] if bar::is_likely(content) => {
            return match bar::read(writer, content) {
                Ok(_) | Err(Reason::NoMatch) => Ok(()),
                Err(limit) => Err(limit),
            };
        }
        [] => return Ok(()),
        _ => {}
    }
    pairs::read(writer, content).map(drop)
}
