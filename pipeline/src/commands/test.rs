//! `riverhog test`: runs the `[[tests]]` of a configuration through its plan.
//!
//! Invariant: needs no service and no clock: a test gives the same answer on every day. Next stop:
//! `diff.rs`, which compares.

use std::io::Write;
use std::path::Path;

use clap::Args;
use riverhog_config::{Config, LineTest, Source, Topics};
use riverhog_rules::event::{DeadReason, Disposition, Event, EventBuffer};
use serde_json::{Value, json};

use super::console::Mood;
use super::diff::{Difference, Seen, differences, names};
use super::trial::{Given, Trial};
use super::{CommandError, ConfigArg, Console, Exit, Format, load, plural};
use crate::telemetry::escape::{escape_control, escape_json};

/// The record time of tests whose line names no time of its own, and what gives a line its year
/// where it has none: 2026-01-01T00:00:00Z.
const REFERENCE_NS: i64 = 1_767_225_600_000_000_000;

const EXAMPLES: &str = "A test in the configuration:
  [[tests]]
  line   = '2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.'
  headers = { project = \"nlp\" }
  expect = { level = \"error\", component = \"swift.trainer\", sinks = [\"search\", \"archive\"] }

Examples:
  riverhog test
  riverhog test pipeline.toml --format json

Exit codes: 0 all passed, 1 a test failed, 2 the configuration is wrong.";

/// Arguments of `test`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TestArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What became of one test.
struct Outcome {
    differences: Vec<Difference>,
    /// Why the line cannot be compared at all, or what else is to be known.
    note: Option<String>,
    /// The parser that accepted the line.
    parser: Option<String>,
}

pub(super) fn run(args: &TestArgs, console: Console) -> Result<Exit, CommandError> {
    let config = load(&args.config.path, console)?;
    let mut trial = Trial::of_config(&config);
    let mut failed = 0;
    let mut out = console.out();
    if args.format == Format::Text {
        writeln!(out, "{}", file_name(&args.config.path))?;
    }
    for test in &config.tests {
        let outcome = run_test(&config, &mut trial, test);
        failed += u64::from(outcome.is_failure());
        match args.format {
            Format::Text => write_text(test, &outcome, console, &mut out)?,
            Format::Json => writeln!(out, "{}", as_json(test, &outcome))?,
        }
    }
    if args.format == Format::Text {
        let count = config.tests.len() as u64;
        writeln!(out, "{}: {failed} failed", plural(count, "test"))?;
    }
    out.flush()?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    escape_control(&name.to_string_lossy()).into_owned()
}

impl Outcome {
    fn is_failure(&self) -> bool {
        !self.differences.is_empty() || self.note.is_some()
    }
}

fn run_test(config: &Config, trial: &mut Trial, test: &LineTest) -> Outcome {
    let headers: Vec<(&str, &[u8])> =
        test.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let mut given = Given {
        topic: topic(config),
        offset: 0,
        key: test.key.as_deref().map(str::as_bytes),
        headers: &headers,
        received_ns: REFERENCE_NS,
    };
    // As in life, the record is about as old as its line.
    let (events, _) = trial.run(&given, test.line.as_bytes());
    given.received_ns = events.events.first().map_or(REFERENCE_NS, |event| event.time_ns);
    trial.take_counters();
    let (events, envelope) = trial.run(&given, test.line.as_bytes());
    let [event] = events.events[..] else {
        let note = format!("the value makes {} events; a test takes one", events.events.len());
        return Outcome { differences: Vec::new(), note: Some(note), parser: None };
    };
    let document = match event.disposition {
        Disposition::Dropped(_) => Value::Null,
        _ => serde_json::from_slice(events.document(&event)).unwrap_or(Value::Null),
    };
    let sinks = sinks(config, events, &event);
    let seen = Seen { test, document: &document, envelope: envelope.as_ref(), sinks: &sinks };
    let differences = differences(&names(&config.plan), &seen);
    let missing = missing_values(config, events, &event);
    // A sink that was expected and is a dead letter for want of a value is a riddle without this.
    let note = (!differences.is_empty()).then_some(missing).flatten();
    let counters = trial.take_counters();
    let mut parsers = config.plan.parse.iter().zip(&counters.parsers);
    let parser = parsers.find(|(_, counts)| counts.matched > 0).map(|(rule, _)| rule.name.clone());
    Outcome { differences, note, parser }
}

/// The first topic that the configuration names: rules may ask for it.
fn topic(config: &Config) -> &str {
    let mut named =
        config.sources.iter().filter_map(Source::kafka).filter_map(|kafka| match &kafka.topics {
            Topics::List(names) => names.first(),
            Topics::Pattern(_) => None,
        });
    named.next().map_or("test", String::as_str)
}

/// The sinks that an event reaches.
fn sinks(config: &Config, events: &EventBuffer, event: &Event) -> Vec<String> {
    if event.disposition != Disposition::Routed {
        return Vec::new();
    }
    let mut targets: Vec<u8> = events
        .targets(event)
        .iter()
        .filter(|target| target.result.is_ok())
        .map(|target| target.sink)
        .collect();
    targets.sort_unstable();
    targets.iter().map(|sink| config.sinks[usize::from(*sink)].name.clone()).collect()
}

/// Why sinks are not reached that the routes chose.
fn missing_values(config: &Config, events: &EventBuffer, event: &Event) -> Option<String> {
    match event.disposition {
        Disposition::DeadLetter(DeadReason::NoRoute) => Some("no route takes it".to_owned()),
        Disposition::DeadLetter(reason) => Some(format!("a dead letter: {}", reason.as_str())),
        Disposition::Dropped(reason) => Some(format!("dropped: {}", reason.as_str())),
        Disposition::Routed => {
            let missing = events.targets(event).iter().find(|target| target.result.is_err())?;
            let sink = &config.sinks[usize::from(missing.sink)].name;
            Some(format!("a dead letter of {sink}: its template names a value that is missing"))
        }
    }
}

fn write_text(
    test: &LineTest,
    outcome: &Outcome,
    console: Console,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let name = escape_control(&test.name);
    if !outcome.is_failure() {
        return writeln!(out, "  {} {name}", console.paint(Mood::Good, "✓"));
    }
    let place = format!("line {}", test.place.line());
    writeln!(out, "  {} {name}  ({place})", console.paint(Mood::Bad, "✗"))?;
    let names = outcome.differences.iter().map(|it| it.name.chars().count());
    let width = names.max().unwrap_or(0);
    for Difference { name, expected, got } in &outcome.differences {
        let got = got.as_ref().map_or_else(|| "none".to_owned(), shown);
        let expected = console.paint(Mood::Good, &shown(expected));
        let got = console.paint(Mood::Bad, &got);
        writeln!(out, "      {name:width$}  expected {expected}, got {got}")?;
    }
    if let Some(note) = &outcome.note {
        writeln!(out, "      {}", escape_control(note))?;
    }
    let parser = match &outcome.parser {
        Some(parser) => format!("parsed by `{}`", escape_control(parser)),
        None => "no parser accepted the line".to_owned(),
    };
    writeln!(out, "      {}", console.paint(Mood::Dim, &parser))
}

fn shown(value: &Value) -> String {
    escape_json(&value.to_string()).into_owned()
}

fn as_json(test: &LineTest, outcome: &Outcome) -> Value {
    let difference =
        |it: &Difference| json!({"name": it.name, "expected": it.expected, "got": it.got});
    json!({
        "name": test.name,
        "ok": !outcome.is_failure(),
        "file": test.place.file().name,
        "line": test.place.line(),
        "differences": outcome.differences.iter().map(difference).collect::<Vec<_>>(),
        "note": outcome.note,
        "parser": outcome.parser,
    })
}
