//! Records that keep coming while instances are killed, added and reloaded.
//!
//! The invariant: they are produced in their order, each once; what has not come by the end comes
//! at once.

use anyhow::{Context as _, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use crate::{Broker, NewRecord};

/// How fast records come.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// So many at once.
    pub first: usize,
    /// And then so many each time; at least 1.
    pub burst: usize,
    /// Between two times.
    pub interval: Duration,
}

impl Pace {
    /// Some at once and then some every fifth of a second.
    pub const fn bursts(first: usize, burst: usize) -> Self {
        Self { first, burst, interval: Duration::from_millis(200) }
    }

    /// So many records, spread over a time.
    pub fn over(records: usize, time: Duration) -> Self {
        let interval = Duration::from_millis(100);
        let bursts = (time.as_millis() / interval.as_millis()).max(1) as usize;
        let burst = records.div_ceil(bursts).max(1);
        Self { first: burst, burst, interval }
    }
}

/// A producer at work. Ends when it is let go.
#[derive(Debug)]
pub struct Feed {
    pour: Arc<AtomicBool>,
    producing: JoinSet<Result<()>>,
    task: AbortHandle,
}

impl Feed {
    /// Produces records to a topic.
    pub fn start(broker: &Broker, topic: &str, mut records: Vec<NewRecord>, pace: Pace) -> Self {
        let pour = Arc::new(AtomicBool::new(false));
        let (broker, topic, poured) = (broker.clone(), topic.to_owned(), Arc::clone(&pour));
        let mut producing = JoinSet::new();
        let task = producing.spawn(async move {
            let mut ticks = interval(pace.interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut burst = pace.first;
            while !records.is_empty() {
                ticks.tick().await;
                let all = poured.load(Ordering::Relaxed);
                let count = if all { records.len() } else { burst.min(records.len()) };
                let now = records.drain(..count).collect::<Vec<_>>();
                let (broker, topic) = (broker.clone(), topic.clone());
                tokio::task::spawn_blocking(move || broker.produce(&topic, now)).await??;
                burst = pace.burst;
            }
            Ok(())
        });
        Self { pour, producing, task }
    }

    /// Has everything been produced?
    pub fn is_done(&self) -> bool {
        self.task.is_finished()
    }

    /// Produces what is left at once; returns when it is acknowledged.
    pub async fn finish(mut self) -> Result<()> {
        self.pour.store(true, Ordering::Relaxed);
        let ended = self.producing.join_next().await.context("nothing was produced")?;
        ended.context("the producer broke off")?
    }
}
