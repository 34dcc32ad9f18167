//! The sink `elasticsearch`: collects events into `_bulk` requests by bytes, count and age, with
//! several in flight. Works with every store that speaks `_bulk`; no vendor check.
//!
//! Invariant: what was taken from the queue is in `waiting` or in one request, until the request
//! has settled it or given it up. Next stop: [`request`].

mod addresses;
pub mod body;
pub mod encoding;
pub mod endpoint;
pub mod http;
mod items;
mod limit;
mod probe;
mod request;
pub mod response;
pub mod transport;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use riverhog_rules::ActionForm;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::body::Body;
use self::items::{ItemForm, item_bytes};
use self::limit::{Limit, Place};
use self::request::Request;
use self::transport::BulkTransport;
use super::destination::Destinations;
use super::refusals::AllRefusals;
use super::{Cured, Delivery, QUEUE_BATCHES, SinkContext, SinkHandle, SinkMessage};
use crate::clock;

/// How requests are cut.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of a request before compression at which it is sent.
    pub batch_bytes: usize,
    /// Events of a request at which it is sent.
    pub batch_count: usize,
    /// How long the first event of a request waits for others.
    pub batch_age: Duration,
    /// Requests in flight at once, at most.
    pub in_flight: usize,
    /// Fewer of them while the store is overloaded.
    pub adaptive: bool,
    /// What action lines say beside index and id.
    pub action: ActionForm,
    /// The name of the ingest pipeline is the same for all events.
    pub pipeline_is_fixed: bool,
    /// Leave `message` out of the documents.
    pub omit_message: bool,
}

impl Settings {
    fn form(&self) -> ItemForm {
        ItemForm { action: self.action, omit_message: self.omit_message }
    }
}

/// What the sink's task, its requests and its probes share.
struct Shared {
    context: SinkContext,
    settings: Settings,
    transport: Arc<dyn BulkTransport>,
    destinations: Destinations,
    refusals: Mutex<AllRefusals>,
    /// Who may send.
    limit: Arc<Limit>,
    /// Probes and requests end with the sink.
    tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    /// Runs a task that ends with the sink.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn refusals(&self) -> MutexGuard<'_, AllRefusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line was given up just as its destination was cured: the driver is told once more.
    fn tell_cured(self: &Arc<Shared>, destination: &str) {
        let cured = Cured { sink: self.context.number, destination: destination.to_owned() };
        let driver = self.context.cured.clone();
        self.spawn(async move {
            if driver.send(cured).await.is_err() {
                tracing::debug!("the driver has gone");
            }
        });
    }

    fn start_probe(self: &Arc<Shared>, destination: String, body: Body) {
        self.spawn(probe::run(Arc::clone(self), destination, body));
    }
}

/// Starts the sink.
pub fn spawn(
    context: SinkContext,
    settings: Settings,
    transport: Arc<dyn BulkTransport>,
) -> SinkHandle {
    let (queue, messages) = mpsc::channel(QUEUE_BATCHES);
    let name = Arc::clone(&context.name);
    let limit = Arc::new(Limit::new(settings.in_flight, settings.adaptive));
    context.metrics.sink_in_flight_limit(&name, limit.get());
    let destinations = Destinations::default();
    let tasks = Mutex::new(JoinSet::new());
    let refusals = Mutex::new(AllRefusals::new(context.halt_above));
    let shared = Shared { context, settings, transport, destinations, refusals, limit, tasks };
    let shared = Arc::new(shared);
    let sink = Sink { shared, waiting: VecDeque::new(), bytes: 0, count: 0, oldest: None };
    tokio::spawn(sink.run(messages));
    SinkHandle { name, queue }
}

struct Sink {
    shared: Arc<Shared>,
    /// Taken from the queue and not yet in a request, with the bytes each event will take.
    waiting: VecDeque<Delivery>,
    /// Invariant: sums over `waiting`.
    bytes: usize,
    count: usize,
    /// When the first of `waiting` came.
    oldest: Option<Instant>,
}

impl Sink {
    async fn run(mut self, mut messages: mpsc::Receiver<SinkMessage>) {
        let mut flushing = false;
        let limit = Arc::clone(&self.shared.limit);
        loop {
            let settings = &self.shared.settings;
            let is_full = self.bytes >= settings.batch_bytes || self.count >= settings.batch_count;
            let is_due = is_full || (flushing && self.count > 0);
            let due_at = self.oldest.map(|oldest| oldest + settings.batch_age);
            tokio::select! {
                biased;
                place = limit.enter(), if is_due => self.send(place),
                () = until(due_at), if !is_due => flushing = true,
                message = messages.recv(), if !is_full => match message {
                    Some(SinkMessage::Deliver(delivery)) => self.take(delivery),
                    Some(SinkMessage::Flush) => flushing = true,
                    Some(SinkMessage::Ended) => self.drop_ended(),
                    None => break,
                },
            }
            flushing &= self.count > 0;
        }
    }

    fn take(&mut self, delivery: Delivery) {
        if !delivery.batch.generation.is_alive() || delivery.events.is_empty() {
            return;
        }
        let form = self.shared.settings.form();
        let events = delivery.events.iter();
        let sizes = events.map(|(event, dest)| item_bytes(&delivery.batch, *event, *dest, form));
        self.bytes += sizes.sum::<usize>();
        self.count += delivery.events.len();
        self.oldest.get_or_insert_with(clock::instant);
        self.waiting.push_back(delivery);
    }

    /// Sends the first `batch_bytes` or `batch_count` of what waits.
    fn send(&mut self, place: Place) {
        let settings = &self.shared.settings;
        let (mut bytes, mut count) = (0, 0);
        let mut deliveries = Vec::new();
        while let Some(mut delivery) = self.waiting.pop_front() {
            let mut taken = 0;
            for (event, destination) in &delivery.events {
                if bytes >= settings.batch_bytes || count >= settings.batch_count {
                    break;
                }
                bytes += item_bytes(&delivery.batch, *event, *destination, settings.form());
                count += 1;
                taken += 1;
            }
            let rest = delivery.events.split_off(taken);
            let is_cut = !rest.is_empty();
            if is_cut {
                self.waiting
                    .push_front(Delivery { batch: Arc::clone(&delivery.batch), events: rest });
            }
            if taken > 0 {
                deliveries.push(delivery);
            }
            if is_cut {
                break;
            }
        }
        self.bytes -= bytes;
        self.count -= count;
        self.oldest = (self.count > 0).then(clock::instant);
        let (request, items) = Request::new(Arc::clone(&self.shared), &deliveries);
        let context = self.shared.context.clone();
        context.metrics.sink_in_flight(&context.name, 1);
        self.shared.spawn(async move {
            request.deliver(items).await;
            context.metrics.sink_in_flight(&context.name, -1);
            drop(place);
        });
    }

    fn drop_ended(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        (self.bytes, self.count, self.oldest) = (0, 0, None);
        for delivery in waiting {
            self.take(delivery);
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
