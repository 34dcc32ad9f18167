//! Records that come while the binary runs.
//!
//! The invariant: they are produced once and in order; what has not come by the end comes at once.

use anyhow::{Context as _, Result};
use riverhog_tests::{Broker, NewRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

const BURST_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct Feed {
    pour: Arc<AtomicBool>,
    producing: JoinSet<Result<()>>,
    task: AbortHandle,
}

impl Feed {
    /// Spreads the records over this time.
    pub(crate) fn start(
        broker: &Broker,
        topic: &str,
        mut records: Vec<NewRecord>,
        time: Duration,
    ) -> Self {
        let bursts = (time.as_millis() / BURST_INTERVAL.as_millis()).max(1) as usize;
        let burst = records.len().div_ceil(bursts).max(1);
        let pour = Arc::new(AtomicBool::new(false));
        let (broker, topic, poured) = (broker.clone(), topic.to_owned(), Arc::clone(&pour));
        let mut producing = JoinSet::new();
        let task = producing.spawn(async move {
            let mut ticks = interval(BURST_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !records.is_empty() {
                ticks.tick().await;
                let all = poured.load(Ordering::Relaxed);
                let count = if all { records.len() } else { burst.min(records.len()) };
                let now = records.drain(..count).collect::<Vec<_>>();
                let (broker, topic) = (broker.clone(), topic.clone());
                tokio::task::spawn_blocking(move || broker.produce(&topic, now)).await??;
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
