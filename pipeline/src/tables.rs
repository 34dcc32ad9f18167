//! The tables while `run` runs, that of hosts and those of lookups: looked at every few seconds,
//! read again when one has changed, handed to the workers between batches.
//!
//! Invariant: a table that cannot be used leaves the one before in place, and a table and its
//! fingerprint change together: a driver that sees the fingerprint finds the table offered. Next
//! stop: [`crate::driver`], which swaps the tables and says so in its commits.

use std::sync::Arc;
use std::time::Duration;

use riverhog_config::{Config, Report};
use riverhog_rules::plan::Tables;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::followed::{Stamp, stamp};
use crate::telemetry::metrics::Metrics;
use crate::transform::PlanTransform;

/// Between two looks at the file.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Takes a table to the workers and drivers of a pipeline.
#[derive(Clone)]
pub struct TableSwap {
    transforms: Vec<Arc<PlanTransform>>,
    fingerprint: watch::Sender<Arc<str>>,
}

impl TableSwap {
    /// `fingerprint` is what the drivers of these transforms follow.
    pub fn new(
        transforms: Vec<Arc<PlanTransform>>,
        fingerprint: watch::Sender<Arc<str>>,
    ) -> TableSwap {
        TableSwap { transforms, fingerprint }
    }

    /// Offers tables, with the fingerprint they make.
    pub fn offer(&self, tables: &Tables, fingerprint: &str) {
        self.fingerprint.send_modify(|current| {
            for transform in &self.transforms {
                transform.offer_tables(tables.clone());
            }
            *current = Arc::from(fingerprint);
        });
    }
}

/// Follows the files of the tables for as long as it is polled; ends at once where there are none.
pub async fn follow(config: Arc<Config>, swap: TableSwap, metrics: Metrics) {
    let mut follower = Follower::new(config, swap, metrics);
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !follower.config.table_files.is_empty() {
        ticks.tick().await;
        follower.look().await;
    }
}

/// A file at the last look.
#[derive(PartialEq)]
enum Seen {
    Missing,
    At(Stamp),
}

struct Follower {
    config: Arc<Config>,
    swap: TableSwap,
    metrics: Metrics,
    /// By file.
    seen: Vec<Seen>,
}

impl Follower {
    fn new(config: Arc<Config>, swap: TableSwap, metrics: Metrics) -> Follower {
        metrics.table_reloads("done", 0);
        metrics.table_reloads("failed", 0);
        Follower { config, swap, metrics, seen: Vec::new() }
    }

    /// One look. The first reads the tables too: they may have changed since the start.
    async fn look(&mut self) {
        let mut seen = Vec::new();
        for path in &self.config.table_files {
            seen.push(stamp(path).await.map_or(Seen::Missing, Seen::At));
        }
        if seen == self.seen {
            return;
        }
        self.seen = seen;
        let config = Arc::clone(&self.config);
        let reading = tokio::task::spawn_blocking(move || config.reload_tables());
        match reading.await {
            Ok(Ok(Some((tables, fingerprint)))) => self.use_tables(&tables, &fingerprint),
            Ok(Ok(None)) => {}
            Ok(Err(report)) => self.refuse(&in_a_line(&report)),
            Err(failure) => self.refuse(&failure.to_string()),
        }
    }

    fn use_tables(&self, tables: &Tables, fingerprint: &str) {
        if **self.swap.fingerprint.borrow() == *fingerprint {
            return;
        }
        self.swap.offer(tables, fingerprint);
        self.metrics.table_reloads("done", 1);
        tracing::info!(
            tables = %self.files(), fingerprint,
            "the tables were read again"
        );
    }

    fn refuse(&self, reason: &str) {
        self.metrics.table_reloads("failed", 1);
        tracing::warn!(reason, "a table cannot be used; all of them stay as they were");
    }

    fn files(&self) -> String {
        let paths = self.config.table_files.iter();
        paths.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// A report in a line of the log, which has no room for snippets; the messages name the line.
pub(crate) fn in_a_line(report: &Report) -> String {
    let problems = report.diagnostics.iter();
    let texts: Vec<String> = problems.map(|it| format!("{} ({})", it.message, it.help)).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use riverhog_config::{EnvelopeKind, ProcessEnv};

    use super::*;
    use crate::transform::BatchTransform as _;

    const CONFIG: &str = "[sources.pipe]\ntype = 'stdin'\n[sinks.a]\ntype = 'local'\npath = 'a'\n\
        [[route]]\nsinks = ['a']\n[hosts]\nfrom = ['key']\ntable = 'hosts.csv'\n";

    struct Bed {
        _folder: tempfile::TempDir,
        table: PathBuf,
        follower: Follower,
        fingerprint: watch::Receiver<Arc<str>>,
    }

    impl Bed {
        /// With a table of one host.
        fn new() -> Bed {
            let folder = tempfile::tempdir().unwrap();
            let (file, table) = (folder.path().join("a.toml"), folder.path().join("hosts.csv"));
            fs::write(&file, CONFIG).unwrap();
            fs::write(&table, "host,rack\na,1\n").unwrap();
            let config = Arc::new(riverhog_config::load(&file, &ProcessEnv).unwrap());
            let metrics = Metrics::new();
            let (sender, fingerprint) = watch::channel(config.fingerprint.as_str().into());
            let transform = Arc::new(PlanTransform::new(
                Arc::clone(&config.plan),
                EnvelopeKind::None,
                1 << 20,
                metrics.clone(),
            ));
            let swap = TableSwap::new(vec![transform], sender);
            let follower = Follower::new(config, swap, metrics);
            Bed { _folder: folder, table, follower, fingerprint }
        }

        /// Writes the table, looks, and swaps as a driver does: is there another fingerprint, and
        /// how many reloads were done and failed?
        async fn check(&mut self, table: Option<&str>, expect: (bool, u32, u32)) {
            match table {
                Some(text) => fs::write(&self.table, text).unwrap(),
                None => fs::remove_file(&self.table).unwrap(),
            }
            // Twice: what has not changed is not read again.
            for _ in 0..2 {
                self.follower.look().await;
            }
            let changed = self.fingerprint.has_changed().unwrap();
            self.fingerprint.mark_unchanged();
            self.follower.swap.transforms[0].swap_tables();
            let page = self.follower.metrics.render();
            let (wanted, done, failed) = expect;
            for (outcome, count) in [("done", done), ("failed", failed)] {
                let line = format!("riverhog_table_reloads_total{{outcome=\"{outcome}\"}} {count}");
                assert!(page.lines().any(|it| it == line), "{table:?}: no {line} in\n{page}");
            }
            assert_eq!(changed, wanted, "{table:?}");
        }
    }

    #[tokio::test]
    async fn a_changed_table_is_offered_with_its_fingerprint() {
        let mut bed = Bed::new();
        let first = Arc::clone(&bed.fingerprint.borrow());
        // As it was loaded: read, and nothing is new.
        bed.check(Some("host,rack\na,1\n"), (false, 0, 0)).await;
        bed.check(Some("host,rack\na,1\nb,2\n"), (true, 1, 0)).await;
        assert_ne!(*bed.fingerprint.borrow(), first);
        bed.check(Some("host,rack\na,1\n"), (true, 2, 0)).await;
        assert_eq!(*bed.fingerprint.borrow(), first);
    }

    #[tokio::test]
    async fn a_table_that_cannot_be_used_leaves_the_one_before() {
        let mut bed = Bed::new();
        bed.check(Some("host,rack\na,1\nb,2\n"), (true, 1, 0)).await;
        bed.check(Some("host,rack\na,1\na,2\n"), (false, 1, 1)).await;
        bed.check(Some("host,row\na,1\n"), (false, 1, 2)).await;
        bed.check(None, (false, 1, 3)).await;
        bed.check(Some("host,rack\na,1\nb,2\n"), (false, 1, 3)).await;
        bed.check(Some("host,rack\nc,3\n"), (true, 2, 3)).await;
    }

    #[test]
    fn the_log_names_line_and_cure() {
        let bed = Bed::new();
        fs::write(&bed.table, "host,rack\na,1\na,2\n").unwrap();
        let reason = in_a_line(&bed.follower.config.reload_tables().unwrap_err());
        assert!(reason.contains("hosts.csv`, line 3: ") && !reason.contains('\n'), "{reason}");
    }
}
