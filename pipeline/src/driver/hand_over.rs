//! From one driver to the next over the same source: how a reload keeps its place in the group.
//!
//! Invariant: what did not settle is forgotten and read again from the watermark, under whatever
//! the next driver routes by; own watermarks count for it only under their own fingerprint, as
//! after any assignment. Next stop: the next driver's [`Driver::run`].

use crate::clock;
use crate::partition::HeldPartition;
use crate::source::{Assigned, SourceCommand, SourceLink};

use super::{Driver, Ended, Running};

/// A source that goes on under another driver.
#[derive(Debug)]
pub struct Handover {
    /// The source, which reads nothing until it is told to.
    pub link: SourceLink,
    /// What its next driver begins with.
    pub begin: Begin,
}

/// What a driver begins with that follows another.
#[derive(Debug)]
pub struct Begin {
    /// Partitions that it held, each with the watermark as its position.
    pub held: Vec<Assigned>,
    /// The time `latest` resolved to, where it is known.
    pub start_time_ms: Option<i64>,
}

impl Driver {
    /// As [`Driver::run`], until it is to hand over: then what is held is flushed within the
    /// deadline and committed, and the source is given back. `None` where the source has ended.
    pub async fn run_or_hand_over(self) -> (Ended, Option<Handover>) {
        Running::new(self).run().await
    }
}

impl Running {
    /// Reads nothing more, flushes within the deadline, commits.
    pub(super) async fn prepare_hand_over(&mut self) -> Ended {
        self.command(SourceCommand::StopReading).await;
        let deadline = clock::instant() + self.driver.settings.stop_deadline;
        self.drain(Some(deadline)).await
    }

    /// Ends all generations and gives the source away.
    pub(super) fn hand_over(self) -> Handover {
        let (fingerprint, start_time_ms) = (&self.fingerprint, self.start_time_ms);
        let reads_again = self.driver.settings.rules.reload_reads_again;
        let assigned = |held: &HeldPartition| {
            let last = held.commit_entry(fingerprint, start_time_ms);
            Assigned {
                partition: last.partition,
                epoch: last.epoch,
                position: if reads_again { last.offset } else { held.next_offset() },
                metadata: last.metadata.into_bytes(),
                end_offset: held.generation.end_offset(),
                incarnation: held.generation.incarnation.clone(),
            }
        };
        let held = self.held.values().map(assigned).collect();
        for held in self.held.values() {
            held.end();
        }
        Handover { link: self.driver.link, begin: Begin { held, start_time_ms } }
    }

    /// Takes over what the driver before held, if there was one.
    pub(super) async fn take_over(&mut self) {
        let Some(begin) = self.driver.begin.take() else { return };
        self.start_time_ms = begin.start_time_ms;
        if !begin.held.is_empty() {
            self.driver.health.set_assigned(true);
        }
        for mut assigned in begin.held {
            let replaces = assigned.epoch;
            assigned.epoch = self.driver.link.epochs.next();
            self.hold(&assigned);
            let Assigned { partition, position: offset, epoch, .. } = assigned;
            self.command(SourceCommand::Rewind { partition, offset, epoch, replaces }).await;
        }
        self.command(SourceCommand::ReadOn).await;
    }
}
