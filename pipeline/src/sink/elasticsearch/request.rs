//! One bulk request, from its first try until each of its items is done, refused into the dead
//! letters, or given up with its halted destination.
//!
//! Invariants: an item keeps its memory and the request its in-flight permit through every retry;
//! only items that failed are sent again; nothing but a readable answer settles a line. Next stop:
//! [`crate::generation`].

use std::sync::Arc;

use super::Shared;
use super::body::Body;
use super::items::{BodyBuilder, Item, index_of};
use super::limit::Load;
use super::response::{ItemError, ItemResult, read_items, request_error};
use super::transport::{BulkAnswer, TransportError};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::clock;
use crate::generation::InFlight;
use crate::sink::dead_letter::DeadLetter;
use crate::sink::destination::{Fate, Halt, WHOLE_SINK};
use crate::sink::outcome::{BulkItemOutcome, BulkRequestOutcome, bulk_item, bulk_request};
use crate::sink::refusals::TooMany;
use crate::sink::{Batch, Delivery};

/// The reason of destinations that refuse more than `halt_above`.
pub(super) const REFUSED_ABOVE: &str = "refused_above";

/// What one try of a group of items led to.
enum Tried {
    /// Every item has its result.
    Answered(Vec<ItemResult>),
    /// Again later, after at least this wait.
    Again(String, Option<std::time::Duration>),
    /// Too large.
    Split(String),
    /// The store cannot read it.
    Refused(String),
    /// The whole sink is halted.
    Halted(Halt),
}

/// A request under way.
pub(super) struct Request {
    shared: Arc<Shared>,
    batches: Vec<Arc<Batch>>,
    /// Held until the request ends: a revoke waits for it.
    _in_flight: Vec<InFlight>,
}

impl Request {
    /// A request of these deliveries.
    pub(super) fn new(shared: Arc<Shared>, deliveries: &[Delivery]) -> (Request, Vec<Item>) {
        let mut items = Vec::with_capacity(deliveries.iter().map(|d| d.events.len()).sum());
        for (batch, delivery) in deliveries.iter().enumerate() {
            let batch = batch as u32;
            let of_batch = delivery.events.iter();
            items.extend(of_batch.map(|&(event, destination)| Item { batch, event, destination }));
        }
        let batches: Vec<Arc<Batch>> = deliveries.iter().map(|d| Arc::clone(&d.batch)).collect();
        let in_flight = batches.iter().map(|batch| InFlight::begin(&batch.generation)).collect();
        (Request { shared, batches, _in_flight: in_flight }, items)
    }

    /// Sends until nothing is owed any more.
    pub(super) async fn deliver(self, items: Vec<Item>) {
        let mut backoff = self.shared.context.backoff();
        let mut groups = vec![items];
        while let Some(group) = groups.pop() {
            let group = self.still_owed(group).await;
            if group.is_empty() {
                continue;
            }
            match self.try_once(&group).await {
                Tried::Answered(results) => {
                    let (again, why) = self.take_results(&group, results).await;
                    if !again.is_empty() {
                        self.wait(&mut backoff, &why, again.len(), None).await;
                        groups.push(again);
                    }
                }
                Tried::Again(why, asked) => {
                    self.wait(&mut backoff, &why, group.len(), asked).await;
                    groups.push(group);
                }
                Tried::Split(why) => self.halve(&mut groups, group, "too_large", &why).await,
                Tried::Refused(why) => self.halve(&mut groups, group, "refused", &why).await,
                Tried::Halted(halt) => self.halt(WHOLE_SINK, halt, &group),
            }
        }
    }

    /// Leaves out what belongs to an ended generation, and what a halt holds back or diverts.
    async fn still_owed(&self, items: Vec<Item>) -> Vec<Item> {
        let Shared { context, destinations, .. } = &*self.shared;
        let all_open = destinations.all_open();
        let (mut given_up, mut diverted) = (Vec::new(), Vec::new());
        let mut owed = Vec::with_capacity(items.len());
        for item in items {
            let batch = self.batch(item);
            if !batch.generation.is_alive() {
                continue;
            }
            if all_open {
                owed.push(item);
                continue;
            }
            let index = index_of(batch, item.destination);
            match destinations.fate(context, &batch.generation, index) {
                Fate::Open => owed.push(item),
                Fate::GivenUp => given_up.push(item),
                Fate::Divert(halt) => diverted.push((item, halt)),
            }
        }
        self.count_given_up(&given_up);
        for (item, halt) in diverted {
            self.bury(item, "halted", format!("{}: {}", halt.reason, halt.detail)).await;
        }
        owed
    }

    async fn try_once(&self, items: &[Item]) -> Tried {
        let shared = &self.shared;
        let body = self.body(items);
        let size = body.len();
        shared.context.metrics.sink_bytes(&shared.context.name, size as u64);
        let started = clock::instant();
        let answer = shared.transport.send(body).await;
        let seconds = started.elapsed().as_secs_f64();
        shared.context.metrics.sink_request_seconds(&shared.context.name, seconds);
        let (is_late, status) = match &answer {
            Ok(answer) => (false, answer.status),
            Err(error) => (matches!(error, TransportError::Timeout(_)), 0),
        };
        let tried =
            read_answer(answer, items.len(), shared.context.rules.bulk_answers_are_read_by_item);
        let outcome = match &tried {
            Tried::Answered(_) => "answered",
            Tried::Again(..) => "retry",
            Tried::Split(_) => "split",
            Tried::Refused(_) => "refused",
            Tried::Halted(_) => "halt",
        };
        shared.context.metrics.sink_requests(&shared.context.name, outcome);
        let asked_for_less = |tried: &Tried| match tried {
            Tried::Answered(results) => results.iter().any(|result| result.status == 429),
            _ => is_late || matches!(status, 408 | 429 | 503),
        };
        let is_full = size * 2 >= shared.settings.batch_bytes
            || items.len() * 2 >= shared.settings.batch_count;
        let load = match &tried {
            tried if asked_for_less(tried) => Load::Overloaded,
            Tried::Answered(_) if is_full => Load::Full,
            Tried::Answered(_) => Load::Small,
            _ => Load::Unknown,
        };
        self.note_load(started, load);
        tried
    }

    /// Lets more or fewer requests be in flight, by what a try led to.
    fn note_load(&self, started: Instant, load: Load) {
        let context = &self.shared.context;
        let Some(limit) = self.shared.limit.note(started, load, clock::instant()) else { return };
        context.metrics.sink_in_flight_limit(&context.name, limit);
        tracing::debug!(sink = &*context.name, limit, ?load, "requests in flight are limited");
    }

    /// Settles, refuses and halts by item; returns what is to be sent again, and why.
    async fn take_results(&self, items: &[Item], results: Vec<ItemResult>) -> (Vec<Item>, String) {
        let mut done = Vec::with_capacity(items.len());
        let mut known = Vec::new();
        let mut again = Vec::new();
        let mut why = String::new();
        self.count_answered(items);
        for (item, result) in items.iter().zip(results) {
            let error = result.error.unwrap_or_default();
            match bulk_item(result.status, &error.kind, &error.reason) {
                BulkItemOutcome::Done => done.push(*item),
                BulkItemOutcome::Known if self.shared.context.rules.own_conflict_is_done => {
                    known.push(*item);
                }
                BulkItemOutcome::Retry => {
                    if why.is_empty() {
                        why = describe(result.status, &error);
                    }
                    again.push(*item);
                }
                // A name that was made of the line is the line's fault.
                BulkItemOutcome::Halt("no_pipeline") if !self.shared.settings.pipeline_is_fixed => {
                    self.refuse(*item, ("refused", None), describe(result.status, &error)).await;
                }
                BulkItemOutcome::Halt(reason) => {
                    let detail = describe(result.status, &error);
                    let index = index_of(self.batch(*item), item.destination).to_owned();
                    self.halt(&index, Halt { reason, detail }, &[*item]);
                }
                BulkItemOutcome::Refused | BulkItemOutcome::Known => {
                    self.refuse(
                        *item,
                        ("refused", Some(&error.kind)),
                        describe(result.status, &error),
                    )
                    .await;
                }
            }
        }
        self.settle(&done, "done");
        self.settle(&known, "known");
        (again, why)
    }

    /// Sends halves next; one document alone is refused.
    async fn halve(
        &self,
        groups: &mut Vec<Vec<Item>>,
        mut items: Vec<Item>,
        reason: &'static str,
        why: &str,
    ) {
        if let [item] = items[..] {
            self.count_answered(&[item]);
            self.refuse(item, (reason, Some(reason)), why.to_owned()).await;
            return;
        }
        let second = items.split_off(items.len() / 2);
        groups.push(second);
        groups.push(items);
    }

    /// Counts lines that were answered, by destination; most neighbours have one.
    fn count_answered(&self, items: &[Item]) {
        let now = clock::instant();
        let mut refusals = self.shared.refusals();
        let same = |one: &Item, other: &Item| {
            (one.batch, one.destination) == (other.batch, other.destination)
        };
        for run in items.chunk_by(same) {
            let index = index_of(self.batch(run[0]), run[0].destination);
            refusals.of(index, now).lines(run.len() as u64, now);
        }
    }

    /// Gives a refused item to the dead letters; `kind`: the store's word. Where too many were
    /// refused for it, the item's destination halts instead; `None`: it is the line's own fault
    /// alone, and no line can halt the index of others.
    async fn refuse(
        &self,
        item: Item,
        (reason, kind): (&'static str, Option<&str>),
        detail: String,
    ) {
        let context = &self.shared.context;
        let batch = self.batch(item);
        let index = index_of(batch, item.destination).to_owned();
        if context.dead_letters.is_none() {
            let reason = "refused_without_dead_letter";
            self.halt(&index, Halt { reason, detail }, &[item]);
            return;
        }
        let now = clock::instant();
        let too_many =
            kind.and_then(|kind| self.shared.refusals().of(&index, now).refused(kind, now));
        if let Some(TooMany { refused, lines }) = too_many {
            let detail = format!("{refused} of {lines} lines in five minutes: {detail}");
            self.halt(&index, Halt { reason: REFUSED_ABOVE, detail }, &[item]);
            return;
        }
        let event = &batch.events.events[item.event as usize];
        let id = &batch.events.bytes[event.id.0 as usize..event.id.1 as usize];
        tracing::warn!(
            sink = &*context.name, destination = %index, reason,
            event_id = %String::from_utf8_lossy(id), detail = %detail,
            "line refused by the store: it goes to the dead letters"
        );
        context.metrics.sink_lines(&context.name, "refused", 1);
        self.bury(item, reason, detail).await;
    }

    /// Gives an item to the dead letters.
    async fn bury(&self, item: Item, reason: &'static str, detail: String) {
        let context = &self.shared.context;
        let Some(dead_letters) = &context.dead_letters else { return };
        let batch = self.batch(item);
        let letter = DeadLetter {
            batch: Arc::clone(batch),
            event: item.event,
            sink: context.number,
            sink_name: Some(Arc::clone(&context.name)),
            destination: index_of(batch, item.destination).to_owned(),
            reason,
            detail,
        };
        dead_letters.send(letter).await;
    }

    /// Halts a destination and gives up these items of it; the first one becomes its probe.
    fn halt(&self, destination: &str, halt: Halt, items: &[Item]) {
        let shared = &self.shared;
        if shared.destinations.halt(&shared.context, destination, halt)
            && let Some(item) = items.first()
        {
            // A copy: a probe must not hold a batch for as long as the halt lasts.
            let body = self.body(&[*item]).to_bytes();
            shared.start_probe(destination.to_owned(), body.into());
            let (sink, destination) = (Arc::clone(shared), destination.to_owned());
            shared.spawn(async move {
                sink.destinations.divert_in_time(&sink.context, &destination).await;
            });
        }
        let mut given_up = Vec::with_capacity(items.len());
        for item in items {
            let batch = self.batch(*item);
            let index = index_of(batch, item.destination);
            // The cure may have come between; then the line is only read again for nothing.
            let fate = shared.destinations.fate(&shared.context, &batch.generation, index);
            if fate != Fate::GivenUp {
                batch.generation.give_up(shared.context.number, destination);
                shared.tell_cured(destination);
            }
            given_up.push(*item);
        }
        self.count_given_up(&given_up);
    }

    fn count_given_up(&self, items: &[Item]) {
        if items.is_empty() {
            return;
        }
        let context = &self.shared.context;
        context.metrics.sink_lines(&context.name, "given_up", items.len() as u64);
        if !context.rules.halted_lines_stay_unsettled {
            self.settle(items, "done");
        }
    }

    fn settle(&self, items: &[Item], outcome: &'static str) {
        let context = &self.shared.context;
        for run in items.chunk_by(|left, right| left.batch == right.batch) {
            let batch = self.batch(run[0]);
            let events = run.iter().map(|item| item.event);
            batch.settle(context.number, events);
        }
        if !items.is_empty() {
            context.metrics.sink_lines(&context.name, outcome, items.len() as u64);
        }
    }

    async fn wait(
        &self,
        backoff: &mut Backoff,
        why: &str,
        lines: usize,
        asked: Option<std::time::Duration>,
    ) {
        let context = &self.shared.context;
        let wait = backoff.next(&context.jitter, asked);
        context.metrics.sink_lines(&context.name, "retry", lines as u64);
        tracing::warn!(
            sink = &*context.name, lines, attempt = backoff.attempts(),
            wait_ms = wait.as_millis() as u64, reason = %why, "sending again"
        );
        tokio::time::sleep(wait).await;
    }

    fn body(&self, items: &[Item]) -> Body {
        let Shared { context, settings, .. } = &*self.shared;
        let mut builder = BodyBuilder::new(&self.batches, context.number, settings.form());
        for item in items {
            builder.push(*item);
        }
        builder.finish()
    }

    fn batch(&self, item: Item) -> &Arc<Batch> {
        &self.batches[item.batch as usize]
    }
}

/// The bulk-request column applied, and the answer read.
fn read_answer(answer: Result<BulkAnswer, TransportError>, sent: usize, by_item: bool) -> Tried {
    let answer = match answer {
        Ok(answer) => answer,
        Err(TransportError::Tls(detail)) => return Tried::Halted(Halt { reason: "tls", detail }),
        Err(error) => return Tried::Again(error.to_string(), None),
    };
    let why = || format!("{}: {}", answer.status, request_error(&answer.body));
    match bulk_request(answer.status) {
        BulkRequestOutcome::ReadItems if !by_item => {
            let done = ItemResult { status: 201, error: None };
            Tried::Answered(vec![done; sent])
        }
        BulkRequestOutcome::ReadItems => match read_items(&answer.body, sent) {
            Ok(results) => Tried::Answered(results),
            Err(unreadable) => Tried::Again(unreadable.to_string(), None),
        },
        BulkRequestOutcome::Retry => Tried::Again(why(), answer.retry_after),
        BulkRequestOutcome::Split => Tried::Split(why()),
        BulkRequestOutcome::Refused => Tried::Refused(why()),
        BulkRequestOutcome::Halt(reason) => Tried::Halted(Halt { reason, detail: why() }),
    }
}

fn describe(status: u16, error: &ItemError) -> String {
    if error.kind.is_empty() {
        format!("{status}: {}", error.reason)
    } else {
        format!("{status}: {}: {}", error.kind, error.reason)
    }
}
