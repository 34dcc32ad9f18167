//! The loop of the source's thread: serves librdkafka's callbacks always, takes the driver's
//! commands, and reads partitions in turn while there is memory and room for a batch.
//!
//! Invariants: nothing in here waits for the driver or the broker; records are taken only with a
//! permit and a place in the channel in hand, so that none is ever kept aside; what must be told
//! goes out in order, before any later record. Next stop: `batch`, then the driver.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::batch::{self, Cursor, Taken};
use super::committer::Committer;
use super::context::{Consumer, Notice};
use super::queue::PartitionQueue;
use super::rebalance::{Pending, Revoking};
use super::resolve::{Asker, Resolver};
use super::start::{self, Start};
use super::{Cluster, KafkaSettings, properties};
use crate::clock;
use crate::memory::{Memory, MemoryPermit};
use crate::source::error::SourceError;
use crate::source::{Epochs, Partition, SourceCommand, SourceEvent};

/// Longest wait of the loop; librdkafka wakes it earlier.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// Shortest wait where nothing wakes the loop.
const WAIT_MIN: Duration = Duration::from_millis(5);

/// How long the end waits for room to tell its reason.
const LAST_WORDS_MAX: Duration = Duration::from_secs(5);

/// How soon what the broker refused is tried again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The source's end of the link to the driver.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) events: mpsc::Sender<SourceEvent>,
    pub(super) commands: mpsc::Receiver<SourceCommand>,
    pub(super) epochs: Arc<Epochs>,
}

/// A partition that is read.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) partition: Partition,
    pub(super) epoch: u64,
    pub(super) queue: PartitionQueue,
    pub(super) cursor: Cursor,
    /// -1 when unknown.
    pub(super) end_offset: i64,
    /// The topic it was assigned of.
    pub(super) mark: Option<String>,
    /// Not read: librdkafka could not be moved to the cursor yet; tried again at this time.
    pub(super) moving: Option<Instant>,
    /// Not read: the broker is asked what it keeps; asked again at this time.
    pub(super) out_of_range: Option<Instant>,
    /// Not read: it goes.
    pub(super) leaving: bool,
    /// Not read: the driver says so.
    pub(super) held: bool,
    /// The broker refuses the source's own fields too.
    pub(super) bare_metadata: bool,
}

/// Why nothing was read.
enum Blocked {
    /// There is nothing to read.
    No,
    /// The driver has not taken what it has.
    Room,
    /// No memory for this many bytes.
    Memory(u64),
}

/// The state of the loop.
pub(super) struct Reader {
    // Invariant: declared, and so dropped, before `consumer` and `events`: the driver sees the
    // channel end after the group was left.
    pub(super) active: Vec<Active>,
    pub(super) pending: Vec<Pending>,
    pub(super) revoking: Option<Revoking>,
    pub(super) committer: Committer,
    pub(super) resolver: Resolver,
    pub(super) consumer: Arc<Consumer>,
    pub(super) notices: VecDeque<Notice>,
    pub(super) outbox: VecDeque<SourceEvent>,
    pub(super) events: mpsc::Sender<SourceEvent>,
    pub(super) commands: mpsc::Receiver<SourceCommand>,
    pub(super) epochs: Arc<Epochs>,
    memory: Memory,
    granted: Option<(u64, MemoryPermit)>,
    pub(super) wake: Arc<Notify>,
    pub(super) start: Start,
    pub(super) since: Option<i64>,
    batch_bytes: usize,
    pub(super) revoke_wait: Duration,
    /// Whose turn it is in `active`.
    turn: usize,
    pub(super) connected: bool,
    pub(super) reading: bool,
    pub(super) ending: bool,
    pub(super) checking: bool,
    /// Checks in a row that reached no broker.
    pub(super) misses: u32,
    pub(super) told_at: Instant,
    pub(super) checked_at: Instant,
}

impl Reader {
    pub(super) fn new(
        settings: &KafkaSettings,
        memory: Memory,
        link: Link,
        mut consumer: Consumer,
        cluster: Cluster,
    ) -> Result<Reader, SourceError> {
        let wake = Arc::new(Notify::new());
        let waker = Arc::clone(&wake);
        consumer.set_nonempty_callback(move || waker.notify_one());
        let consumer = Arc::new(consumer);
        let topics = properties::subscription(&settings.topics);
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        consumer.subscribe(&names).map_err(|error| SourceError::Subscribe {
            topics: topics.join(", "),
            reason: error.to_string(),
        })?;
        let cluster_mark = start::short_hash(cluster.id.as_bytes());
        let asked = Arc::clone(&consumer);
        let asker = Asker::new(asked, settings, cluster_mark, cluster.partitions);
        let resolver = Resolver::start(asker, Arc::clone(&wake)).map_err(SourceError::Thread)?;
        let now = clock::instant();
        Ok(Reader {
            active: Vec::new(),
            pending: Vec::new(),
            revoking: None,
            committer: Committer::new(&consumer, &wake),
            resolver,
            consumer,
            notices: VecDeque::new(),
            outbox: VecDeque::from([SourceEvent::Connected(true)]),
            events: link.events,
            commands: link.commands,
            epochs: link.epochs,
            memory,
            granted: None,
            wake,
            start: settings.start.clone(),
            since: None,
            batch_bytes: settings.batch_bytes.max(1),
            revoke_wait: settings.revoke_wait,
            turn: 0,
            connected: true,
            reading: true,
            ending: false,
            checking: false,
            misses: 0,
            told_at: now,
            checked_at: now,
        })
    }

    /// Runs until the driver closes the link or librdkafka fails for good, then leaves the group.
    pub(super) fn run(mut self) {
        let timer = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = match timer {
            Ok(runtime) => runtime,
            Err(error) => return self.fail(&format!("no runtime for the source: {error}")),
        };
        while !self.ending {
            let now = clock::instant();
            let mut busy = self.serve_callbacks();
            self.serve_notices(now);
            busy |= self.serve_commands();
            busy |= self.serve_commits(now);
            busy |= self.serve_answers(now);
            busy |= self.serve_revoking(now);
            self.retry(now);
            self.flush();
            let blocked = self.read(&mut busy);
            if !busy && !self.ending {
                self.wait(&runtime, &blocked);
            }
        }
        self.last_words();
        self.consumer.context().close();
    }

    /// Tells a driver that still listens why the source ends.
    fn last_words(&mut self) {
        let until = clock::instant() + LAST_WORDS_MAX;
        self.outbox.retain(|event| matches!(event, SourceEvent::Fatal(_)));
        self.flush();
        while !self.outbox.is_empty() && !self.events.is_closed() && clock::instant() < until {
            std::thread::park_timeout(WAIT_MIN);
            self.flush();
        }
    }

    /// Sends what must be told, in order, as far as there is room.
    fn flush(&mut self) {
        while let Some(event) = self.outbox.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(event)) => {
                    self.outbox.push_front(event);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => {
                    self.ending = true;
                    return;
                }
            }
        }
    }

    /// Takes one batch of each partition, the one whose turn it is first.
    fn read(&mut self, busy: &mut bool) -> Blocked {
        if !self.reading || self.ending {
            return Blocked::No;
        }
        if !self.outbox.is_empty() {
            return Blocked::Room;
        }
        for _ in 0..self.active.len() {
            if self.turn >= self.active.len() {
                self.turn = 0;
            }
            let active = &self.active[self.turn];
            let ready = active.moving.is_none() && active.out_of_range.is_none();
            if ready && !active.leaving && !active.held {
                match self.read_one(self.batch_bytes as u64, busy) {
                    Blocked::No => {}
                    blocked => return blocked,
                }
            }
            self.turn += 1;
        }
        Blocked::No
    }

    fn read_one(&mut self, bytes: u64, busy: &mut bool) -> Blocked {
        let room = match self.events.clone().try_reserve_owned() {
            Ok(room) => room,
            Err(mpsc::error::TrySendError::Full(_)) => return Blocked::Room,
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.ending = true;
                return Blocked::No;
            }
        };
        let Some(permit) = self.permit(bytes) else { return Blocked::Memory(bytes) };
        let active = &mut self.active[self.turn];
        let limit = usize::try_from(bytes).unwrap_or(usize::MAX);
        match batch::take(&mut active.queue, &mut active.cursor, limit) {
            Taken::Batch(filled) => {
                let (partition, ends) = (active.partition.clone(), active.ends());
                let batch = filled.finish(partition, active.epoch, ends, permit);
                room.send(SourceEvent::Records(batch));
                *busy = true;
                self.connected(true);
            }
            Taken::Nothing => {}
            Taken::TooLarge(needed) => {
                drop((permit, room));
                return self.read_one(needed, busy);
            }
            Taken::Failed { code, text } => {
                *busy = true;
                let partition = active.partition.clone();
                self.on_record_error(&partition, code, &text);
            }
        }
        Blocked::No
    }

    fn permit(&mut self, bytes: u64) -> Option<MemoryPermit> {
        match self.granted.take() {
            Some((granted, permit)) if granted >= bytes => Some(permit),
            _ => self.memory.try_batch(bytes),
        }
    }

    fn on_record_error(&mut self, partition: &Partition, code: i32, text: &str) {
        if batch::is_end(code) {
            return;
        }
        if batch::is_out_of_range(code)
            && let Some(index) = self.position(partition)
        {
            self.active[index].out_of_range = Some(clock::instant());
            return;
        }
        // Read again from before them, however often it takes: what is behind them must wait.
        if batch::is_unreadable(code)
            && let Some(index) = self.position(partition)
        {
            self.active[index].moving = Some(clock::instant() + RETRY_AFTER);
        }
        if let Some(repeated) = self.consumer.context().may_log(&format!("record {code}")) {
            tracing::warn!(%partition, code, repeated, "kafka cannot read a partition: {text}");
        }
    }

    pub(super) fn position(&self, partition: &Partition) -> Option<usize> {
        self.active.iter().position(|active| active.partition == *partition)
    }

    /// Waits until something may have changed.
    fn wait(&mut self, runtime: &tokio::runtime::Runtime, blocked: &Blocked) {
        // Nothing wakes the loop when the driver answers about partitions that go.
        let limit = if self.revoking.is_some() { WAIT_MIN } else { WAIT_MAX };
        let (for_room, for_bytes) = match blocked {
            Blocked::No => (!self.outbox.is_empty(), None),
            Blocked::Room => (true, None),
            Blocked::Memory(bytes) => (false, Some(*bytes)),
        };
        let (events, commands) = (&self.events, &mut self.commands);
        let (wake, memory) = (&self.wake, &self.memory);
        let mut command = None;
        let mut granted = None;
        let mut gone = false;
        runtime.block_on(async {
            tokio::select! {
                () = wake.notified() => {}
                received = commands.recv() => match received {
                    Some(received) => command = Some(received),
                    None => gone = true,
                },
                room = events.reserve(), if for_room => gone = room.is_err(),
                permit = memory.batch(for_bytes.unwrap_or(0)), if for_bytes.is_some() => {
                    granted = for_bytes.zip(Some(permit));
                }
                () = tokio::time::sleep(limit) => {}
            }
        });
        self.granted = granted;
        self.ending |= gone;
        if let Some(command) = command {
            self.obey(command);
        }
    }
}
