//! A record of several lines, and what is kept of the Kafka records that its lines came in.
//!
//! Invariant: the bytes of every line, and of every piece of one, can be told apart again. Next
//! stop: `open`.
use riverhog_parsers::envelope::Envelope;
use riverhog_parsers::peel::Marks;

use crate::origin::part_index;
use crate::pieces::Assembled;
use crate::transform::{ReceivedSource, Record};

/// A line as the joiner is given it.
#[derive(Clone, Copy, Debug)]
pub struct LineOf<'a> {
    /// Its index within its Kafka record.
    pub index: u32,
    /// Its bytes.
    pub raw: &'a [u8],
    /// What is left of it behind the layers that came off.
    pub text: &'a str,
    /// What the layers said.
    pub marks: Marks<'a>,
    /// It was longer and was cut.
    pub cut: bool,
    /// A carriage return stood in front of its end.
    pub returns: bool,
    /// Set where it was put together of pieces.
    pub part: Option<PartOf<'a>>,
}

/// Which line of one that was put together: there are several where it was an envelope.
#[derive(Clone, Copy, Debug)]
pub struct PartOf<'a> {
    /// Where the pieces are.
    pub assembled: &'a Assembled,
    /// Its number, from 1; 0 for one that is all of it.
    pub number: u32,
}

impl PartOf<'_> {
    /// Its index: that of the first piece, of one of several lines of its own.
    pub(crate) fn index(&self) -> u32 {
        let first = self.assembled.pieces[0].1;
        part_index(first, self.number).unwrap_or(first)
    }
}

impl LineOf<'_> {
    /// Record time of its last piece; `record` is that of the first.
    pub(super) fn time_ms(&self, record: &Record<'_>) -> i64 {
        self.part.map_or(record.time_ms, |part| part.assembled.last_time_ms)
    }
}

/// What a Kafka record says, kept for as long as one of its lines is held.
#[derive(Clone, Debug)]
pub struct OwnedRecord {
    /// Offset.
    pub offset: i64,
    /// Record time in milliseconds.
    pub time_ms: i64,
    /// As in [`Record`].
    pub received_ns: i64,
    /// As in [`Record`].
    pub received_source: ReceivedSource,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What the shipper's envelope said, without its message.
    pub envelope: Option<Envelope>,
}

impl OwnedRecord {
    /// Keeps what a record says.
    pub fn of(record: &Record<'_>) -> OwnedRecord {
        let headers = record.headers.iter();
        let envelope = record.envelope.map(|envelope| Envelope {
            message: Vec::new(),
            host: envelope.host.clone(),
            time_ns: envelope.time_ns,
            fields: envelope.fields.clone(),
            kind: envelope.kind,
            piece: envelope.piece,
            depth: envelope.depth,
        });
        OwnedRecord {
            offset: record.offset,
            time_ms: record.time_ms,
            received_ns: record.received_ns,
            received_source: record.received_source,
            key: record.key.map(<[u8]>::to_vec),
            headers: headers.map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect(),
            envelope,
        }
    }

    /// The headers as a record has them.
    pub(crate) fn headers(&self) -> Vec<(&str, &[u8])> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_slice())).collect()
    }

    /// The record again, of the same partition as another of its records.
    pub(crate) fn borrow<'a>(
        &'a self,
        headers: &'a [(&'a str, &'a [u8])],
        partition: &Record<'a>,
    ) -> Record<'a> {
        Record {
            offset: self.offset,
            key: self.key.as_deref(),
            headers,
            received_ns: self.received_ns,
            received_source: self.received_source,
            envelope: self.envelope.as_ref(),
            time_ms: self.time_ms,
            ..*partition
        }
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|it| it.0.len() + it.1.len() + 48).sum();
        let fields = self.envelope.as_ref().map(|envelope| &envelope.fields);
        let fields = fields.map_or(0, |fields| fields.bytes() + fields.len() * 12);
        256 + headers + fields
    }
}

/// [`Marks`] that own their texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnedMarks {
    numbers: [Option<u32>; 4],
    texts: [Option<String>; 3],
}

impl OwnedMarks {
    fn of(marks: &Marks<'_>) -> OwnedMarks {
        OwnedMarks {
            numbers: [marks.rank, marks.local_rank, marks.pid, marks.task],
            texts: [marks.role, marks.worker, marks.node].map(|it| it.map(str::to_owned)),
        }
    }

    /// The marks themselves.
    pub fn marks(&self) -> Marks<'_> {
        let [rank, local_rank, pid, task] = self.numbers;
        let [role, worker, node] = self.texts.each_ref().map(Option::as_deref);
        Marks { rank, local_rank, role, worker, pid, node, task }
    }
}

/// A record that is complete.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What the first line's Kafka record says.
    pub record: OwnedRecord,
    /// Offset and index of each line, or of each piece of one; at least one, the first of them the
    /// oldest.
    pub lines: Vec<(i64, u32)>,
    /// The bytes of all lines, with a line end between two.
    pub raw: Vec<u8>,
    /// The bytes of pieces whose line was inside of envelopes that they made together.
    apart: Vec<u8>,
    /// By line or piece: where its bytes are.
    places: Vec<Place>,
    /// The lines without what came off, with a line end between two.
    pub text: String,
    /// What the layers of the first line said.
    pub marks: OwnedMarks,
    /// A line was longer and was cut.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// In `apart`, not in `raw`.
    is_apart: bool,
    start: usize,
    end: usize,
}

impl Closed {
    pub(crate) fn new(record: OwnedRecord, line: &LineOf<'_>) -> Closed {
        let offset = record.offset;
        let mut closed = Closed {
            record,
            lines: Vec::with_capacity(1),
            raw: line.raw.to_vec(),
            apart: Vec::new(),
            places: Vec::with_capacity(1),
            text: line.text.to_owned(),
            marks: OwnedMarks::of(&line.marks),
            cut: line.cut,
        };
        closed.push_origins(offset, line, 0);
        closed
    }

    pub(super) fn push(&mut self, offset: i64, line: &LineOf<'_>) {
        self.raw.push(b'\n');
        let start = self.raw.len();
        self.raw.extend_from_slice(line.raw);
        self.push_origins(offset, line, start);
        self.text.push('\n');
        self.text.push_str(line.text);
        self.cut |= line.cut;
    }

    /// Adds the origins of a line whose bytes begin at `start`.
    fn push_origins(&mut self, offset: i64, line: &LineOf<'_>, start: usize) {
        let end = start + line.raw.len();
        let whole = Place { is_apart: false, start, end };
        let Some(PartOf { assembled, number }) = line.part else {
            self.lines.push((offset, line.index));
            self.places.push(whole);
            return;
        };
        if number > 1 {
            // The first of them holds all pieces.
            let last = assembled.pieces[assembled.pieces.len() - 1];
            self.lines.push((assembled.pieces[0].0, line.index));
            self.places.push(whole);
            if assembled.pieces.len() > 1 {
                self.lines.push(last);
                self.places.push(Place { start: end, ..whole });
            }
            return;
        }
        // Nothing but a line end came off, or else the line was inside of an envelope.
        let is_apart =
            !assembled.bytes.starts_with(line.raw) || assembled.bytes.len() - line.raw.len() > 2;
        let (base, last) = if is_apart {
            let base = self.apart.len();
            self.apart.extend_from_slice(&assembled.bytes);
            (base, self.apart.len())
        } else {
            (start, end)
        };
        self.lines.push((assembled.pieces[0].0, line.index));
        self.lines.extend(&assembled.pieces[1..]);
        let mut start = base;
        self.places.extend(assembled.ends.iter().map(|end| {
            let place = Place { is_apart, start, end: (base + end).min(last) };
            start = place.end;
            place
        }));
    }

    pub(super) fn append(&mut self, other: Closed) {
        let (base, base_apart) = (self.raw.len() + 1, self.apart.len());
        self.lines.extend(other.lines);
        self.raw.push(b'\n');
        self.raw.extend_from_slice(&other.raw);
        self.apart.extend_from_slice(&other.apart);
        self.places.extend(other.places.iter().map(|place| {
            let base = if place.is_apart { base_apart } else { base };
            Place { start: base + place.start, end: base + place.end, ..*place }
        }));
        self.text.push('\n');
        self.text.push_str(&other.text);
        self.cut |= other.cut;
    }

    /// The bytes of a line or piece by its number.
    pub fn line(&self, number: usize) -> &[u8] {
        let Place { is_apart, start, end } = self.places[number];
        if is_apart { &self.apart[start..end] } else { &self.raw[start..end] }
    }

    /// Offset of the youngest line.
    pub fn last_offset(&self) -> i64 {
        let offsets = self.lines.iter().map(|line| line.0);
        offsets.max().unwrap_or(self.record.offset)
    }

    /// Bytes that it takes in memory, about.
    pub fn bytes(&self) -> usize {
        let texts = self.raw.len() + self.apart.len() + self.text.len();
        self.record.bytes() + texts + self.lines.len() * 40
    }
}
