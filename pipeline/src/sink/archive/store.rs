//! Where objects live: the seam between chains and S3, a local folder, or a simulated store.
//!
//! Invariant: outcomes are closed and say what the caller does next; `put_new` never overwrites and
//! `Done` means that the object outlives a crash of this machine. Next stop: `s3.rs`, `local.rs`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use super::footer::{Decoded, Footer, FooterError, SUFFIX_BYTES};

/// Most keys in one page of a list.
pub const PAGE_KEYS: usize = 1000;
/// Most pages that one list may take: ten million keys.
const PAGES_MAX: usize = 10_000;
/// The object that proves exclusive creation; one per bucket, never deleted.
pub const PROBE_KEY: &str = "_riverhog/probe";

/// Why a request is worth repeating; also a metric label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "as_str says it")]
pub enum RetryReason {
    Timeout,
    Connection,
    Throttled,
    Conflict,
    Server,
    Digest,
    Answer,
    DiskFull,
    Io,
}

impl RetryReason {
    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            RetryReason::Timeout => "timeout",
            RetryReason::Connection => "connection",
            RetryReason::Throttled => "throttled",
            RetryReason::Conflict => "conflict",
            RetryReason::Server => "server_error",
            RetryReason::Digest => "bad_digest",
            RetryReason::Answer => "unreadable_answer",
            RetryReason::DiskFull => "disk_full",
            RetryReason::Io => "io",
        }
    }
}

/// Why a destination stands still until somebody changes something; also a metric label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "as_str says it")]
pub enum HaltReason {
    Credentials,
    Forbidden,
    NoBucket,
    Redirected,
    Refused,
    Unsupported,
    Tls,
    BadKey,
    NotAFolder,
}

impl HaltReason {
    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            HaltReason::Credentials => "credentials",
            HaltReason::Forbidden => "forbidden",
            HaltReason::NoBucket => "no_such_bucket",
            HaltReason::Redirected => "redirected",
            HaltReason::Refused => "refused",
            HaltReason::Unsupported => "unsupported",
            HaltReason::Tls => "tls",
            HaltReason::BadKey => "bad_key",
            HaltReason::NotAFolder => "not_a_folder",
        }
    }
}

/// Why one object cannot be read while its store can; also a metric label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "as_str says it")]
pub enum UnreadableReason {
    Missing,
    Archived,
    Damaged,
    Newer,
}

impl UnreadableReason {
    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            UnreadableReason::Missing => "missing",
            UnreadableReason::Archived => "archive_class",
            UnreadableReason::Damaged => "damaged",
            UnreadableReason::Newer => "newer_format",
        }
    }
}

/// Ask again later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Why.
    pub reason: RetryReason,
    /// What the store said.
    pub detail: String,
    /// How long the store asks us to wait at least.
    pub after: Option<Duration>,
}

/// Stand still, alarm, and probe slowly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halt {
    /// Why.
    pub reason: HaltReason,
    /// What the store said.
    pub detail: String,
}

/// The object counts as one whose ids are unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Why.
    pub reason: UnreadableReason,
    /// What the store said.
    pub detail: String,
}

impl fmt::Display for Retry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.reason.as_str(), self.detail)
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.reason.as_str(), self.detail)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.reason.as_str(), self.detail)
    }
}

/// What became of a PUT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PutOutcome {
    /// The object is stored for good.
    Done,
    /// The key was taken; by a rival, or by a request of ours whose answer was lost.
    Exists,
    /// Ask again later; the object may be stored nevertheless.
    Retry(Retry),
    /// Too large for the store: split it.
    TooLarge,
    /// Stand still; nothing was stored.
    Halt(Halt),
}

/// What became of a GET or a LIST.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadOutcome<T> {
    /// Here it is.
    Done(T),
    /// This object cannot be had.
    Unreadable(Unreadable),
    /// Ask again later.
    Retry(Retry),
    /// Stand still.
    Halt(Halt),
}

impl<T> ReadOutcome<T> {
    /// The same outcome of something else; `Done` goes on to `next`.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> ReadOutcome<U>) -> ReadOutcome<U> {
        match self {
            ReadOutcome::Done(value) => next(value),
            ReadOutcome::Unreadable(unreadable) => ReadOutcome::Unreadable(unreadable),
            ReadOutcome::Retry(retry) => ReadOutcome::Retry(retry),
            ReadOutcome::Halt(halt) => ReadOutcome::Halt(halt),
        }
    }
}

/// The last bytes of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suffix {
    /// The bytes; the whole object when it is shorter than asked for.
    pub bytes: Bytes,
    /// Size of the whole object.
    pub object_bytes: u64,
}

/// How far a list goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Only keys without a `/` after the prefix.
    Folder,
    /// All keys that begin with the prefix.
    Tree,
}

/// One page of keys, please.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListRequest {
    /// What keys begin with; any text, a folder's ends in `/`.
    pub prefix: String,
    /// Only keys greater than this one.
    pub start_after: Option<String>,
    /// How far down.
    pub depth: Depth,
    /// The `next` of the page before.
    pub next: Option<String>,
}

/// One key of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The whole key.
    pub key: String,
    /// Size of the object.
    pub bytes: u64,
}

/// At most `PAGE_KEYS` keys, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// The keys; there may be none although more pages follow.
    pub objects: Vec<Listed>,
    /// Where the next page begins; none after the last one.
    pub next: Option<String>,
}

/// A store's answer to come.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A place for objects: one bucket, or one folder.
///
/// Dropping an answer ends the waiting, not always the request: what was asked for may still
/// happen.
pub trait ObjectStore: Send + Sync + fmt::Debug {
    /// Creates an object, exclusively: of several that try the same key one gets `Done`.
    fn put_new<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome>;

    /// Creates or replaces an object.
    fn put_any<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome>;

    /// The last `bytes_max` bytes of an object, or all of it when it is shorter.
    fn get_suffix<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Suffix>>;

    /// A whole object; one longer than `bytes_max` is `Unreadable`.
    fn get<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Bytes>>;

    /// One page of keys. A folder that is not there has none.
    fn list<'a>(&'a self, request: &'a ListRequest) -> Answer<'a, ReadOutcome<Page>>;
}

/// Reads the footer of an object: one GET, or two when it is long.
pub async fn read_footer(store: &dyn ObjectStore, key: &str) -> ReadOutcome<Footer> {
    let mut ask = SUFFIX_BYTES;
    for _ in 0..2 {
        let suffix = match store.get_suffix(key, ask).await {
            ReadOutcome::Done(suffix) => suffix,
            ReadOutcome::Unreadable(unreadable) => return ReadOutcome::Unreadable(unreadable),
            ReadOutcome::Retry(retry) => return ReadOutcome::Retry(retry),
            ReadOutcome::Halt(halt) => return ReadOutcome::Halt(halt),
        };
        match Footer::decode(&suffix.bytes, suffix.object_bytes) {
            Ok(Decoded::Footer(footer)) => return ReadOutcome::Done(*footer),
            Ok(Decoded::Longer(bytes)) => ask = bytes,
            Err(error) => return ReadOutcome::Unreadable(unreadable_footer(&error)),
        }
    }
    ReadOutcome::Unreadable(Unreadable {
        reason: UnreadableReason::Damaged,
        detail: "the object changes while it is read".to_owned(),
    })
}

/// A footer that cannot be had, in a store's words.
pub fn unreadable_footer(error: &FooterError) -> Unreadable {
    let reason = match error {
        FooterError::NotAnObject | FooterError::Damaged(_) => UnreadableReason::Damaged,
        FooterError::Newer { .. } => UnreadableReason::Newer,
    };
    Unreadable { reason, detail: error.to_string() }
}

/// Hands every key under a prefix to `each`, page by page.
///
/// `Halt` when a store's pages never end, which no honest one does.
pub async fn list_all(
    store: &dyn ObjectStore,
    prefix: &str,
    start_after: Option<&str>,
    depth: Depth,
    mut each: impl FnMut(Listed),
) -> ReadOutcome<()> {
    let mut request = ListRequest {
        prefix: prefix.to_owned(),
        start_after: start_after.map(str::to_owned),
        depth,
        next: None,
    };
    for _ in 0..PAGES_MAX {
        let page = match store.list(&request).await {
            ReadOutcome::Done(page) => page,
            other => return other.and_then(|_| ReadOutcome::Done(())),
        };
        page.objects.into_iter().for_each(&mut each);
        if page.next.is_none() {
            return ReadOutcome::Done(());
        }
        if page.next == request.next {
            break;
        }
        request.next = page.next;
    }
    ReadOutcome::Halt(Halt {
        reason: HaltReason::Unsupported,
        detail: format!("the list of {prefix:?} does not end"),
    })
}

/// Proves that the store creates exclusively: on one fixed object, a second creation must fail.
///
/// `Done` proves it; `Exists` cannot come back; a store that overwrites gives `Halt`.
pub async fn probe_exclusive(store: &dyn ObjectStore) -> PutOutcome {
    for _ in 0..2 {
        match store.put_new(PROBE_KEY, Bytes::from_static(b"riverhog\n")).await {
            PutOutcome::Done => {}
            PutOutcome::Exists => return PutOutcome::Done,
            other => return other,
        }
    }
    PutOutcome::Halt(Halt {
        reason: HaltReason::Unsupported,
        detail: format!(
            "the store created {PROBE_KEY} twice, so it cannot create exclusively by the header \
             that `exclusive` names, which OSS and COS ignore in a bucket with versions; \
             exclusive = \"none\" stores at least once"
        ),
    })
}
