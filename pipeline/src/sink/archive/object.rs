//! An object being filled.
//!
//! Invariant: a builder holds every event it was given until it is dropped by name: finishing
//! changes nothing that cannot be finished again under another number. It owns no compressor, only
//! finished frames and a raw tail. Next stop: `store.rs` takes the finished bytes away, `reader.rs`
//! reads them back.

use bytes::Bytes;

use super::event_log::{EventLog, Logged};
use super::footer::{FORMAT_VERSION, Footer, FooterError, FrameEntry, LevelCounts, RecordKind};
use super::frames::{
    self, FRAME_RAW_MAX, FRAME_RAW_TARGET, FrameCompressor, FrameError, write_seek_table,
};
use super::ids::{FrameIds, IdKey};
use super::tail::RawTail;

/// Events an object may hold: bounds its footer and what an open object remembers.
pub const EVENTS_MAX: usize = 1_000_000;

/// What went wrong with an object's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The event can never be archived: its document is longer than a frame may be.
    #[error("a document of {bytes} bytes, the limit is {FRAME_RAW_MAX}")]
    DocumentTooLong {
        /// Length of the document.
        bytes: usize,
    },
    /// The object takes no more events: finish it first.
    #[error("an object holds at most {EVENTS_MAX} events")]
    Full,
    /// There is nothing to finish.
    #[error("an object without events")]
    Empty,
    /// zstd has no memory; try again later.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The footer cannot be had.
    #[error(transparent)]
    Footer(#[from] FooterError),
    /// A frame is not what the footer says.
    #[error("frame {frame}: {reason}")]
    Damaged {
        /// Index of the frame, from 0.
        frame: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// One event to append.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its id within the partition.
    pub key: IdKey,
    /// Offset of the record that holds its last line.
    pub last_offset: i64,
    /// Its level, when it has one.
    pub level: Option<riverhog_parsers::level::Level>,
    /// Its time in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Its document without a newline, in two parts so that a field may be left out at its end.
    pub document: [&'a [u8]; 2],
    /// The caller's word for it, given back by `tokens` and `drop_known`.
    pub token: u64,
}

/// What the footer needs to know beyond the events.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each goes into the footer's field of that name")]
pub struct ObjectMeta<'a> {
    pub sink: &'a str,
    pub records: RecordKind,
    pub fingerprint: &'a str,
    pub lineage: &'a str,
    pub topic: &'a str,
    pub partition: i32,
    pub incarnation: Option<&'a str>,
    pub number: u64,
    /// The running maximum of the object before, or what stands for it; none for the first one.
    pub chain_max_before: Option<i64>,
}

/// An object ready to be stored.
#[derive(Clone, Debug)]
pub struct FinishedObject {
    /// All of it.
    pub bytes: Bytes,
    /// Its footer, whose ids the chain then knows.
    pub footer: Footer,
}

/// An event that was taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// Its id.
    pub key: IdKey,
    /// The caller's word for it.
    pub token: u64,
}

#[derive(Debug)]
struct Frame {
    compressed_bytes: u32,
    raw_bytes: u32,
    crc32: u32,
    log: EventLog,
}

/// An open object: events go in, bytes come out.
#[derive(Debug, Default)]
pub struct ObjectBuilder {
    // Invariant: the frames of `frames`, back to back; empty while `sealed` has them.
    open: Vec<u8>,
    /// The object as it was handed out last: the frames, then its end.
    sealed: Option<Bytes>,
    frames: Vec<Frame>,
    // Invariant: the documents of `tail_log`, each with its newline.
    tail: RawTail,
    tail_log: EventLog,
    lines: usize,
}

impl ObjectBuilder {
    /// Appends an event; now and then this compresses a frame (some milliseconds of work).
    ///
    /// # Errors
    /// `DocumentTooLong`, `Full`, or zstd's; the event is then not in the object.
    pub fn append(
        &mut self,
        item: &Item<'_>,
        compressor: &mut FrameCompressor,
    ) -> Result<(), ObjectError> {
        let [head, rest] = item.document;
        let length = head.len() + rest.len() + 1;
        if length > FRAME_RAW_MAX {
            return Err(ObjectError::DocumentTooLong { bytes: length - 1 });
        }
        if self.is_full() {
            return Err(ObjectError::Full);
        }
        if !self.tail.is_empty() && self.tail.len() + length > FRAME_RAW_TARGET {
            self.finish_frame(compressor)?;
        }
        for part in [head, rest, b"\n"] {
            self.tail.push(part, &mut compressor.spare);
        }
        self.tail_log.push(&Logged {
            key: item.key,
            last_offset: item.last_offset,
            level: item.level,
            time_ns: item.time_ns,
            length: length as u32,
            token: item.token,
        });
        self.lines += 1;
        Ok(())
    }

    /// Number of events.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whether it holds no event.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Whether it takes no more events.
    pub fn is_full(&self) -> bool {
        self.lines >= EVENTS_MAX
    }

    /// Bytes of finished frames.
    pub fn compressed_bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.compressed_bytes as usize).sum()
    }

    /// Bytes of documents not yet compressed.
    pub fn tail_bytes(&self) -> usize {
        self.tail.len()
    }

    /// What it would be as an object, about, judging the tail by the frames before it.
    pub fn size_estimate(&self) -> usize {
        let compressed = self.compressed_bytes();
        let raw: usize = self.frames.iter().map(|frame| frame.raw_bytes as usize).sum();
        let tail = self.tail.len();
        // Log lines shrink to about a tenth; a first frame is judged by that.
        let tail_estimate = if raw == 0 {
            tail / 10
        } else {
            (tail as u64 * compressed as u64 / raw as u64) as usize
        };
        compressed + tail_estimate
    }

    /// Bytes held, for the common memory account.
    pub fn memory_bytes(&self) -> usize {
        let logs: usize = self.frames.iter().map(|frame| frame.log.memory_bytes()).sum();
        self.open.capacity()
            + self.sealed.as_ref().map_or(0, Bytes::len)
            + logs
            + self.frames.capacity() * size_of::<Frame>()
            + self.tail.memory_bytes()
            + self.tail_log.memory_bytes()
    }

    /// The events in the order they were appended.
    pub fn events(&self) -> impl Iterator<Item = Logged> {
        self.frames.iter().map(|frame| &frame.log).chain([&self.tail_log]).flatten()
    }

    /// The callers' words for the events, in the order they were appended.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        self.events().map(|event| event.token)
    }

    /// Takes out what is known to be stored already, and returns it in order.
    ///
    /// # Errors
    /// zstd's; the object is then as it was.
    pub fn drop_known(
        &mut self,
        known: impl Fn(&IdKey) -> bool,
        compressor: &mut FrameCompressor,
    ) -> Result<Vec<Dropped>, ObjectError> {
        if !self.events().any(|event| known(&event.key)) {
            return Ok(Vec::new());
        }
        let mut dropped = Vec::new();
        let mut kept = ObjectBuilder::default();
        let mut at = 0;
        for frame in &self.frames {
            let stored = &self.frame_bytes()[at..at + frame.compressed_bytes as usize];
            at += stored.len();
            if frame.log.iter().any(|event| known(&event.key)) {
                let raw = frames::decompress(stored, frame.raw_bytes as usize, FRAME_RAW_MAX)?;
                kept.keep_unknown(&raw, &frame.log, &known, &mut dropped, compressor);
            } else {
                kept.finish_frame(compressor)?;
                kept.push_frame(stored, frame.raw_bytes, frame.crc32, frame.log.clone());
            }
            // What is left of several frames goes into one.
            if kept.tail.len() >= FRAME_RAW_TARGET {
                kept.finish_frame(compressor)?;
            }
        }
        let mut raw = Vec::new();
        self.tail.write_to(&mut raw);
        kept.keep_unknown(&raw, &self.tail_log, &known, &mut dropped, compressor);
        *self = kept;
        Ok(dropped)
    }

    /// Moves the later half of the events into an object of their own, for a store that finds this
    /// one too large; none when there is only one event.
    ///
    /// # Errors
    /// zstd's; the object is then as it was.
    pub fn split_off(
        &mut self,
        compressor: &mut FrameCompressor,
    ) -> Result<Option<ObjectBuilder>, ObjectError> {
        if self.lines < 2 {
            return Ok(None);
        }
        self.finish_frame(compressor)?;
        let mut later = ObjectBuilder::default();
        if let [frame] = &self.frames[..] {
            let raw =
                frames::decompress(self.frame_bytes(), frame.raw_bytes as usize, FRAME_RAW_MAX)?;
            let (mut earlier, middle) = (ObjectBuilder::default(), self.lines / 2);
            let mut at = 0;
            for (position, event) in frame.log.iter().enumerate() {
                let half = if position < middle { &mut earlier } else { &mut later };
                let end = at + event.length as usize;
                half.push_tail(&raw[at..end], &event, compressor);
                at = end;
            }
            *self = earlier;
            return Ok(Some(later));
        }
        let half = self.frames.len() / 2;
        let at: usize = self.frames[..half].iter().map(|one| one.compressed_bytes as usize).sum();
        later.open = self.open_body().split_off(at);
        later.frames = self.frames.split_off(half);
        later.lines = later.frames.iter().map(|frame| frame.log.len()).sum();
        self.lines -= later.lines;
        Ok(Some(later))
    }

    /// The whole object under a number of its chain. The builder stays as it is: after a lost race
    /// it drops what is known and is finished again.
    ///
    /// # Errors
    /// `Empty`, or zstd's; nothing is lost.
    pub fn finish(
        &mut self,
        meta: &ObjectMeta<'_>,
        compressor: &mut FrameCompressor,
    ) -> Result<FinishedObject, ObjectError> {
        if self.is_empty() {
            return Err(ObjectError::Empty);
        }
        self.finish_frame(compressor)?;
        let footer = self.footer(meta);
        let sizes: Vec<(u32, u32)> =
            self.frames.iter().map(|frame| (frame.compressed_bytes, frame.raw_bytes)).collect();
        let mut end = Vec::new();
        footer.encode(&mut end)?;
        write_seek_table(&mut end, sizes.into_iter())?;
        let body = self.open_body();
        frames::append(body, &end);
        let bytes = Bytes::from(std::mem::take(body));
        self.sealed = Some(bytes.clone());
        Ok(FinishedObject { bytes, footer })
    }

    fn footer(&self, meta: &ObjectMeta<'_>) -> Footer {
        let mut footer = Footer {
            format: FORMAT_VERSION,
            sink: meta.sink.to_owned(),
            records: meta.records,
            fingerprint: meta.fingerprint.to_owned(),
            lineage: meta.lineage.to_owned(),
            topic: meta.topic.to_owned(),
            partition: meta.partition,
            incarnation: meta.incarnation.map(str::to_owned),
            number: meta.number,
            chain_max_offset: i64::MIN,
            max_offset: i64::MIN,
            lines: self.lines as u64,
            raw_bytes: 0,
            compressed_bytes: 0,
            levels: LevelCounts::default(),
            event_time_ns: (i64::MAX, i64::MIN),
            record_time_ms: (i64::MAX, i64::MIN),
            frames: Vec::with_capacity(self.frames.len()),
        };
        let mut keys = Vec::new();
        for frame in &self.frames {
            keys.clear();
            for event in &frame.log {
                keys.push(event.key);
                footer.levels.add(event.level);
                footer.max_offset = footer.max_offset.max(event.key.offset).max(event.last_offset);
                widen(&mut footer.event_time_ns, event.time_ns);
                widen(&mut footer.record_time_ms, event.key.time_ms);
            }
            // Events of different streams come out of order; a set is built fast from sorted ids.
            keys.sort_unstable();
            let mut ids = FrameIds::default();
            for key in &keys {
                ids.push(*key);
            }
            footer.raw_bytes += u64::from(frame.raw_bytes);
            footer.compressed_bytes += u64::from(frame.compressed_bytes);
            footer.frames.push(FrameEntry {
                raw_bytes: frame.raw_bytes,
                compressed_bytes: frame.compressed_bytes,
                lines: frame.log.len() as u32,
                crc32: frame.crc32,
                ids,
            });
        }
        footer.chain_max_offset =
            meta.chain_max_before.map_or(footer.max_offset, |max| max.max(footer.max_offset));
        footer
    }

    /// The finished frames, back to back.
    fn frame_bytes(&self) -> &[u8] {
        self.sealed.as_ref().map_or(&self.open, |bytes| &bytes[..self.compressed_bytes()])
    }

    /// The finished frames, open for more: takes a sealed object's end off again.
    fn open_body(&mut self) -> &mut Vec<u8> {
        if let Some(bytes) = self.sealed.take() {
            // Copies only while a request still holds the bytes.
            self.open = Vec::from(bytes);
            self.open.truncate(self.compressed_bytes());
        }
        &mut self.open
    }

    fn finish_frame(&mut self, compressor: &mut FrameCompressor) -> Result<(), ObjectError> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let tail = std::mem::take(&mut self.tail);
        let compressed = compressor.compress_tail(&tail, self.open_body());
        self.tail = tail;
        let (compressed_bytes, crc32) = compressed?;
        let frame = Frame {
            compressed_bytes: compressed_bytes as u32,
            raw_bytes: self.tail.len() as u32,
            crc32,
            log: {
                let mut log = std::mem::take(&mut self.tail_log);
                log.shrink();
                log
            },
        };
        self.frames.push(frame);
        self.tail.clear(&mut compressor.spare);
        Ok(())
    }

    /// Compresses the tail before it is full and gives its memory back, for when memory is short;
    /// returns the bytes freed.
    ///
    /// # Errors
    /// zstd's; nothing is lost.
    pub fn compress_tail(
        &mut self,
        compressor: &mut FrameCompressor,
    ) -> Result<usize, ObjectError> {
        let before = self.memory_bytes();
        self.finish_frame(compressor)?;
        Ok(before.saturating_sub(self.memory_bytes()))
    }

    fn push_frame(&mut self, stored: &[u8], raw_bytes: u32, crc32: u32, log: EventLog) {
        frames::append(self.open_body(), stored);
        self.lines += log.len();
        self.frames.push(Frame { compressed_bytes: stored.len() as u32, raw_bytes, crc32, log });
    }

    fn push_tail(&mut self, line: &[u8], event: &Logged, compressor: &mut FrameCompressor) {
        self.tail.push(line, &mut compressor.spare);
        self.tail_log.push(event);
        self.lines += 1;
    }

    fn keep_unknown(
        &mut self,
        raw: &[u8],
        log: &EventLog,
        known: &impl Fn(&IdKey) -> bool,
        dropped: &mut Vec<Dropped>,
        compressor: &mut FrameCompressor,
    ) {
        let mut at = 0;
        for event in log {
            let end = at + event.length as usize;
            if known(&event.key) {
                dropped.push(Dropped { key: event.key, token: event.token });
            } else {
                self.push_tail(&raw[at..end], &event, compressor);
            }
            at = end;
        }
    }
}

fn widen(bounds: &mut (i64, i64), value: i64) {
    *bounds = (bounds.0.min(value), bounds.1.max(value));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::sink::archive::reader::ObjectReader;
    use proptest::prelude::*;
    use riverhog_parsers::level::Level;
    use std::collections::HashSet;
    use std::io::{Read, Write};

    pub(in super::super) fn meta(number: u64) -> ObjectMeta<'static> {
        ObjectMeta {
            sink: "archive",
            records: RecordKind::Events,
            fingerprint: "0123456789abcdef",
            lineage: "1a2b3c4d",
            topic: "train-logs",
            partition: 3,
            incarnation: None,
            number,
            chain_max_before: None,
        }
    }

    fn key(offset: i64) -> IdKey {
        IdKey { offset, index: 0, joined: None, time_ms: 1_773_282_225_000 + offset }
    }

    fn document(key: &IdKey, padding: usize) -> String {
        format!("{{\"id\":\"{key:?}\",\"content\":\"{}\"}}", "loss=0.25 ".repeat(padding))
    }

    fn append(builder: &mut ObjectBuilder, key: IdKey, padding: usize, by: &mut FrameCompressor) {
        let text = document(&key, padding);
        let (head, rest) = text.as_bytes().split_at(text.len() / 2);
        let item = Item {
            key,
            last_offset: key.offset + key.joined.map_or(0, |(lines, _)| i64::from(lines)),
            level: Some(Level::ALL[key.offset as usize % 6]),
            time_ns: key.time_ms * 1_000_000,
            document: [head, rest],
            token: key.offset as u64 * 10,
        };
        builder.append(&item, by).unwrap();
    }

    fn lines_of(object: &FinishedObject) -> Vec<Bytes> {
        let reader = ObjectReader::open(object.bytes.clone()).unwrap();
        assert_eq!(reader.footer(), &object.footer);
        reader.lines().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn an_object_is_read_back() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for offset in 0..5000 {
            append(&mut builder, key(offset), 60, &mut compressor);
        }
        assert!(builder.compressed_bytes() > 0, "frames are finished on the way");
        assert!(builder.tail_bytes() <= FRAME_RAW_TARGET);
        let object = builder
            .finish(&ObjectMeta { chain_max_before: Some(9000), ..meta(7) }, &mut compressor)
            .unwrap();
        let expected: Vec<String> = (0..5000).map(|at| document(&key(at), 60)).collect();
        assert_eq!(lines_of(&object), expected);

        let footer = &object.footer;
        assert_eq!((footer.number, footer.lines), (7, 5000));
        assert_eq!((footer.max_offset, footer.chain_max_offset), (4999, 9000));
        assert_eq!(footer.levels.total(), 5000);
        assert_eq!(footer.levels.trace, 834);
        assert_eq!(footer.record_time_ms, (key(0).time_ms, key(4999).time_ms));
        assert!(footer.frames.len() > 2);
        assert!(footer.frames.iter().all(|frame| frame.raw_bytes as usize <= FRAME_RAW_TARGET));
        assert_eq!(
            builder.tokens().collect::<Vec<_>>(),
            (0..5000).map(|at| at * 10).collect::<Vec<_>>()
        );

        let again = builder.finish(&meta(8), &mut compressor).unwrap();
        assert_eq!((lines_of(&again).len(), again.footer.number), (5000, 8));
    }

    #[test]
    fn ordinary_zstd_reads_an_object() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for offset in 0..3000 {
            append(&mut builder, key(offset), 60, &mut compressor);
        }
        let object = builder.finish(&meta(1), &mut compressor).unwrap();
        let mut expected = String::new();
        (0..3000).for_each(|at| expected += &(document(&key(at), 60) + "\n"));

        let mut text = String::new();
        zstd::stream::read::Decoder::new(&object.bytes[..])
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, expected);

        let mut file = tempfile::Builder::new().suffix(".jsonl.zst").tempfile().unwrap();
        file.write_all(&object.bytes).unwrap();
        if let Ok(output) = std::process::Command::new("zstd").arg("-dcq").arg(file.path()).output()
        {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stdout == expected.as_bytes(), "the zstd tool gives other bytes");
        }
    }

    #[test]
    fn a_lost_race_drops_what_the_rival_stored() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for offset in 0..6000 {
            append(&mut builder, key(offset), 60, &mut compressor);
        }
        builder.finish(&meta(1), &mut compressor).unwrap();
        let untouched = builder.frames.last().unwrap().crc32;
        let dropped = builder.drop_known(|key| key.offset < 4000, &mut compressor).unwrap();
        assert_eq!(dropped.len(), 4000);
        assert_eq!(dropped[17], Dropped { key: key(17), token: 170 });
        assert_eq!((builder.lines(), builder.tokens().next()), (2000, Some(40_000)));
        append(&mut builder, key(6000), 60, &mut compressor);

        let object = builder.finish(&meta(2), &mut compressor).unwrap();
        let expected: Vec<String> = (4000..=6000).map(|at| document(&key(at), 60)).collect();
        assert_eq!(lines_of(&object), expected);
        assert!(object.footer.frames.iter().any(|frame| frame.crc32 == untouched));
        let known = |at| object.footer.frames.iter().any(|frame| frame.ids.contains(&key(at)));
        assert!(!known(3999) && known(4000) && known(6000));
        assert_eq!(builder.drop_known(|_| false, &mut compressor).unwrap(), []);
        assert_eq!(builder.drop_known(|_| true, &mut compressor).unwrap().len(), 2001);
        assert!(builder.is_empty());
        assert_eq!(builder.finish(&meta(3), &mut compressor).unwrap_err(), ObjectError::Empty);
    }

    #[test]
    fn a_long_document_has_a_frame_of_its_own() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for (offset, padding) in [(0, 1), (1, 300_000), (2, 1)] {
            append(&mut builder, key(offset), padding, &mut compressor);
        }
        let object = builder.finish(&meta(1), &mut compressor).unwrap();
        assert_eq!(object.footer.frames.len(), 3);
        assert_eq!(lines_of(&object).len(), 3);
        let huge = vec![b'x'; FRAME_RAW_MAX];
        let item = Item {
            key: key(9),
            last_offset: 9,
            level: None,
            time_ns: 0,
            document: [&huge, b""],
            token: 0,
        };
        assert_eq!(
            builder.append(&item, &mut compressor),
            Err(ObjectError::DocumentTooLong { bytes: FRAME_RAW_MAX })
        );
        assert_eq!(builder.lines(), 3);
    }

    #[test]
    fn an_open_object_is_counted() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for offset in 0..20_000 {
            append(&mut builder, key(offset), 60, &mut compressor);
        }
        let held = builder.memory_bytes();
        let least = builder.compressed_bytes() + builder.tail_bytes();
        assert!(held >= least, "{held} below {least}");
        assert!(held < 2 * 1024 * 1024 + 2 * least + 20_000 * 16, "{held}");
        let estimate = builder.size_estimate();
        let object = builder.finish(&meta(1), &mut compressor).unwrap();
        let size = object.footer.compressed_bytes as usize;
        assert!(estimate.abs_diff(size) < size / 5, "estimated {estimate}, is {size}");
    }

    fn ids() -> impl Strategy<Value = Vec<IdKey>> {
        let joined = prop::option::weighted(0.2, (2..9_u32, any::<u32>()));
        let one =
            (0..3000_i64, 0..3_u32, joined, 0..5_i64).prop_map(|(offset, index, joined, at)| {
                IdKey { offset, index, joined, time_ms: 1_773_282_225_000 + at }
            });
        prop::collection::hash_set(one, 1..300).prop_map(|set| {
            // A set holds times by their bounds: the same id at two times would count once.
            let mut places = HashSet::new();
            set.into_iter().filter(|id| places.insert((id.offset, id.index, id.joined))).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_events_come_back_but_for_the_known(
            ids in ids(), padding in 0..900_usize, salt in any::<u32>(), divisor in 1..5_u32,
        ) {
            let mut compressor = FrameCompressor::new(1).unwrap();
            let mut builder = ObjectBuilder::default();
            for id in &ids {
                append(&mut builder, *id, padding, &mut compressor);
            }
            let known: HashSet<IdKey> = ids.iter().copied()
                .filter(|id| (id.offset as u32 ^ salt).is_multiple_of(divisor)).collect();
            let dropped = builder.drop_known(|id| known.contains(id), &mut compressor).unwrap();
            let (gone, left): (Vec<IdKey>, Vec<IdKey>) =
                ids.iter().partition(|id| known.contains(id));
            prop_assert_eq!(dropped.iter().map(|one| one.key).collect::<Vec<_>>(), gone);
            prop_assert_eq!(builder.events().map(|one| one.key).collect::<Vec<_>>(), left.clone());
            let mut parts = vec![];
            if let Some(later) = builder.split_off(&mut compressor).unwrap() {
                prop_assert!(!later.is_empty() && !builder.is_empty());
                parts.push(later);
            }
            parts.insert(0, builder);
            let mut lines = vec![];
            for part in parts.iter_mut().filter(|part| !part.is_empty()) {
                let object = part.finish(&meta(1), &mut compressor).unwrap();
                lines.extend(lines_of(&object));
                prop_assert_eq!(object.footer.lines, part.lines() as u64);
                let held: u64 = object.footer.frames.iter().map(|frame| frame.ids.len()).sum();
                prop_assert_eq!(held, object.footer.lines);
            }
            let expected: Vec<String> = left.iter().map(|id| document(id, padding)).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
