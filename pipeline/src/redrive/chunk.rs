//! Some letters at once through the sinks: a generation for each partition they come from, and the
//! wait until all of it is settled.
//!
//! Invariant: a letter counts as settled only once the ledger says so of its events and no sink has
//! refused one. Next stop: [`crate::dispatch`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use riverhog_rules::event::EventBuffer;
use serde::Deserialize;
use tokio::sync::Notify;

use super::letter::Letter;
use super::remake::{Remade, Remaker};
use crate::clock;
use crate::delivery_rules::DeliveryRules;
use crate::dispatch::{Dispatch, Part};
use crate::generation::Generation;
use crate::sink::SinkMessage;
use crate::sink::dead_letter::letter::Letter as Written;
use crate::sink::dead_letter::{DeadLetterTarget, LetterOutcome, Writing};
use crate::source::{Assigned, Partition, RecordBatch};
use crate::transform::Transformed;

/// How often it is looked whether all is settled.
const TICK: Duration = Duration::from_millis(20);
/// How often sinks are asked again to send what they hold.
const FLUSH_TICKS: u32 = 10;

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its sinks have it.
    Settled,
    /// A rule of today drops it.
    Dropped,
    /// It stays where it is, for this reason.
    Stays(String),
}

/// Why letters of a chunk are not settled, and not refused either.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unsettled(pub(crate) String);

/// Takes what sinks refuse instead of writing it a second time.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Vec<Refusal>>);

#[derive(Debug, Deserialize)]
struct Refusal {
    event_id: String,
    reason: String,
    sink: Option<String>,
}

impl DeadLetterTarget for Refusals {
    fn write<'a>(&'a self, letters: &'a [Written]) -> Writing<'a> {
        let refusals = letters.iter().filter_map(|it| serde_json::from_slice(&it.value).ok());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(refusals);
        Box::pin(std::future::ready(vec![LetterOutcome::Done; letters.len()]))
    }
}

impl Refusals {
    fn take(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The sinks as redrive uses them.
pub(crate) struct Delivering<'d> {
    pub(crate) dispatch: &'d Dispatch,
    pub(crate) refusals: &'d Refusals,
    /// The branch of archive chains.
    pub(crate) branch: Arc<str>,
    /// How long a chunk may take.
    pub(crate) deadline: Duration,
}

/// Lineage, topic and partition.
type From = (String, String, i32);

impl Delivering<'_> {
    /// Delivers letters, each named once; answers what became of each, in order.
    ///
    /// # Errors
    /// Some are neither settled nor refused: a store cannot be reached, or a destination halts.
    pub(crate) async fn deliver(
        &self,
        letters: &[Letter],
        remaker: &mut Remaker<'_>,
    ) -> Result<Vec<Fate>, Unsettled> {
        let mut by_origin: BTreeMap<From, Vec<usize>> = BTreeMap::new();
        for (number, letter) in letters.iter().enumerate() {
            let origin = &letter.origin;
            let from = (origin.lineage.clone(), origin.topic.clone(), origin.partition);
            by_origin.entry(from).or_default().push(number);
        }
        let mut remade: BTreeMap<usize, Remade> = BTreeMap::new();
        let settled = Arc::new(Notify::new());
        let mut generations = Vec::new();
        for (from, mut numbers) in by_origin {
            numbers.sort_by_key(|number| (letters[*number].origin.offset, letters[*number].index));
            let mut events = EventBuffer::new();
            for number in &numbers {
                remade.insert(*number, remaker.remake(&letters[*number], &mut events));
            }
            let origins = numbers.iter().map(|number| &letters[*number].origin);
            let first = origins.clone().map(|it| it.offset).min().unwrap_or_default();
            let next = origins.map(|it| it.last_offset + 1).max().unwrap_or_default();
            generations.push(self.dispatch(from, (first, next), events, &settled).await);
        }
        let waited = self.wait(&generations, &settled).await;
        for generation in &generations {
            generation.end();
        }
        self.tell(|| SinkMessage::Ended);
        let mut refusals: BTreeMap<String, Vec<Refusal>> = BTreeMap::new();
        for refusal in self.refusals.take() {
            refusals.entry(refusal.event_id.clone()).or_default().push(refusal);
        }
        waited?;
        let fate = |(number, remade)| fate(&letters[number], remade, &refusals);
        Ok(remade.into_iter().map(fate).collect())
    }

    async fn dispatch(
        &self,
        (lineage, topic, number): From,
        (first, next): (i64, i64),
        events: EventBuffer,
        settled: &Arc<Notify>,
    ) -> Arc<Generation> {
        let partition = Partition { topic: topic.into(), number };
        // From 0 on: the whole of a branch is read back, whatever it holds.
        let assigned = Assigned {
            partition: partition.clone(),
            epoch: 1,
            position: 0,
            metadata: Vec::new(),
            end_offset: next,
            incarnation: None,
        };
        let watermarks = vec![0; self.dispatch.sinks.len() + 1];
        let (settled, rules) = (Arc::clone(settled), DeliveryRules::all());
        let generation = Generation::new(&assigned, lineage.into(), watermarks, settled, rules);
        let generation = Arc::new(generation.with_branch(Arc::clone(&self.branch)));
        let sequence = generation.read(first, next);
        let records = Arc::new(RecordBatch::empty(partition));
        let part = Part { sequence, first_event: 0, records, place: None };
        let events = events.into();
        let transformed = Transformed { events, open_from: None, pieces_from: None, rest: None };
        self.dispatch.dispatch(&generation, part, transformed).await;
        generation.set_read_out();
        generation
    }

    async fn wait(
        &self,
        generations: &[Arc<Generation>],
        settled: &Notify,
    ) -> Result<(), Unsettled> {
        let until = clock::instant() + self.deadline;
        let mut ticks = 0;
        loop {
            if generations.iter().all(|it| it.ledger().is_settled()) {
                return Ok(());
            }
            let is_stuck = |it: &Arc<Generation>| {
                it.ledger().is_settled() || (it.gave_up_any() && it.in_flight() == 0)
            };
            if generations.iter().all(is_stuck) {
                return Err(Unsettled(format!("a destination halts: {}", self.owing(generations))));
            }
            if clock::instant() >= until {
                let owing = self.owing(generations);
                return Err(Unsettled(format!("not settled within {:?}: {owing}", self.deadline)));
            }
            if ticks % FLUSH_TICKS == 0 {
                self.tell(|| SinkMessage::Flush);
            }
            ticks += 1;
            tokio::select! {
                () = settled.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Sinks and what they owe.
    fn owing(&self, generations: &[Arc<Generation>]) -> String {
        let of = |number: usize| generations.iter().map(|it| it.ledger().owed(number)).sum::<u64>();
        let sinks = self.dispatch.sinks.iter().enumerate();
        let owing = sinks.map(|(number, sink)| (&sink.name, of(number))).filter(|it| it.1 > 0);
        let owing: Vec<String> = owing.map(|(name, lines)| format!("{name} {lines}")).collect();
        owing.join(", ")
    }

    fn tell(&self, message: impl Fn() -> SinkMessage) {
        for sink in &*self.dispatch.sinks {
            let _full = sink.queue.try_send(message());
        }
    }
}

fn fate(letter: &Letter, remade: Remade, refusals: &BTreeMap<String, Vec<Refusal>>) -> Fate {
    let ids = match remade {
        Remade::Events(ids) => ids,
        Remade::Dropped => return Fate::Dropped,
        Remade::Stays(why) => return Fate::Stays(why.to_owned()),
    };
    // What no sink refused by name was refused before it met one.
    let is_own = |refusal: &&Refusal| {
        letter.sink.is_none() || refusal.sink.is_none() || refusal.sink == letter.sink
    };
    match ids.iter().filter_map(|id| refusals.get(id)).flatten().find(is_own) {
        Some(refusal) => Fate::Stays(refusal.reason.clone()),
        None => Fate::Settled,
    }
}
