//! The transfers of an archive sink, each a task of its own: proving a bucket, touching a chain,
//! appending to it, probing what is halted. At most `transfers` of them talk to the store at once.
//!
//! Invariant: a task owns what it works on and hands all of it back. Next stop: [`super::chain`].

use std::sync::Arc;

use super::Archive;
use super::chain::{self, Appended, Link, Tail};
use super::ids::KnownIds;
use super::object::ObjectBuilder;
use super::store::{Depth, ListRequest, PROBE_KEY, PutOutcome, ReadOutcome, probe_exclusive};
use crate::backoff::Backoff;
use crate::generation::InFlight;
use crate::sink::destination::Halt;

/// Longest wait between two probes, in probe intervals.
const INTERVALS_MAX: u32 = 12;

/// What a task brings back.
pub(super) enum Finished {
    /// A bucket was asked whether it creates exclusively.
    Proven { bucket: String, result: Result<(), Halt> },
    /// A chain's first touch.
    Touched { id: u64, result: Result<(Tail, KnownIds), Halt> },
    /// An append, whole or as far as it went.
    Appended { id: u64, tail: Tail, appended: Appended, result: Result<(), Halt> },
    /// A halted bucket works again.
    Cured { bucket: String },
}

pub(super) async fn prove(archive: Arc<Archive>, bucket: String) -> Finished {
    let mut backoff = archive.context.backoff();
    let Some(store) = archive.stores.get(&bucket) else {
        let detail = format!("`{bucket}` is not one of the sink's buckets");
        let halt = Halt { reason: "unknown_bucket", detail };
        return Finished::Proven { bucket, result: Err(halt) };
    };
    loop {
        match probe_exclusive(&**store).await {
            PutOutcome::Done | PutOutcome::Exists => {
                return Finished::Proven { bucket, result: Ok(()) };
            }
            PutOutcome::Retry(retry) => {
                let wait = backoff.next(&archive.context.jitter, retry.after);
                tracing::warn!(
                    sink = &*archive.context.name, bucket = %bucket, reason = %retry,
                    wait_ms = wait.as_millis() as u64, "asking again whether it creates exclusively"
                );
                tokio::time::sleep(wait).await;
            }
            PutOutcome::TooLarge => {
                let detail = "the store finds nine bytes too large".to_owned();
                let result = Err(Halt { reason: "refused", detail });
                return Finished::Proven { bucket, result };
            }
            PutOutcome::Halt(halt) => {
                let result = Err(Halt { reason: halt.reason.as_str(), detail: halt.detail });
                return Finished::Proven { bucket, result };
            }
        }
    }
}

pub(super) async fn touch(id: u64, link: Link) -> Finished {
    let _transfer = Arc::clone(&link.archive.transfers).acquire_owned().await;
    Finished::Touched { id, result: chain::touch(&link).await }
}

pub(super) async fn append(
    id: u64,
    link: Link,
    mut tail: Tail,
    object: ObjectBuilder,
    reason: &'static str,
) -> Finished {
    let _in_flight = InFlight::begin(&link.generation);
    let _transfer = Arc::clone(&link.archive.transfers).acquire_owned().await;
    let context = &link.archive.context;
    context.metrics.sink_in_flight(&context.name, 1);
    let size = object.size_estimate() as u64;
    let mut appended = Appended::default();
    let result = chain::append(&link, &mut tail, object, &mut appended).await;
    context.metrics.sink_in_flight(&context.name, -1);
    if result.is_ok() {
        context.metrics.archive_object(&context.name, reason, size);
    }
    Finished::Appended { id, tail, appended, result }
}

/// Asks a halted bucket, slowly, whether everything works that a chain needs: creating, listing,
/// reading. A foreign footer must be gone.
pub(super) async fn probe(
    archive: Arc<Archive>,
    bucket: String,
    foreign: Option<Link>,
) -> Finished {
    let interval = archive.context.retry.probe_interval;
    let mut backoff = Backoff::new(interval, interval * INTERVALS_MAX);
    loop {
        tokio::time::sleep(backoff.next(&archive.context.jitter, None)).await;
        if is_open(&archive, &bucket).await && is_own(foreign.as_ref()).await {
            return Finished::Cured { bucket };
        }
    }
}

async fn is_open(archive: &Archive, bucket: &str) -> bool {
    let Some(store) = archive.stores.get(bucket) else { return false };
    let created = if archive.settings.exclusive {
        matches!(probe_exclusive(&**store).await, PutOutcome::Done)
    } else {
        let probe = bytes::Bytes::from_static(b"riverhog\n");
        matches!(store.put_any(PROBE_KEY, probe).await, PutOutcome::Done)
    };
    let page = ListRequest {
        prefix: "_riverhog/".to_owned(),
        start_after: None,
        depth: Depth::Folder,
        next: None,
    };
    let read = store.get_suffix(PROBE_KEY, 64);
    created
        && matches!(store.list(&page).await, ReadOutcome::Done(_))
        && matches!(read.await, ReadOutcome::Done(_))
}

async fn is_own(foreign: Option<&Link>) -> bool {
    match foreign {
        None => true,
        Some(link) => chain::touch(link).await.is_ok(),
    }
}
