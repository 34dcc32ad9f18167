//! What the driver looks at about once a second: lag, what holds a partition's watermark, whether
//! anything of it moves, how far it is ahead of a halted destination.
//!
//! Invariant: a partition is read ahead of lines that wait for a halted destination by a bounded
//! stretch of record time; one that stands still is said so, once. Next stop: the metrics.

use super::{Driver, Running};
use crate::clock;
use crate::ledger::Holder;
use crate::partition::HeldPartition;
use crate::source::{Partition, SourceCommand};
use crate::telemetry::metrics::{Hold, Metrics};
use crate::watch::{Progress, Turn};

/// What to do about a partition.
enum Due {
    /// Read it no further, or read on.
    Hold(bool),
    /// Ask the broker once more from the same place.
    AskAgain,
}

impl Running {
    /// Looks at every partition that is held, and acts.
    pub(super) async fn observe(&mut self) {
        let now_ms = clock::now_ms();
        let mut due = Vec::new();
        for (partition, held) in &mut self.held {
            let look = Look::at(held);
            look.show_lag(&self.driver.metrics, (partition, held), now_ms);
            let actions = look.hold(&self.driver, (partition, held));
            due.extend(actions.into_iter().flatten().map(|due| (partition.clone(), due)));
        }
        for (partition, due) in due {
            self.act(partition, due).await;
        }
        self.observe_memory();
    }

    async fn act(&mut self, partition: Partition, due: Due) {
        match due {
            Due::Hold(is_held) => {
                if is_held {
                    tracing::warn!(
                        %partition, ahead_max_s = self.driver.settings.ahead_max_ms / 1000,
                        "read no further: lines wait for a halted destination, and what was read \
                         since is ahead of them by `ahead_max`"
                    );
                }
                self.command(SourceCommand::Hold { partition, is_held }).await;
            }
            Due::AskAgain => self.begin_again(&partition, "asking the broker once more").await,
        }
    }

    fn observe_memory(&self) {
        let metrics = &self.driver.metrics;
        metrics.memory("batches", self.driver.memory.batches_used());
        metrics.memory("archive", self.driver.memory.archive_used());
        let ledgers = self.held.values().map(|held| held.generation.ledger().memory_bytes());
        metrics.memory("ledger", ledgers.sum());
        metrics.memory_limit(self.driver.memory.limit());
    }
}

/// One partition at one moment.
struct Look {
    holder: Holder,
    watermark: i64,
    progress: Progress,
    end_offset: i64,
    lag_lines: i64,
}

impl Look {
    fn at(held: &HeldPartition) -> Look {
        let end_offset = held.generation.end_offset();
        let ledger = held.generation.ledger();
        let watermark = ledger.watermark();
        Look {
            holder: ledger.holder(),
            watermark,
            progress: (ledger.next_offset(), ledger.settles()),
            end_offset,
            lag_lines: (end_offset - watermark).max(0),
        }
    }

    fn show_lag(
        &self,
        metrics: &Metrics,
        (partition, held): (&Partition, &mut HeldPartition),
        now_ms: i64,
    ) {
        let has_lag = self.lag_lines > 0;
        let oldest = held.oldest_time_ms(self.watermark).filter(|_| has_lag);
        let lag_seconds = oldest.map_or(0.0, |time| (now_ms - time).max(0) as f64 / 1000.0);
        metrics.partition_lag(&partition.topic, partition.number, self.lag_lines, lag_seconds);
        let age = (now_ms - held.moved_at_ms).max(0) as f64 / 1000.0;
        let age = if has_lag { age } else { 0.0 };
        metrics.partition_commit_age(&partition.topic, partition.number, age);
    }

    /// Shows what holds the watermark, says when nothing moves, and answers what to do.
    fn hold(
        &self,
        driver: &Driver,
        (partition, held): (&Partition, &mut HeldPartition),
    ) -> [Option<Due>; 2] {
        let (metrics, settings) = (&driver.metrics, &driver.settings);
        let sink = match self.holder {
            Holder::Sink(sink) => Some(sink),
            Holder::Nothing | Holder::Unrouted | Holder::Open => None,
        };
        let is_halted = sink.is_some_and(|sink| held.generation.gave_up_of(sink));
        let name =
            |sink: usize| driver.dispatch.sinks.get(sink).map_or("dead_letter", |it| &*it.name);
        let sink = sink.map(name);
        let is_ahead = is_too_far_ahead(held, self.watermark, settings.ahead_max_ms);
        let reason = if is_ahead { "ahead_max" } else { self.holder.reason(is_halted) };
        // A halted destination is told by itself, and its partitions may wait for days.
        let can_stall = self.lag_lines > 0 && !is_halted;
        let limit = match self.holder {
            Holder::Nothing | Holder::Unrouted => settings.stall_after,
            Holder::Open | Holder::Sink(_) => settings.stall_after + settings.settle_max,
        };
        let turn = held.watch.look(self.progress, can_stall, clock::instant(), limit);
        match turn {
            Turn::None => {}
            Turn::Moves(stood) => {
                tracing::info!(%partition, stood_s = stood.as_secs(), "the partition moves again");
            }
            Turn::Stalls => tracing::error!(
                %partition, reason, sink, watermark = self.watermark, end = self.end_offset,
                stands_s = limit.as_secs(), help = cure(self.holder),
                "the partition is assigned and has lag, and nothing of it moves"
            ),
        }
        let (topic, number) = (&partition.topic, partition.number);
        let hold = Hold { reason, sink: sink.map(str::to_owned) };
        metrics.partition_held(topic, number, (self.lag_lines > 0).then_some(hold));
        metrics.partition_stalled(topic, number, held.watch.is_stalled());
        let changes = std::mem::replace(&mut held.is_held, is_ahead) != is_ahead;
        let asks_again = turn == Turn::Stalls && self.holder == Holder::Nothing;
        [changes.then_some(Due::Hold(is_ahead)), asks_again.then_some(Due::AskAgain)]
    }
}

/// True when lines of a halted destination wait, and what was read since is further ahead of the
/// oldest of them, in record time, than it may be.
fn is_too_far_ahead(held: &mut HeldPartition, watermark: i64, ahead_max_ms: i64) -> bool {
    if !held.generation.gave_up_any() {
        return false;
    }
    let oldest = held.oldest_time_ms(watermark);
    let ahead = oldest.zip(held.newest_time_ms()).map(|(oldest, newest)| newest - oldest);
    ahead.is_some_and(|ahead| ahead > ahead_max_ms)
}

/// What somebody who is called for it should look at.
fn cure(holder: Holder) -> &'static str {
    match holder {
        Holder::Nothing => {
            "the broker gives no records: look at its log, and at the topic's leader"
        }
        Holder::Unrouted => {
            "the process cannot keep up, or a sink's queue is full: look at \
                             riverhog_sink_oldest_seconds"
        }
        Holder::Open => "a record of several lines is open: look at `gap` in [join]",
        Holder::Sink(_) => "the sink does not settle it: look at its errors in this log",
    }
}
