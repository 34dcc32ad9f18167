//! The events of a `_bulk` request: for each an action line with its index and id, then its
//! document, as it was encoded.
//!
//! Invariant: every event is sent under its event id, so that a repeat meets its twin.
//! Where a stretch of a batch's bytes is already what the request says, the body points at it and
//! copies nothing. Next stop: [`super::request`].

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use riverhog_rules::ActionForm;
use riverhog_rules::transform::write_action;

use super::body::Body;
use crate::sink::{Batch, SinkNumber};

/// What an action line takes beside index and id.
const ACTION_BYTES: usize = r#"{"create":{"_index":"","_id":""}}"#.len() + 2;

/// What each further part of a destination takes beside its text, at most.
const PART_BYTES: usize = r#","pipeline":"""#.len();

/// A shorter stretch is copied: a piece of its own costs more than its bytes.
const STRETCH_BYTES_MIN: usize = 32 << 10;

/// Bytes of one piece of copies.
const COPIES_BYTES: usize = 256 << 10;

/// One event in a request: its batch (by number in the request), event and destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Which of the request's batches.
    pub(super) batch: u32,
    /// Event number in the batch.
    pub(super) event: u32,
    /// Destination number in the batch.
    pub(super) destination: u32,
}

/// What a sink's events look like in a body.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemForm {
    /// What action lines say.
    pub(super) action: ActionForm,
    /// Documents end before `message`.
    pub(super) omit_message: bool,
}

/// Bytes that an event takes in a body, as far as nothing in its action line is escaped.
pub(super) fn item_bytes(batch: &Batch, event: u32, destination: u32, form: ItemForm) -> usize {
    let entry = &batch.events.events[event as usize];
    let end = if form.omit_message { entry.message_at + 1 } else { entry.doc.1 };
    let parts = batch.events.destinations.get(destination);
    let parts = parts.iter().map(|part| part.len() + PART_BYTES).sum::<usize>();
    (end - entry.doc.0) as usize + (entry.id.1 - entry.id.0) as usize + parts + ACTION_BYTES
        - PART_BYTES
}

/// The index an event goes to.
pub(super) fn index_of(batch: &Batch, destination: u32) -> &str {
    batch.events.destinations.get(destination).first().map_or("", |part| part)
}

/// Builds the body of one sink's items.
pub(super) struct BodyBuilder<'a> {
    batches: &'a [Arc<Batch>],
    sink: SinkNumber,
    form: ItemForm,
    body: Body,
    copies: Vec<u8>,
    /// Bytes of the last piece of copies, which the next one is likely to have too.
    copies_before: usize,
    /// A stretch of a batch's bytes that is to come next, by the batch's number.
    stretch: (u32, Range<usize>),
    /// The bytes of the batch that a stretch was last sent of.
    shared: Option<(u32, Bytes)>,
}

impl<'a> BodyBuilder<'a> {
    pub(super) fn new(
        batches: &'a [Arc<Batch>],
        sink: SinkNumber,
        form: ItemForm,
    ) -> BodyBuilder<'a> {
        BodyBuilder {
            batches,
            sink,
            form,
            body: Body::default(),
            copies: Vec::new(),
            copies_before: 0,
            stretch: (0, 0..0),
            shared: None,
        }
    }

    /// Adds an event.
    pub(super) fn push(&mut self, item: Item) {
        let batch = &self.batches[item.batch as usize];
        let entry = &batch.events.events[item.event as usize];
        let is_ready = batch.events.action_target.map(usize::from) == Some(self.sink)
            && entry.action_at < entry.doc.0
            && !self.form.omit_message;
        if !is_ready {
            self.end_stretch();
            self.make_room();
            push_item(&mut self.copies, batch, item, self.form);
            return;
        }
        // With its newline.
        let place = entry.action_at as usize..entry.doc.1 as usize + 1;
        if self.stretch.0 == item.batch && self.stretch.1.end == place.start {
            self.stretch.1.end = place.end;
        } else {
            self.end_stretch();
            self.stretch = (item.batch, place);
        }
    }

    /// The body of what was added.
    pub(super) fn finish(mut self) -> Body {
        self.end_stretch();
        self.end_copies();
        self.body
    }

    fn end_stretch(&mut self) {
        let (number, place) = std::mem::take(&mut self.stretch);
        if place.is_empty() {
            return;
        }
        let batch = &self.batches[number as usize];
        if place.len() < STRETCH_BYTES_MIN {
            self.make_room();
            self.copies.extend_from_slice(&batch.events.bytes[place]);
            return;
        }
        self.end_copies();
        let piece = match &self.shared {
            Some((of, bytes)) if *of == number => bytes.slice(place),
            _ => {
                let bytes = Bytes::from_owner(Shared(Arc::clone(batch)));
                let piece = bytes.slice(place);
                self.shared = Some((number, bytes));
                piece
            }
        };
        self.body.push(piece);
    }

    fn make_room(&mut self) {
        if self.copies.len() >= COPIES_BYTES {
            self.end_copies();
        }
        if self.copies.capacity() == 0 {
            self.copies.reserve(self.copies_before + STRETCH_BYTES_MIN);
        }
    }

    fn end_copies(&mut self) {
        self.copies_before = self.copies.len().min(COPIES_BYTES);
        self.body.push(std::mem::take(&mut self.copies).into());
    }
}

/// A batch whose bytes a request points at.
struct Shared(Arc<Batch>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0.events.bytes
    }
}

/// Appends one event to a body.
fn push_item(body: &mut Vec<u8>, batch: &Batch, item: Item, form: ItemForm) {
    let entry = &batch.events.events[item.event as usize];
    let bytes = &batch.events.bytes;
    let parts = batch.events.destinations.get(item.destination);
    write_action(body, form.action, parts, |body| {
        body.extend_from_slice(&bytes[entry.id.0 as usize..entry.id.1 as usize]);
    });
    if form.omit_message {
        body.extend_from_slice(&bytes[entry.doc.0 as usize..entry.message_at as usize]);
        body.push(b'}');
    } else {
        body.extend_from_slice(&bytes[entry.doc.0 as usize..entry.doc.1 as usize]);
    }
    body.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use riverhog_rules::condition::Condition;
    use riverhog_rules::event::EventBuffer;
    use riverhog_rules::names::Names;
    use riverhog_rules::plan::{Plan, Target};
    use riverhog_rules::route::Route;
    use riverhog_rules::sanitise::TargetKind;
    use riverhog_rules::template::Template;
    use riverhog_rules::transform::{Line, ReceivedSource, Record, Transformer};
    use tokio::sync::Notify;

    use super::*;
    use crate::delivery_rules::DeliveryRules;
    use crate::generation::Generation;
    use crate::source::{Assigned, Partition, RecordBatch};

    /// A batch whose bytes are ready for a sink; where an event goes nowhere its document has no
    /// action line.
    fn batch(ready_for: u8, messages: &[(bool, usize)]) -> Arc<Batch> {
        let partition = Partition { topic: Arc::from("train"), number: 3 };
        let assigned = Assigned {
            partition: partition.clone(),
            epoch: 1,
            position: 0,
            metadata: Vec::new(),
            end_offset: 1,
            incarnation: None,
        };
        let settled = Arc::new(Notify::new());
        let (lineage, rules) = (Arc::from("c0ffee00"), DeliveryRules::all());
        let generation = Generation::new(&assigned, lineage, vec![0], settled, rules);
        Arc::new(Batch {
            sequence: 0,
            first_event: 0,
            generation: Arc::new(generation),
            events: events(ready_for, messages).into(),
            records: Arc::new(RecordBatch::empty(partition)),
            place: None,
        })
    }

    /// Events as the transform writes them, with messages of these lengths.
    fn events(ready_for: u8, messages: &[(bool, usize)]) -> EventBuffer {
        let names = Names::new();
        let target = |omit_message| Target {
            name: "search".to_owned(),
            destinations: vec![Template::compile("logs", &names).unwrap()],
            omit_message,
            action: ActionForm::default(),
            kind: TargetKind::Index,
        };
        let when = Some(Condition::compile(r#"key == "routed""#, &names).unwrap());
        let plan = Plan {
            routes: vec![Route { name: None, when, sinks: 0b11 }],
            targets: vec![target(ready_for != 0), target(false)],
            ..Plan::default()
        };
        let mut transformer = Transformer::new(Arc::new(plan));
        let mut events = EventBuffer::new();
        for (offset, (is_routed, length)) in messages.iter().enumerate() {
            let record = Record {
                topic: "train",
                partition: 3,
                offset: offset as i64,
                key: is_routed.then_some(b"routed"),
                headers: &[],
                received_ns: 0,
                received_source: ReceivedSource::CreateTime,
                envelope: None,
                lineage: "c0ffee00",
                time_ms: 0,
            };
            transformer.begin_record(&record);
            let raw = "x".repeat(*length);
            let line = Line { raw: raw.as_bytes(), index: 0, cut: false, returns: false };
            transformer.line(&record, &line, &mut events);
        }
        assert_eq!(events.action_target, Some(ready_for));
        events
    }

    fn form(omit_message: bool) -> ItemForm {
        ItemForm { omit_message, ..ItemForm::default() }
    }

    /// The body of items (batch, event) for sink 0, with the number of its pieces.
    fn body(batches: &[Arc<Batch>], items: &[(u32, u32)], omit: bool) -> (String, usize) {
        let mut builder = BodyBuilder::new(batches, 0, form(omit));
        for (batch, event) in items {
            builder.push(Item { batch: *batch, event: *event, destination: 0 });
        }
        let body = builder.finish();
        let pieces = body.pieces();
        (String::from_utf8(body.to_bytes().to_vec()).unwrap(), pieces)
    }

    /// What the body must say.
    fn expected(batches: &[Arc<Batch>], items: &[(u32, u32)], omit: bool) -> String {
        let mut text = String::new();
        for (batch, event) in items {
            let events = &batches[*batch as usize].events;
            let entry = &events.events[*event as usize];
            let id = events.id(entry);
            writeln!(text, r#"{{"create":{{"_index":"logs","_id":"{id}"}}}}"#).unwrap();
            let document = if omit {
                [events.document_without_message(entry), b"}"].concat()
            } else {
                events.document(entry).to_vec()
            };
            writeln!(text, "{}", String::from_utf8(document).unwrap()).unwrap();
        }
        text
    }

    #[track_caller]
    fn check(batches: &[Arc<Batch>], items: &[(u32, u32)], pieces: usize) {
        let (said, in_pieces) = body(batches, items, false);
        assert!(said == expected(batches, items, false), "the body is not what its items say");
        assert_eq!(in_pieces, pieces);
        let (said, _) = body(batches, items, true);
        assert_eq!(said, expected(batches, items, true));
    }

    #[test]
    fn neighbours_are_one_stretch_that_is_not_copied() {
        let batches = [batch(0, &[(true, 20_000); 5]), batch(0, &[(true, 40_000); 2])];
        check(&batches, &[(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)], 2);
        let mut builder = BodyBuilder::new(&batches, 0, ItemForm::default());
        for event in 1..4 {
            builder.push(Item { batch: 0, event, destination: 0 });
        }
        let at = batches[0].events.events[1].action_at as usize;
        assert_eq!(builder.finish().to_bytes().as_ptr(), batches[0].events.bytes[at..].as_ptr());
    }

    #[test]
    fn an_event_left_out_ends_a_stretch_and_short_ones_are_copied() {
        let batches = [batch(0, &[(true, 40_000), (true, 10), (true, 50_000), (true, 5)])];
        check(&batches, &[(0, 0), (0, 2)], 2);
        check(&batches, &[(0, 1), (0, 3)], 1);
        check(&batches, &[(0, 0), (0, 2), (0, 3)], 2);
        check(&batches, &[(0, 3), (0, 0), (0, 2)], 3);
        check(&batches, &[], 0);
    }

    #[test]
    fn bytes_that_are_ready_for_another_sink_or_for_none_are_copied() {
        let items = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let elsewhere = [(false, 100), (true, 40_000)];
        check(&[batch(1, &[(true, 40_000); 2]), batch(0, &elsewhere)], &items, 2);
    }

    #[test]
    fn copies_come_in_pieces_of_bounded_size() {
        let batches = [batch(1, &[(true, 1000); 700])];
        let items: Vec<(u32, u32)> = (0..700).map(|event| (0, event)).collect();
        check(&batches, &items, 4);
    }
}
