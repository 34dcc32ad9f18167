//! A plan tried on lines that come from no source: what `test` and `parse` share.
//!
//! Invariant: a line takes the same trip as in a run: unwrap, cut, transform. Next stop:
//! [`crate::transform`] for the trip of real batches.

use std::sync::Arc;

use riverhog_config::{Config, EnvelopeKind};
use riverhog_parsers::envelope::{Envelope, Unwrapper};
use riverhog_parsers::peel::Layers;
use riverhog_rules::counters::Counters;
use riverhog_rules::event::EventBuffer;
use riverhog_rules::plan::Plan;
use riverhog_rules::transform::{PartitionState, ReceivedSource, Record, Transformer};

use crate::feed::Feed;

/// The longest line where no source says so.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// What a record would say beside its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) topic: &'a str,
    pub(super) offset: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) headers: &'a [(&'a str, &'a [u8])],
    /// Record time, nanoseconds since the epoch.
    pub(super) received_ns: i64,
}

/// See the module documentation.
pub(super) struct Trial {
    transformer: Transformer,
    unwrapper: Unwrapper,
    envelope: EnvelopeKind,
    peel: Layers,
    line_bytes_max: usize,
    events: EventBuffer,
}

impl Trial {
    /// A trial of a plan without a source.
    pub(super) fn of_plan(plan: Arc<Plan>) -> Trial {
        let peel = plan.peel;
        let mut transformer = Transformer::new(plan);
        transformer.set_line_bytes_max(LINE_BYTES_MAX);
        Trial {
            transformer,
            peel,
            unwrapper: Unwrapper::new(),
            envelope: EnvelopeKind::Auto,
            line_bytes_max: LINE_BYTES_MAX,
            events: EventBuffer::new(),
        }
    }

    /// A trial of one format: values are lines, whatever they look like.
    pub(super) fn of_format(plan: Arc<Plan>) -> Trial {
        Trial { envelope: EnvelopeKind::None, ..Trial::of_plan(plan) }
    }

    /// A trial of a configuration, with the settings of its first source.
    pub(super) fn of_config(config: &Config) -> Trial {
        let mut trial = Trial::of_plan(Arc::clone(&config.plan));
        if let Some(source) = config.sources.first() {
            trial.envelope = source.envelope;
            trial.line_bytes_max = source.line_max_bytes;
            trial.transformer.set_line_bytes_max(source.line_max_bytes);
        }
        trial
    }

    /// What comes off a line.
    pub(super) fn peel(&self) -> Layers {
        self.peel
    }

    /// Most bytes of a line that are looked at.
    pub(super) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// The events of one value that stands alone, and the first envelope they came in.
    pub(super) fn run(
        &mut self,
        given: &Given<'_>,
        value: &[u8],
    ) -> (&EventBuffer, Option<Envelope>) {
        self.events.clear();
        self.transformer.exchange_partition(&mut PartitionState::default());
        let envelope = self.feed(given, value);
        self.close(given);
        (&self.events, envelope)
    }

    /// The events that are complete with the next value of a stream.
    pub(super) fn next(&mut self, given: &Given<'_>, value: &[u8]) -> &EventBuffer {
        self.events.clear();
        self.feed(given, value);
        &self.events
    }

    /// The events of what is still held at the end of a stream.
    pub(super) fn end(&mut self, given: &Given<'_>) -> &EventBuffer {
        self.events.clear();
        self.close(given);
        &self.events
    }

    /// Offset of the oldest value that is held.
    pub(super) fn open_from(&self) -> Option<i64> {
        self.transformer.partition().held_from()
    }

    fn close(&mut self, given: &Given<'_>) {
        self.transformer.close_records(&record(given), &mut self.events);
    }

    fn feed(&mut self, given: &Given<'_>, value: &[u8]) -> Option<Envelope> {
        self.transformer.set_pieces(Some(self.envelope));
        let feed = Feed {
            record: record(given),
            transformer: &mut self.transformer,
            events: &mut self.events,
            part_bytes: usize::MAX,
            first: 0,
            from_line: 0,
            keeps_envelope: true,
        };
        feed.run(&mut self.unwrapper, self.envelope, value).envelope
    }

    /// What was counted since the last call.
    pub(super) fn take_counters(&mut self) -> Counters {
        self.transformer.take_counters()
    }
}

fn record<'a>(given: &Given<'a>) -> Record<'a> {
    Record {
        topic: given.topic,
        partition: 0,
        offset: given.offset,
        key: given.key,
        headers: given.headers,
        received_ns: given.received_ns,
        received_source: ReceivedSource::File,
        envelope: None,
        lineage: "0",
        time_ms: 0,
    }
}
