//! The open records of one partition, and how lines come to them.
//!
//! Invariant: a line is in exactly one record; the number of open records, their lines and their
//! bytes have bounds; the oldest line that is held is known. Next stop: `transform`, which makes an
//! event of each record that is complete.
use super::closed::{Closed, LineOf, OwnedRecord};
use super::kind::Kind;
use super::{Join, OPEN_BYTES_MAX, OPEN_MAX, Step, process_of};
use crate::transform::Record;

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// It is a record of its own, complete at once.
    Alone,
    /// The joiner holds it, or has put it into a record that is complete now.
    Kept,
}

#[derive(Clone, Debug)]
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
#[derive(Clone, Debug, Default)]
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
            last_time_ms: line.time_ms(record),
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
            let index = self.candidate(stream, process, (record.offset, line.text))?;
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
        open.last_time_ms = line.time_ms(record);
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
    /// the end, it would be kept from a younger one. And a line whose first piece is older than a
    /// record does not go on with it: a record's first line is its oldest.
    fn candidate(
        &self,
        stream: u64,
        process: Option<u64>,
        (offset, text): (i64, &str),
    ) -> Option<usize> {
        let is_blank = process.is_none() && text.trim().is_empty();
        let of_stream = self.open.iter().enumerate().filter(|(_, open)| open.stream == stream);
        let (index, _) = of_stream
            .filter(|(_, open)| process.is_none() || open.process == process)
            .filter(|(_, open)| open.record.lines[0].0 <= offset)
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
