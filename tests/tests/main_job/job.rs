//! A job of 64 ranks that fails, behind Filebeat, through Kafka into OpenSearch and S3, with two
//! kills while tracebacks are half read.
//!
//! The invariant: each expected event is in each store once, and nothing else is; both stores hold
//! the same documents. Members that later versions add are not looked at. Next stop:
//! `tests/src/corpus/job.rs`, what the job writes.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::{Job, JobEvent, Written, rfc3339};
use riverhog_tests::{
    Broker, Launch, NewRecord, ObjectStore, Riverhog, SearchStore, Services, eventually, services,
    unique,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

use crate::lines::base36;

const SEED: u64 = 64;
const READ_DEADLINE: Duration = Duration::from_secs(40);
const STOP_DEADLINE: Duration = Duration::from_secs(30);

const CONFIG: &str = r#"
[sources.logs]
type       = "kafka"
brokers    = ["KAFKA"]
topics     = ["TOPIC"]
group      = "TOPIC"
properties = { "session.timeout.ms" = "3000", "heartbeat.interval.ms" = "500" }

[peel]
[join]
gap = "20s"

[identity]
presets = ["kubeflow"]

[[parse]]
name = "training"
as   = "training"

[[route]]
sinks = ["search", "archive"]

[sinks.search]
type  = "elasticsearch"
urls  = ["SEARCH"]
index = "TOPIC-{timestamp:%Y.%m.%d}"

[sinks.archive]
type     = "s3"
endpoint = "S3"
bucket   = "BUCKET"
prefix   = "{task}/"
object   = { size = "64KiB", age = "1s" }

[dead_letter]
type    = "kafka"
brokers = ["KAFKA"]
topic   = "TOPIC.dead"
"#;

struct Bed {
    broker: Broker,
    search: SearchStore,
    bucket: ObjectStore,
    topic: String,
    launch: Launch,
    _folder: TempDir,
}

impl Bed {
    async fn new(services: &Services, partitions: i32) -> Result<Self> {
        let topic = unique("job");
        let bucket = services.bucket(&topic).await?;
        let broker = services.broker();
        broker.create_topic(&topic, partitions, &[]).await?;
        broker.create_topic(&format!("{topic}.dead"), 1, &[]).await?;
        let folder = tempfile::tempdir()?;
        let names = [
            ("KAFKA", &*services.kafka),
            ("TOPIC", &topic),
            ("SEARCH", &services.opensearch),
            ("S3", &services.s3),
            ("BUCKET", bucket.bucket()),
        ];
        let config = names.iter().fold(CONFIG.to_owned(), |text, (name, value)| {
            text.replace(&format!("\"{name}\""), &format!("\"{value}\""))
                .replace(&format!("\"{name}-"), &format!("\"{value}-"))
        });
        let config = config.replace("\"TOPIC.dead\"", &format!("\"{topic}.dead\""));
        let launch = Launch {
            folder: folder.path().to_owned(),
            name: "riverhog".to_owned(),
            config,
            args: Vec::new(),
            env: vec![
                ("AWS_ACCESS_KEY_ID".to_owned(), services.s3_key.clone()),
                ("AWS_SECRET_ACCESS_KEY".to_owned(), services.s3_secret.clone()),
            ],
        };
        Ok(Self { broker, search: services.search(), bucket, topic, launch, _folder: folder })
    }

    /// Produces some of the records, and waits until an instance has read so many lines.
    async fn feed(&self, riverhog: &Riverhog, records: Vec<NewRecord>) -> Result<()> {
        let wanted = records.len();
        self.broker.produce(&self.topic, records)?;
        eventually(READ_DEADLINE, "what was produced is read", || async {
            let read = riverhog.metrics().await?.sum("riverhog_source_lines_total", &[]);
            ensure!(read as usize >= wanted, "{read} of {wanted} lines");
            Ok(())
        })
        .await;
        Ok(())
    }

    fn committed(&self) -> Result<Vec<i64>> {
        self.broker.committed_offsets(&self.topic, &self.topic)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_job_of_64_ranks_survives_two_kills() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let Written { mut records, failing, events, partitions } = Job { seed: SEED }.written();
    let bed = Bed::new(&services, partitions).await?;
    let third = failing.len() / 3;
    let last = records.split_off(failing.start + 2 * third);
    let second = records.split_off(failing.start + third);

    let mut riverhog = Riverhog::start(bed.launch.clone())?;
    riverhog.wait_ready().await?;
    bed.feed(&riverhog, records).await?;
    riverhog.kill()?;
    // Tracebacks are half read: no commit may have passed their first lines.
    let first_commit = bed.committed()?;
    let ends = bed.broker.end_offsets(&bed.topic)?;
    ensure!(first_commit.iter().zip(&ends).all(|(at, end)| at < end), "{first_commit:?} {ends:?}");
    riverhog.restart()?;
    riverhog.wait_ready().await?;
    bed.feed(&riverhog, second).await?;
    riverhog.kill()?;
    let ends = bed.broker.end_offsets(&bed.topic)?;
    let second_commit = bed.committed()?;
    ensure!(second_commit.iter().zip(&ends).all(|(at, end)| at < end), "{second_commit:?}");
    bed.broker.produce(&bed.topic, last)?;
    riverhog.restart()?;
    let ends = bed.broker.end_offsets(&bed.topic)?;
    bed.broker.has_committed(&bed.topic, &bed.topic, &ends, READ_DEADLINE).await;
    riverhog.stop(STOP_DEADLINE).await?;

    let dead = bed.broker.read_all(&format!("{}.dead", bed.topic))?;
    ensure!(dead.is_empty(), "{} dead letters", dead.len());
    let searched = bed.search.documents(&format!("{}-*", bed.topic)).await?;
    let searched = by_id(searched.into_iter().map(|document| document.source))?;
    let archived = by_id(bed.bucket.events("").await?.into_iter().map(|(_, event)| event))?;
    ensure!(searched == archived, "the stores hold different documents");
    holds_each_once(&bed.topic, &events, &searched)
}

/// Documents by their ids, none of them twice.
fn by_id(documents: impl Iterator<Item = Value>) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    for document in documents {
        let id = document["event_id"].as_str().context("no event id")?.to_owned();
        let before = found.insert(id, document);
        ensure!(before.is_none(), "twice: {before:?}");
    }
    Ok(found)
}

fn holds_each_once(
    topic: &str,
    events: &[JobEvent],
    found: &BTreeMap<String, Value>,
) -> Result<()> {
    // Where an event begins tells it from all others.
    let mut places = BTreeMap::new();
    for document in found.values() {
        let origin = &document["origin"];
        let place = (origin["partition"].as_i64(), origin["offset"].as_i64());
        let before = places.insert(place, document);
        ensure!(before.is_none(), "two events begin at {place:?}: {before:?} {document}");
    }
    for event in events {
        let place = (Some(i64::from(event.partition)), Some(event.offset));
        let document = places.remove(&place).with_context(|| format!("missing: {event:?}"))?;
        is_as_expected(topic, event, document).with_context(|| format!("{event:?}\n{document}"))?;
    }
    ensure!(
        places.is_empty(),
        "{} events too many, such as {:?}",
        places.len(),
        places.first_entry()
    );
    Ok(())
}

fn is_as_expected(topic: &str, event: &JobEvent, document: &Value) -> Result<()> {
    let message = (event.raw != event.content).then_some(&event.raw);
    let labels = json!({ "task": "sft-7b", "role": event.role, "node_rank": event.node_rank });
    for (member, expect) in [
        ("content", json!(event.content)),
        ("message", json!(message)),
        ("level", json!(event.level)),
        ("component", json!(event.component)),
        ("rank", json!(event.rank)),
        ("labels", labels),
        ("received", json!(rfc3339(event.time_ms * 1_000_000))),
    ] {
        ensure!(document[member] == expect, "{member} is not {expect}");
    }
    let step = event.step.map(|step| step as f64);
    ensure!(document["metrics"]["step"] == json!(step), "metrics.step is not {step:?}");
    ensure!(document["host"]["name"] == *event.host, "host");
    let id = document["event_id"].as_str().unwrap_or_default();
    let (partition, offset, time) = (event.partition, event.offset, base36(event.time_ms));
    let rest = id
        .split_once('-')
        .and_then(|(_, rest)| rest.strip_prefix(&format!("{topic}-{partition}-{offset}-{time}-0")));
    let lines = match rest {
        Some("") => Some(1),
        Some(joined) => joined
            .strip_prefix('x')
            .and_then(|joined| joined.split_once('-'))
            .filter(|(_, hash)| hash.len() == 8)
            .and_then(|(lines, _)| lines.parse().ok()),
        None => None,
    };
    ensure!(lines == Some(event.lines), "{id} is not of {} lines", event.lines);
    Ok(())
}

/// A document as it must be, with what is looked at and no more.
fn right(topic: &str, event: &JobEvent) -> Value {
    let joined = if event.lines > 1 { format!("x{}-0123abcd", event.lines) } else { String::new() };
    let (partition, offset, time) = (event.partition, event.offset, base36(event.time_ms));
    let mut document = json!({
        "content": event.content, "level": event.level, "component": event.component,
        "rank": event.rank, "host": { "name": event.host },
        "labels": { "task": "sft-7b", "role": event.role, "node_rank": event.node_rank },
        "received": rfc3339(event.time_ms * 1_000_000),
        "origin": { "partition": partition, "offset": offset },
        "event_id": format!("5f2a9c01-{topic}-{partition}-{offset}-{time}-0{joined}"),
    });
    if let Some(step) = event.step {
        document["metrics"] = json!({ "step": step as f64 });
    }
    if event.raw != event.content {
        document["message"] = json!(event.raw);
    }
    document
}

#[test]
fn each_kind_of_fault_is_found() {
    let events = Job { seed: SEED }.written().events;
    let check = |change: &dyn Fn(&mut Vec<Value>), expect: Option<&str>| {
        let mut documents: Vec<Value> = events.iter().map(|event| right("t", event)).collect();
        change(&mut documents);
        let found = by_id(documents.into_iter());
        let found = found.and_then(|found| holds_each_once("t", &events, &found));
        match (found.map_err(|error| format!("{error:#}")), expect) {
            (Ok(()), None) => {}
            (Err(text), Some(part)) => assert!(text.contains(part), "{text}"),
            (found, expect) => panic!("{found:?}, not {expect:?}"),
        }
    };
    let joined = events.iter().position(|event| event.lines > 1).expect("tracebacks");
    check(&|_| {}, None);
    check(&|all| drop(all.remove(joined)), Some("missing"));
    check(&|all| all.push(all[7].clone()), Some("twice"));
    check(&|all| all[7]["rank"] = json!(99), Some("rank is not"));
    check(&|all| all[joined]["content"] = json!("Traceback"), Some("content is not"));
    check(&|all| all[joined]["event_id"] = json!("5f2a9c01-t-0-0-0-0"), Some("lines"));
    let too_many = |all: &mut Vec<Value>| {
        let mut another = all[7].clone();
        another["event_id"] = json!("another");
        another["origin"]["offset"] = json!(1_000_000);
        all.push(another);
    };
    check(&too_many, Some("1 events too many"));
    let longer = |all: &mut Vec<Value>| {
        let mut another = all[joined].clone();
        another["event_id"] = json!("another");
        all.push(another);
    };
    check(&longer, Some("two events begin"));
}
