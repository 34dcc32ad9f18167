//! The footer of an archive object: what it holds, readable without reading the object.
//!
//! Invariant: whatever bytes come in, decoding ends, panics never, and holds at most
//! `FOOTER_JSON_MAX` of JSON. An object is `frames | footer | seek table`; the table comes last
//! because readers of zstd's seekable format look for it there, and the footer just before it, so
//! that one read of an object's end finds both:
//!
//! ```text
//! skippable frame 0x184D2A5D { zstd(JSON) | length u32 | crc32 u32 | "RHOGFT01" }   the footer
//! skippable frame 0x184D2A5E { entries | number u32 | 0 | 0x8F92EAB1 }              the seek table
//! ```
//!
//! Length and checksum are of the compressed JSON; numbers are little-endian.
//! Next stop: `object.rs` writes it, a chain reads it to learn what is stored already.

use riverhog_parsers::level::Level;
use serde::{Deserialize, Serialize};

use super::frames::{
    self, FrameCompressor, FrameError, SKIPPABLE_HEADER_BYTES, seek_table_bytes,
    write_skippable_header,
};
use super::ids::FrameIds;
use super::key::{ChainName, ObjectName};

/// Version of the format this program writes and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;
/// How much of an object's end to ask for first: nearly always the whole footer.
pub const SUFFIX_BYTES: u64 = 64 * 1024;
/// Most bytes of JSON a footer may hold; a million ids of the longest kind stay below it.
pub const FOOTER_JSON_MAX: usize = 64 * 1024 * 1024;

/// Magic of the skippable frame that holds the footer.
const FOOTER_FRAME: u32 = 0x184D_2A5D;
/// Last eight bytes of that frame.
const FOOTER_MAGIC: &[u8; 8] = b"RHOGFT01";
/// Payload length, checksum, magic.
const TRAILER_BYTES: usize = 16;
/// zstd level of the footer: written once and small, so size matters more than speed.
const FOOTER_LEVEL: i32 = 3;

/// Why a footer could not be had from an object's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FooterError {
    /// The bytes end in nothing that this program writes.
    #[error("not an archive object")]
    NotAnObject,
    /// It is an object, but its end is not as it was written.
    #[error("damaged footer: {0}")]
    Damaged(String),
    /// A later program wrote it.
    #[error("footer of format {version}, this program reads up to {FORMAT_VERSION}")]
    Newer {
        /// The version found.
        version: u32,
    },
}

fn damaged<T>(reason: impl Into<String>) -> Result<T, FooterError> {
    Err(FooterError::Damaged(reason.into()))
}

/// What the lines of an object are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    /// Event documents.
    Events,
    /// Kafka records as they came.
    Raw,
}

/// How many lines of each level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "each is the number of lines of the level it is named after")]
pub struct LevelCounts {
    pub trace: u64,
    pub debug: u64,
    pub info: u64,
    pub warn: u64,
    pub error: u64,
    pub fatal: u64,
    /// Lines without a level.
    pub none: u64,
}

impl LevelCounts {
    /// Counts one line.
    pub fn add(&mut self, level: Option<Level>) {
        let count = match level {
            Some(Level::Trace) => &mut self.trace,
            Some(Level::Debug) => &mut self.debug,
            Some(Level::Info) => &mut self.info,
            Some(Level::Warn) => &mut self.warn,
            Some(Level::Error) => &mut self.error,
            Some(Level::Fatal) => &mut self.fatal,
            None => &mut self.none,
        };
        *count += 1;
    }

    /// All lines.
    pub fn total(&self) -> u64 {
        let all = [self.trace, self.debug, self.info, self.warn, self.error, self.fatal, self.none];
        all.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// One frame of an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameEntry {
    /// Size of its lines, in bytes.
    pub raw_bytes: u32,
    /// Size as stored, in bytes.
    pub compressed_bytes: u32,
    /// Number of lines.
    pub lines: u32,
    /// CRC-32 (IEEE) of its lines.
    pub crc32: u32,
    /// Ids of the events, and the bounds of their record times.
    pub ids: FrameIds,
}

/// What an object says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Footer {
    /// Version of the format; `FORMAT_VERSION` when written by this program.
    pub format: u32,
    /// Name of the sink that wrote it.
    pub sink: String,
    /// What its lines are.
    pub records: RecordKind,
    /// Fingerprint of the configuration that made its lines.
    pub fingerprint: String,
    /// Lineage of the events.
    pub lineage: String,
    /// Topic they came from.
    pub topic: String,
    /// Partition they came from, from 0.
    pub partition: i32,
    /// Which topic of that name, when the source could tell: within one incarnation an offset
    /// names one record, in another it names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<String>,
    /// Number of the object in its chain, from 1.
    pub number: u64,
    /// Greatest offset of any line of the chain up to and with this object.
    pub chain_max_offset: i64,
    /// Greatest offset of any line of this object.
    pub max_offset: i64,
    /// Number of lines.
    pub lines: u64,
    /// Size of the lines, in bytes.
    pub raw_bytes: u64,
    /// Size of the frames as stored, in bytes.
    pub compressed_bytes: u64,
    /// Lines by level.
    pub levels: LevelCounts,
    /// First and last event time, in nanoseconds since the epoch.
    pub event_time_ns: (i64, i64),
    /// First and last record time, in milliseconds since the epoch.
    pub record_time_ms: (i64, i64),
    /// The frames in order.
    pub frames: Vec<FrameEntry>,
}

/// The version alone: it is read first, since a later format may mean anything by the rest.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// What the end of an object gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decoded {
    /// The footer.
    Footer(Box<Footer>),
    /// It is longer than the bytes given: ask for this many from the object's end.
    Longer(u64),
}

impl Footer {
    /// Appends the footer's skippable frame.
    ///
    /// # Errors
    /// When it would be too long to be read again, or zstd has no memory.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let json = serde_json::to_vec(self).map_err(|_| FrameError("a footer without JSON"))?;
        if json.len() > FOOTER_JSON_MAX {
            return Err(FrameError("a footer longer than its limit"));
        }
        let mut payload = Vec::new();
        FrameCompressor::new(FOOTER_LEVEL)?.compress(&json, &mut payload)?;
        write_skippable_header(out, FOOTER_FRAME, (payload.len() + TRAILER_BYTES) as u32);
        out.extend_from_slice(&payload);
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
        out.extend_from_slice(FOOTER_MAGIC);
        Ok(())
    }

    /// Reads the footer from the last bytes of an object of `object_bytes` bytes.
    ///
    /// # Errors
    /// `NotAnObject`, `Damaged` or `Newer`: the object counts as one whose ids are unknown.
    pub fn decode(suffix: &[u8], object_bytes: u64) -> Result<Decoded, FooterError> {
        let table_bytes = seek_table_bytes(suffix).ok_or(FooterError::NotAnObject)?;
        let trailer_needs = (table_bytes as u64).saturating_add(TRAILER_BYTES as u64);
        if trailer_needs > object_bytes {
            return damaged("a seek table longer than the object");
        }
        let Some((before_table, table)) = suffix
            .len()
            .checked_sub(table_bytes)
            .filter(|rest| *rest >= TRAILER_BYTES)
            .map(|rest| suffix.split_at(rest))
        else {
            return ask_for(suffix, trailer_needs.max(SUFFIX_BYTES), object_bytes);
        };
        let Some((rest, magic)) = before_table.split_last_chunk::<8>() else {
            return damaged("no trailer");
        };
        if magic != FOOTER_MAGIC {
            return Err(FooterError::NotAnObject);
        }
        let (rest, crc) = rest.split_last_chunk::<4>().ok_or(FooterError::NotAnObject)?;
        let (rest, length) = rest.split_last_chunk::<4>().ok_or(FooterError::NotAnObject)?;
        let length = u32::from_le_bytes(*length) as usize;
        let needs = trailer_needs + length as u64 + SKIPPABLE_HEADER_BYTES as u64;
        if length > FOOTER_JSON_MAX || needs > object_bytes {
            return damaged("a footer longer than the object");
        }
        if rest.len() < length + SKIPPABLE_HEADER_BYTES {
            return ask_for(suffix, needs, object_bytes);
        }
        let (rest, payload) = rest.split_at(rest.len() - length);
        let mut header = Vec::with_capacity(SKIPPABLE_HEADER_BYTES);
        write_skippable_header(&mut header, FOOTER_FRAME, (length + TRAILER_BYTES) as u32);
        if !rest.ends_with(&header) {
            return damaged("no frame header");
        }
        if crc32fast::hash(payload) != u32::from_le_bytes(*crc) {
            return damaged("checksum does not fit");
        }
        let footer = read_payload(payload)?;
        if object_bytes != footer.compressed_bytes.saturating_add(needs) {
            return damaged("sizes do not add up to the object's");
        }
        let sizes = footer.frames.iter().map(|frame| (frame.compressed_bytes, frame.raw_bytes));
        if frames::read_seek_table(table).is_none_or(|table| !table.into_iter().eq(sizes)) {
            return damaged("the seek table names other frames");
        }
        Ok(Decoded::Footer(Box::new(footer)))
    }

    /// The name an object with this footer must have.
    pub fn name(&self, nonce: Option<u32>) -> ObjectName {
        ObjectName {
            chain: ChainName::new(&self.lineage, &self.topic, self.partition),
            number: self.number,
            nonce,
        }
    }

    /// The ids of all frames, for a chain that learns what is stored.
    pub fn into_ids(self) -> impl Iterator<Item = FrameIds> {
        self.frames.into_iter().map(|frame| frame.ids)
    }
}

/// Asks for more of an object's end, if there is more than was given.
fn ask_for(suffix: &[u8], needs: u64, object_bytes: u64) -> Result<Decoded, FooterError> {
    let needs = needs.min(object_bytes);
    if suffix.len() as u64 >= needs {
        damaged("shorter than it says")
    } else {
        Ok(Decoded::Longer(needs))
    }
}

fn read_payload(payload: &[u8]) -> Result<Footer, FooterError> {
    let announced = frames::announced_raw_bytes(payload).unwrap_or(u64::MAX);
    let json_bytes = usize::try_from(announced).unwrap_or(usize::MAX);
    let json = frames::decompress(payload, json_bytes, FOOTER_JSON_MAX)
        .or_else(|error| damaged(error.to_string()))?;
    let version: Version =
        serde_json::from_slice(&json).or_else(|error| damaged(error.to_string()))?;
    if version.format > FORMAT_VERSION {
        return Err(FooterError::Newer { version: version.format });
    }
    let footer: Footer =
        serde_json::from_slice(&json).or_else(|error| damaged(error.to_string()))?;
    check_sums(&footer)?;
    Ok(footer)
}

/// Sums that readers rely on: sizes place the frames, counts are shown to people.
fn check_sums(footer: &Footer) -> Result<(), FooterError> {
    let sum = |of: fn(&FrameEntry) -> u32| {
        footer.frames.iter().map(|frame| u64::from(of(frame))).fold(0, u64::saturating_add)
    };
    if footer.format == 0 || footer.partition < 0 || footer.number == 0 {
        return damaged("impossible format, partition or number");
    }
    if sum(|frame| frame.lines) != footer.lines || footer.levels.total() != footer.lines {
        return damaged("lines do not add up");
    }
    if sum(|frame| frame.raw_bytes) != footer.raw_bytes
        || sum(|frame| frame.compressed_bytes) != footer.compressed_bytes
    {
        return damaged("sizes do not add up");
    }
    if footer.max_offset > footer.chain_max_offset {
        return damaged("the chain's greatest offset lies below the object's");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::archive::object::tests::meta;
    use crate::sink::archive::object::{Item, ObjectBuilder};
    use crate::sink::archive::{frames::write_seek_table, ids::IdKey};
    use proptest::prelude::*;

    /// An object of `events` events at every second offset, whose footer grows with them.
    fn object(events: i64) -> (bytes::Bytes, Footer) {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for at in 0..events {
            let hash = (at as u32).wrapping_mul(0x9e37_79b9);
            let key = IdKey { offset: at * 2, index: 0, joined: Some((2, hash)), time_ms: at };
            let item = Item {
                key,
                last_offset: at * 2 + 1,
                level: None,
                time_ns: at,
                document: [b"{\"n\":1", b"}"],
                token: 0,
            };
            builder.append(&item, &mut compressor).unwrap();
        }
        let finished = builder.finish(&meta(1), &mut compressor).unwrap();
        (finished.bytes, finished.footer)
    }

    fn decode(bytes: &[u8], object_bytes: usize) -> Result<Decoded, FooterError> {
        Footer::decode(bytes, object_bytes as u64)
    }

    #[test]
    fn the_end_alone_is_enough() {
        let (bytes, footer) = object(40_000);
        let size = bytes.len();
        assert_eq!(decode(&bytes[size - 20..], size), Ok(Decoded::Longer(SUFFIX_BYTES)));
        let suffix = &bytes[size - SUFFIX_BYTES as usize..];
        let Decoded::Longer(needs) = decode(suffix, size).unwrap() else {
            panic!("the footer of 40,000 hashes fits in {SUFFIX_BYTES} bytes")
        };
        let suffix = &bytes[size - needs as usize..];
        assert_eq!(decode(suffix, size), Ok(Decoded::Footer(Box::new(footer))));
        assert!(decode(&suffix[1..], size).is_ok_and(|one| one == Decoded::Longer(needs)));
    }

    #[test]
    fn what_is_no_object_is_told_apart() {
        for text in [&b""[..], b"x", b"{\"event\":1}\n", &[0; 100], &[0xff; 100]] {
            assert_eq!(decode(text, text.len()), Err(FooterError::NotAnObject));
        }
        // A seekable file of another program.
        let mut other = vec![0; 100];
        write_seek_table(&mut other, [(100, 1000)].into_iter()).unwrap();
        assert_eq!(decode(&other, other.len()), Err(FooterError::NotAnObject));
    }

    #[test]
    fn a_later_format_is_told_apart() {
        let (_, mut footer) = object(3);
        footer.format = FORMAT_VERSION + 1;
        let mut bytes = vec![0; footer.compressed_bytes as usize];
        footer.encode(&mut bytes).unwrap();
        let sizes = footer.frames.iter().map(|frame| (frame.compressed_bytes, frame.raw_bytes));
        write_seek_table(&mut bytes, sizes).unwrap();
        let newer = FooterError::Newer { version: FORMAT_VERSION + 1 };
        assert_eq!(decode(&bytes, bytes.len()), Err(newer));
    }

    #[test]
    fn sums_that_do_not_add_up_are_damage() {
        let changes: [fn(&mut Footer); 8] = [
            |footer| footer.lines += 1,
            |footer| footer.levels.error += 1,
            |footer| footer.raw_bytes += 1,
            |footer| footer.compressed_bytes += 1,
            |footer| footer.number = 0,
            |footer| footer.partition = -1,
            |footer| footer.chain_max_offset = footer.max_offset - 1,
            |footer| footer.levels.error = u64::MAX,
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let (bytes, mut footer) = object(3);
            let frames_bytes = footer.compressed_bytes as usize;
            let sizes: Vec<_> = (footer.frames.iter())
                .map(|frame| (frame.compressed_bytes, frame.raw_bytes))
                .collect();
            change(&mut footer);
            let mut bytes = bytes[..frames_bytes].to_vec();
            footer.encode(&mut bytes).unwrap();
            write_seek_table(&mut bytes, sizes.into_iter()).unwrap();
            let decoded = decode(&bytes, bytes.len());
            assert!(matches!(decoded, Err(FooterError::Damaged(_))), "change {at}: {decoded:?}");
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        let (bytes, _) = object(50);
        for length in 0..bytes.len() {
            let decoded = decode(&bytes[..length], length);
            assert!(decoded.is_err(), "cut to {length} of {}", bytes.len());
            // Front missing: the end of an object that claims to be no longer than this.
            let decoded = decode(&bytes[bytes.len() - length..], length);
            assert!(decoded.is_err(), "its last {length} of {}", bytes.len());
        }
    }

    #[test]
    fn every_flipped_bit_of_the_end_is_noticed() {
        let (bytes, footer) = object(50);
        let frames_bytes = footer.compressed_bytes as usize;
        for bit in frames_bytes * 8..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let decoded = decode(&flipped, flipped.len());
            assert!(decoded.is_err(), "bit {bit} of byte {} of {}", bit / 8, bytes.len());
        }
    }

    #[test]
    fn a_footer_is_a_few_per_cent_of_its_object() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for at in 0..30_000_u32 {
            // One line of three goes here; the text is about as compressible as real logs.
            let mix = at.wrapping_mul(0x9e37_79b9);
            let offset = i64::from(at) * 3 + i64::from(mix >> 30);
            let text = format!(
                "{{\"@timestamp\":\"2026-03-12T02:23:45.{:09}Z\",\"level\":\"info\",\
                 \"content\":\"step {at} loss {} tokens {}\",\"event_id\":\"x-{offset}\"}}",
                mix % 1_000_000_000,
                f64::from(mix % 97_003) / 1e5,
                mix % 4099,
            );
            let item = Item {
                key: IdKey { offset, index: 0, joined: None, time_ms: offset / 7 },
                last_offset: offset,
                level: Some(Level::Info),
                time_ns: 0,
                document: [text.as_bytes(), b""],
                token: 0,
            };
            builder.append(&item, &mut compressor).unwrap();
        }
        let finished = builder.finish(&meta(1), &mut compressor).unwrap();
        let end = finished.bytes.len() as u64 - finished.footer.compressed_bytes;
        let share = end as f64 / finished.bytes.len() as f64;
        assert!(share < 0.05, "{end} of {} bytes", finished.bytes.len());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_an_answer(
            noise in prop::collection::vec(any::<u8>(), 0..300), count in any::<u32>(),
            length in any::<u32>(), size in any::<u64>(),
        ) {
            let mut bytes = noise;
            bytes.extend(length.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(FOOTER_MAGIC);
            for entries in [0, count] {
                let mut suffix = bytes.clone();
                suffix.extend([0x5e, 0x2a, 0x4d, 0x18, 9, 0, 0, 0]);
                suffix.extend(entries.to_le_bytes());
                suffix.extend([0, 0xb1, 0xea, 0x92, 0x8f]);
                let whole = decode(&suffix, suffix.len());
                prop_assert!(whole.is_err(), "{:?}", whole);
                if let Ok(answer) = Footer::decode(&suffix, size.max(suffix.len() as u64)) {
                    prop_assert!(matches!(answer, Decoded::Longer(_)));
                }
            }
        }
    }
}
