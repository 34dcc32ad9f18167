//! A folder as a store of objects.
//!
//! Invariant: an object appears whole or not at all, never replaces another, and is on the disk
//! before `Done` or `Exists` is said: file first, then the link to its name, then the folders.
//! Next stop: whoever reads the archive.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::local_list::list_page;
use super::store::{
    Answer, Halt, HaltReason, ListRequest, ObjectStore, Page, PutOutcome, ReadOutcome, Retry,
    RetryReason, Suffix, Unreadable, UnreadableReason,
};
use crate::clock;

/// How names of files in the making begin; no key may.
pub(super) const TEMPORARY_START: &str = ".riverhog-";
/// An unfinished file that was last written to this long ago is nobody's any more.
const TEMPORARY_AGE_MAX: Duration = Duration::from_hours(1);
/// Folders remembered as safely on the disk.
const FOLDERS_MAX: usize = 10_000;

/// Objects as files below one folder.
#[derive(Debug, Clone)]
pub struct LocalStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    shown: String,
    // Invariant: each of these exists on the disk, not just in the page cache.
    durable: Mutex<HashSet<PathBuf>>,
    temporary_nonce: u64,
    temporary_number: AtomicU64,
}

impl LocalStore {
    /// A store below `root`, which is made when the first object comes.
    pub fn new(root: impl Into<PathBuf>) -> LocalStore {
        let root = root.into();
        let shown = root.display().to_string();
        LocalStore::shown_as(root, &shown)
    }

    /// The same; messages call its folder `shown`.
    pub fn shown_as(root: impl Into<PathBuf>, shown: &str) -> LocalStore {
        LocalStore {
            inner: Arc::new(Inner {
                root: root.into(),
                shown: shown.to_owned(),
                durable: Mutex::default(),
                // Every RandomState is seeded anew: processes that share a folder differ.
                temporary_nonce: RandomState::new().hash_one(0),
                temporary_number: AtomicU64::new(0),
            }),
        }
    }

    /// Runs file work on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, Retry> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || work(&inner)).await.map_err(|error| Retry {
            reason: RetryReason::Io,
            detail: error.to_string(),
            after: None,
        })
    }

    async fn put(&self, key: &str, bytes: Bytes, replace: bool) -> PutOutcome {
        let relative = match relative_path(key) {
            Ok(relative) => relative,
            Err(reason) => return PutOutcome::Halt(bad_key(key, reason)),
        };
        let done = self.blocking(move |inner| inner.put(&relative, &bytes, replace)).await;
        match done {
            Ok(Ok(true)) => PutOutcome::Done,
            Ok(Ok(false)) => PutOutcome::Exists,
            Ok(Err(error)) => match failure(&self.inner.shown, key, &error) {
                Failure::Retry(retry) => PutOutcome::Retry(retry),
                Failure::Halt(halt) => PutOutcome::Halt(halt),
            },
            Err(retry) => PutOutcome::Retry(retry),
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        key: &str,
        work: impl FnOnce(&mut File, u64) -> io::Result<T> + Send + 'static,
    ) -> ReadOutcome<T> {
        let relative = match relative_path(key) {
            Ok(relative) => relative,
            Err(reason) => return ReadOutcome::Halt(bad_key(key, reason)),
        };
        let done = self.blocking(move |inner| {
            let mut file = File::open(inner.root.join(relative))?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(ErrorKind::NotFound.into());
            }
            work(&mut file, metadata.len())
        });
        match done.await {
            Ok(Ok(value)) => ReadOutcome::Done(value),
            Ok(Err(error)) => read_failure(&self.inner.shown, key, &error),
            Err(retry) => ReadOutcome::Retry(retry),
        }
    }
}

impl ObjectStore for LocalStore {
    fn put_new<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(self.put(key, bytes, false))
    }

    fn put_any<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(self.put(key, bytes, true))
    }

    fn get_suffix<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Suffix>> {
        Box::pin(self.read(key, move |file, object_bytes| {
            let length = bytes_max.min(object_bytes);
            file.seek(SeekFrom::Start(object_bytes - length))?;
            Ok(Suffix { bytes: read_exactly(file, length)?, object_bytes })
        }))
    }

    fn get<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Bytes>> {
        Box::pin(self.read(key, move |file, object_bytes| {
            if object_bytes > bytes_max {
                return Err(ErrorKind::FileTooLarge.into());
            }
            read_exactly(file, object_bytes)
        }))
    }

    fn list<'a>(&'a self, request: &'a ListRequest) -> Answer<'a, ReadOutcome<Page>> {
        let owned = request.clone();
        Box::pin(async move {
            match self.blocking(move |inner| list_page(&inner.root, &owned)).await {
                Ok(Ok(page)) => ReadOutcome::Done(page),
                Ok(Err(error)) => read_failure(&self.inner.shown, &request.prefix, &error),
                Err(retry) => ReadOutcome::Retry(retry),
            }
        })
    }
}

impl Inner {
    /// Stores a file; false when the name is taken.
    fn put(&self, relative: &Path, bytes: &[u8], replace: bool) -> io::Result<bool> {
        let path = self.root.join(relative);
        let folder = path.parent().unwrap_or(&self.root);
        self.make_durable(folder)?;
        let temporary = match self.write_temporary(folder, bytes) {
            // Somebody deleted the folder since it was remembered.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.remembered().clear();
                self.make_durable(folder)?;
                self.write_temporary(folder, bytes)?
            }
            other => other?,
        };
        let linked =
            if replace { fs::rename(&temporary, &path) } else { fs::hard_link(&temporary, &path) };
        if !(replace && linked.is_ok()) {
            remove_quietly(&temporary);
        }
        let created = match linked {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        // A name that was taken may be younger than its folder on the disk: what we learn from that
        // object must survive a crash just as well.
        File::open(folder)?.sync_all()?;
        Ok(created)
    }

    fn write_temporary(&self, folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        let number = self.temporary_number.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMPORARY_START}{:016x}-{number}.tmp", self.temporary_nonce);
        let path = folder.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(error) = written {
            remove_quietly(&path);
            return Err(error);
        }
        Ok(path)
    }

    /// Makes a folder and writes it and all above it to the disk, once per process.
    fn make_durable(&self, folder: &Path) -> io::Result<()> {
        if self.remembered().contains(folder) {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        self.sweep(folder);
        // A folder found there may be of a rival who has not got to this yet; so all are synced,
        // from the root's own entry down.
        let above = self.root.parent().filter(|above| !above.as_os_str().is_empty());
        let last = above.unwrap_or(&self.root);
        for part in folder.ancestors() {
            File::open(part)?.sync_all()?;
            if part == last {
                break;
            }
        }
        let mut remembered = self.remembered();
        if remembered.len() >= FOLDERS_MAX {
            remembered.clear();
        }
        remembered.insert(folder.to_owned());
        Ok(())
    }

    /// Removes what killed processes were writing there. What is younger may be being written.
    fn sweep(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let ours = format!("{TEMPORARY_START}{:016x}-", self.temporary_nonce);
        let mut removed = 0_usize;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left = |name: &str| is_temporary(name) && !name.starts_with(&ours);
            if name.to_str().is_some_and(is_left) && is_old(&entry) {
                removed += usize::from(fs::remove_file(entry.path()).is_ok());
            }
        }
        if removed > 0 {
            tracing::info!(
                folder = %self.shown, removed,
                "removed unfinished files that killed processes left"
            );
        }
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        // The set is whole after any panic: each change of it is one call.
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key as a path below the root.
fn relative_path(key: &str) -> Result<PathBuf, &'static str> {
    let mut path = PathBuf::new();
    for segment in key.split('/') {
        match segment {
            "" => return Err("it holds an empty segment"),
            "." | ".." => return Err("it leaves its folder"),
            _ if segment.starts_with(TEMPORARY_START) => return Err("its name is reserved"),
            _ if segment.contains('\0') => return Err("it holds a NUL byte"),
            _ => path.push(segment),
        }
    }
    Ok(path)
}

fn bad_key(key: &str, reason: &str) -> Halt {
    Halt { reason: HaltReason::BadKey, detail: format!("key {key:?}: {reason}") }
}

/// Exactly as [`Inner::write_temporary`] names them.
fn is_temporary(name: &str) -> bool {
    let middle = name.strip_prefix(TEMPORARY_START).and_then(|it| it.strip_suffix(".tmp"));
    let Some((nonce, number)) = middle.and_then(|it| it.split_once('-')) else { return false };
    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    nonce.len() == 16
        && nonce.bytes().all(is_hex)
        && !number.is_empty()
        && number.bytes().all(|it| it.is_ascii_digit())
}

/// A file, and last written to longer ago than any file is in the making.
fn is_old(entry: &fs::DirEntry) -> bool {
    let Ok(metadata) = entry.metadata() else { return false };
    let age_s = (clock::now_ms() / 1000).saturating_sub(metadata.mtime());
    metadata.is_file() && age_s > TEMPORARY_AGE_MAX.as_secs() as i64
}

fn remove_quietly(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), %error, "temporary file left behind");
    }
}

fn read_exactly(file: &mut File, length: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Bytes::from(bytes))
}

enum Failure {
    Retry(Retry),
    Halt(Halt),
}

const ROOM: &str = "make room on its disk";
const RIGHTS: &str = "let this user write there, or set another `path`";
const WAY: &str =
    "a file stands where a folder must be: move it, or set another `path` or `prefix`";
const NAME: &str = "set a `prefix` whose parts are names of files";
const KIND: &str = "its file system cannot link files: set a `path` on another one";
const LOOK: &str = "see what the system's own log says of that disk";

/// What an error of the file system means, with place and cure: a full or faulty disk may be cured
/// any moment, while rights and names stay as they are until somebody changes them.
fn failure(root: &str, key: &str, error: &io::Error) -> Failure {
    let detail = |cure| format!("{key:?} in the folder {root}: {error}; {cure}");
    let retry = |reason, cure| Failure::Retry(Retry { reason, detail: detail(cure), after: None });
    let halt = |reason, cure| Failure::Halt(Halt { reason, detail: detail(cure) });
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => retry(RetryReason::DiskFull, ROOM),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            halt(HaltReason::Forbidden, RIGHTS)
        }
        ErrorKind::NotADirectory | ErrorKind::IsADirectory => halt(HaltReason::NotAFolder, WAY),
        // The last folder of one prefix: no reason to halt the others.
        ErrorKind::AlreadyExists => retry(RetryReason::Io, WAY),
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => halt(HaltReason::BadKey, NAME),
        // A file system without hard links cannot create exclusively.
        ErrorKind::Unsupported | ErrorKind::CrossesDevices | ErrorKind::TooManyLinks => {
            halt(HaltReason::Unsupported, KIND)
        }
        _ => retry(RetryReason::Io, LOOK),
    }
}

fn read_failure<T>(root: &str, key: &str, error: &io::Error) -> ReadOutcome<T> {
    let reason = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => UnreadableReason::Missing,
        ErrorKind::UnexpectedEof | ErrorKind::FileTooLarge => UnreadableReason::Damaged,
        _ => {
            return match failure(root, key, error) {
                Failure::Retry(retry) => ReadOutcome::Retry(retry),
                Failure::Halt(halt) => ReadOutcome::Halt(halt),
            };
        }
    };
    ReadOutcome::Unreadable(Unreadable { reason, detail: format!("{key:?}: {error}") })
}

#[cfg(test)]
mod tests {
    use super::super::store::{Depth, PAGE_KEYS, PROBE_KEY, list_all, probe_exclusive};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::time::UNIX_EPOCH;

    fn store() -> (tempfile::TempDir, LocalStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalStore::new(folder.path().join("archive"));
        (folder, store)
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap()
            .block_on(work)
    }

    async fn keys(
        store: &LocalStore,
        prefix: &str,
        after: Option<&str>,
        depth: Depth,
    ) -> Vec<String> {
        let mut keys = Vec::new();
        let listed = list_all(store, prefix, after, depth, |listed| keys.push(listed.key)).await;
        assert_eq!(listed, ReadOutcome::Done(()));
        keys
    }

    #[test]
    fn an_object_is_created_once_and_read_back() {
        block_on(async {
            let (folder, store) = store();
            let key = "nlp/2026-03-12/worker/one";
            assert_eq!(store.put_new(key, Bytes::from("first")).await, PutOutcome::Done);
            assert_eq!(store.put_new(key, Bytes::from("second")).await, PutOutcome::Exists);
            assert_eq!(store.get(key, 5).await, ReadOutcome::Done(Bytes::from("first")));
            let suffix = |bytes: &'static str| {
                ReadOutcome::Done(Suffix { bytes: Bytes::from(bytes), object_bytes: 5 })
            };
            assert_eq!(store.get_suffix(key, 2).await, suffix("st"));
            assert_eq!(store.get_suffix(key, 64).await, suffix("first"));
            assert_eq!(store.put_any(key, Bytes::from("third")).await, PutOutcome::Done);
            assert_eq!(store.get(key, 5).await, ReadOutcome::Done(Bytes::from("third")));
            let parent = folder.path().join("archive/nlp/2026-03-12/worker");
            assert_eq!(fs::read_dir(parent).unwrap().count(), 1, "temporary files are gone");
        });
    }

    #[test]
    fn of_eight_racing_writers_one_wins() {
        block_on(async {
            let (_folder, store) = store();
            for round in 0..20 {
                let key = format!("race/{round}");
                let writers: Vec<_> = (0..8)
                    .map(|writer| {
                        // Stores of their own, as in eight processes.
                        let store = LocalStore::new(store.inner.root.clone());
                        let key = key.clone();
                        tokio::spawn(async move {
                            store.put_new(&key, Bytes::from(format!("writer {writer}"))).await
                        })
                    })
                    .collect();
                let mut winners = Vec::new();
                for (number, writer) in writers.into_iter().enumerate() {
                    match writer.await.unwrap() {
                        PutOutcome::Done => winners.push(number),
                        outcome => assert_eq!(outcome, PutOutcome::Exists),
                    }
                }
                assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
                let expected = Bytes::from(format!("writer {}", winners[0]));
                assert_eq!(store.get(&key, 100).await, ReadOutcome::Done(expected));
            }
        });
    }

    #[test]
    fn keys_stay_inside() {
        block_on(async {
            let (_folder, store) = store();
            for key in
                ["", "/a", "a//b", "a/", "../a", "a/../../b", ".", "a/./b", "a\0b", ".riverhog-x"]
            {
                let outcome = store.put_new(key, Bytes::new()).await;
                let is_bad = |halt: &Halt| halt.reason == HaltReason::BadKey;
                assert!(matches!(&outcome, PutOutcome::Halt(halt) if is_bad(halt)), "{key:?}");
                let read = store.get(key, 1).await;
                assert!(matches!(&read, ReadOutcome::Halt(halt) if is_bad(halt)), "{key:?}");
            }
            store.put_new("a", Bytes::new()).await;
            let below_a_file = store.put_new("a/b", Bytes::new()).await;
            assert!(!matches!(below_a_file, PutOutcome::Done | PutOutcome::Exists));
            let below_a_file = store.put_new("a/b/c", Bytes::new()).await;
            let PutOutcome::Halt(halt) = below_a_file else { panic!("{below_a_file:?}") };
            assert_eq!(halt.reason, HaltReason::NotAFolder);
            let place = format!("\"a/b/c\" in the folder {}: ", store.inner.shown);
            assert!(halt.detail.starts_with(&place) && halt.detail.ends_with(WAY), "{halt}");
            let long = store.put_new(&"x".repeat(300), Bytes::new()).await;
            assert!(matches!(long, PutOutcome::Halt(halt) if halt.reason == HaltReason::BadKey));
        });
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        block_on(async {
            let (_folder, store) = store();
            let archive = store.inner.root.join("nlp");
            fs::create_dir_all(&archive).unwrap();
            let left = ".riverhog-0123456789abcdef-0.tmp";
            let ours = format!(".riverhog-{:016x}-7.tmp", store.inner.temporary_nonce);
            let kept = [
                &ours,
                ".riverhog-0123456789abcdef-1.tmp",
                ".riverhog-0123456789abcdef-.tmp",
                ".riverhog-0123456789ABCDEF-0.tmp",
                ".riverhog-0123456789abcdef-0.tmp.bak",
                ".riverhog-notes.tmp",
                "riverhog-0123456789abcdef-0.tmp",
            ];
            for name in kept.into_iter().chain([left]) {
                let file = File::create(archive.join(name)).unwrap();
                let hours = if name.ends_with("-1.tmp") { 0 } else { 2 };
                let changed = clock::now_ms() as u64 / 1000 - hours * 3600 - 60;
                file.set_modified(UNIX_EPOCH + Duration::from_secs(changed)).unwrap();
            }
            assert_eq!(store.put_new("nlp/one", Bytes::new()).await, PutOutcome::Done);
            let mut found: Vec<String> = fs::read_dir(&archive)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            found.sort();
            let mut expect: Vec<&str> = kept.into_iter().chain(["one"]).collect();
            expect.sort_unstable();
            assert_eq!(found, expect);
        });
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        block_on(async {
            let (folder, store) = store();
            let missing = |outcome: ReadOutcome<Bytes>| match outcome {
                ReadOutcome::Unreadable(unreadable) => Some(unreadable.reason),
                _ => None,
            };
            assert_eq!(missing(store.get("a/b", 1).await), Some(UnreadableReason::Missing));
            store.put_new("a/b", Bytes::from("12345")).await;
            assert_eq!(missing(store.get("a", 1).await), Some(UnreadableReason::Missing));
            assert_eq!(missing(store.get("a/b", 4).await), Some(UnreadableReason::Damaged));
            assert_eq!(keys(&store, "x/y/", None, Depth::Folder).await, [""; 0]);
            // Somebody tidies up behind our back.
            fs::remove_dir_all(folder.path().join("archive")).unwrap();
            assert_eq!(store.put_new("a/c", Bytes::new()).await, PutOutcome::Done);
        });
    }

    #[test]
    fn the_probe_proves_exclusive_creation() {
        block_on(async {
            let (_folder, store) = store();
            for _ in 0..3 {
                assert_eq!(probe_exclusive(&store).await, PutOutcome::Done);
            }
            assert_eq!(keys(&store, "", None, Depth::Tree).await, [PROBE_KEY]);
        });
    }

    #[test]
    fn pages_hold_every_key_once() {
        block_on(async {
            let (folder, store) = store();
            let root = folder.path().join("archive/many");
            fs::create_dir_all(&root).unwrap();
            let count = PAGE_KEYS * 2 + 7;
            (0..count).for_each(|number| {
                File::create(root.join(format!("{number:05}"))).unwrap();
            });
            let request = ListRequest {
                prefix: "many/".to_owned(),
                start_after: None,
                depth: Depth::Folder,
                next: None,
            };
            let ReadOutcome::Done(page) = store.list(&request).await else { panic!("no page") };
            assert_eq!(page.objects.len(), PAGE_KEYS);
            assert_eq!(keys(&store, "many/", None, Depth::Folder).await.len(), count);
            let after = Some("many/01999");
            assert_eq!(keys(&store, "many/", after, Depth::Folder).await.len(), count - 2000);
            assert_eq!(keys(&store, "many/0000", None, Depth::Tree).await.len(), 10);
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_list_is_what_s3_would_say(
            names in prop::collection::btree_set("[ab.-]{1,3}(/[ab-]{1,2}){0,2}", 1..25),
            prefix in "([ab-]{1,2}/)?[ab-]{0,2}",
            after in prop::option::of("[ab-]{1,3}(/[ab]{1,2})?"),
        ) {
            block_on(async {
                let (_folder, store) = store();
                let mut stored = BTreeSet::new();
                for name in &names {
                    // A name below a file, or that of a folder, finds no place.
                    if store.put_new(name, Bytes::new()).await == PutOutcome::Done {
                        stored.insert(name.clone());
                    }
                }
                let tree: Vec<String> = stored.into_iter()
                    .filter(|key| key.starts_with(&prefix))
                    .filter(|key| after.as_ref().is_none_or(|after| key > after))
                    .collect();
                let folder: Vec<String> = tree.iter()
                    .filter(|key| !key[prefix.len()..].contains('/')).cloned().collect();
                assert_eq!(keys(&store, &prefix, after.as_deref(), Depth::Tree).await, tree);
                assert_eq!(keys(&store, &prefix, after.as_deref(), Depth::Folder).await, folder);
            });
        }
    }
}
