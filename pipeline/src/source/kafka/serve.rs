//! What the loop serves between two reads: librdkafka's callbacks, the driver's commands, answers
//! of the broker, and what is due by time.
//!
//! Invariants: a commit names a partition and generation that is owned, or is refused; a second
//! rebalance waits for the first. Next stop: `rebalance`, `committer`.

use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::committer::{self, Entry, Finished, Purpose};
use super::context::Notice;
use super::lag::{due, newest};
use super::reader::{RETRY_AFTER, Reader};
use super::resolve::{Answer, Question};
use super::start::{self, Start};
use crate::source::{CommitEntry, CommitOutcome, Partition, SourceCommand, SourceEvent};

/// How often ends are told.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

/// How often the broker is asked for topic ids and ends; a re-created topic is found within it.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How often while no broker is reached.
const CHECK_INTERVAL_LOST: Duration = Duration::from_secs(1);

/// Checks in a row without an answer until the source counts as not connected.
const MISSES_MAX: u32 = 3;

/// Callbacks served in one turn.
const CALLBACKS_MAX: usize = 256;

impl Reader {
    pub(super) fn serve_callbacks(&mut self) -> bool {
        let mut busy = false;
        for _ in 0..CALLBACKS_MAX {
            let before = self.consumer.context().served();
            let polled = self.consumer.poll(Duration::ZERO).map(|message| match message {
                Ok(message) => Err((
                    rdkafka::Message::topic(&message).to_owned(),
                    rdkafka::Message::partition(&message),
                )),
                Err(error) => Ok(error),
            });
            match polled {
                Some(Ok(KafkaError::MessageConsumptionFatal(code))) => {
                    self.fail(&format!("kafka: {code}"));
                }
                // Told through the context as well.
                Some(Ok(_)) => {}
                // Cannot be: queues are split before their partition is assigned. Reading again
                // from where the partition stands loses and repeats nothing.
                Some(Err((topic, number))) => {
                    tracing::error!(topic, number, "a record came past its partition's queue");
                    let partition = Partition { topic: topic.into(), number };
                    if let Some(index) = self.position(&partition) {
                        let offset = self.active[index].cursor.next_offset;
                        self.move_to(index, offset);
                    }
                }
                None if self.consumer.context().served() == before => break,
                None => {}
            }
            busy = true;
        }
        self.notices.extend(self.consumer.context().take());
        busy
    }

    pub(super) fn serve_notices(&mut self, now: Instant) {
        // A second rebalance waits until the partitions of the first have gone.
        while self.revoking.is_none() {
            match self.notices.pop_front() {
                Some(Notice::Assign(partitions)) => self.on_assign(partitions, now),
                Some(Notice::Revoke(partitions)) => self.on_revoke(&partitions, now),
                Some(Notice::Error(code, reason)) => self.on_error(code, &reason),
                None => return,
            }
        }
    }

    fn on_error(&mut self, code: Code, reason: &str) {
        match code {
            Code::Fatal => self.fail(&format!("kafka: {reason}")),
            Code::AllBrokersDown => self.connected(false),
            _ => {}
        }
        if let Some(repeated) = self.consumer.context().may_log(&code.to_string()) {
            tracing::warn!(%code, repeated, "kafka: {reason}");
        }
    }

    pub(super) fn connected(&mut self, connected: bool) {
        if self.connected != connected {
            self.connected = connected;
            self.outbox.push_back(SourceEvent::Connected(connected));
        }
    }

    /// librdkafka tells of brokers that are down, and not of those that let nobody in any more.
    fn on_reached(&mut self, reached: bool) {
        self.misses = if reached { 0 } else { self.misses + 1 };
        if reached {
            self.connected(true);
        } else if self.misses >= MISSES_MAX {
            self.connected(false);
        }
    }

    pub(super) fn fail(&mut self, reason: &str) {
        if self.ending {
            return;
        }
        self.outbox.push_back(SourceEvent::Fatal(reason.to_owned()));
        self.ending = true;
    }

    pub(super) fn serve_commands(&mut self) -> bool {
        let mut busy = false;
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.obey(command),
                Err(mpsc::error::TryRecvError::Empty) => return busy,
                Err(mpsc::error::TryRecvError::Disconnected) => {
                    self.ending = true;
                    return busy;
                }
            }
            busy = true;
        }
    }

    pub(super) fn obey(&mut self, command: SourceCommand) {
        match command {
            SourceCommand::Commit { entries, reply } => {
                let outcomes = entries.iter().map(|entry| self.refused(entry)).collect();
                let owned = entries.into_iter().filter(|entry| self.refused(entry).is_none());
                let entries = owned.map(|entry| self.entry(entry)).collect();
                self.committer.add(Purpose::Driver { outcomes, reply }, entries);
            }
            SourceCommand::Rewind { partition, offset, epoch, replaces } => {
                let known = self.position(&partition);
                if let Some(index) = known.filter(|it| self.active[*it].epoch == replaces) {
                    self.active[index].epoch = epoch;
                    self.active[index].out_of_range = None;
                    self.active[index].held = false;
                    self.move_to(index, offset);
                }
            }
            SourceCommand::Hold { partition, is_held } => {
                if let Some(index) = self.position(&partition) {
                    self.active[index].held = is_held;
                }
            }
            SourceCommand::StopReading => self.reading = false,
            SourceCommand::ReadOn => self.reading = true,
            SourceCommand::Close => self.ending = true,
        }
    }

    /// Why an entry may not be committed; `None` when it may.
    pub(super) fn refused(&self, entry: &CommitEntry) -> Option<CommitOutcome> {
        let owned = self.active.iter().find(|active| active.partition == entry.partition);
        match owned {
            Some(active) if active.epoch == entry.epoch => None,
            Some(_) => Some(CommitOutcome::Overtaken("an older generation".to_owned())),
            None => Some(CommitOutcome::Overtaken("the partition has gone".to_owned())),
        }
    }

    /// An entry with the source's own fields in its metadata.
    pub(super) fn entry(&self, entry: CommitEntry) -> Entry {
        let CommitEntry { partition, offset, metadata, .. } = entry;
        let owned = self.active.iter().find(|active| active.partition == partition);
        let bare = owned.is_some_and(|active| active.bare_metadata) && metadata.is_empty();
        let mark = owned.and_then(|active| active.mark.as_deref());
        let metadata =
            if bare { metadata } else { start::with_fields(&metadata, self.since, mark) };
        Entry { partition, offset, metadata }
    }

    pub(super) fn serve_commits(&mut self, now: Instant) -> bool {
        let mut busy = false;
        while let Some(finished) = self.committer.serve(now) {
            busy = true;
            match finished.purpose {
                Purpose::Driver { .. } => {
                    self.note_refused_metadata(&finished);
                    committer::answer(finished);
                }
                Purpose::Start => self.on_started(finished, now),
                Purpose::Revoke => self.on_last_commit(&finished),
            }
        }
        busy
    }

    /// The driver answers a refusal by a commit without metadata; that one must then be bare.
    fn note_refused_metadata(&mut self, finished: &Finished) {
        for (entry, outcome) in finished.entries.iter().zip(&finished.outcomes) {
            if *outcome == CommitOutcome::MetadataRefused
                && let Some(index) = self.position(&entry.partition)
            {
                self.active[index].bare_metadata = true;
            }
        }
    }

    pub(super) fn serve_answers(&mut self, now: Instant) -> bool {
        let mut busy = false;
        while let Some(answer) = self.resolver.answer() {
            busy = true;
            match answer {
                Answer::Starts { starts, since } => {
                    self.since = if self.start == Start::Latest { since } else { None };
                    self.on_starts(starts, now);
                }
                Answer::Range { partition, range, marks } => {
                    self.on_marks(&marks, now);
                    self.on_range(&partition, range, now);
                }
                Answer::Check { reached, marks, ends } => {
                    self.checking = false;
                    self.on_reached(reached);
                    self.on_ends(&ends);
                    self.on_marks(&marks, now);
                }
            }
        }
        busy
    }

    fn on_ends(&mut self, ends: &[(Partition, i64)]) {
        for (partition, end) in ends {
            if let Some(index) = self.position(partition) {
                let known = self.active[index].end_offset;
                self.active[index].end_offset = newest(Some(*end), known);
            }
        }
    }

    /// What is due: questions and moves that failed, checks, ends.
    pub(super) fn retry(&mut self, now: Instant) {
        self.ask_starts(now);
        for index in 0..self.active.len() {
            let active = &mut self.active[index];
            if active.moving.is_some_and(|at| now >= at) {
                let offset = active.cursor.next_offset;
                self.move_to(index, offset);
            } else if active.out_of_range.is_some_and(|at| now >= at) {
                active.out_of_range = Some(now + RETRY_AFTER * 30);
                let partition = active.partition.clone();
                self.resolver.ask(Question::Range(partition));
            }
        }
        let interval = if self.connected { CHECK_INTERVAL } else { CHECK_INTERVAL_LOST };
        if !self.checking && due(&mut self.checked_at, now, interval) {
            let all = self.active.iter().map(|active| active.partition.clone()).collect();
            self.checking = self.resolver.ask(Question::Check(all));
        }
        if due(&mut self.told_at, now, TELL_INTERVAL) {
            self.tell_ends();
        }
    }
}
