//! A file of lines, the configuration that sends it to one store, and runs of it from start to end.
//!
//! The invariant: the file stays as it is from run to run, so each run has the same event ids.
//! Next stop: `search.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{
    Finished, Launch, Riverhog, SearchStore, Services, free_port, run_command, services, unique,
};
use std::fmt::Write as _;
use tempfile::TempDir;

pub(crate) const LINES: u64 = 500;
/// Half of the lines are of each.
pub(crate) const TASKS: [&str; 2] = ["sft", "dpo"];

/// See the module documentation.
pub(crate) struct Bed {
    pub(crate) services: Services,
    pub(crate) search: SearchStore,
    pub(crate) folder: TempDir,
    /// What names of this test begin with.
    pub(crate) name: String,
}

impl Bed {
    /// `None` without services.
    pub(crate) fn new(name: &str) -> Result<Option<Self>> {
        let Some(services) = services() else { return Ok(None) };
        let folder = TempDir::new().context("a folder")?;
        let mut text = String::new();
        for number in 0..LINES {
            let task = TASKS[(number % 2) as usize];
            writeln!(text, "2026-03-12 10:23:45,{:03} INFO {task} step {number}", number % 1000)?;
        }
        std::fs::write(folder.path().join("lines.log"), text).context("the lines")?;
        let search = services.search();
        Ok(Some(Self { services, search, folder, name: unique(name) }))
    }

    /// The configuration of one sink, of which this says all but the name.
    pub(crate) fn configure(&self, sink: &str) -> Result<()> {
        let text = format!(
            r#"[sources.lines]
type = "file"
path = "lines.log"

[http]
listen = "127.0.0.1:{}"

[labels]
task = {{ from = ["fields.task"] }}

[[parse]]
name = "line"
grok = '^%{{TIMESTAMP_ISO8601:log_time}} %{{LOGLEVEL:level}} %{{WORD:task}} %{{GREEDYDATA:content}}'
time = {{ field = "log_time", zone = "UTC" }}

[[route]]
sinks = ["{name}"]

[dead_letter]
type = "local"
path = "dead"

[sinks.{name}]
{sink}
"#,
            free_port()?,
            name = self.name,
        );
        std::fs::write(self.folder.path().join("riverhog.toml"), text).context("the configuration")
    }

    /// An `elasticsearch` sink for an index of this test's.
    pub(crate) fn search_sink(&self, settings: &str) -> Result<()> {
        let (url, name) = (&self.services.opensearch, &self.name);
        self.search_sink_at(&format!("\"{url}\""), name, settings)
    }

    pub(crate) fn search_sink_at(&self, urls: &str, index: &str, settings: &str) -> Result<()> {
        self.configure(&format!(
            "type = \"elasticsearch\"\nurls = [{urls}]\nindex = \"{index}\"\n\
             batch = {{ count = 100 }}\n{settings}"
        ))
    }

    /// Any command in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Result<Finished> {
        run_command(self.folder.path(), args)
    }

    /// Sends the whole file.
    pub(crate) fn run(&self) -> Result<Finished> {
        let finished = self.command(&["run", "riverhog.toml"])?;
        ensure!(finished.code == Some(0), "{finished:?}");
        Ok(finished)
    }

    /// Sends the whole file while the test goes on.
    pub(crate) fn start(&self) -> Result<Riverhog> {
        let text = std::fs::read_to_string(self.folder.path().join("riverhog.toml"))?;
        let (before, rest) = text.split_once("listen = \"").context("a port")?;
        let (_, after) = rest.split_once('"').context("the end of the port")?;
        Riverhog::start(Launch {
            folder: self.folder.path().to_owned(),
            name: "started".to_owned(),
            config: format!("{before}listen = \"@HTTP@\"{after}"),
            ..Launch::default()
        })
    }

    /// Dead letters so far.
    pub(crate) fn dead_letters(&self) -> Result<u64> {
        let Ok(files) = std::fs::read_dir(self.folder.path().join("dead")) else { return Ok(0) };
        let mut lines = 0;
        for file in files {
            lines += std::fs::read_to_string(file?.path())?.lines().count() as u64;
        }
        Ok(lines)
    }
}
