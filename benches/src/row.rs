//! One run of one row of the table: the store, what is measured, the wait for the last line.
//!
//! The invariant: a run ends when the store has every line, when the measured process ends, or
//! when nothing has come for [`QUIET_MAX`]; what is missing then is told as lost. Next stop:
//! `report.rs`.

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use riverhog::clock;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::Instant;

use crate::child::{LOOK, Measured, Used, myself};
use crate::http::get;
use crate::load::Load;
use crate::tally::Counted;

/// How long a run goes on while nothing arrives.
const QUIET_MAX: Duration = Duration::from_mins(1);
/// How long the end of a process may take.
const END_MAX: Duration = Duration::from_mins(1);
/// Between two questions to riverhog or the store.
const ASK: Duration = Duration::from_millis(100);

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Row {
    /// librdkafka, message by message, thrown away
    Consumer,
    /// riverhog's source alone, by the batch, thrown away
    Source,
    /// riverhog with one `_bulk` sink, uncompressed
    Bulk,
    /// The same without `message` in the documents
    BulkOmit,
    /// riverhog with one S3 sink, zstd, 12 prefixes
    S3,
}

/// What all runs of a bench share.
pub(crate) struct Bench<'a> {
    pub(crate) brokers: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) load: Load,
    /// As in the configuration.
    pub(crate) memory: &'a str,
    pub(crate) memory_bytes: u64,
    /// Another riverhog than the one in this program.
    pub(crate) riverhog: Option<&'a Path>,
    pub(crate) ends: &'a [u64],
    /// Configurations and logs.
    pub(crate) folder: &'a Path,
}

/// One run's figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) used: Used,
    /// From the start of the process to the last line.
    pub(crate) wall: Duration,
    pub(crate) counted: Option<Counted>,
}

impl Row {
    /// As in the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Row::Consumer => "bare consumer, message by message",
            Row::Source => "bare consumer, as riverhog takes messages",
            Row::Bulk => "riverhog to `_bulk`, uncompressed",
            Row::BulkOmit => "riverhog to `_bulk`, `omit = [\"message\"]`",
            Row::S3 => "riverhog to S3, zstd, 12 prefixes",
        }
    }
}

impl Bench<'_> {
    /// Runs a row once, as a consumer group of its own.
    pub(crate) async fn run(&self, row: Row, group: &str) -> Result<Run> {
        match row {
            Row::Consumer => self.run_consumer("consumer", group).await,
            Row::Source => self.run_consumer("source", group).await,
            Row::Bulk | Row::BulkOmit | Row::S3 => self.run_riverhog(row, group).await,
        }
    }

    async fn run_consumer(&self, kind: &str, group: &str) -> Result<Run> {
        let option = |name: &str, value: String| [format!("--{name}"), value];
        let mut arguments = vec![kind.to_owned()];
        arguments.extend(option("brokers", self.brokers.to_owned()));
        arguments.extend(option("topic", self.topic.to_owned()));
        arguments.extend(option("group", group.to_owned()));
        arguments.extend(option("lines", self.load.lines.to_string()));
        arguments.extend(option("partitions", self.load.partitions.to_string()));
        arguments.extend(option("memory", self.memory_bytes.to_string()));
        let started = clock::instant();
        let mut child = Measured::start(myself(&arguments)?, &self.folder.join("consumer.log"))?;
        let status = child.wait(QUIET_MAX * 5).await?;
        let wall = started.elapsed();
        ensure!(status.success(), "the {kind} ended with {status}: {}", self.log("consumer.log"));
        Ok(Run { used: child.used(), wall, counted: None })
    }

    async fn run_riverhog(&self, row: Row, group: &str) -> Result<Run> {
        let kind = if row == Row::S3 { "object-store" } else { "bulk-store" };
        let ends: Vec<String> = self.ends.iter().map(u64::to_string).collect();
        let mut command = myself(&[kind.to_owned(), "--ends".to_owned(), ends.join(",")])?;
        command.stdout(Stdio::piped());
        let mut store = Measured::start(command, &self.folder.join("store.log"))?;
        let address = store.first_line()?;
        let http = format!("127.0.0.1:{}", free_port()?);
        let config = self.folder.join("riverhog.toml");
        std::fs::write(self.folder.join("hosts.csv"), self.load.hosts_csv())?;
        std::fs::write(&config, self.config(row, group, &address, &http))?;
        let started = clock::instant();
        let mut command = match self.riverhog {
            Some(path) => {
                let mut command = Command::new(path);
                command.args(["run", &config.display().to_string()]).stdin(Stdio::null());
                command
            }
            None => myself(&["run".to_owned(), config.display().to_string()])?,
        };
        command.stdout(Stdio::null());
        let mut riverhog = Measured::start(command, &self.folder.join("riverhog.log"))?;
        let last = self.wait_for_lines(row, &mut riverhog, &address, &http).await?;
        riverhog.terminate()?;
        let status = riverhog.wait(END_MAX).await?;
        ensure!(status.success(), "riverhog ended with {status}: {}", self.log("riverhog.log"));
        let (last, path) = if row == Row::S3 {
            let counted = Counted::read(&get(&address, "/tally").await?)?;
            (since(&counted), "/count")
        } else {
            (last, "/tally")
        };
        let counted = Counted::read(&get(&address, path).await?)?;
        let wall = last.saturating_duration_since(started);
        Ok(Run { used: riverhog.used(), wall, counted: Some(counted) })
    }

    /// Waits until every line has arrived (`_bulk`) or has been read (S3: the rest is in open
    /// objects, which a stop stores). Tells when the last came.
    async fn wait_for_lines(
        &self,
        row: Row,
        riverhog: &mut Measured,
        store: &str,
        http: &str,
    ) -> Result<Instant> {
        let (mut asked, mut moved, mut before) = (clock::instant(), clock::instant(), 0);
        loop {
            tokio::time::sleep(LOOK).await;
            if riverhog.look()? {
                bail!("riverhog has ended: {}", self.log("riverhog.log"));
            }
            if asked.elapsed() < ASK {
                continue;
            }
            asked = clock::instant();
            let (lines, last) = if row == Row::S3 {
                // Until it serves there is nothing to read.
                let page = get(http, "/metrics").await.unwrap_or_default();
                (lines_read(&page), clock::instant())
            } else {
                let counted = Counted::read(&get(store, "/tally").await?)?;
                (counted.distinct, since(&counted))
            };
            if lines >= self.load.lines {
                return Ok(last);
            }
            if lines > before {
                (moved, before) = (clock::instant(), lines);
            }
            if moved.elapsed() > QUIET_MAX {
                return Ok(last);
            }
        }
    }

    fn log(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn config(&self, row: Row, group: &str, store: &str, http: &str) -> String {
        let Bench { brokers, topic, memory, .. } = self;
        let sink = match row {
            Row::S3 => format!(
                "type = \"s3\"\nendpoint = \"http://{store}\"\nbucket = \"bench\"\n\
                 prefix = \"{{task}}/{{timestamp:%Y-%m-%d}}/{{role}}/\"\n\
                 access_key = \"bench\"\nsecret_key = \"bench-secret\"\n"
            ),
            _ => format!(
                "type = \"elasticsearch\"\nurls = [\"http://{store}\"]\n\
                 index = \"ms-swift-train-logs-{{timestamp:%Y.%m.%d}}\"\n"
            ),
        };
        let omit = if row == Row::BulkOmit { "omit = [\"message\"]\n" } else { "" };
        format!(
            r#"memory = "{memory}"

[sources.logs]
type    = "kafka"
brokers = ["{brokers}"]
topics  = ["{topic}"]
group   = "{group}"
start   = "earliest"

[labels]
task    = {{ from = ["header.task", "host.task"], default = "unassigned" }}
role    = {{ from = ["header.role", "host.role"], default = "worker" }}
project = {{ from = ["header.project"], default = "shared" }}

[hosts]
from  = ["header.host", "envelope.host", "key"]
table = "hosts.csv"

{PARSE}
[[route]]
sinks = ["store"]

[sinks.store]
{sink}{omit}
[dead_letter]
type = "local"
path = "dead"

[http]
listen = "{http}"
"#
        )
    }
}

/// The parser of the guide.
pub(crate) const PARSE: &str = r#"[[parse]]
name = "swift"
grok = '%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:content}'
time = { field = "log_time", formats = ["ISO8601", "yyyy-MM-dd HH:mm:ss,SSS"], zone = "Asia/Shanghai" }
"#;

fn since(counted: &Counted) -> Instant {
    let now = clock::instant();
    now.checked_sub(Duration::from_millis(counted.quiet_ms)).unwrap_or(now)
}

/// The sum of `riverhog_source_lines_total` over topics.
fn lines_read(page: &str) -> u64 {
    let lines = page.lines().filter(|line| line.starts_with("riverhog_source_lines_total"));
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    lines.filter_map(value).sum::<f64>() as u64
}

/// A port that nobody listens on at the moment.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a port")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_are_summed_over_topics() {
        let page = "# TYPE riverhog_source_lines_total counter\n\
                    riverhog_source_lines_total{topic=\"a\"} 12\n\
                    riverhog_source_lines_total{topic=\"b\"} 3\nother 9\n";
        assert_eq!(lines_read(page), 15);
        assert_eq!(lines_read(""), 0);
    }
}
