//! Records that keep coming while instances are killed and added.
//!
//! The invariant: they are produced in their order, each once. Next stop: `kills.rs`.

use anyhow::{Context as _, Result};
use riverhog_tests::{Broker, NewRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

const BURST_INTERVAL: Duration = Duration::from_millis(200);

/// A producer at work; the test needs more than one thread for it. Ends when it is let go.
pub(crate) struct Feed {
    pour: Arc<AtomicBool>,
    producing: JoinSet<Result<()>>,
    task: AbortHandle,
}

impl Feed {
    /// Produces `first` records at once and then some every fifth of a second.
    pub(crate) fn start(
        broker: &Broker,
        topic: &str,
        mut records: Vec<NewRecord>,
        first: usize,
        records_per_burst: usize,
    ) -> Self {
        let pour = Arc::new(AtomicBool::new(false));
        let (broker, topic, poured) = (broker.clone(), topic.to_owned(), Arc::clone(&pour));
        let mut producing = JoinSet::new();
        let task = producing.spawn(async move {
            let mut ticks = interval(BURST_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut burst = first;
            while !records.is_empty() {
                ticks.tick().await;
                let all = poured.load(Ordering::Relaxed);
                let count = if all { records.len() } else { burst.min(records.len()) };
                let now = records.drain(..count).collect::<Vec<_>>();
                tokio::task::block_in_place(|| broker.produce(&topic, now))?;
                burst = records_per_burst;
            }
            Ok(())
        });
        Self { pour, producing, task }
    }

    /// Has everything been produced?
    pub(crate) fn is_done(&self) -> bool {
        self.task.is_finished()
    }

    /// Produces what is left at once; returns when it is acknowledged.
    pub(crate) async fn finish(mut self) -> Result<()> {
        self.pour.store(true, Ordering::Relaxed);
        let ended = self.producing.join_next().await.context("nothing was produced")?;
        ended.context("the producer broke off")?
    }
}
