//! `riverhog date`: reads times of lines, or of requests with `--batch`.
//!
//! Invariant: one JSON object a line of output for each line of input, whatever the input is. Next
//! stop: the room `parsers`, which reads times.

use std::io::{self, BufRead, Write};

use chrono::DateTime;
use clap::Args;
use riverhog_parsers::lines::to_text;
use riverhog_parsers::time::{TimeFormatError, TimeParser};
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::{LINE_BYTES_MAX, Request, answer_all};
use super::input::read_line;
use super::marked::marked;
use super::{CommandError, Console, Exit};
use crate::clock;

const EXAMPLES: &str = r#"Examples:
  echo '2026-03-12 10:23:45,123' | riverhog date 'yyyy-MM-dd HH:mm:ss,SSS' --zone Asia/Shanghai
  riverhog date ISO8601 UNIX_MS < times.txt
  riverhog date 'd MMMM yyyy' --locale fr < times.txt
  riverhog date 'MMM d HH:mm:ss' --reference 2026-01-01T00:00:00Z < times.txt
  echo '{"id":1,"formats":["UNIX"],"input":"5"}' | riverhog date --batch

Formats are tried in order: ISO8601, UNIX, UNIX_MS, TAI64N, or letters: y year, M month, d day,
H hour, h hour of the half day, a half of the day, m minute, s second, S fraction, E weekday,
D day of the year, x and w week year and week, e day of the week, Z offset, z UTC, GMT and zones of
the United States (CST is Chicago's), ZZZ zone, and text in 'quotes'. A year that is missing comes
from the reference; a clock alone is of the day on which it is nearest to it.

Each line is answered by {"matched":true,"timestamp":"…Z"} or {"matched":false}. --batch takes
objects with id, formats, timezone, locale, reference and input, one a line, and repeats the id; a
format, zone or locale that is refused is answered by {"error":"…"}."#;

/// Arguments of `date`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DateArgs {
    /// Formats, tried in order
    #[arg(value_name = "FORMAT", required_unless_present = "batch")]
    formats: Vec<String>,
    /// Zone of times that name none: an IANA name or +08:00
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
    /// Language of the names of months and days
    #[arg(long, value_name = "LOCALE", default_value = "en")]
    locale: String,
    /// The time that gives a year or a date to texts without one, RFC 3339, in place of now
    #[arg(long, value_name = "TIME")]
    reference: Option<String>,
    /// Read requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["formats", "zone", "locale", "reference"])]
    batch: bool,
}

pub(super) fn run(args: &DateArgs, console: Console) -> Result<Exit, CommandError> {
    let mut out = console.out();
    let input = &mut io::stdin().lock();
    if args.batch {
        answer_all::<DateRequest>(input, &mut out)?;
    } else {
        let formats: Vec<&str> = args.formats.iter().map(String::as_str).collect();
        let parser = TimeParser::compile_with_locale(&formats, &args.zone, &args.locale)
            .map_err(|error| wrong(args, &error))?;
        let reference_ns = match reference(args.reference.as_deref()) {
            Ok(reference_ns) => reference_ns,
            Err(message) => {
                let help = "write it like 2026-03-12T10:23:45+08:00";
                return Err(CommandError::wrong(format!("--reference {message}")).with_help(help));
            }
        };
        each_line(&parser, reference_ns, input, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// What is refused, with a mark below the letter that is wrong.
fn wrong(args: &DateArgs, error: &TimeFormatError) -> CommandError {
    let message = match args.formats.get(error.format) {
        Some(format) => {
            let wrong = error.position..error.position + 1;
            format!("{}\n{}", error.message, marked(format, wrong))
        }
        None => error.message.clone(),
    };
    error.help.iter().fold(CommandError::wrong(message), CommandError::with_help)
}

/// Nanoseconds since the epoch; now where there is no text.
fn reference(text: Option<&str>) -> Result<i64, String> {
    let Some(text) = text else { return Ok(clock::now_ms().saturating_mul(1_000_000)) };
    let time = DateTime::parse_from_rfc3339(text).ok().and_then(|time| time.timestamp_nanos_opt());
    time.ok_or_else(|| format!("{text}: not a time"))
}

fn each_line(
    parser: &TimeParser,
    reference_ns: i64,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut line = Vec::new();
    while read_line(input, b'\n', &mut line, LINE_BYTES_MAX)? {
        writeln!(out, "{}", answer(parser, &to_text(&line), reference_ns))?;
    }
    Ok(())
}

fn answer(parser: &TimeParser, text: &str, reference_ns: i64) -> Value {
    match parser.parse_instant(text, reference_ns) {
        None => json!({"matched": false}),
        Some(instant) => {
            let mut timestamp = Vec::new();
            instant.write_rfc3339(&mut timestamp);
            json!({"matched": true, "timestamp": String::from_utf8_lossy(&timestamp)})
        }
    }
}

/// One request of `--batch`.
#[derive(Debug, Deserialize)]
struct DateRequest {
    #[serde(default)]
    id: Value,
    formats: Vec<String>,
    timezone: Option<String>,
    locale: Option<String>,
    reference: Option<String>,
    input: String,
}

impl Request for DateRequest {
    fn id(&self) -> Value {
        self.id.clone()
    }

    fn answer(&self) -> Value {
        let formats: Vec<&str> = self.formats.iter().map(String::as_str).collect();
        let zone = self.timezone.as_deref().unwrap_or("UTC");
        let locale = self.locale.as_deref().unwrap_or("en");
        let parser = TimeParser::compile_with_locale(&formats, zone, locale);
        match (parser, reference(self.reference.as_deref())) {
            (Err(error), _) => json!({"error": error.message}),
            (_, Err(message)) => json!({"error": message}),
            (Ok(parser), Ok(reference_ns)) => answer(&parser, &self.input, reference_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch;
    use super::*;

    fn check(request: &str, expect: &str) {
        batch::check::<DateRequest>(request, expect);
    }

    #[test]
    fn a_batch_answers_each_request() {
        check(
            r#"{"id":"a","formats":["MMM d HH:mm"],"timezone":"Asia/Shanghai","locale":"fr-FR","reference":"2026-06-01T00:00:00Z","input":"déc. 31 10:00"}"#,
            r#"{"id":"a","matched":true,"timestamp":"2026-12-31T02:00:00.000000000Z"}"#,
        );
        check(r#"{"id":2,"formats":["UNIX"],"input":"x"}"#, r#"{"id":2,"matched":false}"#);
        check(
            r#"{"id":3,"formats":["yyyy"],"timezone":"Mars","input":"2026"}"#,
            r#"{"id":3,"error":"unknown time zone `Mars`"}"#,
        );
        check(
            r#"{"id":4,"formats":["yyyy"],"reference":"now","input":"2026"}"#,
            r#"{"id":4,"error":"now: not a time"}"#,
        );
        check(
            r#"{"formats":["UNIX_MS"],"input":"99999999999999"}"#,
            r#"{"id":null,"matched":true,"timestamp":"5138-11-16T09:46:39.999000000Z"}"#,
        );
    }
}
