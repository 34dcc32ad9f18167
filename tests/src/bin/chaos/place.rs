//! What a round stands on: a topic, a group, a bucket and index names of its own, the lines it
//! produces, and the configuration that carries all of them to both stores.
//!
//! The invariant: `finish` counts only after everything is committed and every instance has ended
//! in order, so that nobody is left to write. Next stop: `count.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::{Corpus, CorpusRecord, Dice, Expect, rid_of};
use riverhog_tests::{
    Broker, Feed, Launch, LogStore, NewRecord, ObjectStore, Pace, Riverhog, SearchStore, Services,
    events_in, eventually, unique,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::count::{Count, Look};

pub(crate) const PARTITIONS: i32 = 4;
/// Longer than any recovery should take, on a loaded machine too.
const SETTLE_DEADLINE: Duration = Duration::from_secs(90);
const DEADLINE: Duration = Duration::from_mins(1);
const STOP_DEADLINE: Duration = Duration::from_secs(40);
const GROK: &str =
    r"%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:content}";
/// What an instance is told to write its dead letters to.
const LETTERS: &str = "dead";

/// One round of a scenario.
pub(crate) struct Round {
    pub(crate) services: Services,
    pub(crate) seed: u64,
    pub(crate) lines: u64,
    /// Is it of the short version: do faults last but for a moment?
    pub(crate) short: bool,
    /// Removed by who runs the round, when it ended well.
    pub(crate) folder: PathBuf,
}

/// Where an instance finds things; the services themselves, but for what a scenario puts between.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) kafka: String,
    pub(crate) search: String,
    pub(crate) archive: Archive,
}

#[derive(Clone, Debug)]
pub(crate) enum Archive {
    S3(String),
    Local(PathBuf),
}

pub(crate) struct Place {
    pub(crate) services: Services,
    pub(crate) broker: Broker,
    pub(crate) topic: String,
    pub(crate) dice: Dice,
    pub(crate) expected: Vec<Expect>,
    pub(crate) folder: PathBuf,
    /// Lines that a store refuses for ever: dead letters, and not in the search store.
    pub(crate) refused_every: Option<u64>,
    records: Vec<NewRecord>,
    search: SearchStore,
    bucket: ObjectStore,
}

impl Place {
    pub(crate) async fn new(round: &Round) -> Result<Self> {
        Self::with_partitions(round, PARTITIONS, PARTITIONS).await
    }

    /// A topic of so many partitions, and lines for more of them.
    pub(crate) async fn with_partitions(round: &Round, at_first: i32, then: i32) -> Result<Self> {
        let services = round.services.clone();
        let topic = unique("chaos");
        let corpus = Corpus { seed: round.seed, lines: round.lines, partitions: then };
        let (mut records, mut expected) = (Vec::new(), Vec::new());
        for CorpusRecord { record, lines } in corpus.records() {
            records.push(record);
            expected.extend(lines.into_iter().map(|line| line.expect));
        }
        let place = Self {
            broker: services.broker(),
            dice: Dice::new(round.seed, u64::MAX),
            folder: round.folder.clone(),
            refused_every: None,
            search: services.search(),
            bucket: services.bucket(&topic).await?,
            records,
            expected,
            services,
            topic,
        };
        fs::write(place.folder.join("hosts.csv"), corpus.hosts_csv()).context("hosts.csv")?;
        place.broker.create_topic(&place.topic, at_first, &[]).await?;
        let settings = json!({ "number_of_shards": 1, "number_of_replicas": 0 });
        let template = json!({ "settings": settings, "mappings": { "dynamic": false } });
        let body = json!({ "index_patterns": [place.indices()], "template": template });
        place.search.put_template(&place.topic, body).await?;
        Ok(place)
    }

    fn indices(&self) -> String {
        format!("{}-*", self.topic)
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup {
            kafka: self.services.kafka.clone(),
            search: self.services.opensearch.clone(),
            archive: Archive::S3(self.services.s3.clone()),
        }
    }

    /// A time by chance, in milliseconds from one to the other.
    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.dice.below(to - from + 1))
    }

    /// Starts an instance; it need not be ready.
    pub(crate) fn start(&self, name: &str, setup: &Setup) -> Result<Riverhog> {
        let launch = Launch {
            folder: self.folder.clone(),
            name: name.to_owned(),
            config: self.config(setup),
            args: Vec::new(),
            env: vec![
                ("AWS_ACCESS_KEY_ID".to_owned(), self.services.s3_key.clone()),
                ("AWS_SECRET_ACCESS_KEY".to_owned(), self.services.s3_secret.clone()),
            ],
        };
        Ok(Riverhog::start(launch)?.quiet())
    }

    /// Starts an instance and waits until it has its partitions.
    pub(crate) async fn ready(&self, name: &str, setup: &Setup) -> Result<Riverhog> {
        let mut riverhog = self.start(name, setup)?;
        riverhog.wait_ready().await?;
        Ok(riverhog)
    }

    /// Produces all lines over this time.
    pub(crate) fn feed(&mut self, time: Duration) -> Feed {
        let records = std::mem::take(&mut self.records);
        let pace = Pace::over(records.len(), time);
        Feed::start(&self.broker, &self.topic, records, pace)
    }

    /// Takes the records of the partitions from this one on, to be produced later.
    pub(crate) fn hold_back(&mut self, partition: i32) -> Vec<NewRecord> {
        let records = std::mem::take(&mut self.records);
        let is_later = |record: &NewRecord| record.partition.is_some_and(|of| of >= partition);
        let (later, now) = records.into_iter().partition(is_later);
        self.records = now;
        later
    }

    fn config(&self, setup: &Setup) -> String {
        let Self { topic, .. } = self;
        let Setup { kafka, search, archive } = setup;
        let bucket = self.bucket.bucket();
        let archive = match archive {
            Archive::S3(url) => format!(
                "type = \"s3\"\nendpoint = \"{url}\"\nbucket = \"{bucket}\"\ntimeout = \"3s\""
            ),
            Archive::Local(path) => format!("type = \"local\"\npath = \"{}\"", path.display()),
        };
        format!(
            r#"memory = "96MiB"
[sources.logs]
type       = "kafka"
brokers    = ["{kafka}"]
topics     = ["{topic}"]
group      = "{topic}"
properties = {{ "session.timeout.ms" = "2500", "heartbeat.interval.ms" = "500" }}
[labels]
task    = {{ from = ["header.task"], default = "unassigned" }}
role    = {{ from = ["header.role"], default = "worker" }}
project = {{ from = ["header.project"], default = "shared" }}
[hosts]
from  = ["header.host", "key"]
table = "hosts.csv"
[[parse]]
name = "swift"
grok = '{GROK}'
time = {{ field = "log_time", formats = ["ISO8601"], zone = "Asia/Shanghai" }}
[[route]]
sinks = ["search", "archive"]
[sinks.search]
type    = "elasticsearch"
urls    = ["{search}"]
index   = "{topic}-{{timestamp:%Y.%m.%d}}"
batch   = {{ count = 500, age = "200ms" }}
timeout = "2s"
[sinks.archive]
{archive}
prefix = "{{task}}/"
object = {{ size = "64KiB", age = "1s" }}
[dead_letter]
type = "local"
path = "{LETTERS}"
"#
        )
    }

    /// Waits until the group has so many members.
    pub(crate) async fn has_members(&self, wanted: usize) {
        eventually(DEADLINE, &format!("the group has {wanted} members"), || async {
            let members = self.broker.members(&self.topic)?;
            ensure!(members == wanted, "{members} members");
            Ok(())
        })
        .await;
    }

    /// Produces the rest, waits until all is committed, and ends the instances in order.
    pub(crate) async fn settle(&self, feed: Feed, instances: Vec<Riverhog>) -> Result<()> {
        feed.finish().await?;
        let ends = self.broker.end_offsets(&self.topic)?;
        self.broker.has_committed(&self.topic, &self.topic, &ends, SETTLE_DEADLINE).await;
        let mut instances = instances;
        for instance in &mut instances {
            instance.terminate()?;
        }
        for instance in &mut instances {
            instance.ends_in_order(STOP_DEADLINE).await?;
        }
        Ok(())
    }

    /// `settle`, and the count of OpenSearch and the bucket.
    pub(crate) async fn finish(&self, feed: Feed, instances: Vec<Riverhog>) -> Result<Count> {
        self.settle(feed, instances).await?;
        self.count(&self.bucket_events().await?).await
    }

    /// The same, with the archive in a folder.
    pub(crate) async fn finish_local(
        &self,
        feed: Feed,
        instances: Vec<Riverhog>,
        folder: &Path,
    ) -> Result<Count> {
        self.settle(feed, instances).await?;
        self.count(&events_below(folder)?).await
    }

    async fn count(&self, archived: &[Value]) -> Result<Count> {
        let mut count = self.count_archive(archived);
        let is_refused =
            |expect: &&Expect| self.refused_every.is_some_and(|every| expect.rid % every == 1);
        let wanted = self.expected.iter().filter(|expect| !is_refused(expect));
        let found = self.search.documents(&self.indices()).await?;
        let found: Vec<Value> = found.into_iter().map(|document| document.source).collect();
        count.store("search", Look::Whole, wanted, &found);
        self.count_letters(&mut count, is_refused)?;
        Ok(count)
    }

    /// A count of the archive alone.
    pub(crate) fn count_archive(&self, found: &[Value]) -> Count {
        let mut count = Count { lines: self.expected.len() as u64, ..Count::default() };
        count.store("archive", Look::Whole, &self.expected, found);
        count
    }

    /// What VictoriaLogs holds of this round's topic.
    pub(crate) async fn logged(&self) -> Result<Vec<Value>> {
        let url = self.services.victorialogs.as_deref().context("no VictoriaLogs")?;
        LogStore::new(url).documents(&self.topic).await
    }

    pub(crate) async fn bucket_events(&self) -> Result<Vec<Value>> {
        Ok(self.bucket.events("").await?.into_iter().map(|(_, event)| event).collect())
    }

    /// The dead letters must be exactly the lines that are refused for ever.
    fn count_letters(&self, count: &mut Count, wanted: impl Fn(&&Expect) -> bool) -> Result<()> {
        let mut missing: Vec<u64> =
            self.expected.iter().filter(wanted).map(|expect| expect.rid).collect();
        for letter in self.letters()? {
            let rid = letter["records"][0]["value"].as_str().and_then(rid_of);
            match missing.iter().position(|wanted| Some(*wanted) == rid) {
                Some(at) => drop(missing.swap_remove(at)),
                None => count.wrong.push(format!("a dead letter too many: {letter}")),
            }
            count.letters += 1;
        }
        count.lost += missing.len() as u64;
        Ok(())
    }

    fn letters(&self) -> Result<Vec<Value>> {
        let mut letters = Vec::new();
        for path in files_below(&self.folder.join(LETTERS))? {
            for line in fs::read_to_string(&path)?.lines() {
                letters.push(serde_json::from_str(line).context("a dead letter")?);
            }
        }
        Ok(letters)
    }
}

/// The events of a local archive.
fn events_below(folder: &Path) -> Result<Vec<Value>> {
    let mut events = Vec::new();
    for path in files_below(folder)? {
        if path.to_string_lossy().ends_with(".jsonl.zst") {
            events.extend(events_in(&fs::read(&path)?).context(path.display().to_string())?);
        }
    }
    Ok(events)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in fs::read_dir(&folder).context(folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}
