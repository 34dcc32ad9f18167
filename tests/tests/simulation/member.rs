//! One member of the group: the real driver, sinks and dead-letter writer on a runtime of its own
//! with paused time, over a simulated source and simulated stores.
//!
//! Invariant: dropping the runtime is a crash: nothing of the member acts afterwards.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use riverhog::backoff::Jitter;
use riverhog::delivery_rules::DeliveryRules;
use riverhog::dispatch::Dispatch;
use riverhog::driver::{Begin, Driver, Ended, Handover, Settings};
use riverhog::memory::Memory;
use riverhog::share::Share;
use riverhog::sink::archive::footer::RecordKind;
use riverhog::sink::archive::store::ObjectStore;
use riverhog::sink::dead_letter::DeadLetters;
use riverhog::sink::{RetrySettings, SinkContext, SinkHandle, archive, elasticsearch};
use riverhog::source::{
    Assigned, CommitEntry, CommitOutcome, Epochs, HeaderEntry, Partition, RecordBatch, RecordEntry,
    SourceCommand, SourceEvent, SourceLink, StampKind,
};
use riverhog::telemetry::health::Health;
use riverhog::telemetry::metrics::Metrics;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::store::{Shared, SimBulk, SimLetters, SimStore};
use crate::variants::{ARCHIVE, SINKS, SwappingTransform, VAULT, Variant, variants};
use crate::world::{BUCKETS, Told};

/// How often the simulated source looks at the broker.
const POLL: Duration = Duration::from_millis(4);
/// Little, so that halted destinations hold partitions in many runs.
const AHEAD_MAX_MS: i64 = 40;

pub(crate) struct Member {
    pub(crate) number: usize,
    pub(crate) runtime: Runtime,
    stop: watch::Sender<bool>,
    now: Arc<Mutex<Now>>,
    driver: JoinHandle<Ended>,
    pub(crate) memory: Memory,
}

/// What the member runs with until it is reloaded.
struct Now {
    variant: usize,
    transform: Arc<SwappingTransform>,
    fingerprint: watch::Sender<Arc<str>>,
    hand_over: watch::Sender<bool>,
}

/// Counters are shared by all runs: they are not what is simulated, and making them costs.
pub(crate) fn metrics() -> Metrics {
    static METRICS: std::sync::OnceLock<Metrics> = std::sync::OnceLock::new();
    METRICS.get_or_init(Metrics::new).clone()
}

impl Member {
    pub(crate) fn start(
        world: &Shared,
        number: usize,
        variant: usize,
        rules: DeliveryRules,
    ) -> Member {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let (stop, stopping) = watch::channel(false);
        let memory = Memory::new(16 << 20);
        let seed = world.lock().random.next();
        let parts = Parts { world: world.clone(), number, rules, seed };
        let (first, receivers) = Now::of(variant);
        let now = Arc::new(Mutex::new(first));
        let driver = {
            let _guard = runtime.enter();
            let link = parts.source(memory.clone());
            let run = parts.run((link, receivers), memory.clone(), stopping, Arc::clone(&now));
            tokio::spawn(run)
        };
        Member { number, runtime, stop, now, driver, memory }
    }

    /// Offers other tables, and their fingerprint, as the watcher of the host table does.
    pub(crate) fn swap_tables(&self, variant: usize) {
        let mut now = lock(&self.now);
        // A driver that follows reads the tables as they are then.
        now.variant = variant;
        let variant = &variants()[variant];
        now.fingerprint.send_modify(|fingerprint| {
            now.transform.offer(variant);
            *fingerprint = Arc::clone(&variant.fingerprint);
        });
    }

    /// Tells it to go on with another configuration, or with the same one anew.
    pub(crate) fn reload(&self, variant: usize) {
        let mut now = lock(&self.now);
        now.variant = variant;
        now.hand_over.send_replace(true);
    }

    /// Runs the member for a while of its own time, or until it dies.
    pub(crate) fn run(&self, world: &Shared, milliseconds: u64) {
        self.runtime.block_on(async {
            for _ in 0..milliseconds.div_ceil(10) {
                if world.lock().dead_member == Some(self.number) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }

    /// Asks it to stop.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// How it ended, when it has.
    pub(crate) fn ended(&mut self) -> Option<Result<Ended, String>> {
        if !self.driver.is_finished() {
            return None;
        }
        let ended = self.runtime.block_on(&mut self.driver);
        Some(ended.map_err(|error| error.to_string()))
    }
}

fn lock(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a driver hears of the member's keeper.
struct Receivers {
    fingerprint: watch::Receiver<Arc<str>>,
    hand_over: watch::Receiver<bool>,
}

impl Now {
    fn of(variant: usize) -> (Now, Receivers) {
        let known = &variants()[variant];
        let (fingerprint, told) = watch::channel(Arc::clone(&known.fingerprint));
        let (hand_over, handing) = watch::channel(false);
        let transform = Arc::new(SwappingTransform::new(known));
        let now = Now { variant, transform, fingerprint, hand_over };
        (now, Receivers { fingerprint: told, hand_over: handing })
    }
}

struct Parts {
    world: Shared,
    number: usize,
    rules: DeliveryRules,
    seed: u64,
}

impl Parts {
    /// One driver after the other over one source, each with sinks of its own.
    async fn run(
        self,
        (link, mut receivers): (SourceLink, Receivers),
        memory: Memory,
        stop: watch::Receiver<bool>,
        now: Arc<Mutex<Now>>,
    ) -> Ended {
        let mut next = (link, None);
        loop {
            let (variant, transform) = {
                let now = lock(&now);
                (&variants()[now.variant], Arc::clone(&now.transform))
            };
            let driver = self.driver(next, (variant, transform), &memory, (&stop, receivers));
            let (ended, handover) = driver.run_or_hand_over().await;
            let Some(Handover { link, begin }) = handover else { return ended };
            next = (link, Some(begin));
            let mut now = lock(&now);
            (*now, receivers) = Now::of(now.variant);
        }
    }

    fn driver(
        &self,
        (link, begin): (SourceLink, Option<Begin>),
        (variant, transform): (&'static Variant, Arc<SwappingTransform>),
        memory: &Memory,
        (stop, receivers): (&watch::Receiver<bool>, Receivers),
    ) -> Driver {
        let (cured, cures) = mpsc::channel(64);
        let jitter = Arc::new(Jitter::new(self.seed));
        let target = SimLetters { world: self.world.clone(), member: self.number };
        let dead_letters = DeadLetters::spawn(
            Arc::new(target),
            retry(),
            Arc::clone(&jitter),
            metrics(),
            self.rules,
        );
        let context = |number: usize, name: &str| SinkContext {
            number,
            name: Arc::from(name),
            retry: retry(),
            jitter: Arc::clone(&jitter),
            memory: memory.clone(),
            dead_letters: Some(dead_letters.clone()),
            halt_after: None,
            halt_above: riverhog_rules::step::Share::ALL,
            cured: cured.clone(),
            metrics: metrics(),
            health: Health::new(),
            rules: self.rules,
        };
        let sinks = vec![
            self.search(context(0, "search")),
            self.archive(&variant.fingerprint, context(ARCHIVE, "archive"), ARCHIVE, 700),
            self.archive(&variant.fingerprint, context(VAULT, "vault"), VAULT, 2500),
        ];
        let settings = Settings {
            commit_interval: Duration::from_millis(60),
            revoke_wait: Duration::from_millis(80),
            stop_deadline: Duration::from_secs(4),
            ahead_max_ms: AHEAD_MAX_MS,
            stall_after: Duration::from_mins(1),
            settle_max: Duration::from_millis(2_500),
            rules: self.rules,
        };
        Driver {
            link,
            begin,
            transform,
            dispatch: Dispatch {
                share: Share::all(sinks.len()),
                sinks: sinks.into(),
                dead_letters: Some(dead_letters),
                metrics: metrics(),
            },
            cured: cures,
            stop: stop.clone(),
            hand_over: receivers.hand_over,
            fingerprint: receivers.fingerprint,
            memory: memory.clone(),
            metrics: metrics(),
            health: Health::new(),
            settings,
        }
    }

    fn search(&self, context: SinkContext) -> SinkHandle {
        let settings = elasticsearch::Settings {
            batch_bytes: 4000,
            batch_count: 7,
            batch_age: Duration::from_millis(30),
            in_flight: 3,
            adaptive: true,
            action: riverhog_rules::ActionForm::default(),
            pipeline_is_fixed: true,
            omit_message: false,
        };
        let transport = SimBulk { world: self.world.clone(), member: self.number };
        elasticsearch::spawn(context, settings, Arc::new(transport))
    }

    fn archive(
        &self,
        fingerprint: &Arc<str>,
        context: SinkContext,
        sink: usize,
        age_ms: u64,
    ) -> SinkHandle {
        let settings = archive::Settings {
            fingerprint: Arc::clone(fingerprint),
            records: RecordKind::Events,
            object_bytes: 800,
            object_age: Duration::from_millis(age_ms),
            level: 1,
            transfers: 3,
            prefixes_max: 6,
            omit_message: sink == VAULT,
            exclusive: self.world.lock().exclusive,
            nonce: self.number as u32 + 1,
        };
        let bucket = BUCKETS[sink];
        let store = SimStore { world: self.world.clone(), member: self.number, bucket };
        let store: Arc<dyn ObjectStore> = Arc::new(store);
        archive::spawn(context, settings, BTreeMap::from([(bucket.to_owned(), store)]))
    }

    fn source(&self, memory: Memory) -> SourceLink {
        let (sender, events) = mpsc::channel(12);
        let (commands, receiver) = mpsc::channel(16);
        let epochs = Arc::new(Epochs::default());
        let source = SimSource {
            world: self.world.clone(),
            member: self.number,
            events: sender,
            commands: receiver,
            epochs: Arc::clone(&epochs),
            memory,
            held: BTreeMap::new(),
            ahead: VecDeque::new(),
            reading: true,
            leaving: Vec::new(),
        };
        tokio::spawn(source.run());
        SourceLink { events, commands, epochs, lineage: Arc::from("0badcafe") }
    }
}

fn retry() -> RetrySettings {
    RetrySettings {
        base: Duration::from_millis(5),
        max: Duration::from_millis(150),
        probe_interval: Duration::from_millis(50),
    }
}

/// A partition as the member's source sees it, right or wrong.
struct Reading {
    epoch: u64,
    position: i64,
    incarnation: u64,
    /// The broker's number of this assignment.
    generation: u64,
    /// Read no further.
    is_held: bool,
}

struct SimSource {
    world: Shared,
    member: usize,
    events: mpsc::Sender<SourceEvent>,
    commands: mpsc::Receiver<SourceCommand>,
    epochs: Arc<Epochs>,
    memory: Memory,
    held: BTreeMap<usize, Reading>,
    /// Read and not yet handed over, as by a client that fetches ahead; a rewind leaves it.
    ahead: VecDeque<SourceEvent>,
    reading: bool,
    leaving: Vec<(usize, u64, oneshot::Receiver<Vec<CommitEntry>>)>,
}

fn name(partition: usize) -> Partition {
    Partition { topic: Arc::from("train"), number: partition as i32 }
}

impl SimSource {
    async fn run(mut self) {
        self.tell(SourceEvent::Connected(true)).await;
        loop {
            tokio::time::sleep(POLL).await;
            while let Ok(command) = self.commands.try_recv() {
                if !self.obey(command) {
                    return;
                }
            }
            let told = self.world.lock().inboxes[self.member].pop_front();
            match told {
                Some(Told::Assign(partition)) => self.assign(partition).await,
                Some(Told::Revoke(partition)) => self.revoke(partition).await,
                Some(Told::Lost(partition)) if self.held.remove(&partition).is_some() => {
                    self.tell(SourceEvent::Lost(vec![name(partition)])).await;
                }
                Some(Told::Recreated(partition)) if self.held.remove(&partition).is_some() => {
                    self.tell(SourceEvent::Recreated(vec![name(partition)])).await;
                    self.assign(partition).await;
                }
                Some(Told::Lost(_) | Told::Recreated(_)) | None => {}
            }
            self.settle_leaving();
            if self.reading {
                let partitions: Vec<usize> = self.held.keys().copied().collect();
                for partition in partitions {
                    self.read(partition);
                }
            }
            self.hand_over();
        }
    }

    async fn tell(&self, event: SourceEvent) {
        // A driver that has ended takes nothing; the member is about to go.
        let _gone = self.events.send(event).await;
    }

    /// False when the source is to end.
    fn obey(&mut self, command: SourceCommand) -> bool {
        match command {
            SourceCommand::Commit { entries, reply } => {
                let outcomes = entries.iter().map(|entry| self.commit(entry)).collect();
                let _gone = reply.send(outcomes);
            }
            SourceCommand::Rewind { partition, offset, epoch, replaces } => {
                let known = self.held.get_mut(&(partition.number as usize));
                if let Some(reading) = known.filter(|it| it.epoch == replaces) {
                    reading.position = offset;
                    reading.epoch = epoch;
                    reading.is_held = false;
                }
            }
            SourceCommand::Hold { partition, is_held } => {
                if let Some(reading) = self.held.get_mut(&(partition.number as usize)) {
                    reading.is_held = is_held;
                }
            }
            SourceCommand::StopReading => self.reading = false,
            SourceCommand::ReadOn => self.reading = true,
            SourceCommand::Close => return false,
        }
        true
    }

    fn commit(&self, entry: &CommitEntry) -> CommitOutcome {
        let mut world = self.world.lock();
        if world.faulty() {
            return CommitOutcome::Failed("simulated".to_owned());
        }
        if entry.metadata.len() > world.metadata_max {
            return CommitOutcome::MetadataRefused;
        }
        let partition = entry.partition.number as usize;
        let held = self.held.get(&partition).filter(|held| held.epoch == entry.epoch);
        let Some(held) = held else {
            return CommitOutcome::Overtaken("not assigned".to_owned());
        };
        let seat = (partition, held.generation);
        if world.commit(self.member, seat, entry.offset, &entry.metadata) {
            CommitOutcome::Done
        } else {
            CommitOutcome::Overtaken("fenced".to_owned())
        }
    }

    async fn assign(&mut self, partition: usize) {
        let epoch = self.epochs.next();
        let assigned = {
            let world = self.world.lock();
            let commit = world.seats[partition].commit.clone();
            let (position, metadata) = commit.unwrap_or((world.logs[partition].low, String::new()));
            let incarnation = world.logs[partition].incarnation;
            let generation = world.seats[partition].generation;
            let reading = Reading { epoch, position, incarnation, generation, is_held: false };
            self.held.insert(partition, reading);
            Assigned {
                partition: name(partition),
                epoch,
                position,
                metadata: metadata.into_bytes(),
                end_offset: world.logs[partition].next_offset,
                incarnation: world.tells_incarnation.then(|| incarnation.to_string().into()),
            }
        };
        self.tell(SourceEvent::Assigned(vec![assigned])).await;
    }

    async fn revoke(&mut self, partition: usize) {
        let Some(reading) = self.held.remove(&partition) else {
            self.world.lock().seats[partition].leaving = None;
            return;
        };
        let (reply, last) = oneshot::channel();
        let partitions = vec![name(partition)];
        self.leaving.push((partition, reading.generation, last));
        self.tell(SourceEvent::Revoked { partitions, reply }).await;
    }

    /// The last commits of revoked partitions, which the broker waits for.
    fn settle_leaving(&mut self) {
        let mut waiting = Vec::new();
        for (partition, generation, mut last) in std::mem::take(&mut self.leaving) {
            match last.try_recv() {
                Ok(entries) => {
                    let mut world = self.world.lock();
                    let seat = (partition, generation);
                    for entry in entries {
                        if entry.metadata.len() <= world.metadata_max {
                            world.commit(self.member, seat, entry.offset, &entry.metadata);
                        }
                    }
                    if world.seats[partition].leaving == Some(self.member) {
                        world.seats[partition].leaving = None;
                    }
                }
                Err(oneshot::error::TryRecvError::Empty) => {
                    waiting.push((partition, generation, last));
                }
                Err(oneshot::error::TryRecvError::Closed) => {
                    self.world.lock().seats[partition].leaving = None;
                }
            }
        }
        self.leaving = waiting;
    }

    fn hand_over(&mut self) {
        let keep = self.world.lock().random.below(4) as usize;
        while self.ahead.len() > keep {
            let Ok(place) = self.events.try_reserve() else { return };
            if let Some(event) = self.ahead.pop_front() {
                place.send(event);
            }
        }
    }

    fn read(&mut self, partition: usize) {
        let Some(reading) = self.held.get_mut(&partition) else { return };
        if self.ahead.len() > 8 || reading.is_held {
            return;
        }
        let Some(permit) = self.memory.try_batch(1000) else { return };
        let event = {
            let mut world = self.world.lock();
            let count = world.random.between(1, 9) as usize;
            let log = &world.logs[partition];
            if log.incarnation != reading.incarnation || reading.position < log.low {
                let (position, resumed) = (reading.position, log.low);
                if log.incarnation != reading.incarnation && position <= resumed {
                    // Nothing of the new topic was passed: reading simply goes on.
                    reading.incarnation = log.incarnation;
                    return;
                }
                reading.incarnation = log.incarnation;
                reading.position = resumed;
                SourceEvent::OutOfRange {
                    partition: name(partition),
                    epoch: reading.epoch,
                    position,
                    resumed,
                    end: log.next_offset,
                }
            } else {
                let records = log.read(reading.position, count);
                let Some(last) = records.last() else { return };
                reading.position = last.offset + 1;
                let mut batch = RecordBatch {
                    partition: name(partition),
                    epoch: reading.epoch,
                    bytes: Vec::new(),
                    records: Vec::new(),
                    headers: Vec::<HeaderEntry>::new(),
                    stamp: StampKind::CreateTime,
                    received_ms: 0,
                    next_offset: reading.position,
                    end_offset: log.next_offset,
                    permit,
                };
                for record in records {
                    let start = batch.bytes.len() as u32;
                    batch.bytes.extend_from_slice(record.value.as_bytes());
                    batch.records.push(RecordEntry {
                        offset: record.offset,
                        time_ms: record.time_ms,
                        key: None,
                        value: Some((start, batch.bytes.len() as u32)),
                        headers: (0, 0),
                    });
                }
                SourceEvent::Records(batch)
            }
        };
        self.ahead.push_back(event);
    }
}

/// The sinks' numbers are the variants'.
const _: () = assert!(SINKS == 3 && ARCHIVE == 1 && VAULT == 2);
