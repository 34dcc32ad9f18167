//! Files that may change while the process runs, and what is made of them: certificates and keys.
//!
//! Invariant: what a changed file is good for counts from the next look on; one of no use leaves
//! what was made before in its place, is told once, and is tried again at each look. Next stops:
//! `sink::tls`, `telemetry::http::tls`.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What tells one state of a file from another: when it was changed, how long it is, and when its
/// permissions were set.
pub(crate) type Stamp = ((i64, i64), u64, (i64, i64));

/// The stamp of a file, or of what a link leads to.
///
/// # Errors
/// The file is not there, or may not be looked at.
pub(crate) async fn stamp(path: &Path) -> io::Result<Stamp> {
    tokio::fs::metadata(path).await.map(|it| stamp_of(&it))
}

fn stamp_of(metadata: &Metadata) -> Stamp {
    let changed = (metadata.mtime(), metadata.mtime_nsec());
    (changed, metadata.len(), (metadata.ctime(), metadata.ctime_nsec()))
}

/// What was made of files, made again when one of them has changed.
pub(crate) struct Followed<T> {
    paths: Vec<PathBuf>,
    make: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    state: Mutex<State<T>>,
}

struct State<T> {
    made: Arc<T>,
    /// The files that it was made of.
    of: Vec<Option<Stamp>>,
    /// The files of no use that were told last.
    told: Option<Vec<Option<Stamp>>>,
}

impl<T> Followed<T> {
    /// Makes it for the first time. Blocks while the files are read.
    ///
    /// # Errors
    /// As `make` says.
    pub(crate) fn new<E: fmt::Display>(
        paths: Vec<PathBuf>,
        make: impl Fn() -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Followed<T>, E> {
        // Before it is made: a change in between is then seen at the next look.
        let of = stamps(&paths);
        let state = State { made: Arc::new(make()?), of, told: None };
        let make = Box::new(move || make().map_err(|error| error.to_string()));
        Ok(Followed { paths, make, state: Mutex::new(state) })
    }

    /// Looks at the files. Blocks for that, and while changed ones are read: for handshakes, not
    /// for batches.
    pub(crate) fn get(&self) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps(&self.paths);
        if now == state.of {
            return Arc::clone(&state.made);
        }
        match (self.make)() {
            Ok(made) => {
                tracing::info!(files = %self.names(), "files of TLS were read again");
                *state = State { made: Arc::new(made), of: now, told: None };
            }
            Err(reason) if state.told.as_ref() != Some(&now) => {
                tracing::warn!(%reason, "files of TLS cannot be used; all stays as it was");
                state.told = Some(now);
            }
            // They may be written just now.
            Err(_) => {}
        }
        Arc::clone(&state.made)
    }

    fn names(&self) -> String {
        let names = self.paths.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}

impl<T> fmt::Debug for Followed<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Followed").field("paths", &self.paths).finish_non_exhaustive()
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    paths.iter().map(|path| std::fs::metadata(path).ok().map(|it| stamp_of(&it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_no_use_leaves_what_was_there_and_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        let paths = vec![one.clone(), other.clone()];
        let read = paths.clone();
        let sum = move || {
            let numbers = read.iter().map(|path| {
                std::fs::read_to_string(path)
                    .map_err(|e| e.to_string())?
                    .parse::<i64>()
                    .map_err(|e| e.to_string())
            });
            numbers.sum::<Result<i64, String>>()
        };
        let followed = Followed::new(paths.clone(), sum.clone()).unwrap();
        assert_eq!(*followed.get(), 3);
        std::fs::write(&one, "ten").unwrap();
        assert_eq!(*followed.get(), 3);
        // Made of both: a change of the other alone does not help.
        std::fs::write(&other, "200").unwrap();
        assert_eq!(*followed.get(), 3);
        std::fs::write(&one, "10").unwrap();
        assert_eq!(*followed.get(), 210);
        std::fs::remove_file(&one).unwrap();
        assert_eq!(*followed.get(), 210);
        assert!(Followed::new(paths, sum).is_err());
    }
}
