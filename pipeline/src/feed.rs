//! Gives a transformer the lines of one record, and the pieces of lines among them.
//!
//! Invariant: lines and pieces are counted through all envelopes of the record, in order and from
//! 0, so that their ids differ; a record that is taken in parts is counted the same in each. Next
//! stop: [`riverhog_rules::transform`].

use std::ops::ControlFlow;

use riverhog_parsers::envelope::{Envelope, EnvelopeKind, Taker, Unwrapper};
use riverhog_parsers::lines::{Lines, split_lines};
use riverhog_rules::event::EventBuffer;
use riverhog_rules::transform::{Line, Record, Transformer};

use crate::unwrap::{Raw, unwrap};

/// What became of a record's lines.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    /// Lines and pieces that were taken.
    pub(crate) lines: u64,
    /// The line to go on with when the part is full.
    pub(crate) rest: Option<usize>,
    /// The envelope of the first line, where it is asked for.
    pub(crate) envelope: Option<Envelope>,
}

/// See the module documentation.
pub(crate) struct Feed<'f> {
    /// Without its envelope.
    pub(crate) record: Record<'f>,
    pub(crate) transformer: &'f mut Transformer,
    pub(crate) events: &'f mut EventBuffer,
    /// Bytes of documents after which a part ends.
    pub(crate) part_bytes: usize,
    /// Index of the first line: 0, unless the value is a single line out of a record.
    pub(crate) first: usize,
    /// Lines that an earlier part has.
    pub(crate) from_line: usize,
    /// The first envelope is to be kept.
    pub(crate) keeps_envelope: bool,
}

impl Feed<'_> {
    /// Takes the lines of a value.
    pub(crate) fn run(self, unwrapper: &mut Unwrapper, kind: EnvelopeKind, value: &[u8]) -> Fed {
        let next = self.first;
        let mut feeding = Feeding { feed: self, next, fed: Fed::default() };
        unwrap(unwrapper, kind, value, &mut feeding);
        feeding.fed
    }
}

struct Feeding<'f> {
    feed: Feed<'f>,
    next: usize,
    fed: Fed,
}

impl Feeding<'_> {
    fn is_full(&self) -> bool {
        let Feed { events, part_bytes, .. } = &self.feed;
        events.bytes.len() + events.joined_bytes >= *part_bytes
    }

    fn keep(&mut self, envelope: &Envelope) {
        if self.feed.keeps_envelope && self.next == 0 {
            self.fed.envelope = Some(envelope.clone());
        }
    }

    fn lines(&mut self, envelope: Option<&Envelope>, mut lines: Lines<'_>) -> ControlFlow<()> {
        let record = Record { envelope, ..self.feed.record };
        let mut has_begun = false;
        while let Some(raw) = lines.next() {
            let index = self.next;
            self.next += 1;
            if index < self.feed.from_line {
                continue;
            }
            if self.is_full() {
                self.fed.rest = Some(index);
                return ControlFlow::Break(());
            }
            if !has_begun {
                self.feed.transformer.begin_record(&record);
                has_begun = true;
            }
            self.fed.lines += 1;
            let returns = lines.has_returned();
            let line = Line { raw, index: index as u32, cut: false, returns };
            self.feed.transformer.line(&record, &line, self.feed.events);
        }
        ControlFlow::Continue(())
    }
}

impl Taker for Feeding<'_> {
    fn piece(&mut self, envelope: &Envelope) -> Option<ControlFlow<()>> {
        self.keep(envelope);
        let (index, is_full) = (self.next, self.is_full());
        let Feed { record, transformer, events, from_line, .. } = &mut self.feed;
        let record = Record { envelope: Some(envelope), ..*record };
        let is_taken = if index < *from_line {
            transformer.was_piece(record.offset, index as u32)
        } else if is_full {
            self.fed.rest = Some(index);
            return Some(ControlFlow::Break(()));
        } else {
            let is_taken = transformer.piece(&record, index as u32, events);
            self.fed.lines += u64::from(is_taken);
            is_taken
        };
        self.next += usize::from(is_taken);
        is_taken.then_some(ControlFlow::Continue(()))
    }

    fn take(&mut self, envelope: &Envelope) -> ControlFlow<()> {
        self.keep(envelope);
        self.lines(Some(envelope), split_lines(&envelope.message))
    }
}

impl Raw for Feeding<'_> {
    fn raw(&mut self, value: &[u8]) {
        let _end: ControlFlow<()> = self.lines(None, split_lines(value));
    }
}
