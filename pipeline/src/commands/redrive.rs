//! `riverhog redrive`: delivers dead letters again, or counts them.
//!
//! Invariant: whatever ends it, the report says what was settled until then, and the same command
//! goes on from there. Next stop: [`crate::redrive`].

use std::io::Write;
use std::time::Duration;

use chrono::DateTime;
use clap::Args;
use serde_json::{Value, json};

use super::console::grouped;
use super::run::duration;
use super::signals::Signals;
use super::{CommandError, ConfigArg, Console, Exit, Format, load, runtime};
use crate::clock;
use crate::redrive::{self, Filter, Order, RedriveError, Summary};
use crate::sink::archive::key::is_branch;
use crate::telemetry::escape::escape_control;
use crate::telemetry::log::{self, LogFormat};

/// What a chunk of letters may take where nothing is said.
const DEADLINE: &str = "5m";

const EXAMPLES: &str = "Examples:
  riverhog redrive --dry-run                        what lies there, by reason, sink and destination
  riverhog redrive prod.toml                        deliver all of it
  riverhog redrive --reason refused --sink search   what one sink refused
  riverhog redrive --sink - --last 24h              what no route took, of the last day

Each letter becomes its event again, by today's configuration and under its old id, and goes to the
sink that owes it; one of no sink is routed anew. Letters are never deleted: those that are settled
are marked beside them, and what is refused again stays. So running it twice adds nothing, and a
run that was cut short goes on where it was.

Exit codes: 0 all settled, 1 some letters stay, 2 the input or the configuration is wrong, 3 a
service could not be reached or the deadline passed, 130 interrupted.";

/// Arguments of `redrive`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RedriveArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Only letters of these reasons, such as refused or no_route
    #[arg(long, value_name = "REASON,…", value_delimiter = ',')]
    reason: Vec<String>,
    /// Only letters that these sinks owe; `-` for letters of no sink
    #[arg(long, value_name = "SINK,…", value_delimiter = ',', allow_hyphen_values = true)]
    sink: Vec<String>,
    /// Only lines whose record time is at or after this, such as 2026-03-12T02:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    from_time: Option<i64>,
    /// Only lines whose record time is before this
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    to_time: Option<i64>,
    /// Only lines whose record time is within this long before now, such as 24h
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "from_time")]
    last: Option<Duration>,
    /// Count, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// A word in the names of archive objects, beside the source's own; keep it from run to run
    #[arg(long, value_name = "NAME", default_value = "redrive", value_parser = branch)]
    name: String,
    /// How long some thousand letters may take
    #[arg(long, value_name = "TIME", default_value = DEADLINE, value_parser = duration)]
    deadline: Duration,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &RedriveArgs, console: Console) -> Result<Exit, CommandError> {
    let config = load(&args.config.path, console)?;
    let _log = log::init(LogFormat::Auto, console.log_color())
        .map_err(|error| CommandError::wrong(error.to_string()))?;
    let last = args.last.map(|last| i64::try_from(last.as_millis()).unwrap_or(i64::MAX));
    let order = Order {
        filter: Filter {
            reasons: args.reason.clone(),
            sinks: args.sink.clone(),
            from_ms: args.from_time.or(last.map(|last| clock::now_ms().saturating_sub(last))),
            to_ms: args.to_time,
        },
        dry_run: args.dry_run,
        name: args.name.clone(),
        deadline: args.deadline,
    };
    let runtime = runtime()?;
    let mut summary = Summary::default();
    let ended = runtime.block_on(async {
        let mut signals = Signals::take()?;
        let progress = |summary: &Summary| {
            if !order.dry_run {
                console.tell_progress(&progress(summary));
            }
        };
        Ok::<_, CommandError>(tokio::select! {
            ended = redrive::redrive(&config, &order, &mut summary, progress) => Some(ended),
            _ = signals.next() => None,
        })
    })?;
    runtime.shutdown_background();
    console.end_progress();
    let mut out = console.out();
    match args.format {
        Format::Text => write_text(&summary, args.dry_run, &mut out)?,
        Format::Json => writeln!(out, "{}", report(&summary, args.dry_run))?,
    }
    out.flush()?;
    match ended {
        None => Ok(Exit::Interrupted),
        Some(Ok(())) if summary.stayed() > 0 => Ok(Exit::Failed),
        Some(Ok(())) => Ok(Exit::Done),
        Some(Err(error)) => Err(told(error)),
    }
}

fn told(error: RedriveError) -> CommandError {
    let message = error.to_string();
    match error {
        RedriveError::NoPlace => CommandError::wrong(message)
            .with_help("name the configuration that wrote the letters".to_owned()),
        RedriveError::Assemble(error) => error.into(),
        RedriveError::Place(_) => CommandError::unreachable(message),
        RedriveError::Unsettled(_) => CommandError::unreachable(message)
            .with_help("mend the store, and run the same command again".to_owned()),
    }
}

fn progress(summary: &Summary) -> String {
    let Summary { settled, dropped, .. } = summary;
    let (total, stay) = (grouped(summary.total()), grouped(summary.stayed()));
    format!("redrive: {total} letters read, {} settled, {stay} stay", grouped(settled + dropped))
}

fn write_text(summary: &Summary, dry_run: bool, out: &mut impl Write) -> std::io::Result<()> {
    for ((reason, sink, destination), letters) in &summary.found {
        let (reason, sink) = (escape_control(reason), escape_control(sink));
        let destination = escape_control(destination);
        let line = format!("{:>12}  {reason}  {sink}  {destination}", grouped(*letters));
        writeln!(out, "{}", line.trim_end())?;
    }
    let total = grouped(summary.total());
    if dry_run {
        writeln!(out, "{total} letters would be redriven")?;
    } else {
        let settled = grouped(summary.settled + summary.dropped);
        writeln!(out, "{settled} of {total} letters settled")?;
    }
    let stay = summary.stay.iter().map(|(reason, letters)| (format!("stay: {reason}"), *letters));
    let beside = [
        ("dropped by a rule of today", summary.dropped),
        ("settled by a run before", summary.settled_before),
        ("passed over by the filter", summary.passed_over),
        ("written more than once", summary.repeated),
        ("no letters", summary.unreadable),
    ];
    let beside = beside.into_iter().map(|(words, letters)| (words.to_owned(), letters));
    for (words, letters) in stay.chain(beside).filter(|it| it.1 > 0) {
        writeln!(out, "{:>12}  {}", grouped(letters), escape_control(&words))?;
    }
    Ok(())
}

fn report(summary: &Summary, dry_run: bool) -> Value {
    let found = summary.found.iter().map(|((reason, sink, destination), letters)| {
        let sink = (sink != redrive::NO_SINK).then_some(sink);
        json!({"reason": reason, "sink": sink, "destination": destination, "letters": letters})
    });
    json!({
        "dry_run": dry_run,
        "letters": summary.total(),
        "found": found.collect::<Vec<Value>>(),
        "settled": summary.settled,
        "dropped": summary.dropped,
        "stay": summary.stay,
        "settled_before": summary.settled_before,
        "passed_over": summary.passed_over,
        "repeated": summary.repeated,
        "unreadable": summary.unreadable,
    })
}

fn time_ms(text: &str) -> Result<i64, String> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    time.map_err(|_| format!("write a time such as 2026-03-12T02:00:00Z, not `{text}`"))
}

fn branch(text: &str) -> Result<String, String> {
    if is_branch(text) {
        return Ok(text.to_owned());
    }
    Err("write at most 16 small letters, digits and `_`, a letter first".to_owned())
}
