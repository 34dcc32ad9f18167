//! The live chains of an archive sink: one for each prefix, partition and generation that has
//! lines now, each with its open object.
//!
//! Invariant: a chain appends one object at a time, takes lines in before its first touch is done
//! only to hold them, and is let go with its generation. Next stop: [`super::task`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::chain::{Appended, Link, Tail, id_key};
use super::ids::KnownIds;
use super::key::ChainName;
use super::letters::{divert, refuse};
use super::object::{Item, ObjectBuilder, ObjectError};
use super::{Archive, destination_of};
use crate::clock;
use crate::sink::Cured;
use crate::sink::destination::Fate;
use crate::sink::{Batch, Delivery};

/// Bits of a token that number the event in its batch; the rest number the batch.
const TOKEN_EVENT_BITS: u32 = 28;

/// Objects idle for this many object ages are let go with what they know.
const IDLE_AGES: u32 = 3;

/// Where a chain stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Never asked what it holds.
    Untouched,
    /// Being asked.
    Touching,
    /// Ready for the next object.
    Idle(Tail),
    /// An object is in flight; the tail is with it.
    Appending,
}

/// One live chain.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) link: Link,
    state: State,
    pub(super) known: KnownIds,
    /// Lines held before the first touch, or while the open object is full.
    waiting: Vec<(Arc<Batch>, Vec<u32>)>,
    pub(super) open: ObjectBuilder,
    opened_at: Option<Instant>,
    last_touched: Instant,
    /// Why the open object is to be closed.
    close: Option<&'static str>,
    pub(super) in_flight_bytes: u64,
    /// Lines of the object in flight, or left of one that failed.
    in_flight_lines: usize,
    /// Invariant: what [`Chains::total`] counts for this chain.
    bytes: u64,
}

/// All live chains of a sink.
#[derive(Debug)]
pub(super) struct Chains {
    archive: Arc<Archive>,
    live: BTreeMap<u64, Live>,
    /// By generation, bucket and prefix.
    index: BTreeMap<(u64, Arc<str>, Arc<str>), u64>,
    next_id: u64,
    /// Chains to look at before the next wait.
    changed: BTreeSet<u64>,
    /// Invariant: the sum of `bytes` over `live`.
    total: u64,
}

impl Chains {
    pub(super) fn new(archive: Arc<Archive>) -> Chains {
        Chains {
            archive,
            live: BTreeMap::new(),
            index: BTreeMap::new(),
            next_id: 0,
            changed: BTreeSet::new(),
            total: 0,
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<&Live> {
        self.live.get(&id)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.total
    }

    /// True when closing objects cannot free anything any more.
    pub(super) fn nothing_open(&self) -> bool {
        self.live.values().all(|live| live.open.is_empty() && live.in_flight_bytes == 0)
    }

    /// Takes a delivery's lines into their chains.
    pub(super) fn append(&mut self, delivery: &Delivery) {
        let batch = &delivery.batch;
        let mut by_destination: Vec<Vec<u32>> = vec![Vec::new(); batch.events.destinations.len()];
        for &(event, destination) in &delivery.events {
            by_destination[destination as usize].push(event);
        }
        for (destination, events) in by_destination.into_iter().enumerate() {
            if events.is_empty() {
                continue;
            }
            let parts = batch.events.destinations.get(destination as u32);
            let (bucket, prefix) = match parts {
                [bucket, prefix] => (&**bucket, &**prefix),
                [prefix] => ("", &**prefix),
                _ => continue,
            };
            let archive = &self.archive;
            let destination = destination_of(bucket);
            match archive.destinations.fate(&archive.context, &batch.generation, destination) {
                Fate::Open => {}
                Fate::GivenUp => {
                    self.count_given_up(batch, &events);
                    continue;
                }
                Fate::Divert(halt) => {
                    divert(archive, batch, events, &halt, format!("{bucket}/{prefix}"));
                    continue;
                }
            }
            let id = self.chain_of(batch, bucket, prefix);
            self.take(id, batch, events);
        }
    }

    /// The live chain of a prefix, new when there is none.
    fn chain_of(&mut self, batch: &Arc<Batch>, bucket: &str, prefix: &str) -> u64 {
        let generation = &batch.generation;
        let key = (generation.id, Arc::from(bucket), Arc::from(prefix));
        if let Some(id) = self.index.get(&key) {
            return *id;
        }
        let store = self.archive.stores.get(bucket).or_else(|| self.archive.stores.values().next());
        let partition = &generation.partition;
        let name = ChainName::new(&generation.lineage, &partition.topic, partition.number);
        let name = match &generation.branch {
            Some(branch) => name.branch(branch),
            None => name,
        };
        let store = store.expect("the configuration refuses a sink without stores");
        let link = Link {
            archive: Arc::clone(&self.archive),
            store: Arc::clone(store),
            bucket: Arc::clone(&key.1),
            prefix: Arc::clone(&key.2),
            name,
            generation: Arc::clone(generation),
            nonce: self.archive.next_nonce(),
        };
        let id = self.next_id;
        self.next_id += 1;
        self.index.insert(key, id);
        self.live.insert(id, Live::new(link));
        self.bound_prefixes();
        id
    }

    /// Beyond the limit the chain longest untouched is rolled and let go.
    fn bound_prefixes(&mut self) {
        let excess = self.live.len().saturating_sub(self.archive.settings.prefixes_max);
        if excess == 0 {
            return;
        }
        let mut by_age: Vec<(Instant, u64)> =
            self.live.iter().map(|(id, live)| (live.last_touched, *id)).collect();
        by_age.sort_unstable();
        for (_, id) in by_age.into_iter().take(excess) {
            let Some(live) = self.live.get_mut(&id) else { continue };
            if live.is_empty() {
                self.remove(id);
            } else if live.close.is_none() {
                tracing::warn!(
                    prefix = &*live.link.prefix,
                    limit = self.archive.settings.prefixes_max,
                    "more live prefixes than prefixes_max: the one longest untouched is closed early"
                );
                live.close = Some("prefixes");
                self.changed.insert(id);
            }
        }
    }

    fn take(&mut self, id: u64, batch: &Arc<Batch>, events: Vec<u32>) {
        let Some(live) = self.live.get_mut(&id) else { return };
        live.last_touched = clock::instant();
        self.changed.insert(id);
        match live.state {
            State::Untouched | State::Touching => live.waiting.push((Arc::clone(batch), events)),
            State::Idle(_) | State::Appending if !live.waiting.is_empty() => {
                live.waiting.push((Arc::clone(batch), events));
            }
            State::Idle(_) | State::Appending => {
                if let Some(rest) = live.fill(&self.archive, batch, &events) {
                    live.waiting.push((Arc::clone(batch), rest));
                }
            }
        }
        self.recount(id);
    }

    fn recount(&mut self, id: u64) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let now = live.memory_bytes();
        self.total = self.total - live.bytes + now;
        live.bytes = now;
    }

    fn remove(&mut self, id: u64) {
        let Some(live) = self.live.remove(&id) else { return };
        self.total -= live.bytes;
        let link = &live.link;
        let key = (link.generation.id, Arc::clone(&link.bucket), Arc::clone(&link.prefix));
        self.index.remove(&key);
        self.changed.remove(&id);
    }

    /// Buckets that untouched chains wait for.
    pub(super) fn buckets_waiting(&self) -> BTreeSet<String> {
        let changed = self.changed.iter().filter_map(|id| self.live.get(id));
        let untouched = changed.filter(|live| live.state == State::Untouched);
        untouched.map(|live| live.link.bucket.to_string()).collect()
    }

    /// Chains whose first touch can begin; they count as being touched.
    pub(super) fn start_touches(&mut self, is_proven: impl Fn(&str) -> bool) -> Vec<(u64, Link)> {
        let mut due = Vec::new();
        for id in &self.changed {
            let Some(live) = self.live.get_mut(id) else { continue };
            if live.state == State::Untouched && is_proven(&live.link.bucket) {
                live.state = State::Touching;
                due.push((*id, live.link.clone()));
            }
        }
        due
    }

    /// Open objects that are to be appended now, with the reason why they are closed.
    pub(super) fn start_appends(&mut self) -> Vec<(u64, Link, Tail, ObjectBuilder, &'static str)> {
        let mut due = Vec::new();
        let size = self.archive.settings.object_bytes;
        // Chains that wait for a proof are looked at again; all others when they change.
        let changed = std::mem::take(&mut self.changed);
        for id in changed {
            let Some(live) = self.live.get_mut(&id) else { continue };
            if live.state == State::Untouched {
                self.changed.insert(id);
            }
            let State::Idle(tail) = live.state else { continue };
            if live.open.is_empty() {
                if live.close.take() == Some("prefixes") && live.is_empty() {
                    self.remove(id);
                }
                continue;
            }
            let reason = match live.close {
                Some(reason) => reason,
                None if live.open.size_estimate() as u64 >= size => "size",
                None if live.open.is_full() => "events",
                None => continue,
            };
            if reason != "prefixes" {
                live.close = None;
            }
            live.state = State::Appending;
            live.opened_at = None;
            let object = std::mem::take(&mut live.open);
            live.in_flight_bytes = object.memory_bytes() as u64;
            live.in_flight_lines = object.lines();
            due.push((id, live.link.clone(), tail, object, reason));
            self.drain_waiting(id);
        }
        due
    }

    /// A first touch is done.
    pub(super) fn touched(&mut self, id: u64, tail: Tail, known: KnownIds) {
        let Some(live) = self.live.get_mut(&id) else { return };
        live.state = State::Idle(tail);
        live.known = known;
        self.drain_waiting(id);
    }

    /// An append is done, or went as far as it could.
    pub(super) fn appended(&mut self, id: u64, tail: Tail, appended: Appended) {
        let Some(live) = self.live.get_mut(&id) else { return };
        live.state = State::Idle(tail);
        live.in_flight_bytes = 0;
        live.in_flight_lines = live.in_flight_lines.saturating_sub(appended.settled.len());
        live.settle(&self.archive, &appended.settled);
        let metrics = &self.archive.context.metrics;
        let name = &self.archive.context.name;
        metrics.sink_lines(name, "done", appended.settled.len() as u64 - appended.known);
        if appended.known > 0 {
            metrics.sink_lines(name, "known", appended.known);
        }
        if !appended.learned.is_empty() {
            live.learn(&self.archive, appended.learned);
        }
        self.drain_waiting(id);
    }

    /// Moves held lines into the open object.
    fn drain_waiting(&mut self, id: u64) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let mut waiting = std::mem::take(&mut live.waiting).into_iter();
        for (batch, events) in waiting.by_ref() {
            if let Some(rest) = live.fill(&self.archive, &batch, &events) {
                live.waiting.push((batch, rest));
                break;
            }
        }
        live.waiting.extend(waiting);
        self.changed.insert(id);
        self.recount(id);
    }

    /// Everything is to be sent without waiting for more.
    pub(super) fn flush(&mut self) {
        for (id, live) in &mut self.live {
            if !live.is_empty() {
                live.close.get_or_insert("flush");
                self.changed.insert(*id);
            }
        }
    }

    /// Lets go of chains whose generation ended.
    pub(super) fn drop_ended(&mut self) {
        let ended = self.live.iter().filter(|(_, live)| !live.link.generation.is_alive());
        let ended: Vec<u64> = ended.map(|(id, _)| *id).collect();
        for id in ended {
            self.remove(id);
        }
    }

    /// Closes objects by age, forgets ids no re-read can meet, lets idle chains go.
    pub(super) fn grow_old(&mut self) {
        self.drop_ended();
        let age = self.archive.settings.object_age;
        let mut idle = Vec::new();
        let mut oldest = 0.0f64;
        let ids: Vec<u64> = self.live.keys().copied().collect();
        for id in ids {
            let Some(live) = self.live.get_mut(&id) else { continue };
            live.known.forget_below(live.link.generation.committed());
            if let Some(opened_at) = live.opened_at {
                oldest = oldest.max(opened_at.elapsed().as_secs_f64());
                if opened_at.elapsed() >= age && live.close.is_none() {
                    live.close = Some("age");
                    self.changed.insert(id);
                }
            } else if live.is_empty()
                && matches!(live.state, State::Idle(_))
                && live.last_touched.elapsed() >= age * IDLE_AGES
            {
                idle.push(id);
            }
            self.recount(id);
        }
        for id in idle {
            self.remove(id);
        }
        let context = &self.archive.context;
        context.metrics.archive_live_prefixes(&context.name, self.live.len() as u64);
        context.metrics.sink_oldest_seconds(&context.name, oldest);
    }

    /// Compresses the largest raw tail into a frame of its own; returns the bytes freed, or nothing
    /// when no tail is worth it.
    pub(super) fn compress_largest_tail(&mut self) -> Option<u64> {
        let (id, live) = self.live.iter_mut().max_by_key(|(_, live)| live.open.tail_bytes())?;
        if live.open.tail_bytes() < TAIL_BYTES_MIN {
            return None;
        }
        let id = *id;
        let open = &mut live.open;
        let freed = self.archive.compressors.with(|compressor| open.compress_tail(compressor));
        self.recount(id);
        freed.ok().map(|freed| freed as u64)
    }

    /// Closes the largest object that can be appended now; returns its bytes.
    pub(super) fn close_largest(&mut self) -> Option<u64> {
        let ready = self.live.iter_mut().filter(|(_, live)| {
            matches!(live.state, State::Idle(_)) && live.close.is_none() && !live.open.is_empty()
        });
        let (id, live) = ready.max_by_key(|(_, live)| live.open.memory_bytes())?;
        live.close = Some("memory");
        self.changed.insert(*id);
        Some(live.open.memory_bytes() as u64)
    }

    /// Lets go of a halted bucket's chains; their lines are given up.
    pub(super) fn give_up(&mut self, bucket: &str) {
        let of_bucket = self.live.iter().filter(|(_, live)| &*live.link.bucket == bucket);
        let ids: Vec<u64> = of_bucket.map(|(id, _)| *id).collect();
        for id in ids {
            let Some(live) = self.live.get(&id) else { continue };
            let archive = &self.archive;
            let destination = destination_of(bucket);
            let generation = &live.link.generation;
            let context = &archive.context;
            if archive.destinations.fate(context, generation, destination) != Fate::GivenUp {
                // Diverted meanwhile: what was in the chain is read again, and goes there too.
                generation.give_up(context.number, destination);
                let cured = Cured { sink: context.number, destination: destination.to_owned() };
                let driver = context.cured.clone();
                tokio::spawn(async move { driver.send(cured).await.is_ok() });
            }
            let waiting: usize = live.waiting.iter().map(|(_, events)| events.len()).sum();
            let lines = live.open.lines() + live.in_flight_lines + waiting;
            archive.context.metrics.sink_lines(&archive.context.name, "given_up", lines as u64);
            if !archive.context.rules.halted_lines_stay_unsettled {
                live.settle(archive, &live.open.tokens().collect::<Vec<u64>>());
                for (batch, events) in &live.waiting {
                    let sink = archive.context.number;
                    batch.settle(sink, events.iter().copied());
                }
            }
            self.remove(id);
        }
    }

    fn count_given_up(&self, batch: &Batch, events: &[u32]) {
        let context = &self.archive.context;
        context.metrics.sink_lines(&context.name, "given_up", events.len() as u64);
        if !context.rules.halted_lines_stay_unsettled {
            batch.settle(context.number, events.iter().copied());
        }
    }
}

/// A shorter tail is not worth a frame of its own.
const TAIL_BYTES_MIN: usize = 64 << 10;

impl Live {
    fn new(link: Link) -> Live {
        Live {
            link,
            state: State::Untouched,
            known: KnownIds::default(),
            waiting: Vec::new(),
            open: ObjectBuilder::default(),
            opened_at: None,
            last_touched: clock::instant(),
            close: None,
            in_flight_bytes: 0,
            in_flight_lines: 0,
            bytes: 0,
        }
    }

    /// Holds no line.
    fn is_empty(&self) -> bool {
        self.open.is_empty()
            && self.waiting.is_empty()
            && !matches!(self.state, State::Appending | State::Touching)
    }

    /// Puts lines into the open object but for those the chain holds already, which settle.
    /// Returns what finds no room.
    fn fill(&mut self, archive: &Archive, batch: &Arc<Batch>, events: &[u32]) -> Option<Vec<u32>> {
        let mut known = Vec::new();
        let mut too_long = Vec::new();
        let mut taken = 0;
        let filled = archive.compressors.with(|compressor| {
            for number in events {
                let event = &batch.events.events[*number as usize];
                let key = id_key(archive, event);
                if self.known.contains(&key) {
                    known.push(*number);
                    taken += 1;
                    continue;
                }
                let bytes = &batch.events.bytes;
                let document: [&[u8]; 2] = if archive.settings.omit_message {
                    [&bytes[event.doc.0 as usize..event.message_at as usize], b"}"]
                } else {
                    [&bytes[event.doc.0 as usize..event.doc.1 as usize], b""]
                };
                let item = Item {
                    key,
                    last_offset: event.last_offset,
                    level: event.level,
                    time_ns: event.time_ns,
                    document,
                    token: token_of(batch, *number),
                };
                match self.open.append(&item, compressor) {
                    Ok(()) => {}
                    Err(ObjectError::DocumentTooLong { .. }) => too_long.push(*number),
                    Err(error) => return Err(error),
                }
                taken += 1;
            }
            Ok(())
        });
        if let Err(error) = filled.as_ref()
            && !matches!(error, ObjectError::Full)
        {
            tracing::warn!(sink = &*archive.context.name, %error, "a line waits for its object");
        }
        if !self.open.is_empty() {
            self.opened_at.get_or_insert_with(clock::instant);
        }
        settle_known(archive, batch, &known);
        for event in too_long {
            refuse(archive, batch, event, &self.link);
        }
        (taken < events.len()).then(|| events[taken..].to_vec())
    }

    /// Takes in ids that others wrote: what the open object shares with them settles.
    fn learn(&mut self, archive: &Archive, learned: Vec<super::ids::FrameIds>) {
        let mut others = KnownIds::default();
        others.extend(learned.iter().cloned());
        let dropped = archive
            .compressors
            .with(|compressor| self.open.drop_known(|key| others.contains(key), compressor));
        match dropped {
            Ok(dropped) => {
                let tokens: Vec<u64> = dropped.iter().map(|line| line.token).collect();
                self.settle(archive, &tokens);
                let context = &archive.context;
                context.metrics.sink_lines(&context.name, "known", tokens.len() as u64);
            }
            // They stay in the object: lines may be stored twice, none is lost.
            Err(error) => {
                tracing::error!(sink = &*archive.context.name, %error, "known lines stay");
            }
        }
        self.known.extend(learned);
    }

    fn settle(&self, archive: &Archive, tokens: &[u64]) {
        let sequence = |token: &u64| token >> TOKEN_EVENT_BITS;
        for of_batch in tokens.chunk_by(|left, right| sequence(left) == sequence(right)) {
            let events =
                of_batch.iter().map(|token| (token & ((1 << TOKEN_EVENT_BITS) - 1)) as u32);
            self.link.generation.settle(sequence(&of_batch[0]), archive.context.number, events);
        }
    }
}

/// The chain holds these already.
fn settle_known(archive: &Archive, batch: &Batch, events: &[u32]) {
    if events.is_empty() {
        return;
    }
    let context = &archive.context;
    batch.settle(context.number, events.iter().copied());
    context.metrics.sink_lines(&context.name, "known", events.len() as u64);
}

/// What an object keeps of an event to settle it by.
fn token_of(batch: &Batch, event: u32) -> u64 {
    (batch.sequence << TOKEN_EVENT_BITS) | u64::from(batch.first_event + event)
}
