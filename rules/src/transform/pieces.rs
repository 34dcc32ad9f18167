//! Pieces of lines on their way: they are held until their line is complete, which then goes on as
//! any other, into envelopes that are left inside of it, peeling and joining.
//!
//! Invariant: an event made of pieces has the origin of the first, and an id over all; where
//! nothing is in pieces, nothing is held and nothing is asked. Next stop: `transform`.
use std::ops::ControlFlow;

use riverhog_parsers::envelope::{Envelope, EnvelopeKind, Piece, Unwrapper};
use riverhog_parsers::lines::{split_lines, to_text};
use riverhog_parsers::peel::peel;

use super::bind::Source;
use super::record::find;
use super::{EventBuffer, Record, Transformer};
use crate::join::{Closed, LineOf, OPEN_BYTES_MAX, OwnedRecord, PartOf};
use crate::origin::part_index;
use crate::pieces::{Assembled, Assembler, Limits, PieceOf};
use crate::step::Hasher;

/// Bytes that the events of one line put together may take, about. One that is an envelope of so
/// many lines is not looked into: a few bytes of it can be an event.
const INSIDE_BYTES_MAX: usize = 8 << 20;
/// What a line takes beside its bytes and those of its envelope, about.
const LINE_COST: usize = 700;

/// What tells containers apart, wherever shippers put it, and the streams of one. A line never
/// goes on in another.
const CONTAINER: [&str; 16] = [
    "stream",
    "log.file.path",
    "container.id",
    "file",
    "filename",
    "attrs.tag",
    "kubernetes.namespace_name",
    "kubernetes.pod_namespace",
    "kubernetes.pod_name",
    "kubernetes.pod.uid",
    "kubernetes.container_name",
    "labels.filename",
    "labels.pod",
    "labels.container",
    "attributes.log.file.path",
    "attributes.log.file.name",
];

/// What a worker has for it.
#[derive(Debug)]
pub(super) struct PieceScratch {
    /// Which envelopes are taken off a line that is complete; `None` where none is put together.
    envelope: Option<EnvelopeKind>,
    unwrapper: Unwrapper,
    lines: Vec<Assembled>,
    stream: Vec<Source>,
}

/// What is known of a partition's pieces from batch to batch.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionPieces {
    pub(super) open: Assembler,
    /// Offset and indices of the pieces of the record at hand: the next part of its batch must
    /// count them as this one did.
    taken_of: i64,
    taken: Vec<u32>,
}

impl Default for PieceScratch {
    fn default() -> PieceScratch {
        // Beside what `[join]` says.
        let usual = [Source::Header("host".to_owned()), Source::EnvelopeHost, Source::Key];
        let usual = usual.into_iter();
        let container = CONTAINER.iter().map(|path| Source::Envelope((*path).to_owned()));
        PieceScratch {
            envelope: None,
            unwrapper: Unwrapper::new(),
            lines: Vec::new(),
            stream: usual.chain(container).collect(),
        }
    }
}

impl PieceScratch {
    /// See [`Transformer::set_pieces`].
    pub(super) fn envelope(&self) -> Option<EnvelopeKind> {
        self.envelope
    }
}

impl Transformer {
    /// Puts pieces of lines together from now on, or takes none; `envelope`: what is taken off a
    /// line that is complete. What is held is part of the [`super::PartitionState`], so there must
    /// be one.
    pub fn set_pieces(&mut self, envelope: Option<EnvelopeKind>) {
        self.pieces.envelope = envelope;
    }

    /// Takes what may be a piece of a line: the message of the record's envelope, which counts as
    /// the line of this index. Lines that it completes become events. False when it is none, and
    /// must be taken as any other line.
    pub fn piece(&mut self, record: &Record<'_>, index: u32, out: &mut EventBuffer) -> bool {
        if self.is_careful {
            self.try_piece(record, index, out)
        } else {
            self.take_piece(record, index, out)
        }
    }

    pub(super) fn take_piece(
        &mut self,
        record: &Record<'_>,
        index: u32,
        out: &mut EventBuffer,
    ) -> bool {
        let (Some(_), Some(envelope)) = (self.pieces.envelope, record.envelope) else {
            return false;
        };
        let is_last = match envelope.piece {
            Piece::Whole => return false,
            Piece::Last if self.partition.pieces.open.is_empty() => return false,
            Piece::Last => true,
            Piece::Open => false,
        };
        let limits = self.piece_limits();
        let stream = self.piece_stream(record);
        let bytes = &envelope.message[..];
        let piece = PieceOf { stream, index, bytes, is_last };
        let (partition, lines) = (&mut self.partition.pieces, &mut self.pieces.lines);
        partition.open.advance(limits.gap_ms, record.time_ms, lines);
        let is_alone = is_last && !partition.open.has(stream);
        let is_taken = !is_alone && partition.open.push(limits, (record, piece), lines);
        if is_taken {
            self.note_taken(record.offset, index);
        }
        self.emit_lines(record, out);
        is_taken
    }

    /// The line of this index counts as a piece from now on.
    pub(super) fn note_taken(&mut self, offset: i64, index: u32) {
        let partition = &mut self.partition.pieces;
        if partition.taken_of != offset {
            partition.taken.clear();
            partition.taken_of = offset;
        }
        partition.taken.push(index);
    }

    /// Whether the line of this index, of the record whose lines were taken last, was a piece.
    pub fn was_piece(&self, offset: i64, index: u32) -> bool {
        let pieces = &self.partition.pieces;
        pieces.taken_of == offset && pieces.taken.binary_search(&index).is_ok()
    }

    /// A line of this record comes next: those end whose next piece has not come in time.
    pub(super) fn end_pieces(&mut self, record: &Record<'_>, out: &mut EventBuffer) {
        let gap_ms = self.plan.gap_ms();
        self.partition.pieces.open.advance(gap_ms, record.time_ms, &mut self.pieces.lines);
        if !self.pieces.lines.is_empty() {
            self.emit_lines(record, out);
            self.begin_record(record);
        }
    }

    /// Ends all, as if the partition had ended.
    pub(super) fn close_pieces(&mut self, partition: &Record<'_>, out: &mut EventBuffer) {
        self.partition.pieces.open.close_all(&mut self.pieces.lines);
        self.emit_lines(partition, out);
    }

    fn piece_limits(&self) -> Limits {
        Limits {
            pieces_max: self.plan.pieces_max(),
            bytes_max: self.line_bytes_max.min(OPEN_BYTES_MAX),
            gap_ms: self.plan.gap_ms(),
        }
    }

    /// What tells the pieces of a record from those of other streams.
    fn piece_stream(&mut self, record: &Record<'_>) -> u64 {
        let mut hasher = Hasher::new("");
        if self.plan.join.is_some() {
            self.begin_record(record);
            let place = self.current.expect("a record was begun");
            hasher.push(Some(&self.contexts.at(place).record.stream.to_le_bytes()));
        }
        for source in &self.pieces.stream {
            hasher.push(find(source, record));
        }
        hasher.finish()
    }

    /// Takes the lines that are complete on their way.
    fn emit_lines(&mut self, partition: &Record<'_>, out: &mut EventBuffer) {
        let mut all = std::mem::take(&mut self.pieces.lines);
        for assembled in all.drain(..) {
            let owned = &assembled.record;
            let headers = owned.headers();
            let record = owned.borrow(&headers, partition);
            let mut unwrapper = std::mem::take(&mut self.pieces.unwrapper);
            if !self.inside(&mut unwrapper, (&record, &assembled), out) {
                self.begin_record(&record);
                let count = split_lines(&assembled.bytes).count();
                if count == 1 || !can_have_parts(&assembled, count) {
                    let returns =
                        assembled.bytes.ends_with(b"\r") || assembled.bytes.ends_with(b"\r\n");
                    let raw = assembled.bytes.strip_suffix(b"\n").unwrap_or(&assembled.bytes);
                    let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
                    self.assembled_line(&record, (raw, returns), &assembled, out);
                } else {
                    let mut lines = split_lines(&assembled.bytes);
                    let mut number = 0;
                    while let Some(raw) = lines.next() {
                        number += 1;
                        let part = PartOf { assembled: &assembled, number };
                        self.assembled_part(&record, (raw, lines.has_returned()), part, out);
                    }
                }
            }
            self.pieces.unwrapper = unwrapper;
        }
        self.pieces.lines = all;
    }

    /// Takes the lines of the envelopes that a line put together is; false when it is none.
    fn inside(
        &mut self,
        unwrapper: &mut Unwrapper,
        (record, assembled): (&Record<'_>, &Assembled),
        out: &mut EventBuffer,
    ) -> bool {
        let (Some(kind), Some(outer)) = (self.pieces.envelope, record.envelope) else {
            return false;
        };
        let value = (outer, &assembled.bytes[..]);
        let (mut cost, mut count, of_record) = (0, 0, assembled.record.bytes());
        let is_envelope = unwrapper.run_inside(kind, value, &mut |envelope| {
            let of_line = LINE_COST + of_record + envelope.fields.bytes();
            let lines = split_lines(&envelope.message).count();
            count += lines;
            cost += lines.saturating_mul(of_line);
            if cost > INSIDE_BYTES_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let is_small = count == 1 || can_have_parts(assembled, count);
        if !is_envelope || cost > INSIDE_BYTES_MAX || !is_small {
            return false;
        }
        let mut number = 0;
        unwrapper.run_inside(kind, value, &mut |envelope: &Envelope| {
            let record = Record { envelope: Some(envelope), ..*record };
            self.begin_record(&record);
            let mut lines = split_lines(&envelope.message);
            while let Some(raw) = lines.next() {
                let line = (raw, lines.has_returned());
                number += 1;
                if count == 1 {
                    self.assembled_line(&record, line, assembled, out);
                } else {
                    self.assembled_part(&record, line, PartOf { assembled, number }, out);
                }
            }
            ControlFlow::Continue(())
        })
    }

    /// As [`Transformer::line`], of a line whose record may be gone, and which is all that its
    /// pieces make.
    fn assembled_line(
        &mut self,
        record: &Record<'_>,
        (raw, returns): (&[u8], bool),
        assembled: &Assembled,
        out: &mut EventBuffer,
    ) {
        let of_part = LINE_COST + assembled.record.bytes();
        let can_have = |count: usize| {
            count.saturating_mul(of_part) <= INSIDE_BYTES_MAX && can_have_parts(assembled, count)
        };
        self.each_part(raw, can_have, |this, raw, number, is_last| {
            let line = (raw, returns && is_last);
            this.assembled_part(record, line, PartOf { assembled, number }, out);
        });
    }

    fn assembled_part(
        &mut self,
        record: &Record<'_>,
        (raw, returns): (&[u8], bool),
        part: PartOf<'_>,
        out: &mut EventBuffer,
    ) {
        let message = to_text(raw);
        let mut scratch = std::mem::take(&mut self.peeled);
        let peeled = peel(&message, self.plan.peel, &mut scratch);
        let (text, marks) = (peeled.text, peeled.marks);
        let index = part.index();
        let line = LineOf { index, raw, text, marks, cut: false, returns, part: Some(part) };
        if !self.is_held(record, &line, out) {
            self.closed.push(Closed::new(OwnedRecord::of(record), &line));
            self.emit_closed(record, out);
            self.begin_record(record);
        }
        self.peeled = scratch;
    }
}

/// True when so many lines, or parts of one, can be told apart.
fn can_have_parts(assembled: &Assembled, count: usize) -> bool {
    u32::try_from(count).is_ok_and(|count| part_index(assembled.pieces[0].1, count).is_some())
}
