//! Asks the broker what must be known before a partition is read: its commit, where `start` puts
//! it, what it keeps. A thread of its own waits for the answers, so that the reading loop never
//! does.
//!
//! Invariants: a partition without an answer is not started, it is asked for again; a position is
//! never behind a record that existed when its partition's end was asked. Next stop: `rebalance`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use rdkafka::consumer::{Consumer as _, ConsumerContext};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::Notify;

use super::KafkaSettings;
use super::beside::{Elsewhere, Others};
use super::committer::describe;
use super::context::Consumer;
use super::queue::{self, ListEntry};
use super::start::{self, Decision, Known, Start};
use crate::clock;
use crate::source::Partition;

/// How long one question may take.
const ASK_MAX: Duration = Duration::from_secs(10);

/// How long a question about a single partition may take, after one about all has failed.
const ASK_ONE_MAX: Duration = Duration::from_secs(2);

/// Questions that may wait.
const QUESTIONS_MAX: usize = 64;

/// What is asked.
#[derive(Debug)]
pub(super) enum Question {
    /// Where to start these.
    Starts(Vec<Partition>),
    /// What the broker keeps of one whose position is out of range.
    Range(Partition),
    /// Topic ids and ends of these; also proves that a broker is there.
    Check(Vec<Partition>),
}

/// Where a partition starts.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub(super) position: i64,
    /// The metadata of the commit, as found or as it must be written.
    pub(super) metadata: Vec<u8>,
    /// -1 when unknown.
    pub(super) end_offset: i64,
    /// The topic as it is now.
    pub(super) mark: Option<String>,
    /// The position is not committed yet and must be, before a record is read.
    pub(super) to_commit: bool,
}

/// What was answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// One a partition asked for; an error says why it cannot be told now. `since` is the group's
    /// start time where it is known.
    Starts { starts: Vec<(Partition, Result<Resolved, String>)>, since: Option<i64> },
    /// First offset and end, and marks by topic: a re-created topic is the usual cause.
    Range {
        partition: Partition,
        range: Result<(i64, i64), String>,
        marks: HashMap<String, String>,
    },
    /// Marks by topic and ends by partition, as far as they were told.
    Check { reached: bool, marks: HashMap<String, String>, ends: Vec<(Partition, i64)> },
}

/// How long the end waits for a question that is being asked.
const END_MAX: Duration = Duration::from_secs(3);

/// The reading loop's end of the thread.
#[derive(Debug)]
pub(super) struct Resolver {
    // Invariant: `Some` until dropped.
    questions: Option<SyncSender<Question>>,
    answers: Receiver<Answer>,
    thread: thread::JoinHandle<()>,
}

impl Drop for Resolver {
    /// Ends the thread, so that it no longer holds the consumer, which leaves the group when the
    /// last hold is gone.
    fn drop(&mut self) {
        drop(self.questions.take());
        let until = clock::instant() + END_MAX;
        while !self.thread.is_finished() && clock::instant() < until {
            // It may stand before a full channel.
            while self.answers.try_recv().is_ok() {}
            thread::park_timeout(Duration::from_millis(2));
        }
    }
}

impl Resolver {
    /// Starts the thread; it ends when the resolver is dropped, after the question it is at.
    pub(super) fn start(asker: Asker, wake: Arc<Notify>) -> std::io::Result<Resolver> {
        let (questions, asked) = sync_channel(QUESTIONS_MAX);
        let (answering, answers) = sync_channel(QUESTIONS_MAX);
        let thread = thread::Builder::new()
            .name("kafka-resolve".to_owned())
            .spawn(move || asker.run(&asked, &answering, &wake))?;
        Ok(Resolver { questions: Some(questions), answers, thread })
    }

    /// Asks; false when too much is waiting already.
    pub(super) fn ask(&self, question: Question) -> bool {
        let Some(questions) = &self.questions else { return false };
        !matches!(questions.try_send(question), Err(TrySendError::Full(_)))
    }

    /// An answer that has come.
    pub(super) fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

/// What the thread knows.
pub(super) struct Asker {
    consumer: Arc<Consumer>,
    start: Start,
    others: Others,
    /// 8 hex digits of the cluster.
    cluster: String,
    /// Partitions of each topic when the source started; `None` when that could not be told.
    at_start: HashMap<String, u32>,
    /// What `latest` means, once it is known.
    since: Option<i64>,
    marks: HashMap<String, String>,
    recreated: HashSet<String>,
    /// Which broker is asked for ids: another one after each failure.
    asked: usize,
}

impl Asker {
    pub(super) fn new(
        consumer: Arc<Consumer>,
        settings: &KafkaSettings,
        cluster: String,
        at_start: HashMap<String, u32>,
    ) -> Asker {
        Asker {
            consumer,
            start: settings.start.clone(),
            others: Others::new(settings),
            cluster,
            at_start,
            since: None,
            marks: HashMap::new(),
            recreated: HashSet::new(),
            asked: 0,
        }
    }

    fn run(mut self, asked: &Receiver<Question>, answers: &SyncSender<Answer>, wake: &Notify) {
        while let Ok(question) = asked.recv() {
            let answer = match question {
                Question::Starts(partitions) => {
                    let starts = self.starts(partitions);
                    Answer::Starts { starts, since: self.since }
                }
                Question::Range(partition) => {
                    self.learn_marks(std::slice::from_ref(&partition));
                    let (range, marks) = (self.range(&partition), self.marks.clone());
                    Answer::Range { partition, range, marks }
                }
                Question::Check(partitions) => self.check(&partitions),
            };
            if answers.send(answer).is_err() {
                return;
            }
            wake.notify_one();
        }
    }

    fn starts(&mut self, partitions: Vec<Partition>) -> Vec<(Partition, Result<Resolved, String>)> {
        match self.try_starts(&partitions) {
            Ok(starts) => partitions.into_iter().zip(starts).collect(),
            Err(reason) => {
                let failed = |partition| (partition, Err(reason.clone()));
                partitions.into_iter().map(failed).collect()
            }
        }
    }

    fn try_starts(
        &mut self,
        partitions: &[Partition],
    ) -> Result<Vec<Result<Resolved, String>>, String> {
        let commits = committed(&*self.consumer, partitions)?;
        self.learn_marks(partitions);
        let elsewhere = self.others.settled(partitions, &commits, &self.marks);
        let missing = partitions.iter().any(|p| !matches!(commits.get(p), Some(Ok(Some(_)))));
        if self.start == Start::Latest {
            self.learn_since(&commits, missing)?;
        }
        let other = match &self.start {
            Start::Group(group) if missing => {
                self.others.commits(group, partitions, &self.marks)?
            }
            _ => HashMap::new(),
        };
        // Ends before times: a record that comes in between is then never passed over.
        let ends = self.offsets(partitions, Offset::End, false);
        let decisions: Vec<Result<Decision, String>> =
            partitions.iter().map(|it| self.decide(it, &commits, &elsewhere, &other)).collect();
        let with = |wanted: fn(&Decision) -> bool| -> Vec<Partition> {
            let chosen = partitions.iter().zip(&decisions);
            let chosen = chosen.filter(|(_, decision)| decision.as_ref().is_ok_and(wanted));
            chosen.map(|(partition, _)| partition.clone()).collect()
        };
        let firsts =
            self.offsets(&with(|d| matches!(d, Decision::Earliest)), Offset::Beginning, true);
        let timed = with(|d| matches!(d, Decision::At(_)));
        let time = decisions.iter().flatten().find_map(|decision| match decision {
            Decision::At(time) => Some((*time).max(0)),
            _ => None,
        });
        let ends_of_timed = self.offsets(&timed, Offset::End, true);
        let times = self.offsets(&timed, Offset::Offset(time.unwrap_or(0)), true);

        let resolve = |(partition, decision): (&Partition, Result<Decision, String>)| {
            let told = |map: &HashMap<Partition, Result<i64, String>>| {
                map.get(partition).cloned().unwrap_or_else(|| Err("not told".to_owned()))
            };
            let end_offset = told(&ends).unwrap_or(-1);
            let mark = self.marks.get(&*partition.topic).cloned();
            let (position, metadata) = match decision? {
                Decision::Committed(offset) => {
                    let commit = commits.get(partition).cloned();
                    let metadata = commit.and_then(Result::ok).flatten().map(|(_, text)| text);
                    (offset, metadata)
                }
                Decision::Adopted(offset) => (offset, None),
                Decision::Earliest => (told(&firsts)?, None),
                // No record as new as that: the end, as it was before the question.
                Decision::At(_) => match told(&times)? {
                    -1 => (told(&ends_of_timed)?, None),
                    offset => (offset, None),
                },
            };
            if position < 0 {
                return Err(format!("the broker answers with offset {position}"));
            }
            let to_commit = metadata.is_none();
            let metadata = metadata.unwrap_or_else(|| {
                start::with_fields("", self.since, mark.as_deref()).into_bytes()
            });
            Ok(Resolved { position, metadata, end_offset, mark, to_commit })
        };
        Ok(partitions.iter().zip(decisions).map(resolve).collect())
    }

    fn decide(
        &self,
        partition: &Partition,
        commits: &Commits,
        elsewhere: &Elsewhere,
        other: &HashMap<Partition, i64>,
    ) -> Result<Decision, String> {
        let commit = match commits.get(partition) {
            Some(Ok(commit)) => commit.as_ref(),
            Some(Err(reason)) => return Err(reason.clone()),
            None => return Err("its commit is not told".to_owned()),
        };
        let elsewhere = match elsewhere.get(partition) {
            None => None,
            Some(Ok(offset)) => *offset,
            // Without a commit of its own only they know what was read.
            Some(Err(reason)) if commit.is_none() => return Err(reason.clone()),
            Some(Err(reason)) => {
                tracing::warn!(%partition, "its commit counts alone: {reason}");
                None
            }
        };
        if let (Some((own, _)), Some(further)) = (commit, elsewhere)
            && further > *own
        {
            tracing::warn!(
                %partition, own, further,
                "goes on where groups of its sinks have come to; to read again what is before, \
                 reset or delete those groups too"
            );
        }
        let topic = &*partition.topic;
        let younger = |count: &u32| i64::from(partition.number) >= i64::from(*count);
        let known = Known {
            commit: commit.map(|(offset, metadata)| (*offset, metadata.as_slice())),
            elsewhere,
            other: other.get(partition).copied(),
            mark: self.marks.get(topic).map(String::as_str),
            since: self.since.unwrap_or_else(clock::now_ms),
            came_later: self.recreated.contains(topic)
                || self.at_start.get(topic).is_none_or(younger),
        };
        Ok(start::decide(&self.start, known))
    }

    /// Finds what `latest` means: the oldest time a commit of the group carries; now, when none
    /// does and one of the partitions has no commit.
    fn learn_since(&mut self, commits: &Commits, missing: bool) -> Result<(), String> {
        self.since = oldest(commits, self.since);
        if self.since.is_some() || !missing {
            return Ok(());
        }
        // Others of the group may have started already: all partitions' commits are asked for.
        let topics: HashSet<&str> = commits.keys().map(|partition| &*partition.topic).collect();
        let topics = topics.into_iter().chain(self.at_start.keys().map(String::as_str));
        let topics: HashSet<String> = topics.map(str::to_owned).collect();
        let mut all = Vec::new();
        for topic in topics {
            let count = self.at_start.get(&topic).copied().unwrap_or(0);
            let name: Arc<str> = topic.into();
            let numbers = 0..i32::try_from(count).unwrap_or(i32::MAX);
            all.extend(numbers.map(|number| Partition { topic: Arc::clone(&name), number }));
        }
        if !all.is_empty() {
            self.since = oldest(&committed(&*self.consumer, &all)?, None);
        }
        self.since.get_or_insert_with(clock::now_ms);
        Ok(())
    }

    /// Learns the ids of the partitions' topics; what is not told stays as it was. False when no
    /// broker answers at all.
    fn learn_marks(&mut self, partitions: &[Partition]) -> bool {
        let names: HashSet<&str> = partitions.iter().map(|partition| &*partition.topic).collect();
        let names: Vec<&str> = names.into_iter().collect();
        // Asks about a single topic: all topics of a large cluster are megabytes.
        let one = names.first().copied().or(self.at_start.keys().next().map(String::as_str));
        let Ok(metadata) = self.consumer.fetch_metadata(one, ASK_ONE_MAX) else { return false };
        let brokers = metadata.brokers();
        let Some(broker) = brokers.get(self.asked % brokers.len().max(1)) else { return false };
        let ids = queue::topic_ids(&self.consumer, broker.id(), &names, ASK_ONE_MAX);
        if ids.is_none() {
            self.asked += 1;
        }
        for (topic, id) in ids.unwrap_or_default() {
            let mark = start::mark(&self.cluster, &id);
            let before = self.marks.insert(topic.clone(), mark.clone());
            if before.is_some_and(|before| before != mark) {
                self.recreated.insert(topic);
            }
        }
        true
    }

    fn range(&self, partition: &Partition) -> Result<(i64, i64), String> {
        let (topic, number) = (&*partition.topic, partition.number);
        let answer = self.consumer.fetch_watermarks(topic, number, ASK_MAX);
        answer.map_err(|error| error.to_string())
    }

    fn check(&mut self, partitions: &[Partition]) -> Answer {
        let reached = self.learn_marks(partitions);
        let mut ends = Vec::new();
        if reached {
            let told = self.offsets(partitions, Offset::End, false);
            ends.extend(told.into_iter().filter_map(|(p, end)| Some((p, end.ok()?))));
        }
        Answer::Check { reached, marks: self.marks.clone(), ends }
    }

    /// Offsets of partitions: `Beginning`, `End`, or a time as `Offset`; -1 where no record is as
    /// new. One without a leader makes the question about all fail; with `each` they are then
    /// asked for one by one.
    fn offsets(
        &self,
        partitions: &[Partition],
        wanted: Offset,
        each: bool,
    ) -> HashMap<Partition, Result<i64, String>> {
        if partitions.is_empty() {
            return HashMap::new();
        }
        match self.ask_offsets(partitions, wanted, ASK_MAX) {
            Ok(offsets) => offsets,
            Err(_) if each && partitions.len() > 1 => {
                let one = |partition: &Partition| {
                    let asked = std::slice::from_ref(partition);
                    self.ask_offsets(asked, wanted, ASK_ONE_MAX)
                        .unwrap_or_else(|reason| HashMap::from([(partition.clone(), Err(reason))]))
                };
                partitions.iter().flat_map(one).collect()
            }
            Err(reason) => partitions
                .iter()
                .map(|partition| (partition.clone(), Err(reason.clone())))
                .collect(),
        }
    }

    fn ask_offsets(
        &self,
        partitions: &[Partition],
        wanted: Offset,
        timeout: Duration,
    ) -> Result<HashMap<Partition, Result<i64, String>>, String> {
        // The protocol asks for the ends by two special times; librdkafka hands them through.
        let asked = self.consumer.offsets_for_times(list(partitions, wanted), timeout);
        let answer = asked.map_err(|error| format!("offsets cannot be read: {error}"))?;
        let mut told = HashMap::new();
        for entry in queue::read_list(&answer) {
            let offset = match entry.error {
                0 => Ok(entry.offset),
                code => Err(format!("offsets cannot be read: {}", describe(code))),
            };
            let topic = entry.topic.as_str().into();
            told.insert(Partition { topic, number: entry.partition }, offset);
        }
        Ok(told)
    }
}

/// Why the commits of a group are not told.
#[derive(Debug)]
pub(super) struct NoCommits {
    /// The group may not be read.
    pub(super) is_forbidden: bool,
    pub(super) reason: String,
}

impl From<NoCommits> for String {
    fn from(no: NoCommits) -> String {
        no.reason
    }
}

/// The commits of a client's group: offset and metadata, `None` where there is none.
pub(super) fn committed<C: ConsumerContext>(
    consumer: &impl rdkafka::consumer::Consumer<C>,
    partitions: &[Partition],
) -> Result<Commits, NoCommits> {
    let asked = consumer.committed_offsets(list(partitions, Offset::Invalid), ASK_MAX);
    let answer = asked.map_err(|error| NoCommits {
        is_forbidden: error.rdkafka_error_code()
            == Some(RDKafkaErrorCode::GroupAuthorizationFailed),
        reason: format!("commits cannot be read: {error}"),
    })?;
    let told = |entry: ListEntry| match entry.error {
        0 if entry.offset >= 0 => Ok(Some((entry.offset, entry.metadata))),
        0 => Ok(None),
        code => Err(format!("its commit cannot be read: {}", describe(code))),
    };
    let mut answers: HashMap<(String, i32), ListEntry> = HashMap::new();
    for entry in queue::read_list(&answer) {
        answers.insert((entry.topic.clone(), entry.partition), entry);
    }
    let take = |partition: &Partition| {
        let entry = answers.remove(&(partition.topic.to_string(), partition.number))?;
        Some((partition.clone(), told(entry)))
    };
    Ok(partitions.iter().filter_map(take).collect())
}

/// Commits by partition; an error says why one cannot be told.
pub(super) type Commits = HashMap<Partition, Result<Option<(i64, Vec<u8>)>, String>>;

fn oldest(commits: &Commits, known: Option<i64>) -> Option<i64> {
    let texts = commits.values().filter_map(|commit| commit.as_ref().ok()?.as_ref());
    texts.filter_map(|(_, metadata)| start::parse_time(metadata)).chain(known).min()
}

/// A list of partitions, all with one offset.
fn list(partitions: &[Partition], offset: Offset) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for partition in partitions {
        let mut element = list.add_partition(&partition.topic, partition.number);
        // Refused for a negative time only; the element then asks for nothing.
        drop(element.set_offset(offset));
    }
    list
}
