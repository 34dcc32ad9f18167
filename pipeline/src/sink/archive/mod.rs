//! The sinks `s3` and `local`: events collected into objects of useful size, one chain for each
//! prefix and partition.
//!
//! Invariant: a line is in exactly one place until it settles: waiting for its chain's first touch,
//! in the chain's open object, or in the one object of that chain in flight. Next stop:
//! [`chain`].

mod chain;
pub mod event_log;
pub mod footer;
pub mod frames;
pub mod ids;
pub mod key;
mod letters;
mod live;
pub mod local;
mod local_list;
pub mod object;
pub mod reader;
pub mod s3;
mod s3_failure;
pub mod s3_outcome;
mod s3_tls;
pub mod store;
mod tail;
mod task;
pub mod verify;
mod verify_object;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use self::footer::RecordKind;
use self::frames::FrameCompressor;
use self::live::{Chains, Live};
use self::object::ObjectError;
use self::store::ObjectStore;
use self::task::Finished;
use super::destination::Destinations;
use super::{Delivery, QUEUE_BATCHES, SinkContext, SinkHandle, SinkMessage};
use crate::backoff::Jitter;

/// How often ages, memory and ended generations are looked at.
const TICK: Duration = Duration::from_millis(500);

/// How objects are cut and written.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Fingerprint written into footers.
    pub fingerprint: Arc<str>,
    /// Kind of records written.
    pub records: RecordKind,
    /// Compressed bytes at which an object is closed.
    pub object_bytes: u64,
    /// Age at which an object is closed.
    pub object_age: Duration,
    /// zstd level.
    pub level: i32,
    /// Objects and footers in transfer at once.
    pub transfers: usize,
    /// Chains kept in memory; beyond, the one longest untouched is let go.
    pub prefixes_max: usize,
    /// Leave `message` out of the documents.
    pub omit_message: bool,
    /// The store creates exclusively; otherwise names carry `nonce` and the promise is at least
    /// once.
    pub exclusive: bool,
    /// What the nonces of this writer begin from, for stores that do not create exclusively.
    pub nonce: u32,
}

/// Compressors shared by the objects of a sink.
#[derive(Debug)]
pub struct CompressorPool {
    level: i32,
    idle: Mutex<Vec<FrameCompressor>>,
}

impl CompressorPool {
    fn new(level: i32) -> CompressorPool {
        CompressorPool { level, idle: Mutex::new(Vec::new()) }
    }

    fn take(&self) -> Result<FrameCompressor, ObjectError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| FrameCompressor::new(self.level).map_err(ObjectError::from), Ok)
    }

    fn give_back(&self, compressor: FrameCompressor) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(compressor);
    }
}

/// What the sink's task and its transfers share.
#[derive(Debug)]
pub struct Archive {
    context: SinkContext,
    settings: Settings,
    /// By bucket name; a local sink has one under the empty name.
    stores: BTreeMap<String, Arc<dyn ObjectStore>>,
    destinations: Destinations,
    compressors: CompressorPool,
    transfers: Arc<Semaphore>,
    lists: chain::Lists,
    nonces: Jitter,
}

impl Archive {
    /// A nonce of its own for the names of one chain's objects.
    fn next_nonce(&self) -> u32 {
        (self.nonces.next() >> 32) as u32
    }
}

/// What a bucket is called in logs, metrics and halts.
fn destination_of(bucket: &str) -> &str {
    if bucket.is_empty() { "local" } else { bucket }
}

/// Starts the sink over its stores, by bucket name (a local folder: the empty name).
pub fn spawn(
    context: SinkContext,
    settings: Settings,
    stores: BTreeMap<String, Arc<dyn ObjectStore>>,
) -> SinkHandle {
    let (queue, messages) = mpsc::channel(QUEUE_BATCHES);
    let name = Arc::clone(&context.name);
    let archive = Arc::new(Archive {
        compressors: CompressorPool::new(settings.level),
        transfers: Arc::new(Semaphore::new(settings.transfers.max(1))),
        destinations: Destinations::default(),
        lists: chain::Lists::default(),
        nonces: Jitter::new(u64::from(settings.nonce) << 16),
        context,
        settings,
        stores,
    });
    let sink = Sink {
        chains: Chains::new(Arc::clone(&archive)),
        archive,
        tasks: JoinSet::new(),
        proven: BTreeMap::new(),
        memory: 0,
    };
    tokio::spawn(sink.run(messages));
    SinkHandle { name, queue }
}

/// Whether a bucket was shown to create exclusively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Running,
    Given,
}

struct Sink {
    archive: Arc<Archive>,
    chains: Chains,
    tasks: JoinSet<Finished>,
    /// Buckets whose exclusive creation is proven or being proven.
    proven: BTreeMap<String, Proof>,
    /// Bytes reported to the budget.
    memory: u64,
}

impl Sink {
    async fn run(mut self, mut messages: mpsc::Receiver<SinkMessage>) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let memory = &self.archive.context.memory;
            let has_room = memory.archive_used() < memory.archive_limit()
                || (self.tasks.is_empty() && self.chains.nothing_open());
            tokio::select! {
                biased;
                Some(finished) = self.tasks.join_next() => match finished {
                    Ok(finished) => self.finished(finished).await,
                    Err(failure) => tracing::error!(%failure, "an archive transfer failed"),
                },
                message = messages.recv(), if has_room => match message {
                    Some(SinkMessage::Deliver(delivery)) => self.deliver(&delivery),
                    Some(SinkMessage::Flush) => self.chains.flush(),
                    Some(SinkMessage::Ended) => self.chains.drop_ended(),
                    None => break,
                },
                _ = tick.tick() => self.chains.grow_old(),
            }
            self.start_work();
            self.account();
        }
    }

    fn deliver(&mut self, delivery: &Delivery) {
        if delivery.batch.generation.is_alive() {
            self.chains.append(delivery);
        }
    }

    /// Starts proofs, first touches and appends that are due.
    fn start_work(&mut self) {
        self.relieve_memory();
        for bucket in self.chains.buckets_waiting() {
            if !self.proven.contains_key(&bucket) {
                let proof = if self.archive.settings.exclusive {
                    self.tasks.spawn(task::prove(Arc::clone(&self.archive), bucket.clone()));
                    Proof::Running
                } else {
                    Proof::Given
                };
                self.proven.insert(bucket, proof);
            }
        }
        let proven = &self.proven;
        let is_proven = |bucket: &str| proven.get(bucket) == Some(&Proof::Given);
        for (id, link) in self.chains.start_touches(is_proven) {
            self.tasks.spawn(task::touch(id, link));
        }
        for (id, link, tail, object, reason) in self.chains.start_appends() {
            self.tasks.spawn(task::append(id, link, tail, object, reason));
        }
    }

    /// Closes the largest open objects while the budget is used up.
    fn relieve_memory(&mut self) {
        self.account();
        let memory = &self.archive.context.memory;
        let limit = memory.archive_limit();
        let mut excess = memory.archive_used().saturating_sub(limit - limit / 8);
        while excess > 0 {
            // A raw tail shrinks to a tenth as a frame; an object closed early stays small.
            let freed = self.chains.compress_largest_tail();
            let Some(freed) = freed.or_else(|| self.chains.close_largest()) else { break };
            excess = excess.saturating_sub(freed);
        }
    }

    fn account(&mut self) {
        let now = self.chains.memory_bytes();
        self.archive.context.memory.archive_changed(self.memory, now);
        self.memory = now;
    }

    async fn finished(&mut self, finished: Finished) {
        match finished {
            Finished::Proven { bucket, result } => match result {
                Ok(()) => {
                    self.proven.insert(bucket, Proof::Given);
                }
                Err(halt) => {
                    self.proven.remove(&bucket);
                    self.halt(&bucket, halt, None);
                }
            },
            Finished::Touched { id, result } => match result {
                Ok((tail, known)) => self.chains.touched(id, tail, known),
                Err(halt) => self.halt_chain(id, halt),
            },
            Finished::Appended { id, tail, appended, result } => {
                self.chains.appended(id, tail, appended);
                if let Err(halt) = result {
                    self.halt_chain(id, halt);
                }
            }
            Finished::Cured { bucket } => {
                let destination = destination_of(&bucket).to_owned();
                self.archive.destinations.cure(&self.archive.context, &destination).await;
            }
        }
    }

    fn halt_chain(&mut self, id: u64, halt: super::destination::Halt) {
        let Some(live) = self.chains.get(id) else { return };
        if halt.reason == chain::LET_GO {
            return;
        }
        let bucket = live.link.bucket.to_string();
        let foreign = (halt.reason == "foreign_chain").then(|| live.link.clone());
        self.halt(&bucket, halt, foreign);
    }

    /// Halts a bucket: its chains are let go, their lines given up.
    fn halt(&mut self, bucket: &str, halt: super::destination::Halt, foreign: Option<chain::Link>) {
        let archive = &self.archive;
        let destination = destination_of(bucket);
        if archive.destinations.halt(&archive.context, destination, halt) {
            let probe = task::probe(Arc::clone(archive), bucket.to_owned(), foreign);
            self.tasks.spawn(probe);
            let (archive, destination) = (Arc::clone(archive), destination.to_owned());
            tokio::spawn(async move {
                archive.destinations.divert_in_time(&archive.context, &destination).await;
            });
        }
        self.chains.give_up(bucket);
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.archive.context.memory.archive_changed(self.memory, 0);
    }
}

/// Bytes that a live chain takes beside its object.
const LIVE_BYTES: u64 = 512;

impl Live {
    fn memory_bytes(&self) -> u64 {
        LIVE_BYTES
            + self.open.memory_bytes() as u64
            + self.known.memory_bytes() as u64
            + self.in_flight_bytes
    }
}
