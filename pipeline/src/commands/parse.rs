//! `riverhog parse`: what a configuration makes of lines, as JSON, without any service.
//!
//! Invariant: one event a line of output, in the order in which they are complete, each with the
//! numbers of the input lines it was made of. Next stop: `trial.rs`.

mod list;

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use chrono::DateTime;
use clap::Args;
use riverhog_parsers::formats::{Format, FormatParser};
use riverhog_parsers::grok::{Grok, GrokOptions};
use riverhog_parsers::peel::{Layers, Parts};
use riverhog_parsers::time::TimeParser;
use riverhog_rules::event::{Disposition, EventBuffer};
use riverhog_rules::join::Join;
use riverhog_rules::names::{Names, Stage};
use riverhog_rules::plan::{LineParser, ParseRule, Plan, TimeRule};
use riverhog_rules::selector::Selector;

use super::input::read_until;
use super::trial::{Given, Trial};
use super::{CommandError, Console, Exit, load};
use crate::clock;

/// The format that is every format of training logs.
const TRAINING: &str = "training";
/// The pattern of lines where no configuration gives one: that of the guide's first configuration.
const PATTERN: &str =
    "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:content}";
/// Its times.
const TIME_FORMATS: [&str; 2] = ["ISO8601", "yyyy-MM-dd HH:mm:ss,SSS"];

const EXAMPLES: &str = "Examples:
  riverhog parse < train.log                           lines like `TIME LEVEL COMPONENT: CONTENT`
  riverhog parse --zone Asia/Shanghai < train.log      times without a zone are Shanghai's
  riverhog parse --list                                what is known, with a line of each
  riverhog parse --as json < train.jsonl               as a built-in format
  riverhog parse --as training < 0.log                 all formats, as it is or from a container
  riverhog parse --config pipeline.toml < train.log    as the configuration says
  riverhog parse --config pipeline.toml < train.log | jq -c 'select(.tags) | .content'

Each event has `\"lines\":[first,last]`, the numbers of the input lines it was made of. Labels and
hosts that come from Kafka headers have their defaults here.";

/// Arguments of `parse`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ParseArgs {
    /// The configuration whose parsers, labels and hosts are used
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// A built-in format: json, kv, csv, logfmt, syslog, cri, klog, training or one of its formats
    #[arg(long = "as", id = "format_name", value_name = "FORMAT", conflicts_with = "config")]
    as_format: Option<String>,
    /// When the lines were received, RFC 3339, in place of now; gives a year to lines without one
    #[arg(long, value_name = "TIME")]
    reference: Option<String>,
    /// Zone of times that name none: an IANA name or +08:00
    #[arg(long, value_name = "ZONE", conflicts_with = "config")]
    zone: Option<String>,
    /// List the formats and envelopes that are known, with a line of each
    #[arg(long, conflicts_with_all = ["config", "format_name", "reference", "zone"])]
    list: bool,
    /// How the list is written
    #[arg(long, value_enum, default_value_t, requires = "list")]
    format: super::Format,
}

pub(super) fn run(args: &ParseArgs, console: Console) -> Result<Exit, CommandError> {
    if args.list {
        let mut out = console.out();
        list::write(args.format, console, &mut out)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let received_ns = reference(args.reference.as_deref())?;
    let zone = args.zone.as_deref().unwrap_or("UTC");
    let mut trial = match (&args.config, &args.as_format) {
        (Some(path), _) => Trial::of_config(&load(path, console)?),
        (None, Some(format)) => {
            let plan = Arc::new(format_plan(format, zone)?);
            // Training logs come from the files of a container runtime as well as they are.
            if format == TRAINING { Trial::of_plan(plan) } else { Trial::of_format(plan) }
        }
        (None, None) => Trial::of_plan(Arc::new(usual_plan(zone)?)),
    };
    let mut out = console.out();
    parse(&mut trial, received_ns, &mut io::stdin().lock(), &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}

fn reference(text: Option<&str>) -> Result<i64, CommandError> {
    let Some(text) = text else { return Ok(clock::now_ms().saturating_mul(1_000_000)) };
    let time = DateTime::parse_from_rfc3339(text).ok().and_then(|time| time.timestamp_nanos_opt());
    time.ok_or_else(|| {
        CommandError::wrong(format!("--reference {text}: not a time"))
            .with_help("write it like 2026-03-12T10:23:45+08:00")
    })
}

/// One built-in format, no labels, no routes.
fn format_plan(name: &str, zone: &str) -> Result<Plan, CommandError> {
    let Some(format) = Format::named(name) else {
        let message = format!("--as {name}: there is no such format");
        let help = format!("formats are {}", Format::NAMES.join(", "));
        return Err(CommandError::wrong(message).with_help(help));
    };
    // A format that does not say where its time stands has none here, but the zone is checked.
    let (field, formats) = format.time().unwrap_or(("", &[]));
    let parser = time_parser(formats, zone)?;
    let is_own = true;
    let time = (!field.is_empty()).then(|| TimeRule {
        field: field.to_owned(),
        parser,
        zone_field: None,
        is_own,
    });
    // Lines of training are made of numbers; of other formats the configuration says so.
    let numbers = matches!(format, Format::Training(_));
    let parser = LineParser::Format(Box::new(FormatParser::new(format, [])));
    let rule = ParseRule { name: name.to_owned(), when: None, field: None, parser, time, numbers };
    let plan = Plan { parse: vec![rule], ..Plan::default() };
    if name != TRAINING {
        return Ok(plan);
    }
    // Lines of many formats come with whatever stands in front of them, and as whole records.
    let stream = Selector::compile("envelope.stream", &Names::new().at(Stage::Parse));
    let join = Join { stream: stream.into_iter().collect(), ..Join::builtin() };
    Ok(Plan { peel: Layers::ALL, join: Some(join), ..plan })
}

/// One parser, no labels, no routes.
fn usual_plan(zone: &str) -> Result<Plan, CommandError> {
    let grok = Grok::compile(PATTERN, &GrokOptions::default())
        .map_err(|error| CommandError::failed(error.to_string()))?;
    let parser = time_parser(&TIME_FORMATS, zone)?;
    let time = TimeRule { field: "log_time".to_owned(), parser, zone_field: None, is_own: false };
    let name = "usual".to_owned();
    let parser = LineParser::Grok(grok);
    let rule =
        ParseRule { name, when: None, field: None, parser, time: Some(time), numbers: false };
    Ok(Plan { parse: vec![rule], ..Plan::default() })
}

fn time_parser(formats: &[&str], zone: &str) -> Result<TimeParser, CommandError> {
    TimeParser::compile(formats, zone).map_err(|error| {
        let wrong = CommandError::wrong(format!("--zone {zone}: {}", error.message));
        error.help.into_iter().fold(wrong, CommandError::with_help)
    })
}

fn parse(
    trial: &mut Trial,
    received_ns: i64,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut line = Vec::new();
    let mut offset = 0;
    let mut number = 0_u64;
    // What is over is dropped while it is read, so that an endless line is no danger; one byte
    // more than the longest line shows that it was cut.
    let kept_max = trial.line_bytes_max() + 4;
    let given = |offset| Given { topic: "stdin", offset, key: None, headers: &[], received_ns };
    // Where the lines begin that an event may still be made of, and their numbers.
    let mut numbers: VecDeque<(i64, u64)> = VecDeque::new();
    let layers = trial.peel();
    let mut parts = Parts::default();
    let mut shorten = |line: &mut Vec<u8>| parts.shorten(line, layers);
    while let Some(read) = read_until(input, b'\n', &mut line, kept_max, &mut shorten)? {
        number += 1;
        numbers.push_back((offset, number));
        write_events(trial.next(&given(offset), &line), &numbers, out)?;
        let open_from = trial.open_from().unwrap_or(i64::MAX);
        while numbers.front().is_some_and(|(start, _)| *start < open_from) {
            numbers.pop_front();
        }
        offset += read as i64;
    }
    write_events(trial.end(&given(offset)), &numbers, out)
}

/// Writes events, each with the numbers of its first and its last line.
fn write_events(
    events: &EventBuffer,
    numbers: &VecDeque<(i64, u64)>,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let number = |offset: i64| {
        let place = numbers.partition_point(|(start, _)| *start < offset);
        numbers.get(place).map_or(0, |(_, number)| *number)
    };
    for event in &events.events {
        if matches!(event.disposition, Disposition::Dropped(_)) {
            continue;
        }
        let document = events.document(event);
        let (first, last) = (number(event.first_offset), number(event.last_offset));
        out.write_all(&document[..document.len().saturating_sub(1)])?;
        writeln!(out, ",\"lines\":[{first},{last}]}}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use riverhog_rules::join::Join;

    use super::*;

    fn parsed(input: &str) -> Vec<serde_json::Value> {
        let mut trial = Trial::of_plan(Arc::new(usual_plan("Asia/Shanghai").unwrap()));
        let mut out = Vec::new();
        parse(&mut trial, 1_773_282_226_004_000_000, &mut input.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn each_line_is_an_event_with_its_number() {
        let events = parsed(
            "2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.\r\nnot that\n\nend",
        );
        let numbers: Vec<_> = events.iter().map(|event| event["lines"].to_string()).collect();
        assert_eq!(numbers, ["[1,1]", "[2,2]", "[3,3]", "[4,4]"]);
        assert_eq!(events[0]["level"], "error");
        assert_eq!(events[0]["@timestamp"], "2026-03-12T02:23:45.123000000Z");
        assert_eq!(events[0]["message"].as_str().map(|it| it.ends_with("memory.")), Some(true));
        assert_eq!(events[1]["tags"][0], "_unparsed");
        assert_eq!(events[1]["received"], "2026-03-12T02:23:46.004000000Z");
        assert_eq!(events[1]["origin"]["offset"], 66);
    }

    #[test]
    fn records_of_several_lines_have_the_numbers_of_all() {
        let join = Join {
            stream: Vec::new(),
            builtin: true,
            rules: Vec::new(),
            lines_max: 100,
            bytes_max: 1000,
            gap_ms: 5000,
        };
        let plan = Plan { join: Some(join), ..Plan::default() };
        let mut trial = Trial::of_plan(Arc::new(plan));
        let input = "a\nTraceback (most recent call last):\n  File \"a\"\nKeyError: x\nb\n\
                     Traceback (most recent call last):\n  File \"b\"";
        let mut out = Vec::new();
        parse(&mut trial, 0, &mut input.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let numbers: Vec<_> =
            lines.map(|event: serde_json::Value| event["lines"].to_string()).collect();
        assert_eq!(numbers, ["[1,1]", "[2,4]", "[5,5]", "[6,7]"]);
    }

    #[test]
    fn a_wrong_zone_or_time_is_told() {
        assert!(usual_plan("Mars/Olympus").is_err());
        assert!(format_plan("json", "Mars/Olympus").is_err());
        assert!(format_plan("trainings", "UTC").is_err());
        assert!(reference(Some("yesterday")).is_err());
        assert_eq!(reference(Some("1970-01-01T00:00:01Z")).ok(), Some(1_000_000_000));
    }
}
