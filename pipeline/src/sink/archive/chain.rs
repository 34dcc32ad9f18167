//! The chain protocol: appending to a chain is a compare-and-swap on its next number. The first
//! touch of a prefix by a generation learns what the chain holds already; an append that loses its
//! race reads the winner's footer, drops what it holds, and takes the next number.
//!
//! Invariant: a line is in at most one object of a chain, in whatever order crashes, lost answers
//! and zombies come, because nobody writes number n+1 without having read number n's footer or
//! written it himself. Next stop: [`super::store`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::footer::Footer;
use super::ids::{FrameIds, IdKey, KnownIds};
use super::key::{ChainName, ObjectName};
use super::object::{ObjectBuilder, ObjectError, ObjectMeta};
use super::store::{self, Depth, ObjectStore, PutOutcome, ReadOutcome, Retry, list_all};
use super::{Archive, CompressorPool};
use crate::backoff::Backoff;
use crate::clock;
use crate::generation::Generation;
use crate::sink::destination::Halt;

/// Footers in a row that cannot be read, after which a first touch goes back no further.
const UNREAD_MAX: u32 = 100;

/// How long a list is used again.
const LIST_AGE_MAX: Duration = Duration::from_secs(5);

/// The reason of a halt that is none: the partition was let go while a store did not answer.
pub(super) const LET_GO: &str = "let_go";

/// Where a chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    /// Number of its newest object; 0 when it has none.
    pub(super) number: u64,
    /// The running maximum offset; `None` when it has no object.
    pub(super) max_offset: Option<i64>,
}

/// One chain: where its objects are and who appends to it.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) archive: Arc<Archive>,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) bucket: Arc<str>,
    pub(super) prefix: Arc<str>,
    pub(super) name: ChainName,
    pub(super) generation: Arc<Generation>,
    /// In the names of its objects where the store does not create exclusively. Of this link
    /// alone: a list that is a moment old would give the next one a number that is taken, and the
    /// same name would overwrite.
    pub(super) nonce: u32,
}

/// What an append did, also when it stopped half-way.
#[derive(Debug, Default)]
pub(super) struct Appended {
    /// Tokens of the lines that are in the chain now.
    pub(super) settled: Vec<u64>,
    /// Of them, how many somebody had written before.
    pub(super) known: u64,
    /// Ids that others wrote.
    pub(super) learned: Vec<FrameIds>,
}

/// What a footer turned out to be.
enum FooterRead {
    Ours(Box<Footer>),
    /// It cannot be read: it counts as holding no ids, with an unknown maximum.
    Unread(String),
}

/// The chain's end, and what it holds of what this generation may meet.
pub(super) async fn touch(link: &Link) -> Result<(Tail, KnownIds), Halt> {
    let rules = link.archive.context.rules;
    // What this generation may read again begins at its own start or its own commits; what the
    // broker says now may be another member's.
    let floor = link.generation.start.max(link.generation.committed());
    let mut numbers = list(link).await?;
    let mut known = KnownIds::default();
    let Some(newest) = numbers.last().copied() else {
        return Ok((Tail { number: 0, max_offset: None }, known));
    };
    let mut tail = Tail { number: newest, max_offset: None };
    if !link.archive.settings.exclusive {
        // Every writer has names of his own: nothing of the chain says what is stored.
        return Ok((tail, known));
    }
    let mut unread = 0;
    while let Some(number) = numbers.pop() {
        match read_footer(link, number).await? {
            FooterRead::Ours(footer) => {
                let max_offset = footer.chain_max_offset;
                tail.max_offset = tail.max_offset.max(Some(max_offset));
                if is_same_topic(link, &footer) {
                    known.extend(footer.into_ids());
                }
                if max_offset < floor || !rules.first_touch_reads_back {
                    break;
                }
            }
            FooterRead::Unread(why) => {
                unread += 1;
                count_unread(link, number, &why);
                if rules.unread_footer_is_unknown {
                    tail.max_offset = tail.max_offset.max(Some(unknown_maximum(link)));
                }
                if unread >= UNREAD_MAX || !rules.unread_footer_is_unknown {
                    break;
                }
            }
        }
    }
    known.forget_below(floor);
    Ok((tail, known))
}

/// Appends the object, whole or in parts, minus what the chain turns out to hold. Returns when the
/// builder is empty, or with the reason why it cannot go on; `appended` says what was done.
pub(super) async fn append(
    link: &Link,
    tail: &mut Tail,
    object: ObjectBuilder,
    appended: &mut Appended,
) -> Result<(), Halt> {
    let mut backoff = link.archive.context.backoff();
    let mut parts = vec![object];
    while let Some(mut part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        if !link.generation.is_alive() {
            return Ok(());
        }
        let finished = finish(link, *tail, &mut part)?;
        match put(link, tail.number + 1, finished.0).await {
            PutOutcome::Done => {
                tail.number += 1;
                tail.max_offset = Some(finished.1);
                appended.settled.extend(part.tokens());
                backoff = link.archive.context.backoff();
            }
            PutOutcome::Exists => {
                link.archive.context.metrics.archive_conflicts(&link.archive.context.name, 1);
                lost_race(link, tail, &mut part, appended).await?;
                parts.push(part);
            }
            PutOutcome::TooLarge => {
                let Some(later) = split(link, &mut part)? else {
                    let detail = format!("one line of {} is larger than it takes", link.prefix);
                    return Err(Halt { reason: "too_large", detail });
                };
                parts.extend([later, part]);
            }
            PutOutcome::Retry(retry) => {
                let context = &link.archive.context;
                context.metrics.sink_lines(&context.name, "retry", part.lines() as u64);
                wait(link, &mut backoff, &retry, "storing again").await;
                parts.push(part);
            }
            PutOutcome::Halt(halt) => return Err(halt_of(halt)),
        }
    }
    Ok(())
}

/// Somebody has appended the next number (perhaps we ourselves, and the answer was lost): learns
/// what it holds.
async fn lost_race(
    link: &Link,
    tail: &mut Tail,
    part: &mut ObjectBuilder,
    appended: &mut Appended,
) -> Result<(), Halt> {
    let rules = link.archive.context.rules;
    let number = tail.number + 1;
    tail.number = number;
    if !rules.lost_race_reads_the_footer {
        return Ok(());
    }
    match read_footer(link, number).await? {
        FooterRead::Ours(footer) => {
            tail.max_offset = tail.max_offset.max(Some(footer.chain_max_offset));
            if !is_same_topic(link, &footer) {
                return Ok(());
            }
            let mut known = KnownIds::default();
            let learned: Vec<FrameIds> = footer.into_ids().collect();
            known.extend(learned.iter().cloned());
            let dropped = link
                .archive
                .compressors
                .with(|compressor| part.drop_known(|key| known.contains(key), compressor))
                .map_err(|error| object_halt(&error))?;
            appended.known += dropped.len() as u64;
            appended.settled.extend(dropped.iter().map(|line| line.token));
            appended.learned.extend(learned);
        }
        FooterRead::Unread(why) => {
            count_unread(link, number, &why);
            tail.max_offset = tail.max_offset.max(Some(unknown_maximum(link)));
        }
    }
    Ok(())
}

fn finish(link: &Link, tail: Tail, part: &mut ObjectBuilder) -> Result<(Bytes, i64), Halt> {
    let archive = &link.archive;
    let meta = ObjectMeta {
        sink: &archive.context.name,
        records: archive.settings.records,
        fingerprint: &archive.settings.fingerprint,
        lineage: link.name.lineage(),
        topic: link.name.topic(),
        partition: link.name.partition(),
        incarnation: link.generation.incarnation.as_deref(),
        number: tail.number + 1,
        chain_max_before: tail.max_offset.filter(|_| archive.context.rules.chain_maximum_runs),
    };
    let finished = archive
        .compressors
        .with(|compressor| part.finish(&meta, compressor))
        .map_err(|error| object_halt(&error))?;
    Ok((finished.bytes, finished.footer.chain_max_offset))
}

async fn put(link: &Link, number: u64, bytes: Bytes) -> PutOutcome {
    let archive = &link.archive;
    let exclusive =
        archive.settings.exclusive && archive.context.rules.objects_are_created_exclusively;
    let nonce = (!archive.settings.exclusive).then_some(link.nonce);
    let name = ObjectName { chain: link.name.clone(), number, nonce };
    let key = name.key(&link.prefix);
    let started = clock::instant();
    let size = bytes.len() as u64;
    let outcome = if exclusive {
        link.store.put_new(&key, bytes).await
    } else {
        link.store.put_any(&key, bytes).await
    };
    let (context, seconds) = (&archive.context, started.elapsed().as_secs_f64());
    context.metrics.sink_request_seconds(&context.name, seconds);
    let word = match &outcome {
        PutOutcome::Done => {
            context.metrics.sink_bytes(&context.name, size);
            "answered"
        }
        PutOutcome::Exists => "conflict",
        PutOutcome::Retry(_) => "retry",
        PutOutcome::TooLarge => "split",
        PutOutcome::Halt(_) => "halt",
    };
    context.metrics.sink_requests(&context.name, word);
    outcome
}

/// Numbers of the chain's objects, ascending. One list serves all partitions of a topic that touch
/// a prefix about then: a stale one is harmless, what it lacks is met as a lost race.
async fn list(link: &Link) -> Result<Vec<u64>, Halt> {
    let written = link.name.to_string();
    let of_topic = written.rfind('-').map_or(&*written, |dash| &written[..=dash]);
    let chain_prefix = format!("{}{of_topic}", link.prefix);
    let place = link.archive.lists.place(&link.bucket, &chain_prefix);
    let mut list = place.lock().await;
    let names = if let Some(list) = list.as_ref().filter(|list| list.is_fresh()) {
        Arc::clone(&list.names)
    } else {
        let names = Arc::new(list_now(link, &chain_prefix).await?);
        *list = Some(List { at: clock::instant(), names: Arc::clone(&names) });
        names
    };
    let of_chain = names.iter().filter(|name| name.chain == link.name);
    let mut numbers: Vec<u64> = of_chain.map(|name| name.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

async fn list_now(link: &Link, chain_prefix: &str) -> Result<Vec<ObjectName>, Halt> {
    let mut backoff = link.archive.context.backoff();
    loop {
        let mut names = Vec::new();
        let take = |listed: store::Listed| {
            names.extend(ObjectName::parse_key(&link.prefix, &listed.key));
        };
        match list_all(&*link.store, chain_prefix, None, Depth::Folder, take).await {
            ReadOutcome::Done(()) => return Ok(names),
            ReadOutcome::Unreadable(unreadable) => {
                return Err(Halt { reason: "not_found", detail: unreadable.to_string() });
            }
            ReadOutcome::Retry(retry) => wait(link, &mut backoff, &retry, "listing again").await,
            ReadOutcome::Halt(halt) => return Err(halt_of(halt)),
        }
        if !link.generation.is_alive() {
            let detail = "the partition was let go".to_owned();
            return Err(Halt { reason: LET_GO, detail });
        }
    }
}

/// The lists of a sink, each taken once for all who wait for it.
#[derive(Debug, Default)]
pub(super) struct Lists(StdMutex<BTreeMap<(Arc<str>, String), ListPlace>>);

/// One list, for all who wait for it.
type ListPlace = Arc<Mutex<Option<List>>>;

#[derive(Debug)]
pub(super) struct List {
    at: Instant,
    names: Arc<Vec<ObjectName>>,
}

impl List {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < LIST_AGE_MAX
    }
}

impl Lists {
    /// The place of one list; those nobody waits for and nobody may use any more are dropped.
    fn place(&self, bucket: &Arc<str>, chain_prefix: &str) -> ListPlace {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever holds or awaits the lock holds the place as well.
        lists.retain(|_, place| {
            let is_fresh =
                |list: MutexGuard<'_, Option<List>>| list.as_ref().is_some_and(List::is_fresh);
            Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(is_fresh)
        });
        let key = (Arc::clone(bucket), chain_prefix.to_owned());
        Arc::clone(lists.entry(key).or_default())
    }
}

/// Reads one footer, for as long as the store may give it.
async fn read_footer(link: &Link, number: u64) -> Result<FooterRead, Halt> {
    let key = ObjectName { chain: link.name.clone(), number, nonce: None }.key(&link.prefix);
    let mut backoff = link.archive.context.backoff();
    loop {
        match store::read_footer(&*link.store, &key).await {
            ReadOutcome::Done(footer) => return owned(link, &key, Box::new(footer)),
            ReadOutcome::Unreadable(unreadable) => {
                return Ok(FooterRead::Unread(unreadable.to_string()));
            }
            ReadOutcome::Retry(retry) => wait(link, &mut backoff, &retry, "reading again").await,
            ReadOutcome::Halt(halt) => return Err(halt_of(halt)),
        }
        if !link.generation.is_alive() {
            return Ok(FooterRead::Unread("the partition was let go".to_owned()));
        }
    }
}

/// Keys of another sink or kind of records belong to somebody else.
fn owned(link: &Link, key: &str, footer: Box<Footer>) -> Result<FooterRead, Halt> {
    let archive = &link.archive;
    if footer.sink != *archive.context.name || footer.records != archive.settings.records {
        let detail = format!(
            "{key} was written by sink `{}` ({:?}), to which these keys belong; this is sink `{}` \
             ({:?}): name it as before, or give it another `prefix` or `bucket`",
            footer.sink, footer.records, archive.context.name, archive.settings.records
        );
        return Err(Halt { reason: "foreign_chain", detail });
    }
    Ok(FooterRead::Ours(footer))
}

/// False when the footer is of another topic that had the same name: its ids are others, although
/// offset and time may look alike. Where one of the two does not say, record times decide.
fn is_same_topic(link: &Link, footer: &Footer) -> bool {
    let theirs = footer.incarnation.as_deref();
    match (link.generation.incarnation.as_deref(), theirs) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => true,
    }
}

/// The maximum of a chain whose footer cannot be read: anything up to the partition's end may be
/// in it.
fn unknown_maximum(link: &Link) -> i64 {
    link.generation.end_offset().max(link.generation.ledger().next_offset())
}

fn count_unread(link: &Link, number: u64, why: &str) {
    let context = &link.archive.context;
    context.metrics.archive_unread_footers(&context.name, 1);
    tracing::error!(
        sink = &*context.name,
        bucket = &*link.bucket,
        prefix = &*link.prefix,
        number,
        reason = why,
        "an object's footer cannot be read: its lines may be stored again"
    );
}

async fn wait(link: &Link, backoff: &mut Backoff, retry: &Retry, what: &'static str) {
    let context = &link.archive.context;
    let wait = backoff.next(&context.jitter, retry.after);
    tracing::warn!(
        sink = &*context.name, bucket = &*link.bucket, prefix = &*link.prefix, reason = %retry,
        attempt = backoff.attempts(), wait_ms = wait.as_millis() as u64, "{what}"
    );
    tokio::time::sleep(wait).await;
}

fn halt_of(halt: store::Halt) -> Halt {
    Halt { reason: halt.reason.as_str(), detail: halt.detail }
}

fn split(link: &Link, part: &mut ObjectBuilder) -> Result<Option<ObjectBuilder>, Halt> {
    let split = link.archive.compressors.with(|compressor| part.split_off(compressor));
    split.map_err(|error| object_halt(&error))
}

fn object_halt(error: &ObjectError) -> Halt {
    Halt { reason: "object", detail: error.to_string() }
}

/// The id of an event within its partition, as footers keep it.
pub(super) fn id_key(archive: &Archive, event: &riverhog_rules::event::Event) -> IdKey {
    let joined = event.joined.map(|joined| (joined.lines, joined.hash));
    let time_ms =
        if archive.context.rules.record_time_is_identity { event.record_time_ms } else { 0 };
    IdKey { offset: event.first_offset, index: event.index, joined, time_ms }
}

impl CompressorPool {
    /// Work with a compressor nobody else uses; contexts are shared, not owned by open objects.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut super::frames::FrameCompressor) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let mut compressor = self.take()?;
        let done = work(&mut compressor);
        self.give_back(compressor);
        done
    }
}
