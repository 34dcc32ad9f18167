//! A place of its own in each service for one test: a topic, a group, a bucket, a stem of index
//! names; and the configuration that connects them.
//!
//! The invariant: a test that stops a service runs alone in this process, and cargo runs test files
//! one after the other; all others share the services. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::{Corpus, CorpusRecord, Expect};
use riverhog_tests::{
    Broker, Launch, NewRecord, ObjectStore, Riverhog, SearchStore, Services, eventually, services,
    unique,
};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;

pub(crate) const PARTITIONS: i32 = 4;
/// What is waited for takes seconds; a loaded machine may need much longer.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);
/// In this time several commits are made, one a second.
const SOME_COMMITS: Duration = Duration::from_millis(2_500);
/// The routes of the guide: warnings of one project are searched, everything is archived.
pub(crate) const ROUTES: &str = r#"
[[route]]
when  = 'project == "nlp" and level >= "warn"'
sinks = ["search", "archive"]
[[route]]
sinks = ["archive"]
"#;
/// Everything goes to both.
pub(crate) const ROUTE_ALL: &str = "[[route]]\nsinks = [\"search\", \"archive\"]\n";
pub(crate) const LOCAL_LETTERS: &str = "[dead_letter]\ntype = \"local\"\npath = \"dead\"\n";
pub(crate) const GROK: &str =
    r"%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:content}";

static SERVICES: RwLock<()> = RwLock::const_new(());

/// Held by a test for as long as it needs the services.
enum Hold {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

/// See the module documentation.
pub(crate) struct Place {
    pub(crate) services: Services,
    pub(crate) folder: TempDir,
    pub(crate) broker: Broker,
    pub(crate) search: SearchStore,
    pub(crate) bucket: ObjectStore,
    pub(crate) topic: String,
    pub(crate) group: String,
    /// Indices begin with it.
    pub(crate) stem: String,
    /// The expression of the parser.
    pub(crate) grok: String,
    _hold: Hold,
}

impl Place {
    /// A place beside those of other tests; `None` without services.
    pub(crate) async fn shared(name: &str) -> Result<Option<Self>> {
        let Some(services) = services() else { return Ok(None) };
        let hold = Hold::Shared { _guard: SERVICES.read().await };
        Self::make(name, services, hold).await.map(Some)
    }

    /// A place for a test that stops services; `None` without services.
    pub(crate) async fn alone(name: &str) -> Result<Option<Self>> {
        let Some(services) = services() else { return Ok(None) };
        let hold = Hold::Alone { _guard: SERVICES.write().await };
        Self::make(name, services, hold).await.map(Some)
    }

    async fn make(name: &str, services: Services, hold: Hold) -> Result<Self> {
        let name = unique(name);
        let place = Self {
            folder: TempDir::new().context("making a folder")?,
            broker: services.broker(),
            search: services.search(),
            bucket: services.bucket(&name).await?,
            topic: format!("{name}-logs"),
            group: format!("{name}-group"),
            stem: name,
            grok: GROK.to_owned(),
            services,
            _hold: hold,
        };
        let hosts = Corpus { seed: 0, lines: 0, partitions: 1 }.hosts_csv();
        std::fs::write(place.folder.path().join("hosts.csv"), hosts).context("hosts.csv")?;
        place.create_topic().await?;
        place.put_template(json!({})).await?;
        Ok(place)
    }

    pub(crate) async fn create_topic(&self) -> Result<()> {
        self.broker.create_topic(&self.topic, PARTITIONS, &[]).await
    }

    /// Indices of this place: one shard, no replica, and only these properties are indexed.
    pub(crate) async fn put_template(&self, properties: Value) -> Result<()> {
        let settings = json!({ "number_of_shards": 1, "number_of_replicas": 0 });
        let mappings = json!({ "dynamic": false, "properties": properties });
        let template = json!({ "settings": settings, "mappings": mappings });
        let body = json!({ "index_patterns": [self.indices()], "template": template });
        self.search.put_template(&self.stem, body).await
    }

    /// The pattern of all indices of this place.
    pub(crate) fn indices(&self) -> String {
        format!("{}-*", self.stem)
    }

    /// Source, labels, hosts and parser, and `rest`: routes, sinks, dead letters.
    pub(crate) fn config(&self, rest: &[&str]) -> String {
        self.config_of(&self.services.kafka, rest)
    }

    /// The same for another broker.
    pub(crate) fn config_of(&self, kafka: &str, rest: &[&str]) -> String {
        let Self { topic, group, grok, .. } = self;
        let rest = rest.join("\n");
        format!(
            r#"memory = "96MiB"
[sources.logs]
type    = "kafka"
brokers = ["{kafka}"]
topics  = ["{topic}"]
group   = "{group}"
[labels]
task    = {{ from = ["header.task"], default = "unassigned" }}
role    = {{ from = ["header.role"], default = "worker" }}
project = {{ from = ["header.project"], default = "shared" }}
[hosts]
from  = ["header.host", "key"]
table = "hosts.csv"
[[parse]]
name = "swift"
grok = '{grok}'
time = {{ field = "log_time", formats = ["ISO8601"], zone = "Asia/Shanghai" }}
{rest}
"#
        )
    }

    /// The sink `search` at `url`; indices are `STEM-` and `index`, a template.
    pub(crate) fn search_sink(&self, url: &str, index: &str) -> String {
        let stem = &self.stem;
        format!(
            r#"
[sinks.search]
type  = "elasticsearch"
urls  = ["{url}"]
index = "{stem}-{index}"
batch = {{ count = 500, age = "200ms" }}
"#
        )
    }

    /// The sink `archive` at `endpoint`, in the place's bucket.
    pub(crate) fn archive_sink(&self, endpoint: &str) -> String {
        self.archive_sink_of(endpoint, &format!("bucket = \"{}\"", self.bucket.bucket()))
    }

    /// The sink `archive` at `endpoint`; `buckets` is the line about buckets.
    pub(crate) fn archive_sink_of(&self, endpoint: &str, buckets: &str) -> String {
        let Services { s3_key, s3_secret, .. } = &self.services;
        format!(
            r#"
[sinks.archive]
type       = "s3"
endpoint   = "{endpoint}"
{buckets}
prefix     = "{{task}}/"
object     = {{ size = "64KiB", age = "1s" }}
access_key = "{s3_key}"
secret_key = "{s3_secret}"
"#
        )
    }

    /// Produces records and returns once the broker has them.
    pub(crate) fn produce(&self, records: &[CorpusRecord]) -> Result<()> {
        produce(&self.broker, &self.topic, records)
    }

    /// Starts an instance and waits until it is ready.
    pub(crate) async fn start(&self, config: String) -> Result<Riverhog> {
        let folder = self.folder.path().to_owned();
        let launch = Launch { folder, name: "riverhog".to_owned(), config, ..Launch::default() };
        let mut riverhog = Riverhog::start(launch)?;
        riverhog.wait_ready().await?;
        Ok(riverhog)
    }

    /// Waits until the group has committed the end of each partition.
    pub(crate) async fn settled(&self) {
        self.settled_at(&self.broker).await;
    }

    /// The same at another broker.
    pub(crate) async fn settled_at(&self, broker: &Broker) {
        let all = || async {
            let ends = broker.end_offsets(&self.topic)?;
            let committed = broker.committed_offsets(&self.group, &self.topic)?;
            ensure!(committed == ends, "committed {committed:?} of {ends:?}");
            Ok(())
        };
        eventually(DEADLINE, "everything is settled and committed", all).await;
    }

    /// No commit passes the first line that is owed, for as long as several commits take.
    pub(crate) async fn watermark_stays(
        &self,
        records: &[CorpusRecord],
        is_owed: impl Fn(&Expect) -> bool,
    ) -> Result<()> {
        let since = Instant::now();
        let passed = eventually(DEADLINE, "some commits", || async {
            let passed = self.check_watermark(records, &is_owed).err();
            ensure!(passed.is_some() || since.elapsed() >= SOME_COMMITS, "they were made before");
            anyhow::Ok(passed)
        });
        passed.await.map_or(Ok(()), Err)
    }

    fn check_watermark(
        &self,
        records: &[CorpusRecord],
        is_owed: impl Fn(&Expect) -> bool,
    ) -> Result<()> {
        let committed = self.broker.committed(&self.group, &self.topic)?;
        for (partition, commit) in committed.iter().enumerate() {
            let here = |record: &&CorpusRecord| record.record.partition == Some(partition as i32);
            let mut of_partition = records.iter().filter(here);
            let owed = of_partition
                .position(|record| record.lines.iter().any(|line| is_owed(&line.expect)));
            let (Some(owed), Some((commit, _))) = (owed, commit) else { continue };
            ensure!(*commit <= owed as i64, "{partition}: commit {commit} passes {owed}");
        }
        Ok(())
    }
}

/// Produces records to a topic.
pub(crate) fn produce(broker: &Broker, topic: &str, records: &[CorpusRecord]) -> Result<()> {
    let records = records.iter().map(|record| record.record.clone());
    broker.produce(topic, records).map(drop)
}

/// A corpus of so many lines, as records.
pub(crate) fn records(seed: u64, lines: u64) -> Vec<CorpusRecord> {
    Corpus { seed, lines, partitions: PARTITIONS }.records().collect()
}

/// The same, so much later by the records' own times; the lines say what they said.
pub(crate) fn records_later(seed: u64, lines: u64, later_ms: i64) -> Vec<CorpusRecord> {
    let mut records = records(seed, lines);
    for record in &mut records {
        let NewRecord { time_ms, .. } = &mut record.record;
        *time_ms = time_ms.map(|time| time + later_ms);
        for line in &mut record.lines {
            let expect = &mut line.expect;
            expect.record_time_ms += later_ms;
            if !expect.parsed {
                expect.time_ns += later_ms * 1_000_000;
            }
        }
    }
    records
}

/// What each line of some records must become.
pub(crate) fn expected(records: &[CorpusRecord]) -> Vec<Expect> {
    let lines = records.iter().flat_map(|record| &record.lines);
    lines.map(|line| line.expect.clone()).collect()
}
