//! What a test of the main job stands on: topics, bucket, index names and a folder of its own, and
//! the configuration of the guide with nothing changed but these names and the addresses.
//!
//! The invariant: every change to the configuration is found exactly once in it, so that a test
//! cannot silently run another one. Next stop: `lines.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{
    Broker, Finished, Launch, ObjectStore, Riverhog, SearchStore, Services, run_command, unique,
};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const DESIGN: &str = include_str!("../../../config/golden/good/design.toml");

/// A member that is given up after three seconds.
pub(crate) const QUICK_MEMBERS: &str =
    r#""session.timeout.ms" = "3000", "heartbeat.interval.ms" = "500""#;

pub(crate) struct Bed {
    pub(crate) broker: Broker,
    pub(crate) search: SearchStore,
    pub(crate) bucket: ObjectStore,
    pub(crate) topic: String,
    pub(crate) dead_topic: String,
    pub(crate) group: String,
    /// What stands before the day in the names of the indices.
    pub(crate) stem: String,
    credentials: (String, String),
    config: String,
    folder: TempDir,
}

impl Bed {
    /// Makes the topics, the bucket and the folder with the hosts table.
    pub(crate) async fn new(services: &Services, name: &str, corpus: Corpus) -> Result<Self> {
        let topic = unique(name);
        let bed = Self {
            broker: services.broker(),
            search: services.search(),
            bucket: services.bucket(&unique(name)).await?,
            dead_topic: format!("{topic}.dead"),
            group: unique("riverhog"),
            stem: unique(name),
            credentials: (services.s3_key.clone(), services.s3_secret.clone()),
            config: DESIGN.to_owned(),
            folder: tempfile::tempdir().context("making a folder")?,
            topic,
        };
        bed.broker.create_topic(&bed.topic, corpus.partitions, &[]).await?;
        bed.broker.create_topic(&bed.dead_topic, 1, &[]).await?;
        let hosts = bed.folder.path().join("hosts.csv");
        std::fs::write(hosts, corpus.hosts_csv()).context("writing the hosts table")?;
        bed.with_names(services)
    }

    fn with_names(self, services: &Services) -> Result<Self> {
        let quoted = |text: &str| format!("\"{text}\"");
        let topic = format!("[\"{}\"]", self.topic);
        let dead_topic = quoted(&self.dead_topic);
        let (bucket, group) = (quoted(self.bucket.bucket()), quoted(&self.group));
        let index = format!("\"{}-{{timestamp", self.stem);
        self.with("127.0.0.1:9092", &services.kafka)?
            .with("http://127.0.0.1:9200", &services.opensearch)?
            .with("http://127.0.0.1:8333", &services.s3)?
            .with("[\"train-logs\"]", &topic)?
            .with("\"train-logs.dead\"", &dead_topic)?
            .with("\"train-logs\"  ", &format!("{bucket}  "))?
            .with("\"riverhog\"", &group)?
            .with("\"ms-swift-train-logs-{timestamp", &index)
    }

    /// Changes one place of the configuration.
    pub(crate) fn with(mut self, from: &str, to: &str) -> Result<Self> {
        self.config = changed(&self.config, from, to)?;
        Ok(self)
    }

    /// Objects of two seconds, so that chains have many, or of 1 KiB, so that busy chains are ahead
    /// of what can be committed; and members that are given up after three seconds.
    pub(crate) fn with_small_objects(self) -> Result<Self> {
        self.with_members_of(QUICK_MEMBERS)
    }

    /// The same objects; members with these properties, `"name" = "value"` one after the other.
    pub(crate) fn with_members_of(self, properties: &str) -> Result<Self> {
        let properties = format!("properties = {{ {properties} }} # {{");
        self.with("size = \"16MiB\", age = \"10m\"", "size = \"1KiB\", age = \"2s\"")?
            .with("# properties = { \"security.protocol\"", &properties)
    }

    /// The configuration as it stands.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts an instance. The configuration names no secret: they come from the environment.
    pub(crate) fn start(&self, name: &str) -> Result<Riverhog> {
        self.start_with(name, &[])
    }

    /// As [`Bed::start`], with these arguments.
    pub(crate) fn start_with(&self, name: &str, args: &[&str]) -> Result<Riverhog> {
        self.start_changed(name, args, &[])
    }

    /// As [`Bed::start`], with these arguments and places of the configuration changed, each of
    /// which must be there once.
    pub(crate) fn start_changed(
        &self,
        name: &str,
        args: &[&str],
        changes: &[(&str, &str)],
    ) -> Result<Riverhog> {
        let (key, secret) = self.credentials.clone();
        let mut config = self.config.clone();
        for (from, to) in changes {
            config = changed(&config, from, to)?;
        }
        Riverhog::start(Launch {
            folder: self.folder().to_owned(),
            name: name.to_owned(),
            config,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![
                ("AWS_ACCESS_KEY_ID".to_owned(), key),
                ("AWS_SECRET_ACCESS_KEY".to_owned(), secret),
            ],
        })
    }

    /// Runs a command with a copy of the configuration, which has the secrets in it.
    pub(crate) fn command(&self, words: &[&str]) -> Result<Finished> {
        let (key, secret) = &self.credentials;
        let keys = format!("access_key = \"{key}\"\nsecret_key = \"{secret}\"\nbucket   =");
        ensure!(self.config.matches("bucket   =").count() == 1, "no place for the keys");
        let path = self.folder().join("command.toml");
        std::fs::write(path, self.config.replace("bucket   =", &keys))?;
        let words: Vec<&str> = words.iter().copied().chain(["command.toml"]).collect();
        run_command(self.folder(), &words)
    }

    /// `riverhog archive verify` must find so many lines and nothing wrong.
    pub(crate) fn verify_archive(&self, lines: usize) -> Result<()> {
        let verified = self.command(&["archive", "verify", "--format", "json"])?;
        let report: serde_json::Value =
            serde_json::from_str(&verified.stdout).with_context(|| format!("{verified:?}"))?;
        let clean = verified.code == Some(0) && report["ok"] == true;
        ensure!(clean && report["problems_total"] == 0, "{verified:?}");
        ensure!(report["lines"] == lines, "{lines} lines were archived; {verified:?}");
        ensure!(report["repeated_lines"] == 0, "{verified:?}");
        Ok(())
    }

    /// No store refused a line, and each was routed.
    pub(crate) fn has_no_dead_letter(&self) -> Result<()> {
        let dead = self.broker.read_all(&self.dead_topic)?;
        let shown = dead.first().and_then(|letter| letter.value.as_deref());
        let shown = String::from_utf8_lossy(shown.unwrap_or_default());
        ensure!(dead.is_empty(), "{} dead letters, such as {shown}", dead.len());
        Ok(())
    }

    /// Per partition the committed offset; 0 where nothing was committed.
    pub(crate) fn committed(&self) -> Result<Vec<i64>> {
        self.broker.committed_offsets(&self.group, &self.topic)
    }

    /// Waits until these ends are committed.
    pub(crate) async fn has_committed(&self, ends: &[i64], deadline: Duration) {
        self.broker.has_committed(&self.group, &self.topic, ends, deadline).await;
    }
}

fn changed(config: &str, from: &str, to: &str) -> Result<String> {
    let places = config.matches(from).count();
    ensure!(places == 1, "`{from}` stands {places} times in the configuration");
    Ok(config.replace(from, to))
}
