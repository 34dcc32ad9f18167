//! `riverhog demo`: the main job on embedded parts. A simulated cluster logs into librdkafka's mock
//! broker inside this process; a real pipeline carries the lines to a local archive.
//!
//! Invariant: the pipeline is the one that `run` starts, from a configuration file that the user
//! can read; the demo ends well only if archive and dead letters, read back from the disk, hold
//! exactly what was produced. Next stops: `job.rs`, `producer.rs`, `summary.rs`.

mod committed;
mod job;
mod lines;
mod producer;
mod summary;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use riverhog_config::{Config, ProcessEnv};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::console::{Mood, grouped};
use super::signals::Signals;
use super::{CommandError, Console, Exit, plural, runtime};
use crate::assemble::{AssembleError, Pipeline, Surroundings};
use crate::clock;
use crate::driver::Ended;
use crate::share::Share;
use crate::telemetry::health::Health;
use crate::telemetry::http::{Answers, Doors, Server};
use crate::telemetry::log::{self, FILTER_VARIABLE, LogFormat};
use crate::telemetry::metrics::Metrics;
use job::{Job, PARTITIONS};
use producer::Progress;
use summary::Summary;

const TOPIC: &str = "train-logs";
const GROUP: &str = "riverhog-demo";
/// The configuration, but for what differs from run to run.
const CONFIG: &str = include_str!("demo.toml");
/// Lines a second where neither a number of lines nor a rate is asked for.
const RATE_DEFAULT: u64 = 2_000;
/// From this rate on objects are small, so that lines settle as fast as they come.
const RATE_FAST: u64 = 5_000;
/// Between two commits: short, since the producer waits for them.
const COMMIT_INTERVAL: Duration = Duration::from_millis(200);
/// Between two words about the progress.
const WORDS_INTERVAL: Duration = Duration::from_secs(10);
/// After this long a demo without an end shows what it has stored so far.
const FIRST_LOOK: Duration = Duration::from_secs(15);
/// Between two looks at it.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Without a commit for this long the demo has failed.
const STANDSTILL_MAX: Duration = Duration::from_secs(90);
/// How long a stop flushes.
const STOP_DEADLINE: Duration = Duration::from_secs(30);
const SEED: u64 = 20_260_312;

const EXAMPLES: &str = "Examples:
  riverhog demo                        until Ctrl-C
  riverhog demo --lines 200000         ends by itself
  riverhog demo --dir /tmp/demo --rate 500

A simulated training job logs into a broker inside this process: three tasks, 88 ranks, warnings,
tracebacks, lines that no pattern takes, and a run that dies when rank 37 runs out of GPU memory.
A local folder is the archive, another takes the dead letters.

Exit code 0 only if everything that was produced was found in archive and dead letters again.";

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DemoArgs {
    /// End after so many lines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    lines: Option<u64>,
    /// Where everything is put; a new folder for temporary files where it is not given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Lines a second; with --lines as fast as it goes, else 2000
    #[arg(long, value_name = "LINES/S", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
}

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// What a demo is made of.
struct Demo<'a> {
    args: &'a DemoArgs,
    console: Console,
    folder: PathBuf,
    brokers: String,
    progress: Arc<Progress>,
}

/// Why the producing was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// All lines were produced and are settled.
    Settled,
    /// Ctrl-C.
    Asked,
    /// Ctrl-C, twice.
    AskedTwice,
    /// Nothing moves any more.
    Standstill,
    /// The pipeline has ended by itself.
    PipelineEnded,
}

pub(super) fn run(args: &DemoArgs, console: Console) -> Result<Exit, CommandError> {
    // The demo speaks for itself; who wants to see more asks for it.
    let wants_log = std::env::var_os(FILTER_VARIABLE).is_some();
    let log = wants_log.then(|| log::init(LogFormat::Auto, console.log_color()));
    let _log = log.transpose().map_err(|error| CommandError::wrong(error.to_string()))?;
    let folder = folder(args)?;
    let cluster = cluster()?;
    let brokers = cluster.bootstrap_servers();
    let config = configuration(args, &folder, &brokers)?;
    let demo = Demo { args, console, folder, brokers, progress: Arc::default() };
    let runtime = runtime()?;
    let exit = runtime.block_on(demo.run(&config));
    runtime.shutdown_timeout(Duration::from_secs(2));
    drop(cluster);
    exit
}

/// The demo's folder: it must not hold an earlier demo, whose lines would be counted.
fn folder(args: &DemoArgs) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, error: std::io::Error| {
        CommandError::wrong(format!("--dir {}: {error}", path.display()))
    };
    let Some(dir) = &args.dir else {
        let made = tempfile::Builder::new().prefix("riverhog-demo-").tempdir();
        return made
            .map(tempfile::TempDir::keep)
            .map_err(|error| failed(&std::env::temp_dir(), error));
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for name in ["archive", "dead-letters"] {
        if dir.join(name).exists() {
            let message = format!("--dir {}: there is a folder `{name}` in it", dir.display());
            let help = "name another folder, or remove what an earlier demo has left there";
            return Err(CommandError::wrong(message).with_help(help));
        }
    }
    std::path::absolute(dir).map_err(|error| failed(dir, error))
}

fn cluster() -> Result<Cluster, CommandError> {
    let made = MockCluster::new(1).and_then(|cluster| {
        cluster.create_topic(TOPIC, PARTITIONS, 1)?;
        Ok(cluster)
    });
    made.map_err(|error| CommandError::failed(format!("the embedded broker: {error}")))
}

/// Writes the configuration into the folder and loads it from there.
fn configuration(args: &DemoArgs, folder: &Path, brokers: &str) -> Result<Config, CommandError> {
    let is_fast = args.rate.map_or(args.lines.is_some(), |rate| rate >= RATE_FAST);
    let text = CONFIG
        .replace("@BROKERS@", brokers)
        .replace("@TOPIC@", TOPIC)
        .replace("@GROUP@", GROUP)
        .replace("@SIZE@", if is_fast { "24KiB" } else { "16MiB" })
        .replace("@AGE@", if is_fast { "1s" } else { "5s" });
    let path = folder.join("riverhog.toml");
    let written = std::fs::write(folder.join("hosts.csv"), job::host_table())
        .and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| CommandError::failed(format!("{}: {error}", path.display())))?;
    riverhog_config::load(&path, &ProcessEnv).map_err(CommandError::Config)
}

impl Demo<'_> {
    async fn run(&self, config: &Config) -> Result<Exit, CommandError> {
        let mut signals = Signals::take()?;
        let (metrics, health) = (Metrics::new(), Health::new());
        let server = self.server(config, &metrics, &health).await?;
        let (stop, _) = watch::channel(false);
        let surroundings = Surroundings {
            metrics,
            health,
            stop: stop.clone(),
            stop_deadline: STOP_DEADLINE,
            commit_interval: COMMIT_INTERVAL,
            share: Share::all(config.sinks.len()),
        };
        let pipeline = Pipeline::assemble(config, &surroundings, None).await?;
        let mut pipeline = tokio::spawn(pipeline.run());
        let watching = tokio::spawn(committed::watch(
            self.brokers.clone(),
            TOPIC.to_owned(),
            GROUP.to_owned(),
            Arc::clone(&self.progress),
        ));
        let mut producing = self.start_producer();
        self.tell_begin(&server)?;
        let over = self.wait(&mut signals, &mut producing, &mut pipeline).await?;
        watching.abort();
        if over == Over::AskedTwice {
            return Ok(Exit::Interrupted);
        }
        stop.send_replace(true);
        let ended = tokio::select! {
            ended = pipeline => ended,
            _ = signals.next() => return Ok(Exit::Interrupted),
        };
        server.stop().await;
        let ended = ended.map_err(|error| CommandError::failed(error.to_string()))?;
        self.tell_end(over, ended).await
    }

    /// Listens where the configuration says, or where there is room.
    async fn server(
        &self,
        config: &Config,
        metrics: &Metrics,
        health: &Health,
    ) -> Result<Server, CommandError> {
        let start = |address| {
            let answers =
                Answers { metrics: metrics.clone(), health: health.clone(), reload: None };
            Server::start(address, answers, Doors::default())
        };
        let mut listen = config.http.listen;
        if let Ok(server) = start(listen).await {
            return Ok(server);
        }
        listen.set_port(0);
        start(listen).await.map_err(|error| CommandError::failed(error.to_string()))
    }

    fn start_producer(&self) -> tokio::task::JoinHandle<Result<(), String>> {
        let (brokers, progress) = (self.brokers.clone(), Arc::clone(&self.progress));
        let unlimited = self.args.lines.is_some();
        let rate = self.args.rate.or((!unlimited).then_some(RATE_DEFAULT));
        let job = Job::new(SEED, self.args.lines);
        tokio::task::spawn_blocking(move || {
            producer::produce(&brokers, TOPIC, job, rate, &progress)
        })
    }

    fn tell_begin(&self, server: &Server) -> Result<(), CommandError> {
        let mut out = self.console.out();
        let folder = self.folder.display();
        writeln!(
            out,
            "A simulated cluster logs into a broker inside this process ({PARTITIONS} partitions)."
        )?;
        writeln!(out, "  configuration  {folder}/riverhog.toml")?;
        writeln!(out, "  archive        {folder}/archive/TASK/DATE/ROLE/")?;
        writeln!(out, "  dead letters   {folder}/dead-letters/")?;
        writeln!(out, "  metrics        http://{}/metrics", server.address())?;
        match self.args.lines {
            Some(lines) => writeln!(out, "It ends after {}.", plural(lines, "line"))?,
            None => writeln!(out, "Ctrl-C ends it.")?,
        }
        out.flush()?;
        Ok(())
    }

    /// Waits until everything is settled, somebody has seen enough, or nothing moves.
    async fn wait(
        &self,
        signals: &mut Signals,
        producing: &mut tokio::task::JoinHandle<Result<(), String>>,
        pipeline: &mut tokio::task::JoinHandle<Result<Ended, AssembleError>>,
    ) -> Result<Over, CommandError> {
        let mut look = tokio::time::interval(LOOK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begun = clock::instant();
        let (mut moved_at, mut settled, mut told_at) = (begun, 0, begun);
        let (mut has_produced, mut has_shown) = (false, self.args.lines.is_some());
        let mut over = Over::Settled;
        loop {
            tokio::select! {
                biased;
                _ = signals.next() => {
                    if over == Over::Asked {
                        return Ok(Over::AskedTwice);
                    }
                    over = Over::Asked;
                    self.progress.stop.store(true, Ordering::Release);
                    self.console.tell("stopping: what was produced is settled first");
                }
                produced = &mut *producing, if !has_produced => {
                    has_produced = true;
                    let produced = produced.map_err(|error| error.to_string()).flatten();
                    let failed = |why| CommandError::failed(format!("the simulated job: {why}"));
                    produced.map_err(failed)?;
                }
                _ = look.tick() => {}
            }
            let now = clock::instant();
            let settled_now = self.progress.settled_records();
            if settled_now != settled {
                (settled, moved_at) = (settled_now, now);
            }
            if self.progress.is_settled() {
                return Ok(over);
            }
            if pipeline.is_finished() {
                return Ok(Over::PipelineEnded);
            }
            if now - moved_at > STANDSTILL_MAX {
                return Ok(Over::Standstill);
            }
            if !has_shown && settled > 0 && now - begun > FIRST_LOOK {
                has_shown = true;
                self.tell_so_far().await?;
            }
            if now - told_at > WORDS_INTERVAL {
                told_at = now;
                self.tell_progress((now - begun).as_secs());
            }
        }
    }

    async fn tell_so_far(&self) -> Result<(), CommandError> {
        let summary = self.read_back().await?;
        let mut out = self.console.out();
        writeln!(out, "Stored so far:")?;
        summary.write(&mut out, self.console)?;
        self.write_next(&mut out)?;
        out.flush()?;
        Ok(())
    }

    async fn read_back(&self) -> Result<Summary, CommandError> {
        let (archive, dead) = (self.folder.join("archive"), self.folder.join("dead-letters"));
        Summary::read(&archive, &dead).await.map_err(CommandError::failed)
    }

    fn tell_progress(&self, seconds: u64) {
        let progress = &self.progress;
        let lines = progress.lines.load(Ordering::Acquire);
        let records = progress.records().max(0) as u64;
        let settled = progress.settled_records().max(0) as u64;
        self.console.tell(&format!(
            "{seconds:>4} s  {} in {}, {} settled",
            plural(lines, "line"),
            plural(records, "record"),
            grouped(settled.min(records)),
        ));
    }

    /// Reads everything back and compares.
    async fn tell_end(
        &self,
        over: Over,
        ended: Result<Ended, AssembleError>,
    ) -> Result<Exit, CommandError> {
        let summary = self.read_back().await?;
        let mut out = self.console.out();
        summary.write(&mut out, self.console)?;
        let produced = self.progress.lines.load(Ordering::Acquire);
        let is_same = produced == summary.lines() && summary.archive.is_clean();
        let verdict = if is_same {
            self.console.paint(Mood::Good, "✓ nothing lost, nothing twice")
        } else {
            self.console.paint(Mood::Bad, "✗ that does not add up")
        };
        writeln!(
            out,
            "produced {} = archive {} + dead letters {}: {}",
            grouped(produced),
            grouped(summary.archive.lines),
            grouped(summary.dead_letters()),
            verdict,
        )?;
        for problem in summary.archive.problems.iter().take(10) {
            writeln!(out, "  {problem}")?;
        }
        self.write_next(&mut out)?;
        out.flush()?;
        let why = match (over, ended?) {
            (Over::Standstill, _) => {
                Some(format!("nothing was settled for {} s", STANDSTILL_MAX.as_secs()))
            }
            (_, Ended::Failed(why)) => Some(why),
            (Over::PipelineEnded, _) => Some("the pipeline ended before the job did".to_owned()),
            (_, Ended::Deadline) => Some("the stop took too long".to_owned()),
            (_, Ended::Settled | Ended::Read) if !is_same => {
                Some("produced and settled differ".to_owned())
            }
            (_, Ended::Settled | Ended::Read) => None,
        };
        match why {
            None => Ok(Exit::Done),
            Some(why) => Err(CommandError::failed(format!("the demo failed: {why}"))
                .with_help(format!("{FILTER_VARIABLE}=info shows what the parts say"))),
        }
    }

    fn write_next(&self, out: &mut impl Write) -> std::io::Result<()> {
        let folder = self.folder.display();
        writeln!(out, "Next:")?;
        let trainer = "archive/train-task-2026-0312/*/trainer/*.zst";
        writeln!(out, "  zstdcat {folder}/{trainer} | grep -m 5 '\"level\":\"error\"'")?;
        writeln!(out, "  riverhog archive verify --path {folder}/archive")?;
        writeln!(out, "  riverhog test {folder}/riverhog.toml")?;
        writeln!(out, "  riverhog parse --config {folder}/riverhog.toml < YOUR.log")
    }
}
