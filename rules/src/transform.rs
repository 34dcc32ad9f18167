//! The transform: line → event, through the stops parse, redact, numbers, steps, host, labels,
//! routes and encode.
//!
//! Invariant: an event depends on its line and record and the plan alone, so a line read twice is
//! the same event. In steady state no stop allocates: what a record gives is resolved once and kept
//! while the next record says the same. The stops: `bind` at load, `record`, `parse`,
//! `redacting`, `line`, `destination`, and `encode`. Next stop: the pipeline's `dispatch`.
mod action;
mod applies;
mod bind;
mod boot;
mod candidates;
mod careful;
mod contexts;
mod destination;
mod encode;
mod encoded;
mod format;
mod line;
mod marks;
mod numbers;
mod parse;
mod parts;
mod pieces;
mod record;
mod redacting;
mod sample;
mod sampler;
mod steps;
mod tally;
mod times;
mod unparsed;
mod view;

use std::sync::Arc;

use riverhog_parsers::envelope::Envelope;
use riverhog_parsers::lines::{cut, to_text};
use riverhog_parsers::peel::{Layers, Marks, Parts, Peeled, peel};

use crate::counters::Counters;
use crate::event::{DeadReason, Disposition, DropReason, Event, EventBuffer};
use crate::join::{Closed, Held, Joiner, LineOf};
use crate::numbers::Found;
use crate::origin::{Joined, joined_of};
use crate::plan::{Plan, Tables, UnparsedPolicy};
use crate::step::RateState;
pub use action::write_action;
use action::write_action_of;
use bind::Bound;
#[cfg(feature = "mutations")]
pub use careful::{Stop, Trap};
use contexts::{Context, Contexts, Place};
use destination::DestinationCache;
use encode::{Document, EncodeScratch, position};
use encoded::EncodedRecord;
use line::LineState;
use marks::LineMarks;
pub(crate) use marks::may_give as may_be_peeled;
use parse::{ParseScratch, parse};
use pieces::{PartitionPieces, PieceScratch};
use record::RecordState;
use redacting::{RedactScratch, masked_marks};
pub use sample::document_sample;
pub use sampler::Ticks;
use steps::{EventKey, Passage, StepScratch};
use times::{set_times, text_of};
use unparsed::keep;
pub use unparsed::{UNPARSED_BYTES_MAX, UNPARSED_LINES_MAX, UnparsedLine};
use view::View;

/// One Kafka record, or one stretch of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Topic, or the file's name.
    pub topic: &'a str,
    /// Partition; 0 for files.
    pub partition: i32,
    /// Offset, or the byte position in the file.
    pub offset: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The headers; of two with one name the last counts.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Record time in nanoseconds since the epoch; where there is none, when the line counts as
    /// received.
    pub received_ns: i64,
    /// Whose clock that is.
    pub received_source: ReceivedSource,
    /// What the shipper's envelope said.
    pub envelope: Option<&'a Envelope>,
    /// The lineage of the source.
    pub lineage: &'a str,
    /// Record time in milliseconds since the epoch as it stands in ids; 0 where there is none.
    pub time_ms: i64,
}

/// Whose clock a record's time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceivedSource {
    /// The broker's.
    LogAppendTime,
    /// The collector's.
    CreateTime,
    /// The file's, or of whoever read it.
    File,
}

impl ReceivedSource {
    /// The word used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            ReceivedSource::LogAppendTime => "log_append_time",
            ReceivedSource::CreateTime => "create_time",
            ReceivedSource::File => "file",
        }
    }
}

/// One raw line of a record.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Its bytes, without the line end.
    pub raw: &'a [u8],
    /// Its index within the record, from 0.
    pub index: u32,
    /// It was longer and was cut already.
    pub cut: bool,
    /// A carriage return stood in front of its end.
    pub returns: bool,
}

/// Turns lines into events. One per worker; holds everything that is reused from line to line.
pub struct Transformer {
    plan: Arc<Plan>,
    bound: Bound,
    contexts: Contexts,
    /// The context of the record begun last.
    current: Option<Place>,
    encoded: EncodedRecord,
    generations: u64,
    parse: ParseScratch,
    steps: StepScratch,
    /// What is known of the partition at hand.
    partition: PartitionState,
    pieces: PieceScratch,
    /// Records that are complete, before they are events.
    closed: Vec<Closed>,
    /// What stands on one line.
    parts: Parts,
    line_bytes_max: usize,
    /// The line without escape sequences.
    peeled: String,
    line: LineState,
    redact: RedactScratch,
    numbers: Found,
    encode: EncodeScratch,
    counters: Counters,
    unparsed: Vec<UnparsedLine>,
    tables: Tables,
    /// See [`Transformer::set_careful`].
    is_careful: bool,
    #[cfg(feature = "mutations")]
    trap: Option<Trap>,
}

/// What a worker knows of one partition from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct PartitionState {
    pieces: PartitionPieces,
    joiner: Joiner,
    rates: RateState,
}

impl PartitionState {
    /// Offset of the oldest line that is held, without pieces of lines.
    pub fn open_from(&self) -> Option<i64> {
        self.joiner.open_from()
    }

    /// Offset of the oldest piece of a line that is held.
    pub fn pieces_from(&self) -> Option<i64> {
        self.pieces.open.open_from()
    }

    /// Offset of the oldest line or piece that is held.
    pub fn held_from(&self) -> Option<i64> {
        self.open_from().into_iter().chain(self.pieces_from()).min()
    }
}

/// One line, or the lines of one record.
struct Seen<'a> {
    /// As they came.
    message: &'a str,
    /// Without what came off.
    text: &'a str,
    /// What came off, if anything did.
    marks: Option<Marks<'a>>,
    index: u32,
    cut: bool,
}

/// The lines that make an event.
#[derive(Clone, Copy)]
struct Lines {
    joined: Option<Joined>,
    last_offset: i64,
}

impl Transformer {
    /// A transformer for a plan.
    pub fn new(plan: Arc<Plan>) -> Transformer {
        let bound = Bound::new(&plan);
        let mut transformer = Transformer {
            contexts: Contexts::new(None),
            current: None,
            encoded: EncodedRecord::default(),
            generations: 0,
            parse: ParseScratch::new(&plan, &bound),
            steps: StepScratch::new(&plan, &bound),
            partition: PartitionState::default(),
            pieces: PieceScratch::default(),
            closed: Vec::new(),
            parts: Parts::default(),
            line_bytes_max: usize::MAX,
            peeled: String::new(),
            line: LineState::new(&bound),
            redact: RedactScratch::default(),
            numbers: Found::new(bound.metrics.clone()),
            encode: EncodeScratch::default(),
            counters: Counters::new(plan.parse.len(), plan.steps.len()),
            unparsed: Vec::new(),
            tables: Tables::default(),
            is_careful: false,
            #[cfg(feature = "mutations")]
            trap: None,
            bound,
            plan,
        };
        let tables = transformer.plan.tables.clone();
        transformer.set_tables(&tables);
        transformer
    }

    /// Takes other tables, with the columns of those before.
    pub fn set_tables(&mut self, tables: &Tables) {
        self.tables = tables.clone();
        let table = tables.hosts.as_ref();
        self.steps.lookups.clone_from(&tables.lookups);
        self.line.set_table(&self.bound, table.cloned());
        self.contexts.set_hosts(table.cloned());
        for context in self.contexts.iter_mut() {
            context.record.host.set_table(&self.bound, table.cloned());
            context.record.resolve(&self.bound, &self.plan);
            self.generations += 1;
            context.record.generation = self.generations;
        }
    }

    /// Exchanges what is known of a partition: it belongs to the one whose lines come next, and
    /// must be exchanged again behind them.
    pub fn exchange_partition(&mut self, partition: &mut PartitionState) {
        std::mem::swap(&mut self.partition, partition);
    }

    /// What is known of the partition at hand.
    pub fn partition(&self) -> &PartitionState {
        &self.partition
    }

    /// Cuts lines, and parts of lines, to so many bytes.
    pub fn set_line_bytes_max(&mut self, bytes: usize) {
        self.line_bytes_max = bytes;
    }

    /// Measures how long parse rules take, for one line in 64, by a clock: see
    /// [`Counters::parse_times`]. No event depends on it.
    pub fn set_ticks(&mut self, ticks: Ticks) {
        self.parse.set_ticks(ticks);
    }

    /// What was counted since this was last called.
    pub fn take_counters(&mut self) -> Counters {
        self.parse.flush(&mut self.counters);
        let fresh = Counters::new(self.plan.parse.len(), self.plan.steps.len());
        std::mem::replace(&mut self.counters, fresh)
    }

    /// The first lines that no rule accepted since this was last called, as they are stored: at
    /// most [`UNPARSED_LINES_MAX`].
    pub fn take_unparsed(&mut self) -> Vec<UnparsedLine> {
        std::mem::take(&mut self.unparsed)
    }

    /// Resolves what depends on the record only. Call it before the lines of a record.
    pub fn begin_record(&mut self, record: &Record<'_>) {
        #[cfg(feature = "mutations")]
        self.spring(Stop::Record, record.key.unwrap_or_default());
        let hash = record::hash(&self.bound.sources, record);
        let (place, is_new) = self.contexts.find(hash, &self.bound, &self.plan);
        let state = &mut self.contexts.at(place).record;
        let redact = self.plan.redact.as_deref();
        if state.texts.update(&self.bound.sources, record, redact) || is_new {
            state.resolve(&self.bound, &self.plan);
            self.generations += 1;
            state.generation = self.generations;
        }
        self.current = Some(place);
        self.encoded.update(record);
    }

    /// Takes a line, or a part of one.
    fn part(&mut self, record: &Record<'_>, line: &Line<'_>, out: &mut EventBuffer) {
        let (raw, is_cut) = cut(line.raw, self.line_bytes_max);
        let line = &Line { raw, cut: line.cut || is_cut, ..*line };
        let joined = joined_of(&[(record.offset, line.index)], line.raw);
        let message = to_text(line.raw);
        if self.plan.peel == Layers::NONE && self.plan.join.is_none() {
            let lines = Lines { joined, last_offset: record.offset };
            let (index, cut) = (line.index, line.cut);
            let seen = Seen { message: &message, text: &message, marks: None, index, cut };
            self.transform(record, &seen, lines, out);
            return;
        }
        let mut scratch = std::mem::take(&mut self.peeled);
        let Peeled { text, marks } = peel(&message, self.plan.peel, &mut scratch);
        let Line { raw, index, cut, returns } = *line;
        let held = LineOf { index, raw, text, marks, cut, returns, part: None };
        if !self.is_held(record, &held, out) {
            let marks = (!marks.is_empty()).then_some(marks);
            let seen = Seen { message: &message, text, marks, index: line.index, cut: line.cut };
            let lines = Lines { joined, last_offset: record.offset };
            self.transform(record, &seen, lines, out);
        }
        self.peeled = scratch;
    }

    /// True when the line is held.
    fn is_held(&mut self, record: &Record<'_>, line: &LineOf<'_>, out: &mut EventBuffer) -> bool {
        let Some(join) = &self.plan.join else { return false };
        let place = self.current.expect("a record is begun before its lines");
        let stream = self.contexts.at(place).record.stream;
        let (joiner, closed) = (&mut self.partition.joiner, &mut self.closed);
        joiner.advance(join, record.time_ms, closed);
        let held = joiner.line(join, stream, (record, line), closed);
        if !self.closed.is_empty() {
            self.emit_closed(record, out);
            self.begin_record(record);
        }
        held == Held::Kept
    }

    /// Makes events of every record that is open, as if their partition had ended. `partition` is
    /// any record of it.
    pub fn close_records(&mut self, partition: &Record<'_>, out: &mut EventBuffer) {
        self.close_pieces(partition, out);
        self.partition.joiner.close_all(&mut self.closed);
        self.emit_closed(partition, out);
    }

    /// Makes events of the records that are complete.
    fn emit_closed(&mut self, partition: &Record<'_>, out: &mut EventBuffer) {
        let mut all = std::mem::take(&mut self.closed);
        for closed in all.drain(..) {
            let headers = closed.record.headers();
            let record = closed.record.borrow(&headers, partition);
            self.begin_record(&record);
            self.closed(&record, &closed, out);
            // Of a single line too: the batch that it came with may be gone.
            out.joined_bytes += closed.bytes();
            out.joined.push((out.events.len() as u32 - 1, closed));
        }
        self.closed = all;
    }

    fn closed(&mut self, record: &Record<'_>, closed: &Closed, out: &mut EventBuffer) {
        let message = to_text(&closed.raw);
        let seen = Seen {
            message: &message,
            // Where nothing came off, both are one.
            text: if closed.text == message { &message } else { &closed.text },
            marks: Some(closed.marks.marks()).filter(|marks| !marks.is_empty()),
            index: closed.lines[0].1,
            cut: closed.cut,
        };
        let joined = joined_of(&closed.lines, &closed.raw);
        self.transform(record, &seen, Lines { joined, last_offset: closed.last_offset() }, out);
    }

    /// Makes an event of lines that are complete.
    fn transform(
        &mut self,
        record: &Record<'_>,
        line: &Seen<'_>,
        lines: Lines,
        out: &mut EventBuffer,
    ) {
        if self.is_careful {
            self.try_event(record, line, lines, out);
        } else {
            self.take_event(record, line, lines, out);
        }
    }

    fn event(&mut self, record: &Record<'_>, line: &Seen<'_>, lines: Lines, out: &mut EventBuffer) {
        let Transformer { plan, bound, counters, partition, .. } = self;
        let place = self.current.expect("a record is begun before its lines");
        let Context { record: state, destinations } = self.contexts.at(place);
        let (state, ids) = (&*state, bound.marks);
        let marks = line.marks.map(|marks| LineMarks { marks, ids });
        let (texts, masked);
        let mut view =
            View::of_record(state, record.received_ns, (line.message, line.text), marks.as_ref());
        let generation = state.generation;
        parse(plan, bound, generation, &mut view, &mut self.parse, counters);
        view.parsed.tags.cut = line.cut;
        if view.parsed.rank.is_none() {
            view.parsed.rank = find_rank(plan, state, &view, line.marks);
        }
        if !bound.host_of_steps {
            self.line.set_host(plan, bound, &view);
        }
        let host = self.line.host(bound, &view);
        let mut timestamp_source = set_times(&mut view, record, (plan, bound), host);
        if let Some(redact) = &plan.redact {
            self.redact.apply(redact, (plan, bound), &mut view, counters);
            if let Some(marks) = line.marks {
                // Captures move along with the line; what came off is redacted by itself.
                let is_changed = !std::ptr::eq(view.message, line.message);
                texts = masked_marks(redact, &marks, is_changed.then_some(view.message));
                masked = LineMarks { marks: marks.with_texts(&texts), ids };
                view.marks = Some(&masked);
            }
        }
        view.redacted = true;
        let wants_numbers = view.parsed.rule.is_some_and(|rule| rule.numbers);
        numbers::read(plan, wants_numbers, &mut view.parsed, &mut self.numbers);
        let mut passage = Passage::Passed;
        if !plan.steps.is_empty() {
            let key = EventKey { record: &self.encoded, index: line.index };
            let rates = &mut partition.rates;
            passage = self.steps.run((plan, bound), generation, &mut view, (key, rates), counters);
            if passage == Passage::PassedWithTime {
                let host = self.line.host(bound, &view);
                timestamp_source = set_times(&mut view, record, (plan, bound), host);
            }
            if bound.host_of_steps {
                self.line.set_host(plan, bound, &view);
            }
        }
        let host_and_labels = self.line.resolve(plan, bound, state, &mut view);
        count(counters, &view);
        if view.parsed.tags.unparsed {
            keep(&mut self.unparsed, (record.offset, line.index), plan, &view);
        }

        let first_target = out.targets.len() as u32;
        let disposition = match unparsed(plan, &view) {
            _ if passage == Passage::Dropped => Disposition::Dropped(DropReason::Step),
            Some(disposition) => disposition,
            None => route(destinations, (plan, bound), (generation, &view), out, counters),
        };
        let mut event = Event {
            targets: (first_target, out.targets.len() as u32),
            disposition,
            ..unwritten(record, &view, (line.index, lines), out)
        };
        out.action_target = bound.action_target;
        if !matches!(disposition, Disposition::Dropped(_)) {
            if let Some(target) = bound.action_target {
                write_action_of((target, bound.action_form), &self.encoded, &event, out);
            }
            let document =
                Document { timestamp_source, record: &self.encoded, host_and_labels, view: &view };
            document.write(out, &mut event, &mut self.encode);
        }
        out.events.push(event);
    }
}

/// The rank of a line whose parser found none: what was peeled off says it, else its record.
fn find_rank(
    plan: &Plan,
    record: &RecordState,
    view: &View<'_>,
    marks: Option<Marks<'_>>,
) -> Option<i64> {
    let marked = marks.and_then(|marks| marks.rank.or(marks.task));
    let [of_record, node] = record.ranks;
    if let Some(rank) = marked.or(of_record) {
        return Some(i64::from(rank));
    }
    let (per_node, node) = (plan.rank.per_node?.get(), node?);
    let local = match marks.and_then(|marks| marks.local_rank) {
        None => text_of(&view.parsed, "local_rank").and_then(|text| text.parse().ok()),
        local => local,
    };
    // With one process a node there is but one that the line can be of.
    let local = local.or((per_node == 1).then_some(0))?;
    (local < per_node).then(|| i64::from(node) * i64::from(per_node) + i64::from(local))
}

/// Gives the event the targets that its routes lead to.
fn route(
    destinations: &mut DestinationCache,
    (plan, bound): (&Plan, &Bound),
    (generation, view): (u64, &View<'_>),
    out: &mut EventBuffer,
    counters: &mut Counters,
) -> Disposition {
    let mask = destinations.route(plan, bound, generation, view);
    if mask == 0 {
        counters.no_route += 1;
        return Disposition::DeadLetter(DeadReason::NoRoute);
    }
    destinations.push_targets(plan, bound, (mask, generation), view, out, counters);
    Disposition::Routed
}

/// An event before it is routed and its document is written.
fn unwritten(
    record: &Record<'_>,
    view: &View<'_>,
    (index, lines): (u32, Lines),
    out: &EventBuffer,
) -> Event {
    Event {
        action_at: position(&out.bytes),
        doc: (0, 0),
        message_at: 0,
        id: (0, 0),
        level: view.parsed.level,
        targets: (0, 0),
        disposition: Disposition::Routed,
        first_offset: record.offset,
        last_offset: lines.last_offset,
        index,
        record_time_ms: record.time_ms,
        time_ns: view.parsed.time_ns.unwrap_or(record.received_ns),
        joined: lines.joined,
    }
}

/// What the policy says about a line that no parser accepted; `None` where it is routed.
fn unparsed(plan: &Plan, view: &View<'_>) -> Option<Disposition> {
    match plan.unparsed {
        _ if !view.parsed.tags.unparsed => None,
        UnparsedPolicy::Keep => None,
        UnparsedPolicy::DeadLetter => Some(Disposition::DeadLetter(DeadReason::Unparsed)),
        UnparsedPolicy::Drop => Some(Disposition::Dropped(DropReason::Unparsed)),
    }
}

fn count(counters: &mut Counters, view: &View<'_>) {
    let tags = view.parsed.tags;
    counters.lines += 1;
    counters.cut += u64::from(tags.cut);
    counters.unparsed += u64::from(tags.unparsed);
    counters.time_failures += u64::from(tags.time_failure);
    counters.unknown_hosts += u64::from(view.host.is_unknown());
}

#[cfg(test)]
mod tests;
