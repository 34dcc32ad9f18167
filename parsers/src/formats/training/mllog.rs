//! MLPerf's records: `:::MLLOG {"namespace": "", "time_ms": 1695804432071, "event_type": …}`.
//!
//! Invariant: the content is the JSON object; a value that is a number is `value`. Next on the
//! trip: [`super::numbers`].

use super::line::Line;
use super::numbers;
use super::stamp::{self, Form, Stamp};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let content = line.text.strip_prefix(":::MLLOG ").ok_or(Reason::NoMatch)?;
    let content = content.trim_start_matches(' ');
    if !content.starts_with('{') || !content.trim_end().ends_with('}') {
        return Err(Reason::NoMatch);
    }
    let time = member(content, "\"time_ms\": ").ok_or(Reason::NoMatch)?;
    let length = stamp::digits(time.as_bytes());
    if length == 0 {
        return Err(Reason::NoMatch);
    }
    writer.log_time(Stamp { text: &time[..length], form: Form::UnixMillis })?;
    for (name, start) in [("event_type", "\"event_type\": \""), ("key", "\"key\": \"")] {
        if let Some((value, _)) = member(content, start).and_then(|it| it.split_once('"')) {
            writer.part(name, value)?;
        }
    }
    if let Some(value) = member(content, "\"value\": ") {
        numbers::add(writer, "value", value.split([',', '}']).next().unwrap_or_default())?;
    }
    writer.part("content", content)
}

/// What follows the first such name.
fn member<'t>(content: &'t str, start: &str) -> Option<&'t str> {
    let at = memchr::memmem::find(content.as_bytes(), start.as_bytes())?;
    content.get(at + start.len()..)
}
