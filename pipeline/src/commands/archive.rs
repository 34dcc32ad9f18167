//! `riverhog archive verify`: reads archives back and says whether they are what they claim to be.
//!
//! Invariant: it only reads. Next stop: [`crate::sink::archive::verify`], which walks the chains.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use riverhog_config::SinkKind;
use serde_json::{Value, json};

use super::console::{Mood, grouped, size};
use super::{CommandError, Console, Exit, Format, load, plural, runtime};
use crate::assemble::sinks::stores;
use crate::sink::archive::local::LocalStore;
use crate::sink::archive::store::{ObjectStore, ReadOutcome};
use crate::sink::archive::verify::{Problem, Report, verify_chains};
use crate::telemetry::escape::escape_control;

const EXAMPLES: &str = "Examples:
  riverhog archive verify pipeline.toml                        every archive of a configuration
  riverhog archive verify pipeline.toml --prefix train-task-7/
  riverhog archive verify --path /data/archive                 a folder

Each chain must have all its numbers, each object its checksums and counts, and each event its id
once. Everything is read and nothing is changed.

Exit codes: 0 all is well, 1 something is not, 2 the configuration is wrong, 3 a store does not
answer.";

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub(super) struct ArchiveArgs {
    #[command(subcommand)]
    command: ArchiveCommand,
}

#[derive(Debug, Subcommand)]
enum ArchiveCommand {
    /// Read archives back: numbers, checksums, counts and ids
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct VerifyArgs {
    /// A configuration, whose archives are read
    #[arg(value_name = "CONFIG", required_unless_present = "path")]
    config: Option<PathBuf>,
    /// A folder that is an archive, in place of a configuration
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    path: Option<PathBuf>,
    /// Only keys that begin with this
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One place that is read.
struct Place {
    name: String,
    store: Arc<dyn ObjectStore>,
}

pub(super) fn run(args: &ArchiveArgs, console: Console) -> Result<Exit, CommandError> {
    let ArchiveCommand::Verify(args) = &args.command;
    let runtime = runtime()?;
    let exit = runtime.block_on(verify(args, console));
    runtime.shutdown_background();
    exit
}

async fn verify(args: &VerifyArgs, console: Console) -> Result<Exit, CommandError> {
    let mut out = console.out();
    let mut exit = Exit::Done;
    let mut chains = 0;
    for place in places(args, console).await? {
        match verify_chains(&*place.store, &args.prefix).await {
            ReadOutcome::Done(report) => {
                write_report(args.format, &place.name, &report, console, &mut out)?;
                chains += report.chains;
                if !report.is_clean() && exit == Exit::Done {
                    exit = Exit::Failed;
                }
            }
            ReadOutcome::Unreadable(it) => exit = unread(console, &place.name, &it.to_string()),
            ReadOutcome::Retry(it) => exit = unread(console, &place.name, &it.to_string()),
            ReadOutcome::Halt(it) => exit = unread(console, &place.name, &it.to_string()),
        }
        out.flush()?;
    }
    if chains == 0 && exit == Exit::Done {
        // A misspelt prefix must not look like a clean archive for ever.
        let nothing = format!("there is no chain under the prefix `{}`", args.prefix);
        return Err(CommandError::failed(nothing));
    }
    Ok(exit)
}

fn unread(console: Console, name: &str, why: &str) -> Exit {
    let error = CommandError::unreachable(format!("{name} cannot be read: {why}"));
    console.tell_error(&error)
}

async fn places(args: &VerifyArgs, console: Console) -> Result<Vec<Place>, CommandError> {
    if let Some(path) = &args.path {
        if !path.is_dir() {
            let message = format!("--path {}: there is no such folder", path.display());
            return Err(CommandError::wrong(message));
        }
        let (name, store) = (path.display().to_string(), Arc::new(LocalStore::new(path)));
        return Ok(vec![Place { name, store }]);
    }
    let path = args.config.as_deref().unwrap_or(std::path::Path::new(super::CONFIG_DEFAULT));
    let config = load(path, console)?;
    let mut places = Vec::new();
    for sink in &config.sinks {
        let Some(stores) = stores(sink).await? else { continue };
        for (bucket, store) in stores {
            let place = match &sink.kind {
                SinkKind::Local(local) => local.path_shown.clone(),
                SinkKind::S3(_) | SinkKind::Elasticsearch(_) => format!("bucket {bucket}"),
            };
            places.push(Place { name: format!("{} ({place})", sink.name), store });
        }
    }
    if places.is_empty() {
        let message = format!("{} has no archive: no sink of type s3 or local", path.display());
        return Err(CommandError::wrong(message));
    }
    Ok(places)
}

fn write_report(
    format: Format,
    name: &str,
    report: &Report,
    console: Console,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{}", as_json(name, report));
    }
    for problem in &report.problems {
        writeln!(
            out,
            "{} {}",
            console.paint(Mood::Bad, "✗"),
            escape_control(&problem.to_string())
        )?;
    }
    let told = report.problems.len() as u64;
    if report.problems_total > told {
        writeln!(out, "… and {} more", grouped(report.problems_total - told))?;
    }
    let verdict = match report.problems_total {
        0 => format!("{} clean", console.paint(Mood::Good, "✓")),
        count => format!("{} {}", console.paint(Mood::Bad, "✗"), plural(count, "problem")),
    };
    writeln!(
        out,
        "{}: {}, {}, {}, {} stored as {}: {verdict}",
        escape_control(name),
        plural(report.chains, "chain"),
        plural(report.objects, "object"),
        plural(report.lines, "line"),
        size(report.raw_bytes),
        size(report.stored_bytes),
    )?;
    if report.shortened_chains > 0 {
        let chains = plural(report.shortened_chains, "chain");
        writeln!(out, "  {chains} begin later than with number 1: earlier objects were deleted")?;
    }
    if report.repeated_lines > 0 {
        let lines = plural(report.repeated_lines, "line");
        writeln!(out, "  {lines} stand there again, as `exclusive = \"none\"` allows")?;
    }
    if report.other_keys > 0 {
        writeln!(out, "  {} beside them", plural(report.other_keys, "other object"))?;
    }
    Ok(())
}

fn as_json(name: &str, report: &Report) -> Value {
    let problem =
        |it: &Problem| json!({"key": it.key, "kind": it.kind.as_str(), "detail": it.detail});
    json!({
        "archive": name,
        "ok": report.is_clean(),
        "shortened_chains": report.shortened_chains,
        "chains": report.chains,
        "objects": report.objects,
        "lines": report.lines,
        "raw_bytes": report.raw_bytes,
        "stored_bytes": report.stored_bytes,
        "repeated_lines": report.repeated_lines,
        "other_keys": report.other_keys,
        "problems_total": report.problems_total,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
