//! Makes the event of a letter again, as the configuration says today.
//!
//! Invariant: an event leaves under the id of its letter or not at all; a letter of a sink goes to
//! that sink alone. Next stop: [`crate::dispatch`], by way of `chunk.rs`.

use std::sync::Arc;

use riverhog_config::{Config, EnvelopeKind, Source, Topics};
use riverhog_parsers::envelope::Unwrapper;
use riverhog_rules::event::{Disposition, DropReason, EventBuffer};
use riverhog_rules::origin::line_and_part;
use riverhog_rules::transform::{Line, PartitionState, ReceivedSource, Record, Transformer};

use super::letter::{self, Letter};
use crate::feed::Feed;

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remade {
    /// These events, by id, are on their way.
    Events(Vec<String>),
    /// A rule of today drops its event: there is nothing to deliver.
    Dropped,
    /// It stays, for this reason.
    Stays(&'static str),
}

/// Bytes of it were cut off for the target's limit.
pub(crate) const CUT: &str = "cut";
/// Today's configuration makes no event of this id from it.
pub(crate) const DIFFERS: &str = "differs";
/// No sink of this name is left.
pub(crate) const NO_SINK: &str = "no_such_sink";
/// Its event is not routed to the sink that owed it any more.
pub(crate) const NOT_ROUTED: &str = "not_routed";

/// See the module documentation.
pub(crate) struct Remaker<'c> {
    config: &'c Config,
    transformer: Transformer,
    unwrapper: Unwrapper,
}

impl<'c> Remaker<'c> {
    pub(crate) fn new(config: &'c Config) -> Remaker<'c> {
        let mut transformer = Transformer::new(Arc::clone(&config.plan));
        // What failed once may fail again: the letter stays, and the process lives.
        transformer.set_careful();
        Remaker { config, transformer, unwrapper: Unwrapper::new() }
    }

    /// Appends the events of a letter to `out`; what it makes beside them is dropped there.
    pub(crate) fn remake(&mut self, letter: &Letter, out: &mut EventBuffer) -> Remade {
        let Some(records) = &letter.records else { return Remade::Stays(CUT) };
        let sinks = &self.config.sinks;
        let sink = match &letter.sink {
            Some(name) => match sinks.iter().position(|sink| sink.name == *name) {
                Some(sink) => Some(sink),
                None => return Remade::Stays(NO_SINK),
            },
            None => None,
        };
        let source = source_of(self.config, &letter.origin.topic);
        let kind = source.map_or(EnvelopeKind::Auto, |source| source.envelope);
        self.transformer.set_line_bytes_max(source.map_or(1 << 20, |it| it.line_max_bytes));
        let first = out.events.len();
        let (line, _) = line_and_part(letter.index);
        if records.iter().any(|record| record.index.is_some()) {
            self.lines(letter, records, out);
        } else {
            self.values(letter, (kind, 0), out);
            // Of a record of several lines only the event's own was kept.
            if line > 0 && !has(out, first, &letter.id) && !letter.is_whole_record() {
                self.values(letter, (kind, line), out);
            }
        }
        keep(letter, sink, (out, first))
    }

    /// Lines that were held, each by itself.
    fn lines(&mut self, letter: &Letter, records: &[letter::Record], out: &mut EventBuffer) {
        let mut state = PartitionState::default();
        self.transformer.exchange_partition(&mut state);
        self.transformer.set_pieces(None);
        let headers = records.first().map(|first| headers_of(first)).unwrap_or_default();
        let key = records.first().and_then(|first| first.key.as_deref());
        let mut last = None;
        for record in records {
            let index = record.index.unwrap_or_default();
            let of_line = Record { offset: record.offset, ..of(letter, key, &headers) };
            let take = |transformer: &mut Transformer, out: &mut EventBuffer| {
                transformer.begin_record(&of_line);
                let line = Line { raw: &record.value, index, cut: false, returns: false };
                transformer.line(&of_line, &line, out);
            };
            let _is_sound: bool = self.transformer.try_record((&of_line, index), out, take);
            last = Some(of_line);
        }
        if let Some(last) = last {
            self.transformer.close_records(&last, out);
        }
        self.transformer.exchange_partition(&mut state);
    }

    /// Whole values, or single lines of one.
    fn values(
        &mut self,
        letter: &Letter,
        (kind, first): (EnvelopeKind, u32),
        out: &mut EventBuffer,
    ) {
        let mut state = PartitionState::default();
        self.transformer.exchange_partition(&mut state);
        self.transformer.set_pieces(None);
        for record in letter.records.iter().flatten() {
            let headers = headers_of(record);
            let whole = of(letter, record.key.as_deref(), &headers);
            let whole = Record { offset: record.offset, ..whole };
            let unwrapper = &mut self.unwrapper;
            let take = |transformer: &mut Transformer, events: &mut EventBuffer| {
                let feed = Feed {
                    record: whole,
                    transformer,
                    events,
                    part_bytes: usize::MAX,
                    first: first as usize,
                    from_line: 0,
                    keeps_envelope: false,
                };
                feed.run(unwrapper, kind, &record.value);
            };
            if !self.transformer.try_record((&whole, first), out, take) {
                self.unwrapper = Unwrapper::new();
            }
            self.transformer.close_records(&whole, out);
        }
        self.transformer.exchange_partition(&mut state);
    }
}

fn headers_of(record: &letter::Record) -> Vec<(&str, &[u8])> {
    record.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
}

fn of<'a>(
    letter: &'a Letter,
    key: Option<&'a [u8]>,
    headers: &'a [(&'a str, &'a [u8])],
) -> Record<'a> {
    let origin = &letter.origin;
    Record {
        lineage: &origin.lineage,
        topic: &origin.topic,
        partition: origin.partition,
        offset: origin.offset,
        time_ms: origin.time,
        key,
        headers,
        received_ns: origin.time.saturating_mul(1_000_000),
        received_source: ReceivedSource::CreateTime,
        envelope: None,
    }
}

fn has(out: &EventBuffer, first: usize, id: &str) -> bool {
    out.events[first..].iter().any(|event| out.id(event) == id)
}

/// Of the events from `first` on only the letter's stay, with the targets that are owed.
fn keep(letter: &Letter, sink: Option<usize>, (out, first): (&mut EventBuffer, usize)) -> Remade {
    let mut ids = Vec::new();
    let (mut dropped, mut not_routed) = (0, 0);
    for number in first..out.events.len() {
        let mut event = out.events[number];
        let id = out.id(&event);
        let is_own = if letter.is_whole_record() {
            event.first_offset == letter.origin.offset
        } else {
            id == letter.id && !ids.iter().any(|before| before == id)
        };
        let mut is_kept = is_own;
        if is_own && matches!(event.disposition, Disposition::Dropped(_)) {
            (dropped, is_kept) = (dropped + 1, false);
        }
        if let Some(sink) = sink.filter(|_| is_kept) {
            let range = event.targets.0..event.targets.1;
            let is_of = |at: &u32| usize::from(out.targets[*at as usize].sink) == sink;
            match range.clone().find(is_of) {
                Some(at) if event.disposition == Disposition::Routed => {
                    event.targets = (at, at + 1);
                }
                // Parsing fails today, or no route is left: the event is a dead letter as before.
                _ if matches!(event.disposition, Disposition::DeadLetter(_)) => {}
                _ => (not_routed, is_kept) = (not_routed + 1, false),
            }
        }
        if is_kept {
            ids.push(id.to_owned());
        } else {
            event.disposition = Disposition::Dropped(DropReason::Step);
        }
        out.events[number] = event;
    }
    match (ids.is_empty(), dropped, not_routed) {
        (false, ..) => Remade::Events(ids),
        (true, 1.., 0) => Remade::Dropped,
        (true, _, 1..) => Remade::Stays(NOT_ROUTED),
        (true, ..) => Remade::Stays(DIFFERS),
    }
}

/// The source that read the topic; else the only one, else the first.
fn source_of<'c>(config: &'c Config, topic: &str) -> Option<&'c Source> {
    let reads = |source: &&Source| {
        let topics = source.kafka().map(|kafka| &kafka.topics);
        matches!(topics, Some(Topics::List(names)) if names.iter().any(|name| name == topic))
    };
    config.sources.iter().find(reads).or_else(|| config.sources.first())
}
