//! Sources `file` and `stdin`: each line is a record; topic = file name (or `stdin`), partition 0,
//! offset = byte position, no record time and no commit. Its lines count as received when the file
//! was last changed, or when reading standard input began.
//!
//! A thread reads blocks, a task cuts them into lines and takes the driver's commands. The
//! identity of a file is its absolute path, its inode and its first line (256 bytes of it): the
//! same file read again gives the same event ids, one that was replaced gives others. Standard
//! input is another stream each time. Known gap: a file rewritten in place, under the same inode
//! and with the same first line, keeps its identity.
//!
//! Invariant: every byte of the input but the line ends is in exactly one record, and a line
//! without an end does not eat memory: it is delivered in pieces of [`PIECE_MAX`] bytes, each with
//! its own offset. Next stop: [`crate::unwrap`], by way of [`crate::driver`].

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::error::SourceError;
use super::kafka::start;
use super::{
    Assigned, CommitOutcome, Epochs, Partition, RecordBatch, RecordEntry, SourceCommand,
    SourceEvent, SourceLink, StampKind,
};
use crate::clock;
use crate::memory::Memory;

/// Longest line delivered as one record, bytes.
pub const PIECE_MAX: usize = 16 << 20;

/// Bytes of the first line that are part of a file's identity.
const IDENTITY_BYTES: usize = 256;

/// What a record costs beside its bytes; counted, so that empty lines are bounded too.
const RECORD_COST: usize = 64;

/// Events and commands that wait.
const QUEUE_MAX: usize = 16;

/// What the source must know.
#[derive(Debug, Clone)]
pub struct FileSettings {
    /// The file; `None` is standard input.
    pub path: Option<PathBuf>,
    /// Appended to the identity; a-z, 0-9 and '-'.
    pub lineage: Option<String>,
    /// Raw bytes of a batch.
    pub batch_bytes: usize,
}

/// Opens the input and starts to read it. A pipe is waited for until its other end is open; who
/// drops the future leaves a blocked thread behind, and nothing else.
///
/// # Errors
/// A file that cannot be opened, or a `lineage` that ids cannot hold.
pub async fn spawn(settings: &FileSettings, memory: Memory) -> Result<SourceLink, SourceError> {
    let batch_bytes = settings.batch_bytes.clamp(1, PIECE_MAX);
    let setting = settings.lineage.as_deref();
    let Some(path) = &settings.path else {
        let received_ms = clock::now_ms();
        let identity = format!("stdin {} {received_ms}", std::process::id());
        let input = Input { read: Box::new(io::stdin()), seek: None, length: -1, received_ms };
        return link(input, identity.as_bytes(), "stdin", setting, batch_bytes, memory);
    };
    let refused = |source| SourceError::Open { path: path.clone(), source };
    let wanted = path.clone();
    let opening = tokio::task::spawn_blocking(move || open(&wanted)).await;
    let opened = opening.unwrap_or_else(|broken| Err(io::Error::other(broken)));
    let (input, identity) = opened.map_err(refused)?;
    let name = path.file_name().map_or("file".into(), |name| name.to_string_lossy());
    link(input, &identity, &name, setting, batch_bytes, memory)
}

/// The input, and what makes it this one.
fn open(path: &Path) -> io::Result<(Input, Vec<u8>)> {
    let mut file = File::open(path)?;
    let identity = identity(path, &mut file)?;
    let metadata = file.metadata()?;
    let seek = file.try_clone().ok().filter(|_| metadata.is_file());
    let length = if metadata.is_file() { metadata.len() as i64 } else { -1 };
    let received_ms = changed_ms(&metadata);
    Ok((Input { read: Box::new(file), seek, length, received_ms }, identity))
}

/// When the file was last changed; a pipe or a device is being written now.
fn changed_ms(metadata: &Metadata) -> i64 {
    if metadata.is_file() {
        metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000)
    } else {
        clock::now_ms()
    }
}

/// Absolute path, device and inode, first line.
fn identity(path: &Path, file: &mut File) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let mut first = Vec::with_capacity(IDENTITY_BYTES);
    if metadata.is_file() {
        file.by_ref().take(IDENTITY_BYTES as u64).read_to_end(&mut first)?;
        file.rewind()?;
    }
    let line = memchr::memchr(b'\n', &first).unwrap_or(first.len());
    let mut identity = std::path::absolute(path)?.into_os_string().into_encoded_bytes();
    identity.extend_from_slice(&metadata.dev().to_le_bytes());
    identity.extend_from_slice(&metadata.ino().to_le_bytes());
    identity.extend_from_slice(&first[..line]);
    Ok(identity)
}

struct Input {
    read: Box<dyn Read + Send>,
    /// Shares its position with `read`; `None` where the input cannot be read again.
    seek: Option<File>,
    /// -1 when unknown.
    length: i64,
    received_ms: i64,
}

fn link(
    input: Input,
    identity: &[u8],
    topic: &str,
    setting: Option<&str>,
    batch_bytes: usize,
    memory: Memory,
) -> Result<SourceLink, SourceError> {
    let lineage = start::lineage(identity, setting).ok_or_else(|| SourceError::Lineage {
        value: setting.unwrap_or_default().to_owned(),
        max: start::LINEAGE_MAX,
    })?;
    let (events, received) = mpsc::channel(QUEUE_MAX);
    let (commands, taken) = mpsc::channel(QUEUE_MAX);
    let epochs = Arc::new(Epochs::default());
    let (blocks, read) = mpsc::channel(1);
    let (end_offset, seekable) = (input.length, input.seek.is_some());
    let received_ms = input.received_ms;
    let order = Arc::new(Mutex::new(None));
    let ordered = Arc::clone(&order);
    let thread = thread::Builder::new()
        .name("file-source".to_owned())
        .spawn(move || read_blocks(input, batch_bytes, &ordered, &blocks))
        .map_err(SourceError::Thread)?;
    let source = FileSource {
        partition: Partition { topic: topic.into(), number: 0 },
        epoch: epochs.next(),
        cutter: Cutter::new(0),
        generation: 0,
        order: seekable.then_some(order),
        thread: thread.thread().clone(),
        end_offset,
        received_ms,
        batch_bytes,
        memory,
        events,
    };
    tokio::spawn(source.run(taken, read));
    Ok(SourceLink { events: received, commands, epochs, lineage: lineage.into() })
}

/// Where to read again, and as which generation.
type Order = Arc<Mutex<Option<(u64, u64)>>>;

/// Bytes of the input, the end (empty), or what reading failed with; with its generation.
type Block = (u64, io::Result<Vec<u8>>);

/// Reads until nobody takes blocks any more. After the end it waits to be ordered back.
fn read_blocks(mut input: Input, bytes: usize, order: &Order, blocks: &mpsc::Sender<Block>) {
    let mut generation = 0;
    let mut ended = false;
    while !blocks.is_closed() {
        let ordered = order.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some((offset, number)), Some(file)) = (ordered, &mut input.seek) {
            generation = number;
            ended = false;
            if let Err(error) = file.seek(SeekFrom::Start(offset)) {
                ended = true;
                if blocks.blocking_send((generation, Err(error))).is_err() {
                    return;
                }
            }
        }
        if ended {
            // The task unparks the thread when it orders or ends.
            thread::park();
            continue;
        }
        let mut block = vec![0; bytes];
        let block = match input.read.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(count) => {
                block.truncate(count);
                Ok(block)
            }
            Err(error) => Err(error),
        };
        ended = block.as_ref().map_or(true, Vec::is_empty);
        if blocks.blocking_send((generation, block)).is_err() {
            return;
        }
    }
}

struct FileSource {
    partition: Partition,
    epoch: u64,
    cutter: Cutter,
    generation: u64,
    order: Option<Order>,
    thread: thread::Thread,
    end_offset: i64,
    received_ms: i64,
    batch_bytes: usize,
    memory: Memory,
    events: mpsc::Sender<SourceEvent>,
}

impl FileSource {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<SourceCommand>,
        mut blocks: mpsc::Receiver<Block>,
    ) {
        let assigned = Assigned {
            partition: self.partition.clone(),
            epoch: self.epoch,
            position: 0,
            metadata: Vec::new(),
            end_offset: self.end_offset,
            incarnation: None,
        };
        let mut told = vec![SourceEvent::Connected(true), SourceEvent::Assigned(vec![assigned])];
        told.reverse();
        let mut next: Option<Next> = None;
        let mut reading = true;
        let (events, memory) = (self.events.clone(), self.memory.clone());
        loop {
            if next.is_none() {
                next = told.pop().map(Next::Tell).or_else(|| self.next().filter(|_| reading));
            }
            let bytes = next.as_ref().map_or(0, Next::bytes);
            let grant = async {
                let room = events.reserve().await.ok()?;
                Some((room, memory.batch(bytes).await))
            };
            tokio::select! {
                command = commands.recv() => match command {
                    None | Some(SourceCommand::Close) => break,
                    Some(SourceCommand::StopReading) => reading = false,
                    Some(SourceCommand::ReadOn) => reading = true,
                    // A file has no record times by which it could be held.
                    Some(SourceCommand::Hold { .. }) => {}
                    Some(SourceCommand::Commit { entries, reply }) => answer(entries.len(), reply),
                    Some(SourceCommand::Rewind { offset, epoch, .. }) => {
                        if let Some(Next::Tell(event)) = next.take() {
                            told.push(event);
                        }
                        told.extend(self.rewind(offset, epoch));
                    }
                },
                granted = grant, if next.is_some() => {
                    let (Some((room, permit)), Some(next)) = (granted, next.take()) else { break };
                    room.send(match next {
                        Next::Tell(event) => event,
                        Next::Deliver(cut) => self.batch(cut, permit),
                    });
                },
                block = blocks.recv(), if next.is_none() && reading => match block {
                    Some(block) => told.extend(self.take(block)),
                    None => break,
                },
            }
        }
        drop(blocks);
        self.thread.unpark();
    }

    fn next(&mut self) -> Option<Next> {
        if let Some(cut) = self.cutter.cut(self.batch_bytes) {
            return Some(Next::Deliver(cut));
        }
        self.cutter.finish().then_some(Next::Tell(SourceEvent::Finished))
    }

    fn take(&mut self, (generation, block): Block) -> Option<SourceEvent> {
        if generation != self.generation {
            return None;
        }
        match block {
            Ok(block) => {
                self.cutter.add(&block);
                None
            }
            Err(error) => {
                let topic = &self.partition.topic;
                Some(SourceEvent::Fatal(format!("cannot read {topic}: {error}")))
            }
        }
    }

    fn rewind(&mut self, offset: i64, epoch: u64) -> Option<SourceEvent> {
        let Some(order) = &self.order else {
            return Some(SourceEvent::Fatal("this input cannot be read again".to_owned()));
        };
        let offset = u64::try_from(offset).unwrap_or(0);
        self.epoch = epoch;
        self.generation += 1;
        self.cutter = Cutter::new(offset);
        let ordered = Some((offset, self.generation));
        *order.lock().unwrap_or_else(PoisonError::into_inner) = ordered;
        self.thread.unpark();
        None
    }

    fn batch(&self, cut: Cut, mut permit: crate::memory::MemoryPermit) -> SourceEvent {
        permit.shrink_to(cut.cost() as u64 * 4);
        SourceEvent::Records(RecordBatch {
            partition: self.partition.clone(),
            epoch: self.epoch,
            bytes: cut.bytes,
            records: cut.records,
            headers: Vec::new(),
            stamp: StampKind::None,
            received_ms: self.received_ms,
            next_offset: cut.next as i64,
            end_offset: if self.end_offset < 0 { -1 } else { self.end_offset.max(cut.next as i64) },
            permit,
        })
    }
}

fn answer(entries: usize, reply: oneshot::Sender<Vec<CommitOutcome>>) {
    // A driver that no longer waits needs no answer.
    drop(reply.send(vec![CommitOutcome::Done; entries]));
}

/// What is sent next.
enum Next {
    Tell(SourceEvent),
    Deliver(Cut),
}

impl Next {
    fn bytes(&self) -> u64 {
        match self {
            Next::Tell(_) => 0,
            Next::Deliver(cut) => cut.cost() as u64,
        }
    }
}

/// Whole lines, ready to be delivered.
#[derive(Debug)]
struct Cut {
    bytes: Vec<u8>,
    records: Vec<RecordEntry>,
    next: u64,
}

impl Cut {
    fn cost(&self) -> usize {
        self.bytes.len() + self.records.len() * RECORD_COST
    }
}

/// Cuts a stream of blocks into lines.
#[derive(Debug)]
struct Cutter {
    buffer: Vec<u8>,
    /// Position of `buffer[0]` in the input.
    position: u64,
    // Invariant: `buffer[..searched]` holds no line end.
    searched: usize,
    ended: bool,
    finished: bool,
}

impl Cutter {
    fn new(position: u64) -> Cutter {
        Cutter { buffer: Vec::new(), position, searched: 0, ended: false, finished: false }
    }

    /// More of the input; an empty block is its end.
    fn add(&mut self, block: &[u8]) {
        self.ended |= block.is_empty();
        self.buffer.extend_from_slice(block);
    }

    /// True once, when all has been cut.
    fn finish(&mut self) -> bool {
        let done = self.ended && self.buffer.is_empty() && !self.finished;
        self.finished |= done;
        done
    }

    /// Whole lines of up to `limit` bytes, at least one when there is one.
    fn cut(&mut self, limit: usize) -> Option<Cut> {
        let mut records: Vec<RecordEntry> = Vec::new();
        let mut at = 0;
        while at < self.buffer.len() {
            let from = at.max(self.searched);
            let found = memchr::memchr(b'\n', &self.buffer[from..]).map(|found| from + found);
            let (end, next) = match found {
                Some(end) if end - at <= PIECE_MAX => (end, end + 1),
                None if self.ended && self.buffer.len() - at <= PIECE_MAX => {
                    (self.buffer.len(), self.buffer.len())
                }
                _ if self.buffer.len() - at > PIECE_MAX => (at + PIECE_MAX, at + PIECE_MAX),
                _ => {
                    self.searched = self.buffer.len();
                    break;
                }
            };
            if !records.is_empty() && next + (records.len() + 1) * RECORD_COST > limit {
                break;
            }
            records.push(RecordEntry {
                offset: (self.position + at as u64) as i64,
                time_ms: 0,
                key: None,
                value: Some((at as u32, end as u32)),
                headers: (0, 0),
            });
            at = next;
        }
        if records.is_empty() {
            return None;
        }
        let rest = self.buffer.split_off(at);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.searched = self.searched.saturating_sub(at);
        self.position += at as u64;
        Some(Cut { bytes, records, next: self.position })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use proptest::prelude::*;

    /// Lines with their offsets, as cut from blocks of the input.
    fn lines(input: &[u8], block: usize, limit: usize) -> Vec<(i64, Vec<u8>)> {
        let mut cutter = Cutter::new(0);
        let mut lines = Vec::new();
        let mut next = 0;
        for block in input.chunks(block).chain([&b""[..]]) {
            cutter.add(block);
            while let Some(cut) = cutter.cut(limit) {
                for record in &cut.records {
                    let (from, to) = record.value.expect("a line has a value");
                    lines.push((record.offset, cut.bytes[from as usize..to as usize].to_vec()));
                }
                assert!(cut.next > next, "each cut moves on");
                next = cut.next;
            }
        }
        assert!(cutter.finish() && !cutter.finish(), "finished once");
        assert_eq!(next, input.len() as u64);
        lines
    }

    fn check(input: &[u8], expect: &[(i64, &[u8])]) {
        let expect: Vec<(i64, Vec<u8>)> =
            expect.iter().map(|(offset, line)| (*offset, line.to_vec())).collect();
        for (block, limit) in [(1, 1), (3, 100), (100, 100)] {
            assert_eq!(lines(input, block, limit), expect, "block {block}, limit {limit}");
        }
    }

    #[test]
    fn a_line_is_a_record_at_its_byte_position() {
        check(b"", &[]);
        check(b"a\n\nbc", &[(0, b"a"), (2, b""), (3, b"bc")]);
        check(b"a\r\n", &[(0, b"a\r")]);
    }

    #[test]
    fn a_giant_line_comes_in_pieces() {
        let input = vec![b'x'; PIECE_MAX * 2 + 5];
        let pieces = lines(&input, 1 << 20, 1 << 20);
        let shape: Vec<(i64, usize)> = pieces.iter().map(|(at, line)| (*at, line.len())).collect();
        let piece = PIECE_MAX as i64;
        assert_eq!(shape, [(0, PIECE_MAX), (piece, PIECE_MAX), (2 * piece, 5)]);
    }

    #[test]
    fn a_batch_of_empty_lines_is_bounded() {
        let mut cutter = Cutter::new(0);
        cutter.add(&vec![b'\n'; 1 << 20]);
        let cut = cutter.cut(1 << 16).expect("lines");
        assert!(cut.records.len() <= (1 << 16) / RECORD_COST);
    }

    proptest! {
        #[test]
        fn cutting_agrees_with_splitting(
            input in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            block in 1usize..50,
            limit in 1usize..500,
        ) {
            let mut expect: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
            if expect.last().is_some_and(|last| last.is_empty()) {
                expect.pop();
            }
            let cut: Vec<Vec<u8>> =
                lines(&input, block, limit).into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(cut, expect);
        }
    }

    #[tokio::test]
    async fn a_changed_time_is_another_receipt_and_no_other_identity() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        writeln!(file, "line").expect("written");
        let settings =
            FileSettings { path: Some(file.path().to_owned()), lineage: None, batch_bytes: 1000 };
        let mut lineages = Vec::new();
        for seconds in [1_000_000_000, 1_700_000_000] {
            let changed = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(250);
            file.as_file().set_modified(changed).expect("set");
            let mut link = spawn(&settings, Memory::new(0)).await.expect("opened");
            let batch = loop {
                if let SourceEvent::Records(batch) = link.events.recv().await.expect("open") {
                    break batch;
                }
            };
            assert_eq!(batch.received_ms, seconds as i64 * 1000 + 250);
            assert_eq!((batch.stamp, batch.records[0].time_ms), (StampKind::None, 0));
            lineages.push(link.lineage);
        }
        assert_eq!(lineages[0], lineages[1]);
    }

    #[tokio::test]
    async fn a_file_is_read_finished_and_read_again() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        for number in 0..1000 {
            writeln!(file, "line {number}").expect("written");
        }
        let settings = FileSettings {
            path: Some(file.path().to_owned()),
            lineage: Some("try".to_owned()),
            batch_bytes: 1000,
        };
        let mut link = spawn(&settings, Memory::new(0)).await.expect("opened");
        assert!(link.lineage.ends_with("-try"));
        let again = spawn(&settings, Memory::new(0)).await.expect("opened");
        assert_eq!(link.lineage, again.lineage);
        for epoch in [1, 9] {
            let mut count = 0;
            loop {
                match link.events.recv().await.expect("open") {
                    SourceEvent::Records(batch) => {
                        assert_eq!(batch.epoch, epoch);
                        count += batch.records.len();
                    }
                    SourceEvent::Finished => break,
                    _ => {}
                }
            }
            assert_eq!(count, 1000);
            let partition = Partition { topic: "any".into(), number: 0 };
            let rewind = SourceCommand::Rewind { partition, offset: 0, epoch: 9, replaces: 1 };
            link.commands.send(rewind).await.expect("taken");
        }
        link.commands.send(SourceCommand::Close).await.expect("taken");
        while link.events.recv().await.is_some() {}
    }
}
