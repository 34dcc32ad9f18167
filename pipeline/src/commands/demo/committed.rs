//! Asks the broker what the group has committed: what is settled, in Kafka's own words.
//!
//! Invariant: it only asks; it is no member of the group. Next stop: `mod.rs`, which waits for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::job::PARTITIONS;
use super::producer::Progress;

/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Keeps the progress up to date until it is dropped.
pub(super) async fn watch(brokers: String, topic: String, group: String, progress: Arc<Progress>) {
    let consumer: Result<BaseConsumer, _> = ClientConfig::new()
        .set("bootstrap.servers", &brokers)
        .set("client.id", "riverhog-demo-watch")
        .set("group.id", &group)
        .create();
    let consumer = match consumer {
        Ok(consumer) => Arc::new(consumer),
        Err(error) => {
            tracing::error!(%error, "the group's commits cannot be asked for");
            return;
        }
    };
    loop {
        tokio::time::sleep(INTERVAL).await;
        let asked = Arc::clone(&consumer);
        let partitions = partitions(&topic);
        let answer =
            tokio::task::spawn_blocking(move || asked.committed_offsets(partitions, ANSWER_MAX));
        match answer.await {
            Ok(Ok(committed)) => take(&committed, &progress),
            Ok(Err(error)) => tracing::debug!(%error, "the group's commits are not known"),
            Err(_) => return,
        }
    }
}

fn partitions(topic: &str) -> TopicPartitionList {
    let mut partitions = TopicPartitionList::with_capacity(PARTITIONS as usize);
    for number in 0..PARTITIONS {
        partitions.add_partition(topic, number);
    }
    partitions
}

fn take(committed: &TopicPartitionList, progress: &Progress) {
    for partition in committed.elements() {
        if let Offset::Offset(offset) = partition.offset()
            && let Some(known) = progress.committed.get(partition.partition() as usize)
        {
            known.store(offset, Ordering::Release);
        }
    }
}
