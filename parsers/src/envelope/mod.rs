//! Envelopes: what a shipper wraps around a line before it reaches Kafka.
//!
//! Invariant: a value is taken for an envelope only when it carries the shipper's own marks; a JSON
//! log line is a raw line like any other. Every line of an envelope is given, in order, or the
//! value is left as it is. Next on the trip: [`crate::lines`] splits the message.

mod cri;
mod docker;
mod fields;
mod filebeat;
mod flat;
mod fluent_bit;
mod journald;
mod loki;
mod many;
mod otlp;
mod pack;
mod scan;
mod stamp;
mod taker;
#[cfg(test)]
mod tests;
mod text;
mod vector;

use std::ops::ControlFlow;

use crate::fields::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
pub use fields::EnvelopeFields;
use flat::{Flat, Slot};
use many::Many;
pub use stamp::stamp as parse_stamp;
use taker::Whole;
pub use taker::{Piece, Taker};
use text::Text;

/// Which envelopes a source looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EnvelopeKind {
    /// Values are raw lines.
    None,
    /// Each value is looked at: the known envelopes are taken off, up to [`DEPTH_MAX`] around each
    /// other; anything else is a raw line.
    #[default]
    Auto,
    /// Filebeat's alone: any object with a `message`.
    Filebeat,
    /// Fluent Bit's alone: any object with a `log`, or else a `message`.
    FluentBit,
    /// Vector's alone: any object with a `message`.
    Vector,
    /// The lines of container runtimes alone: `TIME stdout F TEXT`.
    Cri,
    /// Docker's alone: any object with a `log`.
    Docker,
    /// OpenTelemetry's alone, in JSON or protobuf.
    Otlp,
    /// Loki's push requests alone.
    Loki,
    /// The journal's alone: any object with a `MESSAGE`.
    Journald,
    /// Those of promtail's `pack` stage alone: any object of texts with an `_entry`.
    Pack,
}

/// What an envelope said about its line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Envelope {
    /// The wrapped bytes, one line or several. They are UTF-8 but where a shipper passes on bytes
    /// that are none.
    pub message: Vec<u8>,
    /// The host that the shipper ran on: of envelopes around each other, what the innermost says.
    pub host: Option<String>,
    /// The shipper's time of the line, nanoseconds since the epoch; not when the event happened.
    pub time_ns: Option<i64>,
    /// Every other scalar by its dotted path: `fields.task`, `kubernetes.labels.job`. Bounded, see
    /// [`FIELDS_MAX`].
    pub fields: EnvelopeFields,
    /// The shipper, as a metric label; of envelopes around each other the outermost.
    pub kind: &'static str,
    /// Whether the message is a line, or a piece of one.
    pub piece: Piece,
    /// How many envelopes came off.
    pub depth: usize,
}

/// More fields than this are left out: no shipper sends as many, and what is kept is held in
/// memory.
pub const FIELDS_MAX: usize = 512;
/// Envelopes around each other; one more is left on, as a raw line.
pub const DEPTH_MAX: usize = 3;
/// Lines in one envelope. With more of them the value is taken for none, and is a raw line.
pub const LINES_MAX: usize = 100_000;

/// Labels of Loki and promtail.
const LABELS: &str = "labels.";

/// Who is given envelopes.
type Each<'e> = dyn Taker + 'e;

/// How a shipper's file takes an object apart.
struct Taken {
    kind: &'static str,
    line: Slot,
    host: Option<Text>,
    time_ns: Option<i64>,
}

/// Takes envelopes off. One per worker; holds what is reused from value to value.
#[derive(Debug, Default)]
pub struct Unwrapper {
    envelope: Envelope,
    path: String,
    /// Messages that envelopes were in.
    spare: Vec<Vec<u8>>,
}

impl Unwrapper {
    /// One that has seen nothing.
    pub fn new() -> Unwrapper {
        Unwrapper::default()
    }

    /// Takes the envelopes off a value and gives them to `each`, in their order, until it breaks;
    /// false, and nothing given, when the value is a raw line itself.
    pub fn run(
        &mut self,
        kind: EnvelopeKind,
        value: &[u8],
        each: &mut dyn FnMut(&Envelope) -> ControlFlow<()>,
    ) -> bool {
        self.run_pieces(kind, value, &mut Whole(each))
    }

    /// As [`Unwrapper::run`], for whoever puts pieces of lines together.
    pub fn run_pieces(&mut self, kind: EnvelopeKind, value: &[u8], taker: &mut dyn Taker) -> bool {
        if kind == EnvelopeKind::None || value.len() > TEXT_BYTES_MAX {
            return false;
        }
        self.envelope.fields.truncate(0);
        self.envelope.host = None;
        self.envelope.time_ns = None;
        self.envelope.piece = Piece::Whole;
        self.level(kind, value, 0, taker).is_some()
    }

    /// Takes the envelopes off that are left inside of `outer`, whose message was put together.
    pub fn run_inside(
        &mut self,
        kind: EnvelopeKind,
        (outer, message): (&Envelope, &[u8]),
        each: &mut dyn FnMut(&Envelope) -> ControlFlow<()>,
    ) -> bool {
        let is_deep = outer.depth >= DEPTH_MAX;
        if kind != EnvelopeKind::Auto || is_deep || message.len() > TEXT_BYTES_MAX {
            return false;
        }
        let known = &mut self.envelope;
        known.fields.clone_from(&outer.fields);
        known.host.clone_from(&outer.host);
        (known.time_ns, known.kind) = (outer.time_ns, outer.kind);
        known.piece = Piece::Whole;
        self.level(kind, message, outer.depth, &mut Whole(each)).is_some()
    }

    /// One envelope, inside of `depth` others; `None`, and nothing changed, when it is none.
    fn level(
        &mut self,
        kind: EnvelopeKind,
        value: &[u8],
        depth: usize,
        each: &mut Each<'_>,
    ) -> Option<ControlFlow<()>> {
        // The length behind the first byte of protobuf may be any character, a brace too: it is
        // asked before JSON.
        if value.first() == Some(&b'\n')
            && let Some(flow) = self.protobuf(kind, value, depth, each)
        {
            return Some(flow);
        }
        // All other lines cost a look at two bytes.
        if value.trim_ascii_start().first() != Some(&b'{') {
            return self.lines_of_runtime(kind, value, depth, each);
        }
        let base = self.envelope.fields.len();
        let flat = Flat::read(value, &mut self.path, &mut self.envelope.fields);
        let found = flat.and_then(|flat| {
            if let Some(flow) = self.many(kind, &flat, (depth, base), each) {
                return Some(flow);
            }
            let taken = recognise(kind, &flat)?;
            Some(self.one(kind, &flat, &taken, (depth, base), each))
        });
        if found.is_none() {
            self.envelope.fields.truncate(base);
        }
        found
    }

    /// An envelope of one message.
    fn one(
        &mut self,
        kind: EnvelopeKind,
        flat: &Flat<'_>,
        taken: &Taken,
        (depth, base): (usize, usize),
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        flat.push_others(taken.line, &mut self.envelope.fields);
        if taken.line == Slot::Entry {
            pack::relabel(&mut self.envelope.fields, base);
        }
        if let Some(host) = taken.host {
            self.set_host(&flat.source.to_string(host));
        }
        self.envelope.time_ns = taken.time_ns.or(self.envelope.time_ns);
        if depth == 0 {
            self.envelope.kind = taken.kind;
        }
        if taken.line == Slot::JournalMessage {
            journald::push_bytes(flat, &mut self.envelope.fields);
        }
        let mut message = self.take_buffer();
        if let Some(text) = flat.text(taken.line) {
            flat.source.decode(text, &mut message);
        } else {
            let bytes = flat.journal_bytes.and_then(|array| journald::bytes(flat, array));
            message.extend_from_slice(&bytes.unwrap_or_default());
        }
        if taken.kind == docker::KIND {
            self.envelope.piece = docker::piece(flat, taken, &message);
        }
        self.give(kind, message, depth, each)
    }

    /// Lines of a container runtime.
    fn lines_of_runtime(
        &mut self,
        kind: EnvelopeKind,
        value: &[u8],
        depth: usize,
        each: &mut Each<'_>,
    ) -> Option<ControlFlow<()>> {
        let is_looked_for = matches!(kind, EnvelopeKind::Auto | EnvelopeKind::Cri);
        if !is_looked_for || !cri::is_lines(value) {
            return None;
        }
        if depth == 0 {
            self.envelope.kind = "cri";
        }
        Some(cri::give(value, &mut Many { unwrapper: self, kind, depth, each }))
    }

    /// An envelope of many messages in JSON.
    fn many(
        &mut self,
        kind: EnvelopeKind,
        flat: &Flat<'_>,
        (depth, base): (usize, usize),
        each: &mut Each<'_>,
    ) -> Option<ControlFlow<()>> {
        let source = &flat.source;
        let is = |only| kind == EnvelopeKind::Auto || kind == only;
        let fits = |lines: Option<usize>| lines.is_some_and(in_bounds);
        let logs = flat.resource_logs.filter(|_| is(EnvelopeKind::Otlp));
        let logs = logs.filter(|logs| fits(otlp::json::count(source, *logs)));
        let streams = flat.streams.filter(|_| is(EnvelopeKind::Loki));
        let streams = streams.filter(|streams| fits(loki::count(source, *streams)));
        if logs.is_none() && streams.is_none() {
            return None;
        }
        // What stands beside the lines is no field of them.
        self.envelope.fields.truncate(base);
        if depth == 0 {
            self.envelope.kind = if logs.is_some() { "otlp" } else { "loki" };
        }
        let mut many = Many { unwrapper: self, kind, depth, each };
        Some(match (logs, streams) {
            (Some(logs), _) => otlp::json::give(source, logs, &mut many),
            (None, Some(streams)) => loki::give(source, streams, &mut many),
            (None, None) => ControlFlow::Continue(()),
        })
    }

    /// A request in protobuf begins with the tag of its one field, which is a line end.
    fn protobuf(
        &mut self,
        kind: EnvelopeKind,
        value: &[u8],
        depth: usize,
        each: &mut Each<'_>,
    ) -> Option<ControlFlow<()>> {
        let is_looked_for = matches!(kind, EnvelopeKind::Auto | EnvelopeKind::Otlp);
        if !is_looked_for || !in_bounds(otlp::wire::count(value)?) {
            return None;
        }
        if depth == 0 {
            self.envelope.kind = "otlp";
        }
        Some(otlp::wire::give(value, &mut Many { unwrapper: self, kind, depth, each }))
    }

    /// Gives the envelope away with this message, or those that the message is.
    fn give(
        &mut self,
        kind: EnvelopeKind,
        message: Vec<u8>,
        depth: usize,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        let mut message = message;
        self.envelope.depth = depth + 1;
        if self.envelope.piece != Piece::Whole {
            // What is a piece of an envelope may look like one itself.
            self.envelope.message = message;
            if let Some(flow) = each.piece(&self.envelope) {
                return flow;
            }
            self.envelope.piece = Piece::Whole;
            message = std::mem::take(&mut self.envelope.message);
        }
        if kind == EnvelopeKind::Auto
            && depth + 1 < DEPTH_MAX
            && let Some(flow) = self.level(kind, &message, depth + 1, each)
        {
            self.spare.push(message);
            return flow;
        }
        self.envelope.depth = depth + 1;
        self.envelope.message = message;
        each.take(&self.envelope)
    }

    /// An empty buffer: that of the last message, if no envelope is around it.
    fn take_buffer(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.envelope.message);
        if buffer.capacity() == 0 {
            buffer = self.spare.pop().unwrap_or_default();
        }
        buffer.clear();
        buffer
    }

    fn set_host(&mut self, host: &str) {
        let host = &host[..host.floor_char_boundary(NAME_BYTES_MAX)];
        let known = self.envelope.host.get_or_insert_default();
        known.clear();
        known.push_str(host);
    }
}

/// A value without a line is a raw line too, so that every record has one.
fn in_bounds(lines: usize) -> bool {
    (1..=LINES_MAX).contains(&lines)
}

/// Asks the shippers whose envelopes hold one message, those with the surest marks first.
fn recognise(kind: EnvelopeKind, flat: &Flat<'_>) -> Option<Taken> {
    match kind {
        EnvelopeKind::None | EnvelopeKind::Otlp | EnvelopeKind::Loki | EnvelopeKind::Cri => None,
        EnvelopeKind::Auto => filebeat::take(flat, false)
            .or_else(|| vector::take(flat, false))
            .or_else(|| fluent_bit::take(flat, false))
            .or_else(|| docker::take(flat, false))
            .or_else(|| journald::take(flat, false))
            .or_else(|| pack::take(flat)),
        EnvelopeKind::Filebeat => filebeat::take(flat, true),
        EnvelopeKind::Vector => vector::take(flat, true),
        EnvelopeKind::FluentBit => fluent_bit::take(flat, true),
        EnvelopeKind::Docker => docker::take(flat, true),
        EnvelopeKind::Journald => journald::take(flat, true),
        EnvelopeKind::Pack => pack::take(flat),
    }
}
