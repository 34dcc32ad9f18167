//! Writes and reads event ids: the one identity that ledger, stores, chains and dead letters share.
//!
//! Invariant: an id holds only `[A-Za-z0-9._%~-]`, so it stands unescaped in JSON and names exactly
//! one set of lines; equal origins give equal ids on every machine. Next stop: `encode`.
use twox_hash::XxHash64;

use crate::digits::{write_base36, write_decimal, write_hex};

/// A topic (or file name) longer than this many bytes in its encoded form is cut and ended with a
/// hash: search stores refuse ids above 512 bytes.
const TOPIC_BYTES_MAX: usize = 255;

/// Where a line comes from. Equal origins are the same line, however often it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin<'a> {
    /// Eight hex digits of the cluster, plus the source's own lineage where one is set.
    pub lineage: &'a str,
    /// Topic, or the file's name.
    pub topic: &'a str,
    /// Partition; 0 for files.
    pub partition: i32,
    /// Offset of the record, or the byte position in the file.
    pub offset: i64,
    /// Record time in milliseconds since the epoch; -1 where the record has none.
    pub time_ms: i64,
    /// Index of the line within its record, from 0; of a part of a line see [`part_index`].
    pub index: u32,
}

/// Marks the index of a part of a line.
const PART: u32 = 1 << 31;
const PART_BITS: u32 = 11;
const PARTS: u32 = (1 << PART_BITS) - 1;
const LINES_MAX: u32 = (PART >> PART_BITS) - 1;

/// The index of a part of a line, which no whole line has: an id names one set of lines, also where
/// another configuration takes other lines apart. `part` counts from 1. `None` beyond the limits: a
/// million lines, 2,047 parts; such a line is not taken apart.
pub fn part_index(line: u32, part: u32) -> Option<u32> {
    let is_known = line <= LINES_MAX && (1..=PARTS).contains(&part);
    is_known.then_some(PART | line << PART_BITS | part)
}

/// The line and the part that an index means.
pub fn line_and_part(index: u32) -> (u32, Option<u32>) {
    if index & PART == 0 {
        return (index, None);
    }
    ((index ^ PART) >> PART_BITS, Some(index & PARTS))
}

/// The part of an id that tells a joined record from its first line alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// Number of lines joined; 1 for a part of a line.
    pub lines: u32,
    /// `join_hash` over the offsets and indices of all lines.
    pub hash: u32,
}

/// An event id taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventIdParts {
    /// As in `Origin`.
    pub lineage: String,
    /// As in `Origin`; a name that was too long comes back in its shortened form.
    pub topic: String,
    /// As in `Origin`.
    pub partition: i32,
    /// As in `Origin`.
    pub offset: i64,
    /// As in `Origin`.
    pub time_ms: i64,
    /// As in `Origin`.
    pub index: u32,
    /// Set when the event was made of more than one line.
    pub joined: Option<Joined>,
}

/// Appends the event id. Allocates nothing.
pub fn write_event_id(out: &mut Vec<u8>, origin: &Origin<'_>, joined: Option<Joined>) {
    write_id_head(out, origin.lineage, origin.topic, origin.partition);
    write_id_place(out, origin.offset, origin.time_ms);
    write_id_index(out, origin.index, joined);
}

/// Appends `<lineage>-<topic>-<partition>-`: what all ids of a partition share.
pub(crate) fn write_id_head(out: &mut Vec<u8>, lineage: &str, topic: &str, partition: i32) {
    // A `-` in the lineage would make the id ambiguous: it ends at the first one.
    write_encoded(out, lineage, false);
    out.push(b'-');
    let start = out.len();
    write_encoded(out, topic, true);
    if out.len() - start > TOPIC_BYTES_MAX {
        out.truncate(start + TOPIC_BYTES_MAX - 17);
        out.push(b'~');
        let hash = XxHash64::oneshot(0, topic.as_bytes());
        write_hex(out, (hash >> 32) as u32);
        write_hex(out, hash as u32);
    }
    out.push(b'-');
    // Written as unsigned so that a `-` is always a separator.
    write_decimal(out, u64::from(partition as u32));
    out.push(b'-');
}

/// Appends `<offset>-<time base36>-`: what all ids of a record share.
pub(crate) fn write_id_place(out: &mut Vec<u8>, offset: i64, time_ms: i64) {
    write_decimal(out, offset as u64);
    out.push(b'-');
    write_base36(out, time_ms as u64);
    out.push(b'-');
}

/// Appends `<line>[.<part>][xN-H]`.
pub(crate) fn write_id_index(out: &mut Vec<u8>, index: u32, joined: Option<Joined>) {
    let (line, part) = line_and_part(index);
    write_decimal(out, u64::from(line));
    if let Some(part) = part {
        out.push(b'.');
        write_decimal(out, u64::from(part));
    }
    if let Some(joined) = joined {
        out.push(b'x');
        write_decimal(out, u64::from(joined.lines));
        out.push(b'-');
        write_hex(out, joined.hash);
    }
}

/// Reads an event id from the right, since a topic may hold `-`. `None` if it is none of ours.
pub fn parse_event_id(text: &str) -> Option<EventIdParts> {
    let (rest, last) = text.rsplit_once('-')?;
    if let Some(parts) = parse_joined(rest, last) {
        return Some(parts);
    }
    parse_plain(rest, parse_index(last)?, None)
}

/// A hash over the offsets and indices of all lines of a joined record, in their order.
pub fn join_hash(lines: impl Iterator<Item = (i64, u32)>) -> u32 {
    use std::hash::Hasher;
    let mut hasher = XxHash64::with_seed(0);
    for (offset, index) in lines {
        hasher.write(&offset.to_le_bytes());
        hasher.write(&index.to_le_bytes());
    }
    let hash = hasher.finish();
    (hash >> 32) as u32 ^ hash as u32
}

/// What tells the id of an event from that of its first line: it is made of several lines, or of a
/// part of one. Which parts a line has depends on the configuration, so an id of them names their
/// text too. `text`: the bytes of the event's lines.
pub(crate) fn joined_of(lines: &[(i64, u32)], text: &[u8]) -> Option<Joined> {
    let has_part = lines.iter().any(|line| line.1 & PART != 0);
    if lines.len() < 2 && !has_part {
        return None;
    }
    let mut hash = join_hash(lines.iter().copied());
    if has_part {
        let of_text = XxHash64::oneshot(1, text);
        hash ^= (of_text >> 32) as u32 ^ of_text as u32;
    }
    Some(Joined { lines: lines.len() as u32, hash })
}

fn parse_joined(rest: &str, hash: &str) -> Option<EventIdParts> {
    if hash.len() != 8 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let hash = u32::from_str_radix(hash, 16).ok()?;
    let (rest, index_and_count) = rest.rsplit_once('-')?;
    let (index, lines) = index_and_count.split_once('x')?;
    let lines = lines.parse().ok()?;
    parse_plain(rest, parse_index(index)?, Some(Joined { lines, hash }))
}

fn parse_index(text: &str) -> Option<u32> {
    match text.split_once('.') {
        None => text.parse().ok().filter(|index| index & PART == 0),
        Some((line, part)) => part_index(line.parse().ok()?, part.parse().ok()?),
    }
}

fn parse_plain(rest: &str, index: u32, joined: Option<Joined>) -> Option<EventIdParts> {
    let (rest, time) = rest.rsplit_once('-')?;
    let (rest, offset) = rest.rsplit_once('-')?;
    let (rest, partition) = rest.rsplit_once('-')?;
    let (lineage, topic) = rest.split_once('-')?;
    Some(EventIdParts {
        lineage: decode(lineage)?,
        topic: decode(topic)?,
        partition: partition.parse::<u32>().ok()? as i32,
        offset: offset.parse::<u64>().ok()? as i64,
        time_ms: u64::from_str_radix(time, 36).ok()? as i64,
        index,
        joined,
    })
}

fn write_encoded(out: &mut Vec<u8>, text: &str, dash: bool) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' => out.push(byte),
            b'-' if dash => out.push(byte),
            _ => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                let high = HEX[usize::from(byte >> 4)];
                out.extend_from_slice(&[b'%', high, HEX[usize::from(byte & 15)]]);
            }
        }
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(lineage: &'static str, topic: &'static str) -> Origin<'static> {
        let time_ms = 1_773_282_225_123;
        Origin { lineage, topic, partition: 3, offset: 1842, time_ms, index: 0 }
    }

    fn check(origin: &Origin<'_>, joined: Option<Joined>, expect: &str) {
        let mut out = Vec::new();
        write_event_id(&mut out, origin, joined);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
        let parts = parse_event_id(expect).unwrap();
        assert_eq!((parts.lineage.as_str(), parts.topic.as_str()), (origin.lineage, origin.topic));
        assert_eq!((parts.partition, parts.offset), (origin.partition, origin.offset));
        let rest = (parts.time_ms, parts.index, parts.joined);
        assert_eq!(rest, (origin.time_ms, origin.index, joined));
    }

    #[test]
    fn ids_are_written_and_read() {
        let joined = Some(Joined { lines: 14, hash: 0x0f3c_9a10 });
        check(&origin("5f0a91c2", "train-logs"), None, "5f0a91c2-train-logs-3-1842-mmmug9ur-0");
        let expect = "5f0a91c2-train-logs-3-1842-mmmug9ur-0x14-0f3c9a10";
        check(&origin("5f0a91c2", "train-logs"), joined, expect);
        let expect = "5f0a91c2%2Db-a%20%2F%22%E8%AE%AD.log-3-1842-mmmug9ur-0";
        check(&origin("5f0a91c2-b", "a /\"训.log"), None, expect);
        let part = part_index(7, 2).unwrap();
        let second = Origin { index: part, ..origin("a", "b") };
        check(&second, None, "a-b-3-1842-mmmug9ur-7.2");
        check(&second, joined, "a-b-3-1842-mmmug9ur-7.2x14-0f3c9a10");
        let none = Origin { time_ms: -1, partition: -1, offset: -1, ..origin("a", "b") };
        check(&none, None, "a-b-4294967295-18446744073709551615-3w5e11264sgsf-0");
    }

    #[test]
    fn a_long_name_gives_a_short_id_that_differs() {
        let mut ids = Vec::new();
        for last in ["a", "b"] {
            let topic = "训".repeat(90) + last;
            let mut out = Vec::new();
            write_event_id(&mut out, &Origin { topic: &topic, ..origin("5f0a91c2", "") }, None);
            assert!(out.len() < 330, "{}", out.len());
            ids.push(out);
        }
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn foreign_ids_are_refused() {
        for text in
            ["", "-", "a-b-1-2-3", "a-%zz-1-2-3-4", "a-b-1-2-z-x", "AVx0_3K1", "a-b-1-2-3-0.0"]
        {
            assert_eq!(parse_event_id(text), None, "{text}");
        }
    }

    #[test]
    fn parts_have_indices_of_their_own() {
        for (line, part) in [(0, 1), (7, 2), (LINES_MAX, PARTS)] {
            let index = part_index(line, part).unwrap();
            assert_eq!(line_and_part(index), (line, Some(part)));
        }
        assert_eq!(line_and_part(7), (7, None));
        for (line, part) in [(0, 0), (0, PARTS + 1), (LINES_MAX + 1, 1)] {
            assert_eq!(part_index(line, part), None);
        }
    }

    #[test]
    fn join_hash_depends_on_order_and_members() {
        let hash = |lines: &[(i64, u32)]| join_hash(lines.iter().copied());
        assert_eq!(hash(&[(1, 0), (2, 0)]), hash(&[(1, 0), (2, 0)]));
        assert_ne!(hash(&[(1, 0), (2, 0)]), hash(&[(2, 0), (1, 0)]));
        assert_ne!(hash(&[(1, 0), (2, 0)]), hash(&[(1, 0), (2, 0), (2, 1)]));
    }

    proptest! {
        #[test]
        fn ids_round_trip(
            lineage in "[0-9a-f]{8}(-[a-z.]{0,4})?",
            topic in "[ -~]{1,40}|\\PC{1,20}",
            (partition, offset, time_ms) in any::<(i32, i64, i64)>(),
            index in 0..u32::MAX,
            joined in proptest::option::of((2..10_000_u32, any::<u32>())),
        ) {
            // No part has the number 0.
            let index = if index & PART != 0 { index | 1 } else { index };
            let joined = joined.map(|(lines, hash)| Joined { lines, hash });
            let origin =
                Origin { lineage: &lineage, topic: &topic, partition, offset, time_ms, index };
            let mut out = Vec::new();
            write_event_id(&mut out, &origin, joined);
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(&text, &text.replace(['"', '\\', '/', ' '], ""));
            let parts = parse_event_id(&text).unwrap();
            prop_assert_eq!((parts.lineage, parts.topic), (lineage, topic));
            prop_assert_eq!((parts.partition, parts.offset), (partition, offset));
            prop_assert_eq!((parts.time_ms, parts.index, parts.joined), (time_ms, index, joined));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,60}|[0-9a-fx%-]{0,60}") {
            let _parts = parse_event_id(&text);
        }
    }
}
