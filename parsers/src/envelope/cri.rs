//! The lines of container runtimes, as the Kubernetes container runtime interface has them:
//! `2024-05-15T10:23:45.123456789Z stdout F text`.
//!
//! Invariant: a value is taken when each of its lines has the form, or not at all, so that no line
//! is lost. Next on the trip: [`super::docker`].

use std::ops::ControlFlow;

use super::many::Many;
use super::{Piece, in_bounds};
use crate::time::parse_rfc3339;

/// Longest time that is looked at: nanoseconds and an offset take 35 bytes.
const TIME_BYTES_MAX: usize = 40;

/// One line.
struct Line<'t> {
    time: &'t str,
    time_ns: i64,
    stream: &'static str,
    piece: Piece,
    text: &'t [u8],
}

/// True when every line of the value has the form.
#[inline]
pub(super) fn is_lines(value: &[u8]) -> bool {
    // One look at the `T` of the time is enough for nearly all other lines.
    value.get(10) == Some(&b'T') && is_lines_of_runtime(value)
}

fn is_lines_of_runtime(value: &[u8]) -> bool {
    let mut count = 0;
    let are_lines = lines(value).all(|text| {
        count += 1;
        read(text).is_some()
    });
    are_lines && in_bounds(count)
}

/// Gives the lines away.
pub(super) fn give(value: &[u8], many: &mut Many<'_, '_>) -> ControlFlow<()> {
    let base = many.mark();
    for Line { time, time_ns, stream, piece, text } in lines(value).filter_map(read) {
        many.restore(&base);
        many.push("", "stream", stream);
        many.push("", "time", time);
        many.set_time(Some(time_ns));
        many.give_piece(piece, |message| message.extend_from_slice(text))?;
    }
    ControlFlow::Continue(())
}

/// A carriage return belongs to the text: where that is a piece, it stands inside of a line.
fn lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.strip_suffix(b"\n").unwrap_or(value).split(|byte| *byte == b'\n')
}

fn read(line: &[u8]) -> Option<Line<'_>> {
    if line.get(10) != Some(&b'T') {
        return None;
    }
    let end = memchr::memchr(b' ', &line[..line.len().min(TIME_BYTES_MAX)])?;
    let (time, rest) = line.split_at_checked(end)?;
    let (stream, rest) = match rest.split_at_checked(8)? {
        (b" stdout ", rest) => ("stdout", rest),
        (b" stderr ", rest) => ("stderr", rest),
        _ => return None,
    };
    // Whoever writes an empty text may leave out the space before it.
    let (tags, text) = match memchr::memchr(b' ', rest) {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (rest, &[][..]),
    };
    // Further tags may follow the first, parted by colons.
    let piece = match tags {
        [b'P'] | [b'P', b':', ..] => Piece::Open,
        [b'F'] | [b'F', b':', ..] => Piece::Last,
        _ => return None,
    };
    let time = std::str::from_utf8(time).ok().filter(|time| !time.contains(','))?;
    Some(Line { time, time_ns: parse_rfc3339(time)?, stream, piece, text })
}
