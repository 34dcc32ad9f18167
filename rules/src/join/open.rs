//! The open records of one partition, and how lines come to them.
//!
//! Invariant: a line is in exactly one record; the number of open records, their lines and their
//! bytes have bounds; the oldest line that is held is known. Next stop: `transform`, which makes an
//! event of each record that is complete.
use riverhog_parsers::envelope::Envelope;
use riverhog_parsers::peel::Marks;

use super::kind::Kind;
use super::{Join, OPEN_BYTES_MAX, OPEN_MAX, Step, process_of};
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
}

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// It is a record of its own, complete at once.
    Alone,
    /// The joiner holds it, or has put it into a record that is complete now.
    Kept,
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

    fn bytes(&self) -> usize {
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
    /// Offset and index of each line; at least one, in ascending order.
    pub lines: Vec<(i64, u32)>,
    /// The bytes of all lines, with a line end between two.
    pub raw: Vec<u8>,
    /// Where each line ends in `raw`.
    pub ends: Vec<usize>,
    /// The lines without what came off, with a line end between two.
    pub text: String,
    /// What the layers of the first line said.
    pub marks: OwnedMarks,
    /// A line was longer and was cut.
    pub cut: bool,
}

impl Closed {
    fn new(record: OwnedRecord, line: &LineOf<'_>) -> Closed {
        Closed {
            lines: vec![(record.offset, line.index)],
            record,
            raw: line.raw.to_vec(),
            ends: vec![line.raw.len()],
            text: line.text.to_owned(),
            marks: OwnedMarks::of(&line.marks),
            cut: line.cut,
        }
    }

    fn push(&mut self, offset: i64, line: &LineOf<'_>) {
        self.lines.push((offset, line.index));
        self.raw.push(b'\n');
        self.raw.extend_from_slice(line.raw);
        self.ends.push(self.raw.len());
        self.text.push('\n');
        self.text.push_str(line.text);
        self.cut |= line.cut;
    }

    fn append(&mut self, other: Closed) {
        let base = self.raw.len() + 1;
        self.lines.extend(other.lines);
        self.raw.push(b'\n');
        self.raw.extend_from_slice(&other.raw);
        self.ends.extend(other.ends.iter().map(|end| base + end));
        self.text.push('\n');
        self.text.push_str(&other.text);
        self.cut |= other.cut;
    }

    /// The bytes of a line by its number.
    pub fn line(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] + 1 };
        &self.raw[start..self.ends[number]]
    }

    /// Bytes that it takes in memory, about.
    pub fn bytes(&self) -> usize {
        self.record.bytes() + self.raw.len() + self.text.len() + self.lines.len() * 24
    }
}

#[derive(Debug)]
struct Open {
    stream: u64,
    process: Option<u64>,
    kind: Kind,
    record: Closed,
    /// Lines that belong to it if a later line does.
    tail: Vec<Closed>,
    last_time_ms: i64,
    /// When it was given its last line that surely belongs to it, counted in lines.
    touched: u64,
    bytes: usize,
}

/// The open records of one partition.
#[derive(Debug, Default)]
pub struct Joiner {
    open: Vec<Open>,
    bytes: usize,
    lines: u64,
    /// Record time of the oldest last line.
    oldest_ms: i64,
}

impl Joiner {
    /// True when no line is held.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Bytes that the lines held take in memory, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Offset of the oldest line that is held.
    pub fn open_from(&self) -> Option<i64> {
        self.open.iter().map(|open| open.record.lines[0].0).min()
    }

    /// A record of this time comes next: closes those that the gap ends.
    pub fn advance(&mut self, join: &Join, time_ms: i64, out: &mut Vec<Closed>) {
        if self.open.is_empty() || time_ms.saturating_sub(self.oldest_ms) <= join.gap_ms {
            return;
        }
        let mut index = 0;
        while index < self.open.len() {
            if time_ms.saturating_sub(self.open[index].last_time_ms) > join.gap_ms {
                self.close(index, out);
            } else {
                index += 1;
            }
        }
        self.find_oldest();
    }

    /// A line of the record that was begun last, in the order of the partition. `stream` tells the
    /// streams of the partition apart. Records that are complete are appended to `out`.
    pub fn line(
        &mut self,
        join: &Join,
        stream: u64,
        (record, line): (&Record<'_>, &LineOf<'_>),
        out: &mut Vec<Closed>,
    ) -> Held {
        if !self.open.is_empty() {
            self.lines += 1;
            if let Some(held) = self.offer(join, stream, (record, line), out) {
                return held;
            }
        }
        let kind = Kind::opened_by(line.text, line.returns, join);
        let Some(kind) = kind else { return Held::Alone };
        let closed = Closed::new(OwnedRecord::of(record), line);
        let bytes = closed.bytes();
        self.open.push(Open {
            stream,
            process: process_of(&line.marks),
            kind,
            record: closed,
            tail: Vec::new(),
            last_time_ms: record.time_ms,
            touched: self.lines,
            bytes,
        });
        self.bytes += bytes;
        self.find_oldest();
        while self.open.len() > OPEN_MAX || (self.bytes > OPEN_BYTES_MAX && self.open.len() > 1) {
            self.close(0, out);
        }
        Held::Kept
    }

    /// Closes every record: the partition was read to its end, and waited.
    pub fn close_all(&mut self, out: &mut Vec<Closed>) {
        while !self.open.is_empty() {
            self.close(0, out);
        }
    }

    /// Offers a line to the records that it may belong to.
    fn offer(
        &mut self,
        join: &Join,
        stream: u64,
        (record, line): (&Record<'_>, &LineOf<'_>),
        out: &mut Vec<Closed>,
    ) -> Option<Held> {
        let process = process_of(&line.marks);
        let (index, step) = loop {
            let index = self.candidate(stream, process, line.text)?;
            let open = &mut self.open[index];
            let is_borrowed = open.process != process;
            let tail: usize = open.tail.iter().map(|it| it.raw.len() + 1).sum();
            let fits = open.record.raw.len() + tail + line.raw.len() < join.bytes_max;
            let step = if fits { open.kind.next(line.text, line.returns, join) } else { Step::No };
            match step {
                Step::No if is_borrowed => return None,
                Step::No => {
                    // The next one is asked as if this had not been open: reading may begin again
                    // behind it, where it is not.
                    self.close(index, out);
                    self.find_oldest();
                }
                step => break (index, step),
            }
        };
        let open = &mut self.open[index];
        let before = open.bytes;
        if step == Step::Maybe {
            open.tail.push(Closed::new(OwnedRecord::of(record), line));
        } else {
            open.touched = self.lines;
            for blank in std::mem::take(&mut open.tail) {
                open.record.append(blank);
            }
            let text = match step {
                Step::Behind(length, _) => &line.text[length..],
                _ => line.text,
            };
            open.record.push(record.offset, &LineOf { text, ..*line });
        }
        open.last_time_ms = record.time_ms;
        open.bytes = open.record.bytes() + open.tail.iter().map(Closed::bytes).sum::<usize>();
        self.bytes = self.bytes + open.bytes - before;
        let is_full = open.record.lines.len() + open.tail.len() >= join.lines_max;
        if matches!(step, Step::End | Step::Behind(_, false)) || is_full {
            self.close(index, out);
        }
        // The oldest go, never this one for what older ones hold: reading may begin behind those.
        while self.bytes > OPEN_BYTES_MAX {
            self.close(0, out);
        }
        self.find_oldest();
        Some(Held::Kept)
    }

    /// Index of the record that a line of a process is offered to first. A line without marks goes
    /// on with its own process, or with what was written last: stacks of C++ have none. A blank
    /// one only with what was written last: held by an older record that it may not belong to in
    /// the end, it would be kept from a younger one.
    fn candidate(&self, stream: u64, process: Option<u64>, text: &str) -> Option<usize> {
        let is_blank = process.is_none() && text.trim().is_empty();
        let of_stream = self.open.iter().enumerate().filter(|(_, open)| open.stream == stream);
        let (index, _) = of_stream
            .filter(|(_, open)| process.is_none() || open.process == process)
            .max_by_key(|(_, open)| (!is_blank && open.process == process, open.touched))?;
        Some(index)
    }

    fn close(&mut self, index: usize, out: &mut Vec<Closed>) {
        let open = self.open.remove(index);
        self.bytes -= open.bytes;
        out.push(open.record);
        out.extend(open.tail);
    }

    fn find_oldest(&mut self) {
        let times = self.open.iter().map(|open| open.last_time_ms);
        self.oldest_ms = times.min().unwrap_or(i64::MAX);
    }
}
