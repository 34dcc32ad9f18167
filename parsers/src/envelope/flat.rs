//! One pass over an object: every scalar with its dotted path, and what shippers are known by.
//!
//! Invariant: the object is read once, whatever is in it, and nothing but its scalars is kept; what
//! is no JSON object from end to end is `None`. Next on the trip: the file of each shipper looks at
//! what was found.

use super::FIELDS_MAX;
use super::fields::EnvelopeFields;
use super::scan::{Scan, skip_space, string_at};
use super::text::{Source, Span, Text};
use crate::fields::NAME_BYTES_MAX;

/// Deeper objects than this hold nothing that a label is made of.
const DEPTH_MAX: usize = 8;

/// A member that some shipper is known by, or that says host or time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    // The first four may be the line itself, and are fields only when another one is.
    Message,
    Log,
    JournalMessage,
    Entry,
    AtTimestamp,
    Timestamp,
    Time,
    Stream,
    SourceType,
    Beat,
    AgentType,
    AgentHostname,
    AgentName,
    BeatHostname,
    HostName,
    HostHostname,
    Host,
    Hostname,
    KubernetesHost,
    KubernetesPodNode,
    Partial,
    JournalTime,
    JournalHost,
}

const SLOTS: usize = Slot::JournalHost as usize + 1;
const LINES: [(Slot, &str); 4] = [
    (Slot::Message, "message"),
    (Slot::Log, "log"),
    (Slot::JournalMessage, "MESSAGE"),
    (Slot::Entry, "_entry"),
];

fn slot(path: &str) -> Option<Slot> {
    Some(match path {
        "message" => Slot::Message,
        "log" => Slot::Log,
        "MESSAGE" => Slot::JournalMessage,
        "_entry" => Slot::Entry,
        "@timestamp" => Slot::AtTimestamp,
        "timestamp" => Slot::Timestamp,
        "time" => Slot::Time,
        "stream" => Slot::Stream,
        "source_type" => Slot::SourceType,
        "@metadata.beat" => Slot::Beat,
        "agent.type" => Slot::AgentType,
        "agent.hostname" => Slot::AgentHostname,
        "agent.name" => Slot::AgentName,
        "beat.hostname" => Slot::BeatHostname,
        "host.name" => Slot::HostName,
        "host.hostname" => Slot::HostHostname,
        "host" => Slot::Host,
        "hostname" => Slot::Hostname,
        "kubernetes.host" => Slot::KubernetesHost,
        "kubernetes.pod_node_name" => Slot::KubernetesPodNode,
        "_p" => Slot::Partial,
        "__REALTIME_TIMESTAMP" => Slot::JournalTime,
        "_HOSTNAME" => Slot::JournalHost,
        _ => return None,
    })
}

/// What one object says.
pub(super) struct Flat<'t> {
    pub(super) source: Source<'t>,
    /// The object itself.
    pub(super) object: Span,
    slots: [Option<Text>; SLOTS],
    /// Arrays at the top that hold lines.
    pub(super) resource_logs: Option<Span>,
    pub(super) streams: Option<Span>,
    pub(super) journal_bytes: Option<Span>,
    /// There are arrays at the top, or further down.
    pub(super) has_arrays: bool,
}

impl<'t> Flat<'t> {
    /// Reads an object; its scalars are added to `fields` up to [`FIELDS_MAX`]. `path` is scratch.
    pub(super) fn read(
        bytes: &'t [u8],
        path: &mut String,
        fields: &mut EnvelopeFields,
    ) -> Option<Flat<'t>> {
        let source = Source::new(bytes);
        let start = skip_space(bytes, 0);
        let mut flat = Flat {
            source,
            object: Span { start, end: start },
            slots: [None; SLOTS],
            resource_logs: None,
            streams: None,
            journal_bytes: None,
            has_arrays: false,
        };
        if bytes.get(start) != Some(&b'{') {
            return None;
        }
        // The place is a variable of its own, so that it can stay in a register.
        let mut at = start + 1;
        // Length of the path of each open object.
        let mut open = [0; DEPTH_MAX];
        let mut depth = 0;
        let mut is_first = true;
        path.clear();
        loop {
            at = skip_space(bytes, at);
            match bytes.get(at)? {
                b'}' => {
                    at += 1;
                    is_first = false;
                    if depth == 0 {
                        break;
                    }
                    depth -= 1;
                    continue;
                }
                b',' if !is_first => at = skip_space(bytes, at + 1),
                _ if !is_first => return None,
                _ => {}
            }
            let key = string_at(bytes, at)?;
            at = skip_space(bytes, key.place().end + 1);
            if bytes.get(at) != Some(&b':') {
                return None;
            }
            at = skip_space(bytes, at + 1);
            path.truncate(open[depth]);
            if depth > 0 {
                path.push('.');
            }
            source.push(key, path);
            if bytes.get(at) == Some(&b'{') && depth + 1 < DEPTH_MAX {
                at += 1;
                depth += 1;
                open[depth] = path.len();
                is_first = true;
                continue;
            }
            is_first = false;
            at = flat.value(at, path, fields)?;
        }
        flat.object.end = at;
        (skip_space(bytes, at) == bytes.len()).then_some(flat)
    }

    /// Reads a value that is no object, or one too deep, and returns where it ends.
    #[inline]
    fn value(&mut self, at: usize, path: &str, fields: &mut EnvelopeFields) -> Option<usize> {
        let bytes = self.source.bytes;
        let (scalar, end) = match bytes.get(at)? {
            b'"' => {
                let text = string_at(bytes, at)?;
                (text, text.place().end + 1)
            }
            b'{' | b'[' => {
                let span = Scan { bytes, at }.value()?;
                self.has_arrays = true;
                match path {
                    "resourceLogs" => self.resource_logs = Some(span),
                    "streams" => self.streams = Some(span),
                    "MESSAGE" => self.journal_bytes = Some(span),
                    _ => {}
                }
                return Some(span.end);
            }
            first => {
                let text = Scan { bytes, at }.bare()?;
                if *first == b'n' {
                    return Some(text.place().end);
                }
                (text, text.place().end)
            }
        };
        let slot = slot(path);
        if let Some(slot) = slot {
            self.slots[slot as usize] = Some(scalar);
        }
        if slot.is_none_or(|slot| slot as usize >= LINES.len()) {
            self.push(path, scalar, fields);
        }
        Some(end)
    }

    fn push(&self, path: &str, scalar: Text, fields: &mut EnvelopeFields) {
        if fields.len() < FIELDS_MAX && path.len() <= NAME_BYTES_MAX {
            fields.push_with(path, |text| self.source.push(scalar, text));
        }
    }

    /// Adds what could have been the line and is not.
    pub(super) fn push_others(&self, line: Slot, fields: &mut EnvelopeFields) {
        for (slot, path) in LINES {
            if let Some(scalar) = self.slots[slot as usize].filter(|_| slot != line) {
                self.push(path, scalar, fields);
            }
        }
    }

    /// A string.
    pub(super) fn text(&self, slot: Slot) -> Option<Text> {
        self.slots[slot as usize].filter(|text| text.is_quoted())
    }

    /// A string as it stands in the value: those that shippers are known by have no escapes.
    pub(super) fn raw(&self, slot: Slot) -> Option<&'t [u8]> {
        self.text(slot).map(|text| self.source.raw(text))
    }

    /// A string, number or truth value as it stands in the value.
    pub(super) fn scalar(&self, slot: Slot) -> Option<&'t str> {
        let scalar = self.slots[slot as usize]?;
        std::str::from_utf8(self.source.raw(scalar)).ok()
    }

    /// The first of these that is a text and not empty.
    pub(super) fn host(&self, slots: &[Slot]) -> Option<Text> {
        let mut texts = slots.iter().filter_map(|slot| self.text(*slot));
        texts.find(|text| !text.is_empty())
    }

    /// True when every member at the top has one of these names.
    pub(super) fn has_only(&self, names: &[&str]) -> bool {
        let mut members = self.source.members(self.object);
        members.all(|(key, _)| names.iter().any(|name| self.source.raw(key) == name.as_bytes()))
    }
}
