//! First stop: where records come from. This file is the seam between a source and the driver; a
//! source is a task or thread that talks through a [`SourceLink`] and nothing else, so that the
//! delivery simulation can stand in for Kafka.
//!
//! Invariant: a source commits only what the driver hands it, and reads only while it holds a
//! memory permit. Next stop: [`crate::unwrap`], by way of [`crate::driver`].

pub mod error;
pub mod file;
pub mod kafka;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use crate::memory::MemoryPermit;

/// One partition of one topic (for a file source: the file name and partition 0).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Topic name, or file name.
    pub topic: Arc<str>,
    /// Partition number, 0 for files.
    pub number: i32,
}

impl fmt::Display for Partition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.topic, self.number)
    }
}

/// Numbers generations within one process; shared by a source and its driver.
#[derive(Debug, Default)]
pub struct Epochs(AtomicU64);

impl Epochs {
    /// A number never given before in this process; starts at 1.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Which clock stamped a record's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampKind {
    /// The broker's clock (`LogAppendTime`).
    LogAppendTime,
    /// The producer's clock (`CreateTime`, Kafka's default).
    CreateTime,
    /// No record time: a file or standard input.
    None,
}

/// One record inside a [`RecordBatch`]; ranges point into the batch's bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordEntry {
    /// Kafka offset, or byte position in a file.
    pub offset: i64,
    /// Record time, milliseconds since the epoch.
    pub time_ms: i64,
    /// Key, absent when `None`.
    pub key: Option<(u32, u32)>,
    /// Value; `None` is a tombstone.
    pub value: Option<(u32, u32)>,
    /// Range in [`RecordBatch::headers`].
    pub headers: (u32, u32),
}

/// One header; ranges point into the batch's bytes. The name is valid UTF-8.
#[derive(Debug, Clone, Copy)]
pub struct HeaderEntry {
    /// Name.
    pub name: (u32, u32),
    /// Value; an absent value is an empty range.
    pub value: (u32, u32),
}

/// About 1 MiB of consecutive records of one partition: the unit of work of the whole trip.
#[derive(Debug)]
pub struct RecordBatch {
    /// Where the records come from.
    pub partition: Partition,
    /// The generation they were read for; older ones are dropped by the driver.
    pub epoch: u64,
    /// All keys, values and headers, one after the other.
    pub bytes: Vec<u8>,
    /// The records, offsets ascending, gaps allowed.
    pub records: Vec<RecordEntry>,
    /// The headers of all records.
    pub headers: Vec<HeaderEntry>,
    /// Which clock stamped them.
    pub stamp: StampKind,
    /// When records without a time ([`StampKind::None`]) count as received, milliseconds since the
    /// epoch; 0 where they have one. Never part of an event id.
    pub received_ms: i64,
    /// The offset to read after this batch.
    pub next_offset: i64,
    /// The partition's end (high watermark) as known when the batch was taken; -1 when unknown.
    pub end_offset: i64,
    /// Memory held for the batch and what is made of it.
    pub permit: MemoryPermit,
}

impl RecordBatch {
    /// A batch without records.
    pub fn empty(partition: Partition) -> RecordBatch {
        RecordBatch {
            partition,
            epoch: 1,
            bytes: Vec::new(),
            records: Vec::new(),
            headers: Vec::new(),
            stamp: StampKind::CreateTime,
            received_ms: 0,
            next_offset: 0,
            end_offset: -1,
            permit: MemoryPermit::none(),
        }
    }

    /// The bytes of a range.
    pub fn slice(&self, range: (u32, u32)) -> &[u8] {
        &self.bytes[range.0 as usize..range.1 as usize]
    }

    /// The name of a header.
    pub fn header_name(&self, header: &HeaderEntry) -> &str {
        std::str::from_utf8(self.slice(header.name)).unwrap_or("")
    }
}

/// A partition handed to this process.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// The partition.
    pub partition: Partition,
    /// Its first generation.
    pub epoch: u64,
    /// Where reading starts: the commit, or what `start` resolved to.
    pub position: i64,
    /// The metadata of the commit, raw; empty when there is none.
    pub metadata: Vec<u8>,
    /// The partition's end when it was assigned; -1 when unknown.
    pub end_offset: i64,
    /// Which topic of this name it is, in words that no other topic shares; `None` when the source
    /// cannot tell. Within one incarnation an offset names one record.
    pub incarnation: Option<Arc<str>>,
}

/// What a source tells the driver.
#[derive(Debug)]
pub enum SourceEvent {
    /// Partitions were added.
    Assigned(Vec<Assigned>),
    /// Partitions go to somebody else. The source waits for the answer (the last commits), commits
    /// it synchronously and lets go.
    Revoked {
        /// The partitions that go.
        partitions: Vec<Partition>,
        /// Takes the last commits.
        reply: oneshot::Sender<Vec<CommitEntry>>,
    },
    /// Partitions were lost: somebody else may own them already. Nothing may be committed.
    Lost(Vec<Partition>),
    /// Their topic was made anew under its name: what was read of the old one is still delivered,
    /// but has no offset to commit any more. An assignment follows.
    Recreated(Vec<Partition>),
    /// Records of one partition.
    Records(RecordBatch),
    /// The position was outside what the broker keeps; reading goes on at `resumed`.
    OutOfRange {
        /// The partition.
        partition: Partition,
        /// The generation.
        epoch: u64,
        /// Where reading wanted to go on.
        position: i64,
        /// Where it goes on: the earliest offset there is.
        resumed: i64,
        /// First offset after the last there is.
        end: i64,
    },
    /// How far the broker's log reaches, for the lag; sent about once a second.
    End {
        /// The partition.
        partition: Partition,
        /// First offset after the last record.
        end_offset: i64,
    },
    /// Whether a broker can be reached, for readiness.
    Connected(bool),
    /// A finite source (file, standard input) has been read to its end.
    Finished,
    /// The source cannot go on; the process ends with this reason.
    Fatal(String),
}

/// One partition's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitEntry {
    /// The partition.
    pub partition: Partition,
    /// The generation it belongs to; a source drops commits of a generation it no longer has.
    pub epoch: u64,
    /// First offset not settled.
    pub offset: i64,
    /// See [`crate::commit`]; at most 4,096 bytes of ASCII.
    pub metadata: String,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The broker has it.
    Done,
    /// The broker refuses the metadata (too long): commit again without.
    MetadataRefused,
    /// The partition changes hands, or its generation is over: an ordinary rebalance, in which its
    /// next owner reads again from the commit before.
    Overtaken(String),
    /// Not now: an outage. The next round tries again.
    Failed(String),
}

/// What the driver asks of a source.
#[derive(Debug)]
pub enum SourceCommand {
    /// Commit these; the reply has one outcome for each.
    Commit {
        /// What to commit.
        entries: Vec<CommitEntry>,
        /// One outcome an entry, in order.
        reply: oneshot::Sender<Vec<CommitOutcome>>,
    },
    /// Read a partition again from an offset, as a new generation.
    Rewind {
        /// The partition.
        partition: Partition,
        /// The first offset to read.
        offset: i64,
        /// The new generation; records of the old one may still arrive and are dropped.
        epoch: u64,
        /// The generation that it replaces: where the source has another one, the partition has
        /// come and gone meanwhile, and what the source has told of that counts.
        replaces: u64,
    },
    /// Read this partition no further, or read on; a rewind reads on too.
    Hold {
        /// The partition.
        partition: Partition,
        /// Read no further.
        is_held: bool,
    },
    /// Read no more records; commits are still taken.
    StopReading,
    /// Read on.
    ReadOn,
    /// Commit nothing more, leave the group, end.
    Close,
}

/// The driver's end of a source.
#[derive(Debug)]
pub struct SourceLink {
    /// What the source tells.
    pub events: mpsc::Receiver<SourceEvent>,
    /// What it is asked; bounded, the source never waits on events while it has commands to take.
    pub commands: mpsc::Sender<SourceCommand>,
    /// Numbers of generations.
    pub epochs: Arc<Epochs>,
    /// First part of every event id and archive key of this source.
    pub lineage: Arc<str>,
}
