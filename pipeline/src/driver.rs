//! Drives one source: takes what it reads through the trip, keeps a generation for every partition
//! it holds, commits about once a second, reads partitions again after a cure, and stops in order.
//!
//! Invariant: one recovery path for crash, revoke, lost race and cured halt alike: forget, and read
//! again from the watermark. Next stop of a batch: [`crate::partition`].

mod hand_over;
mod observe;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use crate::clock;
use crate::commit;
use crate::delivery_rules::DeliveryRules;
use crate::dispatch::Dispatch;
use crate::generation::Generation;
use crate::memory::Memory;
use crate::partition::HeldPartition;
use crate::sink::{Cured, SinkMessage};
use crate::source::{
    Assigned, CommitEntry, CommitOutcome, Partition, SourceCommand, SourceEvent, SourceLink,
};
use crate::telemetry::health::Health;
use crate::telemetry::metrics::Metrics;
use crate::transform::BatchTransform;
pub use hand_over::{Begin, Handover};

/// How often a revoke or a stop looks whether it is done.
const DRAIN_TICK: Duration = Duration::from_millis(20);
/// How often a stop asks the sinks again to send what they hold.
const FLUSH_TICKS: u32 = 10;
/// How long the source may take to leave its group.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// How the driver behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Between two commits.
    pub commit_interval: Duration,
    /// How long a revoke waits for what is in flight.
    pub revoke_wait: Duration,
    /// How long a stop flushes.
    pub stop_deadline: Duration,
    /// How far a partition is read ahead of lines that wait for a halted destination, milliseconds
    /// of record time.
    pub ahead_max_ms: i64,
    /// How long an assigned partition with lag may stand still before it is said so.
    pub stall_after: Duration,
    /// How much longer where a sink holds it: what the slowest sink waits before it sends.
    pub settle_max: Duration,
    /// The rules.
    pub rules: DeliveryRules,
}

/// Why the driver ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// A finite source was read to its end; everything is settled.
    Read,
    /// Asked to stop; everything that was read is settled and committed.
    Settled,
    /// The deadline came first: what is unsettled will be read again.
    Deadline,
    /// The source cannot go on.
    Failed(String),
}

/// See the module documentation.
pub struct Driver {
    /// The source.
    pub link: SourceLink,
    /// What the driver before it held, if there was one.
    pub begin: Option<Begin>,
    /// What makes events of records.
    pub transform: Arc<dyn BatchTransform>,
    /// The sinks and the dead letters.
    pub dispatch: Dispatch,
    /// Cures told by the sinks.
    pub cured: mpsc::Receiver<Cured>,
    /// Turns true when the process is to stop.
    pub stop: watch::Receiver<bool>,
    /// Turns true when the source is to go on under another driver.
    pub hand_over: watch::Receiver<bool>,
    /// Fingerprint of the configuration, its tables and the program; another one means that
    /// `transform` was offered other tables.
    pub fingerprint: watch::Receiver<Arc<str>>,
    /// The budget.
    pub memory: Memory,
    /// Counters.
    pub metrics: Metrics,
    /// Readiness.
    pub health: Health,
    /// Settings.
    pub settings: Settings,
}

/// A commit on its way.
struct Committing {
    entries: Vec<CommitEntry>,
    reply: oneshot::Receiver<Vec<CommitOutcome>>,
}

struct Running {
    driver: Driver,
    held: BTreeMap<Partition, HeldPartition>,
    settled: Arc<Notify>,
    committing: Option<Committing>,
    /// What lines are routed under.
    fingerprint: Arc<str>,
    /// The time `latest` resolved to, carried by every commit.
    start_time_ms: Option<i64>,
    /// A finite source has been read to its end, and no part of it is to be read again.
    is_read: bool,
}

impl Driver {
    /// Runs until stopped, the source is finished, or it fails.
    pub async fn run(self) -> Ended {
        self.run_or_hand_over().await.0
    }
}

impl Running {
    fn new(driver: Driver) -> Running {
        let fingerprint = Arc::clone(&driver.fingerprint.borrow());
        Running {
            driver,
            held: BTreeMap::new(),
            settled: Arc::new(Notify::new()),
            committing: None,
            fingerprint,
            start_time_ms: None,
            is_read: false,
        }
    }

    async fn run(mut self) -> (Ended, Option<Handover>) {
        // They may have changed while the source was started.
        self.swap_tables();
        self.take_over().await;
        let mut hand_over = self.driver.hand_over.clone();
        let mut tick = tokio::time::interval(self.driver.settings.commit_interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = self.driver.stop.clone();
        let ended = loop {
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break self.stop().await,
                () = stopped(&mut hand_over) => match self.prepare_hand_over().await {
                    Ended::Settled | Ended::Deadline => {
                        return (Ended::Settled, Some(self.hand_over()));
                    }
                    ended @ (Ended::Read | Ended::Failed(_)) => break ended,
                },
                outcomes = outcomes(&mut self.committing) => self.committed(outcomes),
                Some(cured) = self.driver.cured.recv() => self.read_again(&cured).await,
                Ok(()) = self.driver.fingerprint.changed() => self.swap_tables(),
                event = self.driver.link.events.recv() => match event {
                    Some(SourceEvent::Finished) => break self.finish().await,
                    Some(SourceEvent::Fatal(why)) => break Ended::Failed(why),
                    Some(event) => self.take(event).await,
                    None => break Ended::Failed("the source has gone".to_owned()),
                },
                _ = tick.tick() => self.tick().await,
            }
        };
        self.driver.health.set_stopping();
        for held in self.held.values() {
            held.end();
        }
        leave(self.driver.link).await;
        (ended, None)
    }

    async fn take(&mut self, event: SourceEvent) {
        match event {
            SourceEvent::Assigned(assigned) => {
                self.driver.metrics.rebalances("assigned");
                self.driver.health.set_assigned(true);
                for partition in assigned {
                    self.hold(&partition);
                }
            }
            SourceEvent::Revoked { partitions, reply } => {
                self.driver.metrics.rebalances("revoked");
                self.revoke(&partitions, reply);
            }
            SourceEvent::Recreated(partitions) => {
                self.driver.metrics.rebalances("recreated");
                for partition in &partitions {
                    // Not ended: its dispatcher and the sinks deliver what was read, and the
                    // source takes no commit of it.
                    if self.let_go(partition).is_some() {
                        tracing::warn!(%partition, "the topic was made anew: read from its start");
                    }
                }
            }
            SourceEvent::Lost(partitions) => {
                self.driver.metrics.rebalances("lost");
                for partition in &partitions {
                    if let Some(held) = self.let_go(partition) {
                        held.end();
                    }
                }
                self.tell_sinks_ended();
            }
            SourceEvent::Records(batch) => {
                let drop_stale = self.driver.settings.rules.stale_records_are_dropped;
                if let Some(held) = self.held.get_mut(&batch.partition)
                    && (held.generation.epoch == batch.epoch || !drop_stale)
                {
                    held.take(batch).await;
                }
            }
            SourceEvent::OutOfRange { partition, epoch, position, resumed, end } => {
                self.out_of_range(&partition, epoch, position, resumed, end);
            }
            SourceEvent::End { partition, end_offset } => {
                if let Some(held) = self.held.get(&partition) {
                    held.generation.set_end_offset(end_offset);
                }
            }
            SourceEvent::Connected(connected) => self.driver.health.set_connected(connected),
            SourceEvent::Finished => self.is_read = true,
            SourceEvent::Fatal(_) => {}
        }
    }

    /// Uses the tables that were offered last. Commits are encoded by this task alone, so none
    /// carries own watermarks of lines that one table routed under the fingerprint of another.
    fn swap_tables(&mut self) {
        // Tables are offered under the lock that this holds: they are those of the fingerprint.
        let fingerprint = self.driver.fingerprint.borrow_and_update();
        if *fingerprint != self.fingerprint {
            if self.driver.settings.rules.table_swap_forgets_own_watermarks {
                self.held.values_mut().for_each(HeldPartition::swap_tables);
            }
            self.fingerprint = Arc::clone(&fingerprint);
        }
        self.driver.transform.swap_tables();
    }

    /// Holds a newly assigned partition.
    fn hold(&mut self, assigned: &Assigned) {
        let sink_count = self.driver.dispatch.sinks.len() + 1;
        let (position, rules) = (assigned.position, self.driver.settings.rules);
        let metadata =
            commit::decode(&assigned.metadata, position, &self.fingerprint, sink_count, rules);
        self.start_time_ms = self.start_time_ms.or(metadata.start_time_ms);
        let own = metadata.sink_watermarks.unwrap_or_else(|| vec![position; sink_count]);
        self.hold_from(assigned, own);
    }

    fn hold_from(&mut self, assigned: &Assigned, own_watermarks: Vec<i64>) {
        let driver = &self.driver;
        let lineage = Arc::clone(&driver.link.lineage);
        let settled = Arc::clone(&self.settled);
        let rules = driver.settings.rules;
        let generation =
            Arc::new(Generation::new(assigned, lineage, own_watermarks, settled, rules));
        let held = HeldPartition::new(
            generation,
            Arc::clone(&driver.transform),
            driver.dispatch.clone(),
            driver.memory.batches_max(),
            clock::now_ms(),
        );
        if let Some(before) = self.held.insert(assigned.partition.clone(), held) {
            before.end();
        }
    }

    fn let_go(&mut self, partition: &Partition) -> Option<HeldPartition> {
        self.driver.metrics.partition_gone(&partition.topic, partition.number);
        self.held.remove(partition)
    }

    /// Stops intake, waits briefly for what is in flight, answers the last commits, forgets.
    fn revoke(&mut self, partitions: &[Partition], reply: oneshot::Sender<Vec<CommitEntry>>) {
        let going: Vec<HeldPartition> =
            partitions.iter().filter_map(|partition| self.let_go(partition)).collect();
        for held in &going {
            held.stop_intake();
        }
        let settings = self.driver.settings.clone();
        let (fingerprint, start_time_ms) = (Arc::clone(&self.fingerprint), self.start_time_ms);
        let sinks = Arc::clone(&self.driver.dispatch.sinks);
        tokio::spawn(async move {
            let deadline = clock::instant() + settings.revoke_wait;
            let mut quiet_ticks = 0;
            while quiet_ticks < 3 && clock::instant() < deadline {
                tokio::time::sleep(DRAIN_TICK).await;
                let in_flight = going.iter().any(|held| held.generation.in_flight() > 0);
                quiet_ticks = if in_flight { 0 } else { quiet_ticks + 1 };
            }
            let last = going.iter().filter_map(|held| held.commit(&fingerprint, start_time_ms));
            let commits = last.collect();
            for held in &going {
                held.end();
            }
            if reply.send(commits).is_err() {
                tracing::debug!("the source did not wait for the last commits of a revoke");
            }
            for sink in &*sinks {
                // A full queue is no harm: sinks look at the generation of what they hold anyway.
                let _full = sink.queue.try_send(SinkMessage::Ended);
            }
        });
    }

    fn out_of_range(
        &mut self,
        partition: &Partition,
        epoch: u64,
        position: i64,
        resumed: i64,
        end: i64,
    ) {
        let lost = (resumed - position).max(0);
        tracing::error!(
            %partition, position, resumed, end, lost_lines = lost,
            "the wanted offset is outside what the broker keeps; reading goes on at the earliest"
        );
        self.driver.metrics.source_lost_lines(&partition.topic, lost as u64);
        let Some(held) = self.held.get(partition) else { return };
        if held.generation.epoch != epoch || resumed >= held.generation.ledger().next_offset() {
            // A gap ahead: what was read before it is still owed, and the ledger knows gaps.
            return;
        }
        // The topic begins anew below. What was read of the old one is still delivered, but has
        // no offset to commit any more.
        let is_held = held.is_held;
        self.held.remove(partition);
        let assigned = Assigned {
            partition: partition.clone(),
            epoch,
            position: resumed,
            metadata: Vec::new(),
            end_offset: end,
            incarnation: None,
        };
        let sink_count = self.driver.dispatch.sinks.len() + 1;
        self.hold_from(&assigned, vec![resumed; sink_count]);
        if let Some(held) = self.held.get_mut(partition) {
            // The source still thinks so; the next look says otherwise.
            held.is_held = is_held;
        }
    }

    /// A destination works again: partitions that gave up lines of it begin a new generation at
    /// their watermark.
    async fn read_again(&mut self, cured: &Cured) {
        let gave_up =
            |held: &&HeldPartition| held.generation.gave_up(cured.sink, &cured.destination);
        let affected: Vec<Partition> = self
            .held
            .values()
            .filter(gave_up)
            .map(|held| held.generation.partition.clone())
            .collect();
        for partition in affected {
            self.begin_again(&partition, "reading again what a halted destination gave up").await;
        }
        self.tell_sinks_ended();
    }

    /// Forgets what is held of a partition and reads it again from its watermark.
    async fn begin_again(&mut self, partition: &Partition, why: &'static str) {
        let Some(held) = self.held.remove(partition) else { return };
        let (offset, own) = held.watermarks();
        let sink_count = held.generation.own_watermarks().len();
        let own = own.unwrap_or_else(|| vec![offset; sink_count]);
        held.end();
        let epoch = self.driver.link.epochs.next();
        tracing::info!(%partition, offset, "{why}");
        let assigned = Assigned {
            partition: partition.clone(),
            epoch,
            position: offset,
            metadata: Vec::new(),
            end_offset: held.generation.end_offset(),
            incarnation: held.generation.incarnation.clone(),
        };
        self.hold_from(&assigned, own);
        self.is_read = false;
        let (partition, replaces) = (partition.clone(), held.generation.epoch);
        self.command(SourceCommand::Rewind { partition, offset, epoch, replaces }).await;
    }

    fn tell_sinks_ended(&self) {
        for sink in &*self.driver.dispatch.sinks {
            let _full = sink.queue.try_send(SinkMessage::Ended);
        }
    }

    async fn tick(&mut self) {
        self.begin_commit().await;
        self.observe().await;
    }

    async fn begin_commit(&mut self) {
        if self.committing.is_some() {
            return;
        }
        let mut entries = Vec::new();
        for held in self.held.values() {
            held.generation.ledger().compact();
            entries.extend(held.commit(&self.fingerprint, self.start_time_ms));
        }
        if entries.is_empty() {
            return;
        }
        let (sender, reply) = oneshot::channel();
        let command = SourceCommand::Commit { entries: entries.clone(), reply: sender };
        self.committing = Some(Committing { entries, reply });
        self.command(command).await;
    }

    /// The outcomes of a commit, and what they were for.
    fn committed(&mut self, (entries, outcomes): (Vec<CommitEntry>, Vec<CommitOutcome>)) {
        for (entry, outcome) in entries.into_iter().zip(outcomes) {
            let Some(held) = self.held.get_mut(&entry.partition) else { continue };
            if held.generation.epoch != entry.epoch {
                continue;
            }
            match outcome {
                CommitOutcome::Done => {
                    if held.generation.committed() != entry.offset {
                        held.moved_at_ms = clock::now_ms();
                    }
                    held.generation.set_committed(entry.offset);
                    held.last_commit = Some((entry.offset, entry.metadata));
                    self.driver.metrics.commits("done", 1);
                }
                CommitOutcome::MetadataRefused => {
                    tracing::warn!(
                        partition = %entry.partition, bytes = entry.metadata.len(),
                        "the broker refuses the commit's metadata: own watermarks are not kept"
                    );
                    held.plain_metadata = true;
                    self.driver.metrics.commits("metadata_refused", 1);
                }
                CommitOutcome::Overtaken(why) => {
                    tracing::info!(
                        partition = %entry.partition, reason = %why,
                        "not committed, as the partition changes hands"
                    );
                    self.driver.metrics.commits("failed", 1);
                }
                CommitOutcome::Failed(why) => {
                    tracing::warn!(partition = %entry.partition, reason = %why, "commit failed");
                    self.driver.metrics.commits("failed", 1);
                }
            }
        }
    }

    /// A finite source was read: everything must settle, however long it takes, unless the process
    /// is asked to stop meanwhile.
    async fn finish(&mut self) -> Ended {
        self.is_read = true;
        let mut stop = self.driver.stop.clone();
        tokio::select! {
            biased;
            ended = self.drain(None) => return ended,
            () = stopped(&mut stop) => {}
        }
        self.stop().await
    }

    /// Asked to stop: no more is read, what is held is flushed within the deadline.
    async fn stop(&mut self) -> Ended {
        self.driver.health.set_stopping();
        self.command(SourceCommand::StopReading).await;
        let deadline = clock::instant() + self.driver.settings.stop_deadline;
        self.drain(Some(deadline)).await
    }

    async fn drain(&mut self, deadline: Option<tokio::time::Instant>) -> Ended {
        let mut ticks = 0;
        let settled = loop {
            // Without a deadline this waits for the source's end, also for its second after a cure.
            let is_over = deadline.is_some() || self.is_read;
            if self.is_read {
                // What is held is complete: no line comes behind it.
                for held in self.held.values() {
                    held.generation.set_read_out();
                }
            }
            let is_read = self.is_read;
            // Sinks were asked to send what they hold before it is looked whether all is sent.
            let is_asked = ticks > 1 || is_read;
            if is_asked && is_over && self.held.values().all(|held| is_drained(held, is_read)) {
                break self.held.values().all(|held| is_settled(held, is_read));
            }
            if deadline.is_some_and(|deadline| clock::instant() >= deadline) {
                break false;
            }
            if ticks % FLUSH_TICKS == 0 {
                for sink in &*self.driver.dispatch.sinks {
                    let _full = sink.queue.try_send(SinkMessage::Flush);
                }
            }
            ticks += 1;
            tokio::select! {
                biased;
                outcomes = outcomes(&mut self.committing) => self.committed(outcomes),
                Some(cured) = self.driver.cured.recv() => self.read_again(&cured).await,
                event = self.driver.link.events.recv() => match event {
                    Some(SourceEvent::Fatal(why)) => return Ended::Failed(why),
                    Some(event) => self.take(event).await,
                    None => return Ended::Failed("the source has gone".to_owned()),
                },
                () = tokio::time::sleep(DRAIN_TICK) => {}
            }
        };
        self.commit_last().await;
        match settled {
            true if self.is_read => Ended::Read,
            true => Ended::Settled,
            false => Ended::Deadline,
        }
    }

    async fn commit_last(&mut self) {
        if self.committing.is_some() {
            let last = outcomes(&mut self.committing);
            if let Ok(last) = tokio::time::timeout(self.driver.settings.revoke_wait, last).await {
                self.committed(last);
            }
        }
        self.begin_commit().await;
        if self.committing.is_some() {
            let last = outcomes(&mut self.committing);
            if let Ok(last) = tokio::time::timeout(self.driver.settings.stop_deadline, last).await {
                self.committed(last);
            } else {
                tracing::warn!("the last commit was not answered in time");
            }
        }
    }

    async fn command(&self, command: SourceCommand) {
        if self.driver.link.commands.send(command).await.is_err() {
            tracing::debug!("the source has gone");
        }
    }
}

/// Nothing more will settle by waiting: all settled, or the rest was given up.
fn is_drained(held: &HeldPartition, is_read: bool) -> bool {
    let generation = &held.generation;
    is_settled(held, is_read) || (generation.gave_up_any() && generation.in_flight() == 0)
}

/// All is settled; before the source's end, lines that are held for a record stay unsettled and are
/// read again.
fn is_settled(held: &HeldPartition, is_read: bool) -> bool {
    let ledger = held.generation.ledger();
    if is_read { ledger.is_settled() } else { ledger.owes_nothing() }
}

/// Waits until a source has left its group: the partitions of a process that ends before are read
/// by nobody until its session has timed out.
pub async fn leave(mut link: SourceLink) {
    if link.commands.send(SourceCommand::Close).await.is_err() {
        tracing::debug!("the source has gone");
    }
    let left = async { while link.events.recv().await.is_some() {} };
    if tokio::time::timeout(LEAVE_MAX, left).await.is_err() {
        tracing::warn!("the source took too long to leave its group");
    }
}

/// Waits until the process is to stop; for ever when nobody can say so any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for the commit on its way; for ever when there is none.
async fn outcomes(committing: &mut Option<Committing>) -> (Vec<CommitEntry>, Vec<CommitOutcome>) {
    let Some(waiting) = committing else { return std::future::pending().await };
    let outcomes = (&mut waiting.reply).await.unwrap_or_default();
    let entries = committing.take().map(|done| done.entries).unwrap_or_default();
    (entries, outcomes)
}

#[cfg(test)]
mod tests;
