//! Partitions come and go. A partition that comes is *pending* until its position is resolved and,
//! where it is not the group's commit, committed; then its queue is split off, it is assigned at
//! that explicit offset, and the driver is told. One that goes is told first, its last commits are
//! waited for and sent, and only then it is let go.
//!
//! Invariants: a pending partition stays pending until it is read or gone; nothing is committed
//! for a lost one; librdkafka is never left to choose a position. Next stop: `resolve`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{Consumer as _, RebalanceProtocol};
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch::Cursor;
use super::committer::{Entry, Finished, Purpose};
use super::queue::PartitionQueue;
use super::reader::{Active, RETRY_AFTER, Reader};
use super::resolve::{Question, Resolved};
use crate::source::{Assigned, CommitEntry, CommitOutcome, Partition, SourceEvent};

/// How much longer than the driver the source waits for last commits.
const REVOKE_SLACK: Duration = Duration::from_secs(2);

/// How long the last commit of partitions that go may take at the broker.
const LAST_COMMIT_MAX: Duration = Duration::from_secs(10);

/// How long a move within a partition may take; it does not ask the broker.
const SEEK_MAX: Duration = Duration::from_secs(2);

/// A partition that was handed to us and is not read yet.
#[derive(Debug)]
pub(super) struct Pending {
    partition: Partition,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// To be asked for at this time.
    Waiting(Instant),
    /// The broker is asked.
    Asking,
    /// Its position is being committed.
    Committing(Resolved),
}

/// Partitions that go, one rebalance at a time.
#[derive(Debug)]
pub(super) struct Revoking {
    partitions: Vec<Partition>,
    stage: RevokeStage,
}

#[derive(Debug)]
enum RevokeStage {
    /// The driver is asked for the last commits, until this time.
    Asked(oneshot::Receiver<Vec<CommitEntry>>, Instant),
    /// They are sent, until this time.
    Committing(Instant),
    /// They are answered.
    Committed,
}

impl Reader {
    fn cooperative(&self) -> bool {
        matches!(self.consumer.rebalance_protocol(), RebalanceProtocol::Cooperative)
    }

    pub(super) fn on_assign(&mut self, partitions: Vec<(String, i32)>, now: Instant) {
        tracing::info!(count = partitions.len(), "kafka partitions come");
        let nothing = partitions.is_empty();
        for (topic, number) in partitions {
            let partition = Partition { topic: topic.into(), number };
            self.pending.retain(|pending| pending.partition != partition);
            self.pending.push(Pending { partition, stage: Stage::Waiting(now) });
        }
        // librdkafka waits for an answer. Under the cooperative protocol partitions are added one
        // by one later; under the eager one each assignment is a whole, and none is read until
        // the first position is known.
        let empty = TopicPartitionList::new();
        let answered = match (self.cooperative(), nothing) {
            (true, _) => self.consumer.incremental_assign(&empty),
            (false, true) => self.consumer.assign(&empty),
            (false, false) => Ok(()),
        };
        note("an assignment", answered);
    }

    /// Asks for all pending partitions whose time has come.
    pub(super) fn ask_starts(&mut self, now: Instant) {
        let due = |pending: &&mut Pending| matches!(pending.stage, Stage::Waiting(at) if now >= at);
        let mut asked = Vec::new();
        for pending in self.pending.iter_mut().filter(due) {
            pending.stage = Stage::Asking;
            asked.push(pending.partition.clone());
        }
        if !asked.is_empty() && !self.resolver.ask(Question::Starts(asked.clone())) {
            for partition in asked {
                self.wait_again(&partition, now);
            }
        }
    }

    pub(super) fn on_starts(
        &mut self,
        starts: Vec<(Partition, Result<Resolved, String>)>,
        now: Instant,
    ) {
        let mut ready = Vec::new();
        let mut to_commit = Vec::new();
        for (partition, start) in starts {
            // Those that have gone, or came anew, meanwhile are not asking.
            let asking = |p: &Pending| p.partition == partition && matches!(p.stage, Stage::Asking);
            let Some(index) = self.pending.iter().position(asking) else { continue };
            match start {
                Ok(resolved) if resolved.to_commit => {
                    let metadata = String::from_utf8_lossy(&resolved.metadata).into_owned();
                    let offset = resolved.position;
                    to_commit.push(Entry { partition, offset, metadata });
                    self.pending[index].stage = Stage::Committing(resolved);
                }
                Ok(resolved) => {
                    self.pending.swap_remove(index);
                    ready.push((partition, resolved));
                }
                Err(reason) => {
                    if let Some(repeated) = self.consumer.context().may_log("start") {
                        tracing::warn!(%partition, repeated, "kafka partition waits: {reason}");
                    }
                    self.wait_again(&partition, now);
                }
            }
        }
        if !to_commit.is_empty() {
            self.committer.add(Purpose::Start, to_commit);
        }
        self.add(ready, now);
    }

    /// Start positions were committed, or not.
    pub(super) fn on_started(&mut self, finished: Finished, now: Instant) {
        let mut ready = Vec::new();
        for (entry, outcome) in finished.entries.into_iter().zip(finished.outcomes) {
            let partition = entry.partition;
            let committing = |pending: &Pending| {
                pending.partition == partition
                    && matches!(&pending.stage, Stage::Committing(r) if r.position == entry.offset)
            };
            let Some(index) = self.pending.iter().position(committing) else { continue };
            // A broker that takes no metadata takes the position without: then nobody remembers
            // what `latest` meant.
            let done = match outcome {
                CommitOutcome::Done => true,
                CommitOutcome::MetadataRefused => {
                    let bare = Entry { metadata: String::new(), partition, ..entry };
                    self.committer.add(Purpose::Start, vec![bare]);
                    continue;
                }
                CommitOutcome::Overtaken(reason) => {
                    tracing::info!(%partition, "start not committed: {reason}");
                    false
                }
                CommitOutcome::Failed(reason) => {
                    if let Some(repeated) = self.consumer.context().may_log("start commit") {
                        tracing::warn!(%partition, repeated, "start not committed: {reason}");
                    }
                    false
                }
            };
            if !done {
                self.wait_again(&partition, now);
            } else if let Stage::Committing(resolved) = self.pending.swap_remove(index).stage {
                ready.push((partition, resolved));
            }
        }
        self.add(ready, now);
    }

    fn wait_again(&mut self, partition: &Partition, now: Instant) {
        let mut known = self.pending.iter_mut();
        match known.find(|pending| pending.partition == *partition) {
            Some(pending) => pending.stage = Stage::Waiting(now + RETRY_AFTER),
            None => self.pending.push(Pending {
                partition: partition.clone(),
                stage: Stage::Waiting(now + RETRY_AFTER),
            }),
        }
    }

    /// Begins to read partitions at resolved positions.
    fn add(&mut self, ready: Vec<(Partition, Resolved)>, now: Instant) {
        let mut added = Vec::new();
        let mut assigned = Vec::new();
        for (partition, resolved) in ready {
            let (topic, number) = (&*partition.topic, partition.number);
            let opened = PartitionQueue::open(&self.consumer, topic, number, &self.wake);
            let Some(queue) = opened else {
                tracing::warn!(%partition, "librdkafka does not know the partition yet");
                self.wait_again(&partition, now);
                continue;
            };
            let epoch = self.epochs.next();
            assigned.push(Assigned {
                partition: partition.clone(),
                epoch,
                position: resolved.position,
                metadata: resolved.metadata,
                end_offset: resolved.end_offset,
                incarnation: resolved.mark.as_deref().map(Arc::from),
            });
            let cursor = Cursor { next_offset: resolved.position, mean_bytes: 0 };
            added.push(Active {
                partition,
                epoch,
                queue,
                cursor,
                end_offset: resolved.end_offset,
                mark: resolved.mark,
                moving: None,
                out_of_range: None,
                leaving: false,
                held: false,
                bare_metadata: false,
            });
        }
        if added.is_empty() {
            return;
        }
        let first = self.active.len();
        self.active.extend(added);
        let done = if self.cooperative() {
            self.consumer.incremental_assign(&list(&self.active[first..]))
        } else {
            self.assign_all()
        };
        if done.is_ok() {
            self.outbox.push_back(SourceEvent::Assigned(assigned));
            return;
        }
        note("an assignment", done);
        for failed in self.active.split_off(first) {
            self.wait_again(&failed.partition, now);
        }
    }

    /// Eager protocol: the whole assignment anew. What was fetched ahead is fetched again.
    fn assign_all(&mut self) -> KafkaResult<()> {
        for active in &mut self.active {
            active.queue.clear();
        }
        self.consumer.assign(&list(&self.active))
    }

    /// Goes on at another offset. What was fetched for the old one never comes: librdkafka's
    /// version barrier drops what is queued, and what was taken is let go here.
    pub(super) fn move_to(&mut self, index: usize, offset: i64) {
        let active = &mut self.active[index];
        active.queue.clear();
        active.cursor.next_offset = offset;
        active.moving = None;
        let (topic, number) = (active.partition.topic.to_string(), active.partition.number);
        if self.consumer.seek(&topic, number, Offset::Offset(offset), SEEK_MAX).is_ok() {
            return;
        }
        // A partition whose fetching has stopped (out of range) cannot seek: it is let go and
        // assigned anew.
        let done = if self.cooperative() {
            let one = list(&self.active[index..=index]);
            note("a move", self.consumer.incremental_unassign(&one));
            self.consumer.incremental_assign(&one)
        } else {
            self.assign_all()
        };
        if done.is_err() {
            self.active[index].moving = Some(crate::clock::instant() + RETRY_AFTER);
        }
        note("a move", done);
    }

    /// What the broker keeps of a partition whose position was out of range.
    pub(super) fn on_range(
        &mut self,
        partition: &Partition,
        range: Result<(i64, i64), String>,
        now: Instant,
    ) {
        let Some(index) = self.position(partition) else { return };
        let active = &mut self.active[index];
        // A move has come in between.
        if active.out_of_range.is_none() {
            return;
        }
        let (first, end) = match range {
            Ok(range) => range,
            Err(reason) => {
                active.out_of_range = Some(now + RETRY_AFTER);
                if let Some(repeated) = self.consumer.context().may_log("range") {
                    tracing::warn!(%partition, repeated, "out of range, and no answer: {reason}");
                }
                return;
            }
        };
        active.out_of_range = None;
        let position = active.cursor.next_offset;
        if (first..=end).contains(&position) {
            self.move_to(index, position);
            return;
        }
        tracing::warn!(%partition, position, first, end, "offset out of range: on at the first");
        let (partition, epoch) = (partition.clone(), active.epoch);
        active.end_offset = end;
        let gap = SourceEvent::OutOfRange { partition, epoch, position, resumed: first, end };
        self.outbox.push_back(gap);
        self.move_to(index, first);
    }

    /// Topics as they are now: one that was re-created under its name begins anew.
    pub(super) fn on_marks(&mut self, marks: &HashMap<String, String>, now: Instant) {
        for active in self.active.iter_mut().filter(|active| active.mark.is_none()) {
            // No id was told when it was assigned.
            active.mark = marks.get(&*active.partition.topic).cloned();
        }
        let changed = |active: &&Active| {
            let before = active.mark.as_ref();
            let mark = marks.get(&*active.partition.topic);
            !active.leaving && before.zip(mark).is_some_and(|(before, mark)| before != mark)
        };
        let gone: Vec<Partition> =
            self.active.iter().filter(changed).map(|active| active.partition.clone()).collect();
        if gone.is_empty() {
            return;
        }
        tracing::warn!(count = gone.len(), "a topic was re-created: read from its start");
        self.committer.forget(&gone);
        // The eager protocol lets go by assigning the rest, which happens when the new positions
        // are known.
        if self.cooperative() {
            let done = self.consumer.incremental_unassign(&self.assigned(&gone));
            note("a re-created topic", done);
        }
        self.active.retain(|active| !gone.contains(&active.partition));
        self.outbox.push_back(SourceEvent::Recreated(gone.clone()));
        for partition in gone {
            self.pending.push(Pending { partition, stage: Stage::Waiting(now) });
        }
    }

    pub(super) fn on_revoke(&mut self, partitions: &[(String, i32)], now: Instant) {
        let go = |partition: &Partition| {
            let named = |(topic, number): &(String, i32)| {
                *number == partition.number && **topic == *partition.topic
            };
            partitions.iter().any(named)
        };
        self.pending.retain(|pending| !go(&pending.partition));
        let mut leaving = Vec::new();
        for active in self.active.iter_mut().filter(|active| go(&active.partition)) {
            active.leaving = true;
            active.queue.clear();
            leaving.push(active.partition.clone());
        }
        let lost = self.consumer.assignment_lost();
        tracing::info!(count = partitions.len(), lost, "kafka partitions go");
        if leaving.is_empty() || lost {
            if !leaving.is_empty() {
                self.outbox.push_back(SourceEvent::Lost(leaving.clone()));
            }
            self.let_go(&leaving);
            return;
        }
        let (reply, asked) = oneshot::channel();
        self.outbox.push_back(SourceEvent::Revoked { partitions: leaving.clone(), reply });
        let until = now + self.revoke_wait + REVOKE_SLACK;
        let stage = RevokeStage::Asked(asked, until);
        self.revoking = Some(Revoking { partitions: leaving, stage });
    }

    /// Moves on with partitions that go; true when they have gone.
    pub(super) fn serve_revoking(&mut self, now: Instant) -> bool {
        let Some(mut revoking) = self.revoking.take() else { return false };
        let lost = self.consumer.assignment_lost();
        let entries = match &mut revoking.stage {
            RevokeStage::Asked(asked, until) => match asked.try_recv() {
                Ok(entries) if !lost => Some(entries),
                Ok(_) | Err(oneshot::error::TryRecvError::Closed) => None,
                Err(oneshot::error::TryRecvError::Empty) if now < *until && !lost => {
                    self.revoking = Some(revoking);
                    return false;
                }
                Err(oneshot::error::TryRecvError::Empty) => {
                    tracing::warn!(lost, "partitions go without their last commits");
                    None
                }
            },
            RevokeStage::Committing(until) if now < *until && !lost => {
                self.revoking = Some(revoking);
                return false;
            }
            RevokeStage::Committing(_) | RevokeStage::Committed => None,
        };
        let Some(entries) = entries else {
            self.let_go(&revoking.partitions);
            return true;
        };
        self.committer.forget(&revoking.partitions);
        let owned = entries.into_iter().filter(|entry| self.refused(entry).is_none());
        let entries: Vec<Entry> = owned.map(|entry| self.entry(entry)).collect();
        self.committer.add(Purpose::Revoke, entries);
        revoking.stage = RevokeStage::Committing(now + LAST_COMMIT_MAX);
        self.revoking = Some(revoking);
        true
    }

    pub(super) fn on_last_commit(&mut self, finished: &Finished) {
        for (entry, outcome) in finished.entries.iter().zip(&finished.outcomes) {
            let partition = &entry.partition;
            match outcome {
                CommitOutcome::Done => {}
                CommitOutcome::Overtaken(reason) => {
                    tracing::info!(%partition, %reason, "no last commit: the group has moved on");
                }
                CommitOutcome::MetadataRefused | CommitOutcome::Failed(_) => {
                    tracing::warn!(%partition, ?outcome, "the last commit did not get through");
                }
            }
        }
        if let Some(revoking) = &mut self.revoking {
            revoking.stage = RevokeStage::Committed;
        }
    }

    fn let_go(&mut self, gone: &[Partition]) {
        self.committer.forget(gone);
        let done = if self.cooperative() {
            self.consumer.incremental_unassign(&self.assigned(gone))
        } else {
            self.consumer.unassign()
        };
        note("a revocation", done);
        self.active.retain(|active| !gone.contains(&active.partition));
    }

    /// Those that librdkafka has assigned: it refuses to let go of any when it lacks one, and
    /// then waits for ever to be asked again.
    fn assigned(&self, partitions: &[Partition]) -> TopicPartitionList {
        let assigned = self.consumer.assignment().unwrap_or_default();
        let known = |active: &&Active| {
            let Partition { topic, number } = &active.partition;
            assigned.find_partition(topic, *number).is_some()
        };
        let gone = self.active.iter().filter(|active| partitions.contains(&active.partition));
        list(gone.filter(known))
    }
}

fn note(what: &str, done: KafkaResult<()>) {
    if let Err(error) = done {
        tracing::warn!("librdkafka refuses {what}: {error}");
    }
}

/// Partitions with the offsets to go on at.
fn list<'a>(partitions: impl IntoIterator<Item = &'a Active>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for active in partitions {
        let Partition { topic, number } = &active.partition;
        let mut element = list.add_partition(topic, *number);
        let set = element.set_offset(Offset::Offset(active.cursor.next_offset));
        debug_assert!(set.is_ok(), "positions are never negative");
    }
    list
}
