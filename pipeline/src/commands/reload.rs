//! Loading the configuration again while `run` runs: who asks for it, and what it comes to.
//!
//! Invariant: a configuration that cannot be used changes nothing, and says why; requests that come
//! while one is served are served together. Next stop: `run.rs`, which puts the next pipeline in
//! the place of the one that runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use riverhog_config::{Config, ProcessEnv};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior};

use super::CommandError;
use super::signals::HangUp;
use crate::followed::{Stamp, stamp};
use crate::tables::in_a_line;
use crate::telemetry::http::{Doors, ReloadRequest, Reloaded, ServerTlsError, access, tls};

/// Between two looks at the configuration's files.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Requests that may wait.
pub(crate) const REQUESTS_MAX: usize = 16;

/// Whoever may ask for a reload.
pub(super) struct Requests {
    hang_up: HangUp,
    asked: mpsc::Receiver<ReloadRequest>,
    files: Option<Files>,
}

/// Those who asked, to be answered together.
pub(super) struct Asked {
    /// Who asked, in a word.
    pub(super) by: &'static str,
    replies: Vec<oneshot::Sender<Reloaded>>,
}

impl Asked {
    /// Answers all of them.
    pub(super) fn answer(self, reloaded: &Reloaded) {
        for reply in self.replies {
            if reply.send(reloaded.clone()).is_err() {
                tracing::debug!("who asked for a reload has gone");
            }
        }
    }
}

impl Requests {
    /// Listens from now on; `watched`: the configuration, where its files are to be looked at.
    pub(super) async fn take(
        asked: mpsc::Receiver<ReloadRequest>,
        watched: Option<&Path>,
    ) -> Result<Requests, CommandError> {
        let files = match watched {
            Some(path) => Some(Files::new(path).await),
            None => None,
        };
        Ok(Requests { hang_up: HangUp::take()?, asked, files })
    }

    /// The next request, with all others that wait.
    pub(super) async fn next(&mut self) -> Asked {
        let Requests { hang_up, asked, files } = self;
        let changed = async {
            match files {
                Some(files) => files.changed().await,
                None => std::future::pending().await,
            }
        };
        let mut all = tokio::select! {
            () = hang_up.next() => Asked { by: "SIGHUP", replies: Vec::new() },
            Some(request) = asked.recv() => {
                Asked { by: "POST /api/reload", replies: vec![request.reply] }
            }
            () = changed => Asked { by: "--watch", replies: Vec::new() },
        };
        while let Ok(request) = self.asked.try_recv() {
            all.replies.push(request.reply);
        }
        all
    }
}

/// Loads the configuration for a reload; an error is a line of the log.
pub(super) async fn load(path: &Path) -> Result<Config, String> {
    let path = path.to_owned();
    let loading = tokio::task::spawn_blocking(move || riverhog_config::load(&path, &ProcessEnv));
    match loading.await {
        Ok(Ok(config)) => Ok(config),
        Ok(Err(report)) => Err(in_a_line(&report)),
        Err(failure) => Err(failure.to_string()),
    }
}

/// Why a configuration cannot take the place of one that runs.
pub(super) fn refusal(before: &Config, next: &Config) -> Option<String> {
    let once = |config: &Config| config.sources.iter().any(|it| it.kafka().is_none());
    (once(before) || once(next)).then(|| {
        "a source is a file or standard input, which is read once and cannot be handed over".into()
    })
}

/// What the HTTP port is under a configuration.
///
/// # Errors
/// A file of certificates that is of no use.
pub(super) fn doors(config: &Config) -> Result<Doors, ServerTlsError> {
    let access = config.http.access.iter().map(|it| access::Access {
        token: it.token.reveal().clone(),
        projects: it.projects.clone(),
        reload: it.reload,
    });
    let files = config.http.tls.as_ref();
    let tls = files.map(|it| tls::server_config(&it.cert, &it.key)).transpose()?;
    Ok(Doors { access: access.collect(), tls })
}

/// The files of a configuration: the file, or all `*.toml` of the folder.
struct Files {
    path: PathBuf,
    ticks: Interval,
    /// What was told last.
    told: Vec<(PathBuf, Option<Stamp>)>,
    /// The look before.
    seen: Vec<(PathBuf, Option<Stamp>)>,
}

impl Files {
    async fn new(path: &Path) -> Files {
        let mut ticks = tokio::time::interval(LOOK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let told = look(path).await;
        Files { path: path.to_owned(), ticks, seen: told.clone(), told }
    }

    /// Waits until they have changed and stand still: between two looks nobody writes.
    async fn changed(&mut self) {
        loop {
            self.ticks.tick().await;
            let now = look(&self.path).await;
            let is_still = now == self.seen;
            self.seen = now;
            if is_still && self.seen != self.told {
                self.told.clone_from(&self.seen);
                return;
            }
        }
    }
}

async fn look(path: &Path) -> Vec<(PathBuf, Option<Stamp>)> {
    let mut paths = Vec::new();
    match tokio::fs::read_dir(path).await {
        Ok(mut folder) => {
            while let Ok(Some(entry)) = folder.next_entry().await {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "toml") {
                    paths.push(path);
                }
            }
        }
        Err(_) => paths.push(path.to_owned()),
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let stamp = stamp(&path).await.ok();
        files.push((path, stamp));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// True when nothing is told in ten looks.
    async fn quiet(files: &mut Files) -> bool {
        tokio::time::timeout(LOOK_INTERVAL * 10, files.changed()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_change_are_told_once_and_when_they_stand_still() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a.toml"), folder.path().join("b.toml"));
        fs::write(&one, "a = 1").unwrap();
        fs::write(folder.path().join("c.txt"), "").unwrap();
        let mut files = Files::new(folder.path()).await;
        assert!(quiet(&mut files).await);
        fs::write(&one, "a = 12").unwrap();
        assert!(!quiet(&mut files).await);
        assert!(quiet(&mut files).await);
        fs::write(&other, "").unwrap();
        assert!(!quiet(&mut files).await);
        fs::write(folder.path().join("c.txt"), "x").unwrap();
        assert!(quiet(&mut files).await);
        fs::remove_file(&other).unwrap();
        assert!(!quiet(&mut files).await);
    }
}
