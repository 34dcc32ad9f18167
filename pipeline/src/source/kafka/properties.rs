//! librdkafka's properties: ours, derived from the memory budget, and the user's on top. Pure.
//!
//! Invariant: nothing a user sets can make librdkafka commit, move or reset an offset by itself.
//! Next stop: `reader`, which runs the consumer.

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use super::{KafkaSettings, Topics};

/// Properties a user's configuration may not set: each would break the promise of delivery, or is
/// a setting of its own. The configuration refuses them; here they are passed over.
pub const RESERVED: &[&str] = &[
    "bootstrap.servers",
    "metadata.broker.list",
    "group.id",
    "enable.auto.commit",
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "offset.store.method",
    "offset.store.path",
    "enable.partition.eof",
];

/// Fewest prefetched bytes a partition is given.
const PARTITION_BYTES_MIN: u64 = 64 << 10;

/// What a line costs in librdkafka's queue, roughly: an op of 300 bytes, its own bytes, the
/// allocator's share. Sets how many lines may wait. Measured with lines of 138 bytes: half as many
/// halve the throughput, since the next fetch then begins when the queue runs dry.
const MESSAGE_COST: u64 = 512;

/// How librdkafka's prefetch is bounded. Once queues are split, all limits count per partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizing {
    /// `queued.max.messages.kbytes`
    pub(super) queued_kbytes: u64,
    /// `queued.min.messages`: no fetch while more are queued.
    pub(super) queued_messages: u64,
    /// `fetch.message.max.bytes`, a partition's share of an answer. Compressed bytes, therefore
    /// well below the partition's budget.
    pub(super) fetch_bytes: u64,
    /// `fetch.max.bytes`, a whole answer.
    pub(super) answer_bytes: u64,
}

/// Divides the prefetch budget. A partition holds at most half of its share when a fetch is sent,
/// and an answer of a quarter, which decompresses to a multiple; smaller answers are slow
/// with many partitions, since librdkafka has one request a broker in flight.
pub(super) fn sizing(prefetch_bytes: u64, partitions: u32) -> Sizing {
    let share = (prefetch_bytes / u64::from(partitions.max(1))).max(PARTITION_BYTES_MIN);
    Sizing {
        queued_kbytes: (share / 2 / 1024).clamp(16, 64 << 10),
        queued_messages: (share / MESSAGE_COST).clamp(64, 50_000),
        fetch_bytes: (share / 8).clamp(16 << 10, 1 << 20),
        answer_bytes: (prefetch_bytes / 8).clamp(1 << 20, 50 << 20),
    }
}

/// Properties of any client: where the brokers are and how to speak to them.
pub(crate) fn connection(
    brokers: &[String],
    properties: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers.join(","));
    config.set("client.id", "riverhog");
    config.set("statistics.interval.ms", "0");
    config.set("socket.keepalive.enable", "true");
    // 10 s by default: a broker that is back should be found sooner.
    config.set("reconnect.backoff.max.ms", "3000");
    // Re-created topics and new partitions are seen within this time; five minutes by default.
    config.set("topic.metadata.refresh.interval.ms", "5000");
    config.set_log_level(RDKafkaLogLevel::Info);
    for (name, value) in properties {
        let (name, value) = (name.as_ref(), value.as_ref());
        if RESERVED.contains(&name) {
            tracing::warn!(property = name, "a reserved kafka property is ignored");
            continue;
        }
        if name == "debug" {
            config.set_log_level(RDKafkaLogLevel::Debug);
        }
        config.set(name, value);
    }
    config
}

/// Properties of a client that reads in no group: the user's, but for those of membership.
pub(super) fn alone(settings: &KafkaSettings) -> ClientConfig {
    const OF_MEMBERS: [&str; 5] =
        ["group.", "partition.assignment", "session.", "heartbeat.", "max.poll."];
    let shared = |name: &str| !OF_MEMBERS.iter().any(|prefix| name.starts_with(prefix));
    connection(&settings.brokers, settings.properties.iter().filter(|(name, _)| shared(name)))
}

/// Properties of a client that asks for a group's commits and joins none.
pub(super) fn of_group(settings: &KafkaSettings, group: &str) -> ClientConfig {
    let mut config = alone(settings);
    config.set("group.id", group);
    config.set("enable.auto.commit", "false");
    config
}

/// Properties of the consumer.
pub(super) fn consumer(settings: &KafkaSettings, partitions: u32) -> ClientConfig {
    let ours = sizing(settings.prefetch_bytes, partitions);
    let new_protocol = settings.properties.get("group.protocol").is_some_and(|p| p == "consumer");
    let mut defaults = vec![
        ("queued.max.messages.kbytes", ours.queued_kbytes.to_string()),
        ("queued.min.messages", ours.queued_messages.to_string()),
        ("fetch.message.max.bytes", ours.fetch_bytes.to_string()),
        ("fetch.max.bytes", ours.answer_bytes.to_string()),
        // librdkafka sleeps this long (1 s by default) once a queue is full, however soon it is
        // emptied. 0 would make its thread spin while a partition is not read.
        ("fetch.queue.backoff.ms", "5".to_owned()),
        // Off by default: a byte that changed on the way, or on the broker's disk, would be taken
        // for what was logged. The processor does it at gigabytes a second.
        ("check.crcs", "true".to_owned()),
    ];
    if !new_protocol {
        defaults.push(("partition.assignment.strategy", "cooperative-sticky".to_owned()));
    }
    let user = settings.properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
    // The user's come last and win.
    let all = defaults.into_iter().chain(user);
    let mut config = connection(&settings.brokers, all);
    config.set("group.id", &settings.group);
    config.set("enable.auto.commit", "false");
    config.set("enable.auto.offset.store", "false");
    config.set("auto.offset.reset", "error");
    config
}

/// What to subscribe to. librdkafka takes a name that begins with '^' as a pattern.
pub(super) fn subscription(topics: &Topics) -> Vec<String> {
    match topics {
        Topics::List(names) => names.clone(),
        Topics::Pattern(pattern) if pattern.starts_with('^') => vec![pattern.clone()],
        Topics::Pattern(pattern) => vec![format!("^{pattern}")],
    }
}

/// Whether a topic may match a pattern, by the plain characters the pattern begins with: sizing
/// and the age of topics need no more, and librdkafka alone decides.
pub(super) fn may_match(pattern: &str, topic: &str) -> bool {
    let pattern = pattern.trim_start_matches('^');
    let special = |byte: char| !(byte.is_ascii_alphanumeric() || byte == '-' || byte == '_');
    let plain = pattern.find(special).unwrap_or(pattern.len());
    // A character that a quantifier follows may be absent; alternatives share no start.
    let quantified = pattern[plain..].starts_with(['?', '*', '{']);
    let plain = if quantified { plain.saturating_sub(1) } else { plain };
    pattern.contains('|') || topic.starts_with(&pattern[..plain])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::source::kafka::Start;

    fn settings(properties: &[(&str, &str)]) -> KafkaSettings {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        KafkaSettings {
            brokers: vec!["a:1".to_owned(), "b:2".to_owned()],
            topics: Topics::List(vec!["t".to_owned()]),
            group: "g".to_owned(),
            start: Start::Earliest,
            sinks: 1,
            beside: Vec::new(),
            properties: properties.iter().map(owned).collect::<BTreeMap<_, _>>(),
            lineage: None,
            prefetch_bytes: 48 << 20,
            batch_bytes: 1 << 20,
            revoke_wait: Duration::from_secs(5),
        }
    }

    fn check(properties: &[(&str, &str)], name: &str, expect: Option<&str>) {
        let config = consumer(&settings(properties), 4);
        assert_eq!(config.get(name), expect, "{name} with {properties:?}");
    }

    #[test]
    fn a_user_wins_but_for_what_breaks_the_promise() {
        check(&[], "bootstrap.servers", Some("a:1,b:2"));
        check(&[("fetch.message.max.bytes", "7")], "fetch.message.max.bytes", Some("7"));
        for name in ["enable.auto.commit", "enable.auto.offset.store"] {
            check(&[(name, "true")], name, Some("false"));
        }
        check(&[("auto.offset.reset", "latest")], "auto.offset.reset", Some("error"));
        check(&[("group.id", "x")], "group.id", Some("g"));
        check(&[], "check.crcs", Some("true"));
        let strategy = "partition.assignment.strategy";
        check(&[], strategy, Some("cooperative-sticky"));
        check(&[(strategy, "range")], strategy, Some("range"));
        // librdkafka refuses a strategy together with the broker-side protocol.
        check(&[("group.protocol", "consumer")], strategy, None);
    }

    #[test]
    fn prefetch_follows_the_budget_and_the_partitions() {
        for partitions in [0, 1, 4, 200, 10_000] {
            let sizing = sizing(48 << 20, partitions);
            let share = ((48 << 20) / u64::from(partitions.max(1))).max(PARTITION_BYTES_MIN);
            assert!(sizing.queued_kbytes * 1024 + sizing.fetch_bytes <= share, "{sizing:?}");
            assert!(sizing.queued_messages >= 64);
        }
    }

    #[test]
    fn a_pattern_is_anchored() {
        check_subscription("^train-.*", "^train-.*");
        check_subscription("train-.*", "^train-.*");
    }

    #[test]
    fn the_plain_start_of_a_pattern_tells_topics_apart() {
        for (pattern, expect) in [
            ("^train-.*", true),
            ("^trains-.*", false),
            ("^trains?-.*", true),
            ("^x|train-a", true),
            ("^.*", true),
        ] {
            assert_eq!(may_match(pattern, "train-a"), expect, "{pattern}");
        }
    }

    fn check_subscription(pattern: &str, expect: &str) {
        assert_eq!(subscription(&Topics::Pattern(pattern.to_owned())), [expect]);
    }
}
