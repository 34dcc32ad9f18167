//! A topic, a configuration that reads it over a secured listener into a folder, with dead letters
//! on the same broker, and what must have come of it.
//!
//! The invariant: nothing is stored or committed before it went through the secured listener. Next
//! stop: `logins.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{
    Broker, Finished, Launch, NewRecord, Riverhog, Services, events_in, run_command, services,
    unique,
};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// librdkafka's properties, each on a line of its own as TOML has it.
pub(crate) type Properties = Vec<(&'static str, String)>;

/// See the module documentation.
pub(crate) struct Bed {
    pub(crate) services: Services,
    pub(crate) broker: Broker,
    pub(crate) topic: String,
    pub(crate) folder: TempDir,
    produced: i64,
}

impl Bed {
    /// `None` without services.
    pub(crate) async fn new(name: &str) -> Result<Option<Self>> {
        let Some(services) = services() else { return Ok(None) };
        let (topic, broker) = (unique(name), services.broker());
        broker.create_topic(&topic, 1, &[]).await?;
        broker.create_topic(&format!("{topic}.dead"), 1, &[]).await?;
        let folder = TempDir::new().context("a folder")?;
        Ok(Some(Self { services, broker, topic, folder, produced: 0 }))
    }

    /// A file that the broker's certificates were made with.
    pub(crate) fn certificate(&self, name: &str) -> PathBuf {
        self.services.certificates().join(name)
    }

    /// `name = "value"` of a file of those.
    pub(crate) fn trusting(&self) -> (&'static str, String) {
        ("ssl.ca.location", self.certificate("ca.pem").display().to_string())
    }

    /// A line that is read and one that is no line of ours, which becomes a dead letter.
    pub(crate) fn produce(&mut self) -> Result<()> {
        let number = self.produced / 2;
        let line = format!("2026-03-12 10:23:45,123 INFO trainer: step {number}");
        let records = [line, format!("not a line {number}")]
            .map(|text| NewRecord { value: Some(text.into_bytes()), ..NewRecord::default() });
        self.produced += self.broker.produce(&self.topic, records)? as i64;
        Ok(())
    }

    /// The configuration for a listener.
    pub(crate) fn config(&self, listener: &str, properties: &Properties) -> String {
        let one = |(name, value): &(&str, String)| format!("\"{name}\" = '{value}'");
        let properties: Vec<_> = properties.iter().map(one).collect();
        let properties = properties.join("\n");
        format!(
            r#"memory   = "64MiB"
unparsed = "dead_letter"

[sources.logs]
type    = "kafka"
brokers = ["{listener}"]
topics  = ["{topic}"]
group   = "{topic}"

[sources.logs.properties]
{properties}

[labels]
task = {{ from = ["fields.task"], default = "t" }}

[[parse]]
name = "line"
grok = '^%{{TIMESTAMP_ISO8601:log_time}} %{{LOGLEVEL:level}} %{{NOTSPACE:component}}: %{{GREEDYDATA:content}}'
time = {{ field = "log_time", zone = "UTC" }}

[[route]]
sinks = ["archive"]

[sinks.archive]
type   = "local"
path   = "archive"
prefix = "{{task}}/"
object = {{ age = "1s" }}

[dead_letter]
type  = "kafka"
topic = "{topic}.dead"
"#,
            topic = self.topic,
        )
    }

    /// Starts an instance.
    pub(crate) fn start(&self, listener: &str, properties: &Properties) -> Result<Riverhog> {
        Riverhog::start(Launch {
            folder: self.folder.path().to_owned(),
            name: "riverhog".to_owned(),
            config: self.config(listener, properties),
            ..Launch::default()
        })
    }

    /// What `check --connect` says of it.
    pub(crate) fn check(&self, listener: &str, properties: &Properties) -> Result<Finished> {
        let text = self.config(listener, properties);
        std::fs::write(self.folder.path().join("check.toml"), text).context("a configuration")?;
        run_command(self.folder.path(), &["check", "--connect", "check.toml"])
    }

    /// Waits until all that was produced is committed; then each line is where it belongs, once.
    pub(crate) async fn is_settled(&self) -> Result<()> {
        let ends = [self.produced];
        self.broker.has_committed(&self.topic, &self.topic, &ends, DEADLINE).await;
        let mut stored = Vec::new();
        for entry in std::fs::read_dir(self.folder.path().join("archive/t"))? {
            let path = entry?.path();
            for event in events_in(&std::fs::read(&path)?)? {
                stored.push(event["content"].as_str().unwrap_or_default().to_owned());
            }
        }
        stored.sort();
        let mut expected: Vec<_> = (0..self.produced / 2).map(|it| format!("step {it}")).collect();
        expected.sort();
        ensure!(stored == expected, "{stored:?}, not {expected:?}");
        let letters = self.broker.read_all(&format!("{}.dead", self.topic))?.len() as i64;
        ensure!(letters == self.produced / 2, "{letters} dead letters of {}", self.produced / 2);
        Ok(())
    }
}
