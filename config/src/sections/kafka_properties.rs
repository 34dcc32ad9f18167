//! librdkafka properties as the file gives them. Invariant: none gets through that would commit,
//! seek, assign or acknowledge behind the ledger's back; each refusal says why and what to use.
//! Next: `sinks.rs`.

use crate::document::{Entry, Value};
use crate::reader::Reader;
use crate::settings::Secret;
use std::collections::BTreeMap;

/// What the properties are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Consumer,
    Producer,
}

type Refusal = (&'static str, &'static str, &'static str);

const COMMITS: &str = "offsets are committed only when all lines below them are settled";

/// Name, reason, cure.
const FOR_BOTH: [Refusal; 3] = [
    ("bootstrap.servers", "it is what `brokers` says", "set `brokers`"),
    ("metadata.broker.list", "it is what `brokers` says", "set `brokers`"),
    ("transactional.id", "transactions are not part of the delivery promise", "take it out"),
];

const FOR_CONSUMERS: [Refusal; 14] = [
    ("enable.auto.commit", COMMITS, "take it out"),
    ("auto.commit.enable", COMMITS, "take it out"),
    ("auto.commit.interval.ms", COMMITS, "take it out"),
    ("enable.auto.offset.store", COMMITS, "take it out"),
    ("offset.store.method", COMMITS, "take it out"),
    ("offset.store.path", COMMITS, "take it out"),
    ("offset.store.sync.interval.ms", COMMITS, "take it out"),
    ("auto.offset.reset", "where to begin, and a gap, are handled and counted here", "set `start`"),
    ("group.id", "it is what `group` says", "set `group`"),
    ("enable.partition.eof", "the end of a partition is found another way", "take it out"),
    ("group.remote.assignor", "it needs the consumer protocol of KIP-848", "take it out"),
    ("queued.min.messages", "prefetch follows from `memory`", "set `memory`"),
    ("queued.max.messages.kbytes", "prefetch follows from `memory`", "set `memory`"),
    ("plugin.library.paths", "it loads code into the process", "take it out"),
];

const FOR_PRODUCERS: [Refusal; 2] = [
    ("dr_cb", "a dead letter must be acknowledged before its line settles", "take it out"),
    ("plugin.library.paths", "it loads code into the process", "take it out"),
];

/// Properties that decide how records come, never which: instances may differ in them and be of one
/// fingerprint. What is not named here counts.
const BESIDE_EVENTS: [&str; 20] = [
    "client.id",
    "client.rack",
    "group.instance.id",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "coordinator.query.interval.ms",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.sparse",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "statistics.interval.ms",
    "debug",
    "log_level",
    "security.protocol",
    "enable.ssl.certificate.verification",
    "max.partition.fetch.bytes",
];

/// The same by how a name begins.
const BESIDE_EVENTS_STARTS: [&str; 8] = [
    "fetch.",
    "socket.",
    "log.",
    "reconnect.backoff.",
    "retry.backoff.",
    "sasl.",
    "ssl.",
    "https.",
];

/// What is part of a name whose value only some may see: what librdkafka calls sensitive, but for
/// paths and user names.
const SECRET_PARTS: [&str; 7] =
    ["password", "passphrase", "secret", "jaas", "pem", "ssl_key", "oauthbearer.config"];

/// Reads `properties`, with nested tables as dotted names.
pub(super) fn read(reader: &Reader<'_>, role: Role) -> BTreeMap<String, Secret<String>> {
    let mut properties = BTreeMap::new();
    if let Some(entries) = reader.table("properties") {
        for entry in entries {
            add(reader, role, entry, &entry.key, &mut properties);
        }
        let is_new = properties.get("group.protocol").is_some_and(|it| it.reveal() == "consumer");
        for entry in entries.iter().filter(|entry| is_new && OF_THE_BROKER.contains(&&*entry.key)) {
            let message = format!("property `{}` is the broker's to set here", entry.key);
            let help = "with `group.protocol = consumer` set it for the group on the broker, or \
                        take it out";
            reader.context.error(&entry.key_place, message, help);
        }
    }
    properties
}

/// What the broker decides for members of the consumer protocol.
const OF_THE_BROKER: [&str; 4] = [
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
    "group.protocol.type",
];

fn add(
    reader: &Reader<'_>,
    role: Role,
    entry: &Entry,
    name: &str,
    properties: &mut BTreeMap<String, Secret<String>>,
) {
    let hidden = SECRET_PARTS.iter().any(|part| name.contains(part));
    if hidden {
        reader.hide(entry);
    }
    let secret = match &entry.node.value {
        // `security.protocol = "…"` without quotes around the name is a table in TOML.
        Value::Table(table) => {
            for inner in &table.entries {
                add(reader, role, inner, &format!("{name}.{}", inner.key), properties);
            }
            return;
        }
        Value::Text(text) if hidden && !text.is_secret() => Secret::new(text.value.clone()),
        Value::Text(text) => Secret::with_shown(text.value.clone(), text.shown()),
        Value::Integer(number) | Value::Float(number) => Secret::with_shown(number.clone(), number),
        Value::Flag(flag) => Secret::with_shown(flag.to_string(), &flag.to_string()),
        other => {
            let message = format!("property `{name}` is {}, expected a string", other.kind());
            let help = "write it as librdkafka does, in quotes";
            reader.context.error(&entry.node.place, message, help);
            return;
        }
    };
    refuse(reader, role, entry, name, secret.reveal());
    let outside = matches!(&entry.node.value, Value::Text(text) if text.is_secret());
    let is_beside = BESIDE_EVENTS.contains(&name)
        || BESIDE_EVENTS_STARTS.iter().any(|start| name.starts_with(start));
    if !hidden && !outside && !is_beside {
        reader.note(&format!("properties.{name}"), secret.reveal());
    }
    if properties.insert(name.to_owned(), secret).is_some() {
        let message = format!("property `{name}` is given twice");
        reader.context.error(&entry.key_place, message, "keep one of the two");
    }
}

fn refuse(reader: &Reader<'_>, role: Role, entry: &Entry, name: &str, value: &str) {
    let own = match role {
        Role::Consumer => &FOR_CONSUMERS[..],
        Role::Producer => &FOR_PRODUCERS[..],
    };
    let listed = FOR_BOTH.iter().chain(own).find(|(refused, ..)| *refused == name);
    let refusal = match (listed, role, name) {
        (Some((_, reason, cure)), ..) => Some((*reason, *cure)),
        (None, Role::Consumer, "partition.assignment.strategy")
            if !["cooperative-sticky", "range", "roundrobin"].contains(&value) =>
        {
            Some(("it must be one strategy that all members know", STRATEGIES))
        }
        (None, Role::Consumer, "group.protocol") if !["classic", "consumer"].contains(&value) => {
            Some(("there are two protocols", "use `classic` or `consumer` (KIP-848)"))
        }
        (None, Role::Producer, "acks" | "request.required.acks")
            if !["all", "-1"].contains(&value) =>
        {
            Some(("a dead letter must be stored before its line settles", "use `all`"))
        }
        _ => None,
    };
    if let Some((reason, cure)) = refusal {
        let message = format!("property `{name}` cannot be set here: {reason}");
        reader.context.error(&entry.key_place, message, cure);
    }
}

const STRATEGIES: &str = "use `cooperative-sticky`, `range` or `roundrobin`";

/// The properties of connection and security, which dead letters share with the source whose
/// brokers they use.
pub(super) fn connection(
    properties: &BTreeMap<String, Secret<String>>,
) -> impl Iterator<Item = (&String, &Secret<String>)> {
    let shared = ["security.", "sasl.", "ssl.", "https.", "socket.", "broker.", "client."];
    properties
        .iter()
        .filter(move |(name, _)| shared.iter().any(|start| name.starts_with(start)))
        // A rack is for reading; a client id would make two clients look like one.
        .filter(|(name, _)| !["client.rack", "client.id"].contains(&name.as_str()))
}
