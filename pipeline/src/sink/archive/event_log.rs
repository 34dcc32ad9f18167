//! What an open object remembers of each event it holds, packed into about a dozen bytes.
//!
//! Invariant: the log gives back exactly what was pushed, in order. Neighbours differ little, so
//! each number is kept as its difference from the one before. Next stop: `object.rs` keeps one log
//! per frame and reads it to build the footer, to drop what a rival stored, and to settle lines.

use riverhog_parsers::level::Level;

use super::ids::IdKey;

/// One event of an open object, without its document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The event's id within its partition.
    pub key: IdKey,
    /// Offset of the record that holds its last line; at least `key.offset`.
    pub last_offset: i64,
    /// Its level, when it has one.
    pub level: Option<Level>,
    /// Its time in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Length of its document with the newline, in bytes.
    pub length: u32,
    /// The caller's own word for it.
    pub token: u64,
}

/// Events in order, packed.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    packed: Vec<u8>,
    count: u32,
    last: Reference,
}

/// The values the next event is written against.
#[derive(Clone, Copy, Debug, Default)]
struct Reference {
    offset: i64,
    record_ms: i64,
    time_ns: i64,
    token: u64,
}

const LEVEL_BITS: u8 = 0b0000_0111;
const HAS_INDEX: u8 = 0b0000_1000;
const HAS_JOINED: u8 = 0b0001_0000;
const HAS_LAST: u8 = 0b0010_0000;

impl EventLog {
    /// Adds an event.
    pub fn push(&mut self, event: &Logged) {
        let mut flags = event.level.map_or(0, |level| level as u8 + 1);
        flags |= if event.key.index != 0 { HAS_INDEX } else { 0 };
        flags |= if event.key.joined.is_some() { HAS_JOINED } else { 0 };
        flags |= if event.last_offset == event.key.offset { 0 } else { HAS_LAST };
        let out = &mut self.packed;
        out.push(flags);
        write_signed(out, event.key.offset.wrapping_sub(self.last.offset));
        write_signed(out, event.key.time_ms.wrapping_sub(self.last.record_ms));
        write_signed(out, event.time_ns.wrapping_sub(self.last.time_ns));
        write_signed(out, event.token.wrapping_sub(self.last.token) as i64);
        write_unsigned(out, u64::from(event.length));
        if flags & HAS_INDEX != 0 {
            write_unsigned(out, u64::from(event.key.index));
        }
        if let Some((lines, hash)) = event.key.joined {
            write_unsigned(out, u64::from(lines));
            out.extend_from_slice(&hash.to_le_bytes());
        }
        if flags & HAS_LAST != 0 {
            write_signed(out, event.last_offset.wrapping_sub(event.key.offset));
        }
        self.last = Reference {
            offset: event.key.offset,
            record_ms: event.key.time_ms,
            time_ns: event.time_ns,
            token: event.token,
        };
        self.count += 1;
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The events in the order they were pushed.
    pub fn iter(&self) -> Events<'_> {
        Events { rest: &self.packed, last: Reference::default() }
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.packed.capacity()
    }

    /// Gives spare room back: for a log that no longer grows.
    pub fn shrink(&mut self) {
        self.packed.shrink_to_fit();
    }
}

impl<'a> IntoIterator for &'a EventLog {
    type Item = Logged;
    type IntoIter = Events<'a>;

    fn into_iter(self) -> Events<'a> {
        self.iter()
    }
}

/// Iterator over the events of a log.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    // Invariant: written by `EventLog::push`, so it is always a whole number of events.
    rest: &'a [u8],
    last: Reference,
}

impl Iterator for Events<'_> {
    type Item = Logged;

    fn next(&mut self) -> Option<Logged> {
        let (flags, rest) = self.rest.split_first()?;
        self.rest = rest;
        let offset = self.last.offset.wrapping_add(self.signed());
        let record_ms = self.last.record_ms.wrapping_add(self.signed());
        let time_ns = self.last.time_ns.wrapping_add(self.signed());
        let token = self.last.token.wrapping_add(self.signed() as u64);
        let length = self.unsigned() as u32;
        let index = if flags & HAS_INDEX != 0 { self.unsigned() as u32 } else { 0 };
        let joined = (flags & HAS_JOINED != 0).then(|| (self.unsigned() as u32, self.hash()));
        let span = if flags & HAS_LAST != 0 { self.signed() } else { 0 };
        self.last = Reference { offset, record_ms, time_ns, token };
        Some(Logged {
            key: IdKey { offset, index, joined, time_ms: record_ms },
            last_offset: offset.wrapping_add(span),
            level: usize::from(flags & LEVEL_BITS)
                .checked_sub(1)
                .and_then(|at| Level::ALL.get(at).copied()),
            time_ns,
            length,
            token,
        })
    }
}

impl Events<'_> {
    fn unsigned(&mut self) -> u64 {
        let (mut value, mut shift) = (0_u64, 0);
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 63 {
                break;
            }
        }
        value
    }

    fn signed(&mut self) -> i64 {
        let value = self.unsigned();
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    fn hash(&mut self) -> u32 {
        let (bytes, rest) =
            self.rest.split_first_chunk::<4>().expect("push writes four bytes of hash");
        self.rest = rest;
        u32::from_le_bytes(*bytes)
    }
}

fn write_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write_signed(out: &mut Vec<u8>, value: i64) {
    write_unsigned(out, ((value << 1) ^ (value >> 63)) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn logged() -> impl Strategy<Value = Logged> {
        let key = (any::<i64>(), any::<u32>(), any::<Option<(u32, u32)>>(), any::<i64>());
        let rest = (any::<i64>(), 0..7_usize, any::<i64>(), any::<u32>(), any::<u64>());
        (key, rest).prop_map(|(key, rest)| Logged {
            key: IdKey { offset: key.0, index: key.1, joined: key.2, time_ms: key.3 },
            last_offset: rest.0,
            level: Level::ALL.get(rest.1).copied(),
            time_ns: rest.2,
            length: rest.3,
            token: rest.4,
        })
    }

    proptest! {
        #[test]
        fn gives_back_what_was_pushed(events in prop::collection::vec(logged(), 0..50)) {
            let mut log = EventLog::default();
            for event in &events {
                log.push(event);
            }
            prop_assert_eq!(log.len(), events.len());
            prop_assert_eq!(log.iter().collect::<Vec<_>>(), events);
        }
    }

    #[test]
    fn an_ordinary_event_takes_little_room() {
        let mut log = EventLog::default();
        for step in 0..1000_u32 {
            let at = i64::from(step);
            log.push(&Logged {
                key: IdKey {
                    offset: 5_000_000_000 + at,
                    index: 0,
                    joined: None,
                    time_ms: 1_773_282_225_000 + at * 3,
                },
                last_offset: 5_000_000_000 + at,
                level: Some(Level::Info),
                time_ns: 1_773_282_225_123_000_000 + at * 3_000_000,
                length: 400,
                token: 77 + u64::from(step),
            });
        }
        log.shrink();
        assert!(log.memory_bytes() < 12 * 1000, "{} bytes", log.memory_bytes());
    }
}
