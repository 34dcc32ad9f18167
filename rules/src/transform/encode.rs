//! The encode stop: one event, one JSON document, written once.
//!
//! Invariant: the document is a valid JSON object whatever the line holds, its members stand in the
//! documented order, and `message` is the last one, so that without it the document is a shorter
//! slice of the same bytes. Next stop: `event`, the buffer it is written to.
use riverhog_parsers::grok::Capture;

use super::bind::BoundField;
use super::encoded::EncodedRecord;
use super::format;
use super::marks;
use super::steps::Edit;
use super::view::{Parsed, View};
use crate::event::{Event, EventBuffer};
use crate::json::{write_escaped, write_int, write_string};
use crate::origin::{line_and_part, write_id_index};
use crate::stamp::Stamp;

/// Everything that a document says.
pub(super) struct Document<'a> {
    pub(super) timestamp_source: TimestampSource,
    pub(super) record: &'a EncodedRecord,
    /// `,"host":{…},"labels":{…}`
    pub(super) host_and_labels: &'a [u8],
    pub(super) view: &'a View<'a>,
}

/// Where an event's time comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimestampSource {
    Line,
    Envelope,
    Record,
}

impl Document<'_> {
    /// Appends the document and sets the event's spans of it.
    pub(super) fn write(
        &self,
        buffer: &mut EventBuffer,
        event: &mut Event,
        scratch: &mut EncodeScratch,
    ) {
        let out = &mut buffer.bytes;
        let message = self.view.message;
        let parsed = &self.view.parsed;
        event.doc.0 = position(out);
        self.write_times(out, &mut scratch.stamp, event.time_ns);
        if let Some(level) = parsed.level {
            out.extend_from_slice(br#","level":""#);
            out.extend_from_slice(level.as_str().as_bytes());
            out.push(b'"');
        }
        if let Some(component) = parsed.component {
            out.extend_from_slice(br#","component":"#);
            write_string(out, component);
        }
        let content = parsed.content.unwrap_or(self.view.line);
        out.extend_from_slice(br#","content":""#);
        let content_at = out.len();
        write_escaped(out, content);
        let escaped = content_at..out.len();
        out.push(b'"');
        out.extend_from_slice(self.host_and_labels);
        if let Some(rank) = parsed.rank {
            out.extend_from_slice(br#","rank":"#);
            write_int(out, rank);
        }
        write_metrics(out, parsed);
        let fields_at = out.len();
        scratch.write_fields(out, parsed);
        if let (Some(line), None) = (self.view.marks, parsed.edit) {
            marks::write(out, fields_at, &line.marks, |name| parsed.has_field(name));
        }
        write_tags(out, parsed);
        out.extend_from_slice(&self.record.origin_head);
        out.extend_from_slice(&self.record.origin_tail);
        let (line, part) = line_and_part(event.index);
        write_int(out, i64::from(line));
        if let Some(part) = part {
            out.extend_from_slice(br#","part":"#);
            write_int(out, i64::from(part));
        }
        out.extend_from_slice(br#"},"event_id":""#);
        event.id.0 = position(out);
        out.extend_from_slice(&self.record.id_head);
        out.extend_from_slice(&self.record.id_tail);
        write_id_index(out, event.index, event.joined);
        event.id.1 = position(out);
        out.extend_from_slice(br#"","v":1"#);
        event.message_at = position(out);
        if content != message {
            out.extend_from_slice(br#","message":""#);
            match parsed.content_place(message) {
                // The content is most of the line and is escaped already.
                Some(place) => {
                    write_escaped(out, &message[..place.start]);
                    out.extend_from_within(escaped);
                    write_escaped(out, &message[place.end..]);
                }
                None => write_escaped(out, message),
            }
            out.push(b'"');
        }
        out.push(b'}');
        event.doc.1 = position(out);
        out.push(b'\n');
    }

    fn write_times(&self, out: &mut Vec<u8>, stamp: &mut Stamp, time_ns: i64) {
        out.extend_from_slice(br#"{"@timestamp":""#);
        let source = match self.timestamp_source {
            TimestampSource::Line => "line",
            TimestampSource::Envelope => "envelope",
            TimestampSource::Record => "record",
        };
        if self.timestamp_source == TimestampSource::Record {
            out.extend_from_slice(&self.record.received_text);
        } else {
            stamp.write(out, time_ns);
        }
        out.extend_from_slice(br#"","timestamp_source":""#);
        out.extend_from_slice(source.as_bytes());
        out.push(b'"');
        out.extend_from_slice(&self.record.received);
    }
}

pub(super) fn position(out: &[u8]) -> u32 {
    u32::try_from(out.len()).expect("a batch is bounded far below 4 GiB")
}

fn write_metrics(out: &mut Vec<u8>, parsed: &Parsed<'_>) {
    if let Some(edit) = parsed.edit {
        edit.write_metrics(out);
    } else if let Some(numbers) = parsed.numbers.filter(|numbers| !numbers.is_empty()) {
        out.extend_from_slice(br#","metrics":{"#);
        out.extend_from_slice(numbers.json());
        out.push(b'}');
    }
}

fn write_tags(out: &mut Vec<u8>, parsed: &Parsed<'_>) {
    if parsed.tags.is_empty() && parsed.edit.is_none() {
        return;
    }
    let start = out.len();
    let begin = |out: &mut Vec<u8>| {
        out.extend_from_slice(if out.len() == start { br#","tags":["# } else { b"," });
    };
    for tag in parsed.tags.iter() {
        // Nothing to escape.
        begin(out);
        out.push(b'"');
        out.extend_from_slice(tag.as_bytes());
        out.push(b'"');
    }
    for tag in parsed.edit.into_iter().flat_map(Edit::added_tags) {
        begin(out);
        write_string(out, tag);
    }
    if out.len() > start {
        out.push(b']');
    }
}

/// What a worker reuses from line to line.
#[derive(Debug, Default)]
pub(super) struct EncodeScratch {
    stamp: Stamp,
    /// By the first grok field of a name: its captures that are not written yet.
    counts: Vec<u16>,
}

impl EncodeScratch {
    /// Appends `,"fields":{…}` with every capture that is no other part of the event; captures of
    /// one name become an array.
    fn write_fields(&mut self, out: &mut Vec<u8>, parsed: &Parsed<'_>) {
        if let Some(edit) = parsed.edit {
            edit.write_fields(out);
            return;
        }
        let Some(rule) = parsed.rule else {
            return;
        };
        if let Some(fields) = parsed.fields {
            format::write(out, parsed, fields);
            return;
        }
        if parsed.captures.len() == parsed.taken_count() {
            return;
        }
        self.counts.clear();
        self.counts.resize(rule.fields.len(), 0);
        for (_, field, _) in rest(parsed, &rule.fields) {
            let count = &mut self.counts[usize::from(field.group)];
            *count = count.saturating_add(1);
        }
        out.extend_from_slice(br#","fields":{"#);
        let mut first = true;
        for (index, field, capture) in rest(parsed, &rule.fields) {
            let group = usize::from(field.group);
            let count = std::mem::take(&mut self.counts[group]);
            if count == 0 {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(&field.key);
            if count == 1 {
                write_value(out, field, capture, parsed.source);
                continue;
            }
            out.push(b'[');
            for (other, field, capture) in rest(parsed, &rule.fields) {
                if usize::from(field.group) == group {
                    if other != index {
                        out.push(b',');
                    }
                    write_value(out, field, capture, parsed.source);
                }
            }
            out.push(b']');
        }
        out.push(b'}');
    }
}

/// The captures that are no other part of the event, with their index.
fn rest<'a>(
    parsed: &'a Parsed<'_>,
    fields: &'a [BoundField],
) -> impl Iterator<Item = (usize, &'a BoundField, &'a Capture)> {
    let captures = parsed.captures.iter().enumerate();
    captures
        .filter(|(index, _)| !parsed.is_taken(*index))
        .map(|(index, capture)| (index, &fields[usize::from(capture.field)], capture))
}

fn write_value(out: &mut Vec<u8>, field: &BoundField, capture: &Capture, source: &str) {
    if capture.is_absent() {
        out.extend_from_slice(b"null");
        return;
    }
    format::write_value(out, field.kind.value(capture.text(source)));
}
