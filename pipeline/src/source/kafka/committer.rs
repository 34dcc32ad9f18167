//! Sends commits to the broker, one at a time, and tells what became of each partition's.
//!
//! Invariants: a commit is sent only after the one before it was answered, so that a late retry of
//! an older one never overwrites a newer; nothing is committed but what it was handed. Next stop:
//! the broker.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::types::RDKafkaRespErr as Code;
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::context::Consumer;
use super::queue::{CommitQueue, CommitReply};
use crate::source::{CommitOutcome, Partition};

/// librdkafka answers each commit, in an outage after its own timeouts; beyond this it is taken
/// for lost.
const ANSWER_MAX: Duration = Duration::from_secs(90);

/// One partition's commit, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) partition: Partition,
    pub(super) offset: i64,
    pub(super) metadata: String,
}

/// What a commit is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The driver asked; `outcomes` holds those decided before, `None` for each entry sent.
    Driver { outcomes: Vec<Option<CommitOutcome>>, reply: oneshot::Sender<Vec<CommitOutcome>> },
    /// Resolved start positions, committed before the first record is read.
    Start,
    /// The last commit of partitions that go.
    Revoke,
}

/// A commit that was answered.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) purpose: Purpose,
    pub(super) entries: Vec<Entry>,
    /// One an entry, in order.
    pub(super) outcomes: Vec<CommitOutcome>,
}

#[derive(Debug)]
struct Job {
    purpose: Purpose,
    entries: Vec<Entry>,
}

/// The commits of one consumer.
#[derive(Debug)]
pub(super) struct Committer {
    queue: CommitQueue,
    waiting: VecDeque<Job>,
    in_flight: Option<(usize, Instant, Job)>,
    number: usize,
}

impl Committer {
    pub(super) fn new(consumer: &Arc<Consumer>, wake: &Arc<Notify>) -> Committer {
        let queue = CommitQueue::new(consumer, wake);
        Committer { queue, waiting: VecDeque::new(), in_flight: None, number: 0 }
    }

    /// Takes a commit; that of partitions that go is sent before all others.
    pub(super) fn add(&mut self, purpose: Purpose, entries: Vec<Entry>) {
        let job = Job { purpose, entries };
        if matches!(job.purpose, Purpose::Revoke) {
            self.waiting.push_front(job);
        } else {
            self.waiting.push_back(job);
        }
    }

    /// Partitions go: what waits to be committed for them is not sent any more, since it would
    /// overwrite what their next owner commits.
    pub(super) fn forget(&mut self, gone: &[Partition]) {
        for job in &mut self.waiting {
            forget(job, gone);
        }
    }

    /// Sends what is next and answers one commit that is finished; to be called until `None`.
    pub(super) fn serve(&mut self, now: Instant) -> Option<Finished> {
        if let Some(finished) = self.receive(now) {
            return Some(finished);
        }
        if self.in_flight.is_some() {
            return None;
        }
        let job = self.waiting.pop_front()?;
        if job.entries.is_empty() {
            return Some(finish(job, |_| CommitOutcome::Done));
        }
        self.number += 1;
        match self.queue.send(&list(&job.entries), self.number) {
            Ok(()) => {
                self.in_flight = Some((self.number, now, job));
                None
            }
            Err(code) => Some(finish(job, |_| outcome(code))),
        }
    }

    fn receive(&mut self, now: Instant) -> Option<Finished> {
        while let Some(reply) = self.queue.poll() {
            // The reply to a commit that was given up.
            if self.in_flight.as_ref().is_none_or(|(number, ..)| *number != reply.number) {
                continue;
            }
            let (_, _, job) = self.in_flight.take()?;
            let codes = codes(&reply);
            return Some(finish(job, |entry| {
                let key = (&*entry.partition.topic, entry.partition.number);
                outcome(codes.get(&key).copied().unwrap_or(reply.error))
            }));
        }
        let (_, sent, _) = self.in_flight.as_ref()?;
        if now.duration_since(*sent) < ANSWER_MAX {
            return None;
        }
        let (_, _, job) = self.in_flight.take()?;
        Some(finish(job, |_| CommitOutcome::Failed("no answer from the broker".to_owned())))
    }
}

fn forget(job: &mut Job, gone: &[Partition]) {
    if let Purpose::Driver { outcomes, .. } = &mut job.purpose {
        let sent = outcomes.iter_mut().filter(|outcome| outcome.is_none());
        for (outcome, entry) in sent.zip(&job.entries) {
            if gone.contains(&entry.partition) {
                *outcome = Some(CommitOutcome::Overtaken("the partition has gone".to_owned()));
            }
        }
    }
    job.entries.retain(|entry| !gone.contains(&entry.partition));
}

/// The code of each partition: its own, or the request's when no partition has one.
fn codes(reply: &CommitReply) -> HashMap<(&str, i32), i32> {
    let whole = reply.entries.iter().all(|entry| entry.error == 0);
    let code = |own: i32| if whole { reply.error } else { own };
    let entries = reply.entries.iter();
    entries.map(|entry| ((entry.topic.as_str(), entry.partition), code(entry.error))).collect()
}

fn finish(job: Job, outcome: impl Fn(&Entry) -> CommitOutcome) -> Finished {
    let outcomes = job.entries.iter().map(outcome).collect();
    Finished { purpose: job.purpose, entries: job.entries, outcomes }
}

/// Answers the driver: the outcomes decided before, with those of the entries sent in between.
pub(super) fn answer(finished: Finished) {
    let Purpose::Driver { outcomes, reply } = finished.purpose else { return };
    let mut sent = finished.outcomes.into_iter();
    let lost = || CommitOutcome::Failed("no answer from the broker".to_owned());
    let each = outcomes.into_iter().map(|known| known.or_else(|| sent.next()).unwrap_or_else(lost));
    // A driver that no longer waits needs no answer.
    drop(reply.send(each.collect()));
}

fn list(entries: &[Entry]) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(entries.len());
    for entry in entries {
        let mut element = list.add_partition(&entry.partition.topic, entry.partition.number);
        // Only a negative offset is refused, and stays "none", which commits nothing.
        if element.set_offset(Offset::Offset(entry.offset)).is_ok() && !entry.metadata.is_empty() {
            element.set_metadata(&entry.metadata);
        }
    }
    list
}

fn outcome(code: i32) -> CommitOutcome {
    if code == 0 {
        CommitOutcome::Done
    } else if code == Code::RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE as i32 {
        CommitOutcome::MetadataRefused
    } else if OVERTAKEN.iter().any(|overtaken| *overtaken as i32 == code) {
        CommitOutcome::Overtaken(describe(code))
    } else {
        CommitOutcome::Failed(describe(code))
    }
}

/// What a coordinator answers to a member of a generation that is over or about to be.
const OVERTAKEN: [Code; 4] = [
    Code::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
    Code::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
    Code::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
    Code::RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH,
];

/// A code in words. Codes come as integers, since a broker may be newer than the bindings.
pub(super) fn describe(code: i32) -> String {
    const KNOWN: [(Code, &str); 14] = [
        (Code::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, "the group has moved on"),
        (Code::RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, "the group no longer knows this member"),
        (Code::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, "the group is rebalancing"),
        (Code::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, "another member uses the same instance id"),
        (Code::RD_KAFKA_RESP_ERR_STALE_MEMBER_EPOCH, "the group has moved on"),
        (Code::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "the topic does not exist"),
        (Code::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "the topic is not allowed"),
        (Code::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, "the group is not allowed"),
        (Code::RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, "the group has no coordinator"),
        (Code::RD_KAFKA_RESP_ERR_NOT_COORDINATOR, "the group's coordinator has changed"),
        (Code::RD_KAFKA_RESP_ERR__WAIT_COORD, "the group's coordinator is not reached"),
        (Code::RD_KAFKA_RESP_ERR__TRANSPORT, "the broker is not reached"),
        (Code::RD_KAFKA_RESP_ERR__TIMED_OUT, "the broker did not answer in time"),
        (Code::RD_KAFKA_RESP_ERR__NO_OFFSET, "there is no offset"),
    ];
    match KNOWN.iter().find(|(known, _)| *known as i32 == code) {
        Some((_, words)) => format!("{words} (kafka error {code})"),
        None => format!("kafka error {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::kafka::queue::ListEntry;

    fn check(request: i32, own: [i32; 2], expect: [i32; 2]) {
        let entry = |partition: i32, error: i32| ListEntry {
            topic: "t".to_owned(),
            partition,
            offset: 1,
            metadata: Vec::new(),
            error,
        };
        let entries = vec![entry(0, own[0]), entry(1, own[1])];
        let reply = CommitReply { number: 1, error: request, entries };
        let codes = codes(&reply);
        assert_eq!([codes[&("t", 0)], codes[&("t", 1)]], expect);
    }

    #[test]
    fn a_partition_has_its_own_code_or_that_of_the_request() {
        check(0, [0, 0], [0, 0]);
        check(27, [0, 0], [27, 27]);
        check(12, [12, 0], [12, 0]);
    }

    #[test]
    fn a_code_becomes_an_outcome() {
        assert_eq!(outcome(0), CommitOutcome::Done);
        assert_eq!(outcome(12), CommitOutcome::MetadataRefused);
        assert_eq!(outcome(9999), CommitOutcome::Failed("kafka error 9999".to_owned()));
        // In a rebalance: no warning. A topic that may not be read, or a member that is another's
        // double: one.
        for code in [22, 25, 27, 113] {
            assert!(matches!(outcome(code), CommitOutcome::Overtaken(_)), "{code}");
        }
        for code in [29, 82, 16] {
            assert!(matches!(outcome(code), CommitOutcome::Failed(_)), "{code}");
        }
    }

    #[test]
    fn what_waits_for_a_partition_that_goes_is_not_sent() {
        let entry = |number: i32| Entry {
            partition: Partition { topic: "t".into(), number },
            offset: i64::from(number),
            metadata: String::new(),
        };
        let (reply, mut answered) = oneshot::channel();
        let done = Some(CommitOutcome::Done);
        let purpose = Purpose::Driver { outcomes: vec![None, done, None], reply };
        let mut job = Job { purpose, entries: vec![entry(0), entry(1)] };
        forget(&mut job, &[entry(0).partition]);
        assert_eq!(job.entries.len(), 1);
        answer(finish(job, |entry| CommitOutcome::Failed(entry.offset.to_string())));
        let outcomes = answered.try_recv().expect("answered");
        assert_eq!(outcomes[0], CommitOutcome::Overtaken("the partition has gone".to_owned()));
        assert_eq!(outcomes[1..], [CommitOutcome::Done, CommitOutcome::Failed("1".to_owned())]);
    }

    #[test]
    fn the_driver_gets_one_outcome_an_entry_in_order() {
        let (reply, mut answered) = oneshot::channel();
        let stale = CommitOutcome::Failed("stale".to_owned());
        let outcomes = vec![None, Some(stale.clone()), None];
        let purpose = Purpose::Driver { outcomes, reply };
        let sent = vec![CommitOutcome::Done, CommitOutcome::MetadataRefused];
        answer(Finished { purpose, entries: Vec::new(), outcomes: sent });
        let expect = vec![CommitOutcome::Done, stale, CommitOutcome::MetadataRefused];
        assert_eq!(answered.try_recv().expect("answered"), expect);
    }
}
