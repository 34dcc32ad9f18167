//! One partition in the hands of this process, from its assignment until it is revoked, lost or
//! read again: the ledger, where it began, what it committed, and which destinations gave lines up.
//!
//! Invariant: a generation that is over settles and commits nothing, and whoever holds work of it
//! lets go when he sees [`Generation::is_alive`] false. Next stop: [`crate::commit`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::delivery_rules::DeliveryRules;
use crate::ledger::{Ledger, RoutedPart};
use crate::source::{Assigned, Partition};

/// Number of a sink in the configuration's order; the dead-letter writer comes after the last.
pub type SinkNumber = usize;

/// See the module documentation.
#[derive(Debug)]
pub struct Generation {
    /// Unique in this process, ascending.
    pub id: u64,
    /// The source's number for what it reads; two generations share it when a topic begins anew
    /// below the position.
    pub epoch: u64,
    /// The partition.
    pub partition: Partition,
    /// First part of its event ids.
    pub lineage: Arc<str>,
    /// Which topic of this name it reads; see [`Assigned::incarnation`].
    pub incarnation: Option<Arc<str>>,
    /// The watermark it began with.
    pub start: i64,
    /// Its archive chains are a branch of the partition's of this name; none for a source's own.
    pub branch: Option<Arc<str>>,
    own_watermarks: Vec<i64>,
    /// `start` for each sink: what counts once the own watermarks are forgotten.
    common_watermarks: Vec<i64>,
    own_forgotten: AtomicBool,
    alive: AtomicBool,
    committed: AtomicI64,
    end_offset: AtomicI64,
    in_flight: AtomicU32,
    read_out: AtomicBool,
    read_out_told: Notify,
    settled: Arc<Notify>,
    /// Invariant: locked for a batch or a request at a time, never across an await.
    ledger: Mutex<Ledger>,
    given_up: Mutex<BTreeSet<(SinkNumber, String)>>,
}

/// A request in flight for a generation; a revoke waits for it to be dropped.
#[derive(Debug)]
pub struct InFlight(Arc<Generation>);

impl Generation {
    /// A generation that begins with an assignment or a rewind. `own_watermarks` says per sink
    /// which lines were settled before; `settled` is told whenever something settles.
    pub fn new(
        assigned: &Assigned,
        lineage: Arc<str>,
        own_watermarks: Vec<i64>,
        settled: Arc<Notify>,
        rules: DeliveryRules,
    ) -> Generation {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Generation {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            epoch: assigned.epoch,
            partition: assigned.partition.clone(),
            lineage,
            incarnation: assigned.incarnation.clone(),
            start: assigned.position,
            branch: None,
            alive: AtomicBool::new(true),
            committed: AtomicI64::new(assigned.position),
            end_offset: AtomicI64::new(assigned.end_offset),
            in_flight: AtomicU32::new(0),
            read_out: AtomicBool::new(false),
            read_out_told: Notify::new(),
            settled,
            ledger: Mutex::new(Ledger::new(own_watermarks.len(), assigned.position, rules)),
            given_up: Mutex::new(BTreeSet::new()),
            common_watermarks: vec![assigned.position; own_watermarks.len()],
            own_forgotten: AtomicBool::new(false),
            own_watermarks,
        }
    }

    /// A generation whose archive chains stand beside the source's own; see
    /// [`crate::sink::archive::key::is_branch`].
    pub fn with_branch(mut self, branch: Arc<str>) -> Generation {
        self.branch = Some(branch);
        self
    }

    /// Per sink: lines below were settled before this generation began; `start` where not known.
    pub fn own_watermarks(&self) -> &[i64] {
        if self.own_forgotten.load(Ordering::Acquire) {
            &self.common_watermarks
        } else {
            &self.own_watermarks
        }
    }

    /// What was settled before was routed by other tables than lines will be from now on: a line
    /// that goes elsewhere now must not pass as settled there.
    pub fn forget_own_watermarks(&self) {
        self.own_forgotten.store(true, Ordering::Release);
    }

    /// False once the partition was revoked, lost, or is read again under a new generation.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// The generation is over.
    pub fn end(&self) {
        self.alive.store(false, Ordering::Release);
        self.settled.notify_one();
    }

    /// A batch was read; see [`Ledger::read`].
    pub fn read(&self, first_offset: i64, next_offset: i64) -> u64 {
        self.ledger().read(first_offset, next_offset)
    }

    /// As [`Generation::read`], of nothing behind what was read last.
    pub fn read_nothing(&self) -> u64 {
        let mut ledger = self.ledger();
        let end = ledger.next_offset();
        ledger.read(end, end)
    }

    /// A finite source has nothing more of the partition: what is held of it is complete.
    pub fn set_read_out(&self) {
        if !self.read_out.swap(true, Ordering::AcqRel) {
            self.read_out_told.notify_one();
        }
    }

    /// See [`Generation::set_read_out`].
    pub fn is_read_out(&self) -> bool {
        self.read_out.load(Ordering::Acquire)
    }

    /// Waits until the partition is read out; only its dispatcher does.
    pub async fn read_out(&self) {
        self.read_out_told.notified().await;
    }

    /// True when everything that the source was known to have was read; of a pipe nobody knows.
    pub fn is_at_end(&self) -> bool {
        let end = self.end_offset();
        end < 0 || self.ledger().next_offset() >= end
    }

    /// A part of a batch was routed; see [`Ledger::routed`].
    pub fn routed(&self, sequence: u64, part: RoutedPart<'_>) {
        self.ledger().routed(sequence, part);
        self.settled.notify_one();
    }

    /// Events of a batch are settled in a sink.
    pub fn settle(&self, sequence: u64, sink: SinkNumber, events: impl IntoIterator<Item = u32>) {
        self.ledger().settle(sequence, sink, events);
        self.settled.notify_one();
    }

    /// Lines of a halted destination left memory unsettled: after the cure this partition must be
    /// read again.
    pub fn give_up(&self, sink: SinkNumber, destination: &str) {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if !given_up.contains(&(sink, destination.to_owned())) {
            given_up.insert((sink, destination.to_owned()));
        }
    }

    /// True when lines of this destination were given up.
    pub fn gave_up(&self, sink: SinkNumber, destination: &str) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.contains(&(sink, destination.to_owned()))
    }

    /// True when lines of any destination of this sink were given up.
    pub fn gave_up_of(&self, sink: SinkNumber) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.iter().any(|(of, _)| *of == sink)
    }

    /// True when lines of any destination were given up.
    pub fn gave_up_any(&self) -> bool {
        !self.given_up.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The rules of delivery that hold.
    pub fn rules(&self) -> DeliveryRules {
        self.ledger().rules()
    }

    /// The ledger, locked.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The highest offset this generation committed itself, or the one it began with.
    pub fn committed(&self) -> i64 {
        self.committed.load(Ordering::Acquire)
    }

    /// A commit at `offset` was acknowledged.
    pub fn set_committed(&self, offset: i64) {
        self.committed.fetch_max(offset, Ordering::AcqRel);
    }

    /// First offset after the partition's last record, as last heard; -1 when never.
    pub fn end_offset(&self) -> i64 {
        self.end_offset.load(Ordering::Acquire)
    }

    /// The partition's end was heard.
    pub fn set_end_offset(&self, offset: i64) {
        self.end_offset.fetch_max(offset, Ordering::AcqRel);
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire)
    }
}

impl InFlight {
    /// A request for lines of this generation begins.
    pub fn begin(generation: &Arc<Generation>) -> InFlight {
        generation.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(generation))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.0.settled.notify_one();
    }
}
