//! `riverhog run`: carries lines until it is stopped or its sources have ended.
//!
//! Invariant: the first signal stops in order within the deadline, the second ends at once; either
//! way nothing unsettled was committed. Next stop: [`crate::assemble`].

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use riverhog_config::{Config, Sink, SinkKind, Source, SourceKind, Topics};
use tokio::sync::{mpsc, watch};

use super::keep::{End, Keeper};
use super::reload::{self, Requests};
use super::signals::Signals;
use super::{CommandError, ConfigArg, Console, Exit, load_to_run, runtime};
use crate::assemble::AssembleError;
use crate::driver::Ended;
use crate::share::Share;
use crate::telemetry::health::Health;
use crate::telemetry::http::{Answers, Server};
use crate::telemetry::log::{self, LogFormat};
use crate::telemetry::metrics::Metrics;

const EXAMPLES: &str = "Examples:
  riverhog run                               the configuration in riverhog.toml
  riverhog run /etc/riverhog                 a folder of *.toml files
  riverhog run --sinks archive --listen 127.0.0.1:9601
                                             one sink alone, beside `riverhog run --sinks search`
  RIVERHOG_LOG=debug riverhog run            more words

The first SIGTERM or SIGINT stops in order: what is read is delivered and committed within the
deadline. The second ends at once; what is not committed is read again at the next start.

SIGHUP loads the configuration again: one that cannot be used changes nothing and says why in the
log; else what is read is delivered within the deadline, and reading goes on under the new one
without leaving the group.

Exit codes: 0 everything read was settled, 1 failed, 2 the configuration is wrong, 3 the deadline
passed with lines unsettled (they are read again), 130 ended by a second signal, or by a first one
before a file was read to its end.";

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// What a stop may take, such as 30s; in place of `stop_deadline` in the configuration
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) stop_deadline: Option<Duration>,
    /// Run these sinks alone, as the consumer group `<group>.<sink>`, which begins where `<group>`
    /// has come to; other sinks are run by processes of their own, and none waits for another
    #[arg(long, value_name = "SINK,…", value_delimiter = ',')]
    pub(super) sinks: Vec<String>,
    /// Where `/metrics` and `/health` are served, in place of `listen` in `[http]`
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) listen: Option<SocketAddr>,
    /// Load the configuration again when one of its files has changed, as a SIGHUP does
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &RunArgs, console: Console) -> Result<Exit, CommandError> {
    let config = Arc::new(load_to_run(&args.config.path, console)?);
    let _log = log::init(LogFormat::Auto, console.log_color())
        .map_err(|error| CommandError::wrong(error.to_string()))?;
    let share = share(&config, &args.sinks)?;
    let runtime = runtime()?;
    let exit = runtime.block_on(carry(&config, args, share));
    // A source's thread or a blocking call must not hold up the end.
    runtime.shutdown_background();
    exit
}

/// The flag's, else the configuration's.
pub(super) fn deadline(given: Option<Duration>, config: &Config) -> Duration {
    given.unwrap_or(Duration::from_millis(config.stop_deadline_ms))
}

/// The sinks to run: those named, else all.
pub(super) fn share(config: &Config, wanted: &[String]) -> Result<Share, CommandError> {
    let names: Vec<&str> = config.sinks.iter().map(|sink| sink.name.as_str()).collect();
    if wanted.is_empty() {
        return Ok(Share::all(names.len()));
    }
    let wanted: Vec<String> = wanted.iter().map(|name| name.trim().to_owned()).collect();
    let share = Share::of(&names, &wanted).map_err(|error| {
        let help = format!("the sinks are {}", names.join(", "));
        CommandError::wrong(format!("--sinks: {error}")).with_help(help)
    })?;
    if !share.is_all() && config.sources.iter().any(|source| source.kafka().is_none()) {
        let error = CommandError::wrong("--sinks: a source is a file, which has no groups");
        return Err(error.with_help("run all sinks, or read from Kafka".to_owned()));
    }
    Ok(share)
}

async fn carry(config: &Arc<Config>, args: &RunArgs, share: Share) -> Result<Exit, CommandError> {
    let signals = Signals::take()?;
    let (metrics, health) = (Metrics::new(), Health::new());
    health.set_without_broker(!has_broker(config));
    let listen = args.listen.unwrap_or(config.http.listen);
    let (asking, asked) = mpsc::channel(reload::REQUESTS_MAX);
    let answers =
        Answers { metrics: metrics.clone(), health: health.clone(), reload: Some(asking) };
    let doors = reload::doors(config).map_err(|error| CommandError::wrong(error.to_string()))?;
    let server = Server::start(listen, answers, doors).await;
    let server = server.map_err(|error| {
        let failed = CommandError::failed(error.to_string());
        error.hint().into_iter().fold(failed, CommandError::with_help)
    })?;
    announce(config, &args.config.path, share, &server);
    let watched = args.watch.then_some(&*args.config.path);
    let requests = Requests::take(asked, watched).await?;
    let (stop, _) = watch::channel(false);
    let (doors, health_of_end) = (server.doors(), health.clone());
    let keeper = Keeper { args, metrics, health, doors, stop, signals, requests };
    let End::Ended(ended) = keeper.keep(config).await? else { return Ok(Exit::Interrupted) };
    let is_cut_short = matches!(ended, Ok(Ended::Settled)) && !has_broker(config);
    let exit = tell_end(ended, &health_of_end);
    server.stop().await;
    if is_cut_short {
        // `run && rm file` must not take a file for read that was not.
        tracing::warn!("stopped before the input's end; the same command reads it again");
        return Ok(Exit::Interrupted);
    }
    exit
}

/// True when a source reads from Kafka, which has no end.
fn has_broker(config: &Config) -> bool {
    config.sources.iter().any(|source| source.kafka().is_some())
}

/// What is started, one line a part. Values that may come from the environment are not shown.
fn announce(config: &Config, path: &Path, share: Share, server: &Server) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"), config = %path.display(),
        fingerprint = %config.fingerprint, memory_bytes = config.memory_bytes,
        http = %server.address(), "riverhog starts"
    );
    for source in &config.sources {
        let (kind, what) = source_words(source);
        tracing::info!(source = %source.name, kind, what = %what, "source");
    }
    for (number, sink) in config.sinks.iter().enumerate() {
        let (kind, what) = sink_words(sink);
        if share.has(number) {
            tracing::info!(sink = %sink.name, kind, what = %what, "sink");
        } else {
            tracing::info!(sink = %sink.name, kind, "a sink that other processes run");
        }
    }
}

fn source_words(source: &Source) -> (&'static str, String) {
    match &source.kind {
        SourceKind::Kafka(kafka) => {
            let topics = match &kafka.topics {
                Topics::List(names) => format!("{} topics by name", names.len()),
                Topics::Pattern(_) => "topics by pattern".to_owned(),
            };
            ("kafka", format!("{topics}, {} brokers to begin with", kafka.brokers.len()))
        }
        SourceKind::File(_) => ("file", "one file, read once".to_owned()),
        SourceKind::Stdin => ("stdin", "standard input".to_owned()),
    }
}

fn sink_words(sink: &Sink) -> (&'static str, String) {
    match &sink.kind {
        SinkKind::Elasticsearch(it) => {
            let urls: Vec<&str> = it.urls.iter().map(riverhog_config::Secret::shown).collect();
            ("elasticsearch", urls.join(", "))
        }
        SinkKind::S3(it) => ("s3", format!("{} buckets", it.buckets.len())),
        SinkKind::Local(_) => ("local", "one folder".to_owned()),
    }
}

fn tell_end(ended: Result<Ended, AssembleError>, health: &Health) -> Result<Exit, CommandError> {
    match ended? {
        Ended::Settled | Ended::Read => {
            tracing::info!("ended: everything that was read is settled");
            Ok(Exit::Done)
        }
        Ended::Deadline => {
            tracing::warn!("ended with lines unsettled; they are read again at the next start");
            Ok(Exit::Partial)
        }
        Ended::Failed(why) => {
            health.set_fatal(&why);
            Err(CommandError::failed(why))
        }
    }
}

/// `30s`, `2m`, `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let advice = || format!("write a number and a unit, such as 30s, 2m or 500ms, not `{text}`");
    let number: u64 = digits.parse().map_err(|_| advice())?;
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(advice()),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_comes_before_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let text = "stop_deadline = '90s'\n[sources.a]\ntype = 'stdin'\n[sinks.a]\n\
                    type = 'local'\npath = 'a'\n[[route]]\nsinks = ['a']\n";
        std::fs::write(&path, text).unwrap();
        let config = riverhog_config::load(&path, &riverhog_config::ProcessEnv).unwrap();
        assert_eq!(deadline(None, &config), Duration::from_secs(90));
        let flag = Some(Duration::from_secs(3));
        assert_eq!(deadline(flag, &config), Duration::from_secs(3));
    }

    #[test]
    fn a_duration_has_a_unit() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for bad in
            ["30", "s", "", "-1s", "1.5s", "3d", "99999999999999999999s", "18446744073709551615h"]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
