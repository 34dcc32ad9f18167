//! Events as they leave the room: one batch's documents, back to back in one buffer, with where
//! each goes and what became of it.
//!
//! Invariant: a document is encoded once; everything else here is a span into `EventBuffer::bytes`
//! or an index. Next stop: the pipeline's `dispatch`, which hands each sink its slices.
use std::sync::atomic::{AtomicU64, Ordering};

use riverhog_parsers::level::Level;

use crate::hash::hash_bytes;
use crate::join::Closed;
use crate::origin::Joined;

/// The output of the transform for one batch.
#[derive(Clone, Debug, Default)]
pub struct EventBuffer {
    /// The documents, each with a newline after it, and with an action line before it where the
    /// event goes to [`EventBuffer::action_target`].
    pub bytes: Vec<u8>,
    /// The target whose `_bulk` action lines stand in front of its documents, so that a request is
    /// a stretch of `bytes`.
    pub action_target: Option<u8>,
    /// The events, in the order of their lines.
    pub events: Vec<Event>,
    /// Where the events go; each event has a range of it.
    pub targets: Vec<EventTarget>,
    /// The destinations of this batch.
    pub destinations: Destinations,
    /// What events were made of whose lines were held, by their index, in ascending order.
    pub joined: Vec<(u32, Closed)>,
    /// Bytes that they take in memory, about.
    pub joined_bytes: usize,
}

/// One event. Ranges are (first, after the last), in bytes of `EventBuffer::bytes` where nothing
/// else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Where the action line in front of the document begins; `doc.0` where there is none.
    pub action_at: u32,
    /// The document, a JSON object; empty for a dropped event.
    pub doc: (u32, u32),
    /// `bytes[doc.0..message_at]` and `}` are the document without `message`.
    pub message_at: u32,
    /// The event id, within the document; plain ASCII without anything to escape.
    pub id: (u32, u32),
    /// The level, where it is known.
    pub level: Option<Level>,
    /// The range in `EventBuffer::targets`.
    pub targets: (u32, u32),
    /// What is to happen with the event as a whole.
    pub disposition: Disposition,
    /// Offset of the first line's record.
    pub first_offset: i64,
    /// Offset of the last line's record; equal to `first_offset` unless lines were joined.
    pub last_offset: i64,
    /// Index of the first line within its record.
    pub index: u32,
    /// Record time in milliseconds since the epoch.
    pub record_time_ms: i64,
    /// The event's time in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Set when the event was made of more than one line.
    pub joined: Option<Joined>,
}

/// What is to happen with an event as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Disposition {
    /// It goes to its targets.
    Routed,
    /// It goes to no sink but to the dead letters.
    DeadLetter(DeadReason),
    /// A rule says to drop it; it is counted.
    Dropped(DropReason),
}

/// Why an event, or one target of it, is a dead letter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeadReason {
    /// No route took it.
    NoRoute,
    /// No parser accepted it and `unparsed` is `dead_letter`.
    Unparsed,
    /// A name in the target's template has no value.
    MissingValue,
    /// The program failed on it: a bug.
    Panicked,
    /// The program failed on the record that it would have come from: a bug.
    RecordPanicked,
}

impl DeadReason {
    /// All reasons.
    pub const ALL: [DeadReason; 5] = [
        DeadReason::NoRoute,
        DeadReason::Unparsed,
        DeadReason::MissingValue,
        DeadReason::Panicked,
        DeadReason::RecordPanicked,
    ];

    /// The word used in metrics and dead letters.
    pub const fn as_str(self) -> &'static str {
        match self {
            DeadReason::NoRoute => "no_route",
            DeadReason::Unparsed => "unparsed",
            DeadReason::MissingValue => "missing_value",
            DeadReason::Panicked => "panicked",
            DeadReason::RecordPanicked => "record_panicked",
        }
    }
}

/// Why an event is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropReason {
    /// No parser accepted it and `unparsed` is `drop`.
    Unparsed,
    /// A transform step dropped it.
    Step,
}

impl DropReason {
    /// The word used in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            DropReason::Unparsed => "unparsed",
            DropReason::Step => "step",
        }
    }
}

/// One sink that an event goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventTarget {
    /// Index of the sink in the plan's targets.
    pub sink: u8,
    /// The destination within the sink, or why there is none.
    pub result: Result<u32, DeadReason>,
}

impl EventBuffer {
    /// An empty buffer.
    pub fn new() -> EventBuffer {
        EventBuffer::default()
    }

    /// Empties the buffer for the next batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.events.clear();
        self.targets.clear();
        self.destinations.clear();
        self.joined.clear();
        self.joined_bytes = 0;
    }

    /// Where it ends now.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            events: self.events.len(),
            targets: self.targets.len(),
            joined: (self.joined.len(), self.joined_bytes),
        }
    }

    /// Takes back what was added behind a mark; destinations stay known.
    pub(crate) fn truncate(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.events.truncate(mark.events);
        self.targets.truncate(mark.targets);
        self.joined.truncate(mark.joined.0);
        self.joined_bytes = mark.joined.1;
    }

    /// The document of an event.
    pub fn document(&self, event: &Event) -> &[u8] {
        &self.bytes[event.doc.0 as usize..event.doc.1 as usize]
    }

    /// The document of an event up to where `}` ends it without `message`.
    pub fn document_without_message(&self, event: &Event) -> &[u8] {
        &self.bytes[event.doc.0 as usize..event.message_at as usize]
    }

    /// The event id of an event.
    pub fn id(&self, event: &Event) -> &str {
        let bytes = &self.bytes[event.id.0 as usize..event.id.1 as usize];
        std::str::from_utf8(bytes).expect("event ids are written in ASCII")
    }

    /// The lines that an event was made of, by its index; `None` where they were not held.
    pub fn lines_of(&self, event: u32) -> Option<&Closed> {
        let found = self.joined.binary_search_by_key(&event, |(index, _)| *index);
        found.ok().map(|place| &self.joined[place].1)
    }

    /// The targets of an event.
    pub fn targets(&self, event: &Event) -> &[EventTarget] {
        &self.targets[event.targets.0 as usize..event.targets.1 as usize]
    }
}

/// See [`EventBuffer::mark`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    bytes: usize,
    events: usize,
    targets: usize,
    joined: (usize, usize),
}

/// The destinations of one batch, each once.
#[derive(Clone, Debug)]
pub struct Destinations {
    entries: Vec<Destination>,
    /// Open addressing: index into `entries` plus one, 0 for free; at most half full.
    table: Vec<u32>,
    stamp: u64,
}

/// One destination: an index, or a bucket and a prefix.
#[derive(Clone, Debug)]
pub struct Destination {
    sink: u8,
    hash: u64,
    parts: Box<[Box<str>]>,
}

impl Default for Destinations {
    fn default() -> Destinations {
        Destinations { entries: Vec::new(), table: Vec::new(), stamp: next_stamp() }
    }
}

/// A number that no other filling of any buffer has: what a worker remembers of one batch is not
/// taken for another's.
fn next_stamp() -> u64 {
    static STAMP: AtomicU64 = AtomicU64::new(1);
    STAMP.fetch_add(1, Ordering::Relaxed)
}

impl Destinations {
    /// The parts of a destination, as many as the target has templates.
    pub fn get(&self, id: u32) -> &[Box<str>] {
        &self.entries[id as usize].parts
    }

    /// The sink that a destination belongs to.
    pub fn sink(&self, id: u32) -> u8 {
        self.entries[id as usize].sink
    }

    /// Number of destinations; ids are 0 to this.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all destinations.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(0);
        self.stamp = next_stamp();
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The id of a destination. `text` is its parts back to back, cut at `ends`.
    pub(crate) fn intern(&mut self, sink: u8, text: &[u8], ends: &[usize]) -> u32 {
        if self.table.len() < (self.entries.len() + 1) * 2 {
            self.grow();
        }
        let hash = hash_bytes(text) ^ u64::from(sink);
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        while self.table[place] != 0 {
            let id = self.table[place] - 1;
            if self.entries[id as usize].equals(sink, hash, text, ends) {
                return id;
            }
            place = (place + 1) & mask;
        }
        let id = self.entries.len() as u32;
        self.entries.push(Destination::new(sink, hash, text, ends));
        self.table[place] = id + 1;
        id
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(16);
        self.table.clear();
        self.table.resize(size, 0);
        for (id, entry) in self.entries.iter().enumerate() {
            let mut place = entry.hash as usize & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = id as u32 + 1;
        }
    }
}

impl Destination {
    fn new(sink: u8, hash: u64, text: &[u8], ends: &[usize]) -> Destination {
        let mut start = 0;
        let parts = ends.iter().map(|&end| {
            let part = String::from_utf8_lossy(&text[start..end]).into();
            start = end;
            part
        });
        Destination { sink, hash, parts: parts.collect() }
    }

    fn equals(&self, sink: u8, hash: u64, text: &[u8], ends: &[usize]) -> bool {
        let mut start = 0;
        self.sink == sink
            && self.hash == hash
            && self.parts.len() == ends.len()
            && self.parts.iter().zip(ends).all(|(part, &end)| {
                let same = part.as_bytes() == &text[start..end];
                start = end;
                same
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(destinations: &mut Destinations, sink: u8, parts: &[&str], expect: u32) {
        let text: String = parts.concat();
        let mut end = 0;
        let ends: Vec<usize> = parts
            .iter()
            .map(|part| {
                end += part.len();
                end
            })
            .collect();
        assert_eq!(destinations.intern(sink, text.as_bytes(), &ends), expect, "{parts:?}");
        let found: Vec<&str> = destinations.get(expect).iter().map(AsRef::as_ref).collect();
        assert_eq!((found.as_slice(), destinations.sink(expect)), (parts, sink));
    }

    #[test]
    fn each_destination_has_one_id() {
        let mut destinations = Destinations::default();
        check(&mut destinations, 0, &["logs-2026.03.12"], 0);
        check(&mut destinations, 1, &["", "a/b/"], 1);
        check(&mut destinations, 1, &["a/", "b/"], 2);
        check(&mut destinations, 0, &["logs-2026.03.12"], 0);
        check(&mut destinations, 2, &["logs-2026.03.12"], 3);
        check(&mut destinations, 1, &["a/", "b/"], 2);
        let stamp = destinations.stamp();
        destinations.clear();
        assert!(destinations.is_empty() && destinations.stamp() != stamp);
        check(&mut destinations, 1, &["a/", "b/"], 0);
    }

    #[test]
    fn many_destinations_stay_apart() {
        let mut destinations = Destinations::default();
        for round in 0..2 {
            for id in 0..1000 {
                check(&mut destinations, 0, &[&format!("task-{id}/")], id);
            }
            assert_eq!(destinations.len(), 1000, "round {round}");
        }
    }
}
