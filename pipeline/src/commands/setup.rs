//! `riverhog setup`: says what the stores need, and with `--apply` does it.
//!
//! Invariant: without `--apply` nothing is changed; with it, once done, the next run finds nothing
//! to do. Buckets and topics are looked at and never made. Next stop: `index_template.rs`.

use std::io::Write;

use bytes::Bytes;
use clap::Args;
use http::Method;
use riverhog_config::{Config, ElasticsearchSink, Sink, SinkKind};
use serde_json::Value;

use super::connect::{Finding, get, listable, without_credentials};
use super::console::Mood;
use super::index_template::{body, differences, merged, name, pattern};
use super::{CommandError, ConfigArg, Console, Exit, load, runtime};
use crate::assemble::sinks::{http_settings, stores};
use crate::sink::elasticsearch::encoding::Encoding;
use crate::sink::elasticsearch::http::{HttpClient, endpoint};
use crate::telemetry::escape::escape_control;

/// Most characters of a store's words that are repeated.
const WORDS_MAX: usize = 300;

const EXAMPLES: &str = "Examples:
  riverhog setup                  what would be made or changed
  riverhog setup --apply          make it so
  riverhog setup prod.toml

Index templates count for indices that are made from then on; existing ones stay as they are.

Exit codes: 0 done, 1 a store refused, 2 the configuration is wrong, 3 a store does not answer.";

/// Arguments of `setup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SetupArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Do it
    #[arg(long)]
    apply: bool,
}

/// What is to be done about one thing.
enum Step {
    /// It is as it should be, or cannot be helped from here.
    Found(Finding),
    /// Something differs: what, how, and what became of it under `--apply`.
    Change {
        part: String,
        verb: &'static str,
        what: String,
        lines: Vec<String>,
        failed: Option<String>,
    },
}

pub(super) fn run(args: &SetupArgs, console: Console) -> Result<Exit, CommandError> {
    let config = load(&args.config.path, console)?;
    let runtime = runtime()?;
    let steps = runtime.block_on(steps(&config, args.apply));
    runtime.shutdown_background();
    let mut out = console.out();
    write_steps(&steps, args.apply, console, &mut out)?;
    out.flush()?;
    let failed = |step: &Step| matches!(step, Step::Change { failed: Some(_), .. });
    let unknown = |step: &Step| matches!(step, Step::Found(it) if it.problem.is_some());
    Ok(if steps.iter().any(failed) {
        Exit::Failed
    } else if steps.iter().any(unknown) {
        Exit::Partial
    } else {
        Exit::Done
    })
}

fn write_steps(
    steps: &[Step],
    apply: bool,
    console: Console,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (mut changes, mut failures, mut problems) = (0, 0, 0);
    for step in steps {
        match step {
            Step::Found(finding) => {
                super::check::write_finding(finding, console, out)?;
                problems += u64::from(finding.problem.is_some());
            }
            Step::Change { part, verb, what, lines, failed } => {
                changes += 1;
                let mark = console.paint(Mood::Careful, "~");
                writeln!(out, "{mark} {part}  {verb} {what}")?;
                for line in lines {
                    writeln!(out, "    {}", escape_control(line))?;
                }
                if let Some(problem) = failed {
                    failures += 1;
                    let mark = console.paint(Mood::Bad, "✗");
                    writeln!(out, "{mark} {part}  {what}: {}", escape_control(problem))?;
                }
            }
        }
    }
    let done = match (changes, apply) {
        (0, _) if problems == 0 => "nothing to do".to_owned(),
        (0, _) => "nothing else to do".to_owned(),
        (_, true) => format!("{} done", changes - failures),
        (_, false) => format!("{changes} to do; `--apply` does it"),
    };
    match failures + problems {
        0 => writeln!(out, "{done}"),
        failed => writeln!(out, "{done}, {failed} failed"),
    }
}

async fn steps(config: &Config, apply: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for sink in &config.sinks {
        match &sink.kind {
            SinkKind::Elasticsearch(it) => steps.push(template(&sink.name, it, apply).await),
            SinkKind::S3(it) => match without_credentials(&sink.name, it).await {
                Some(finding) => steps.push(Step::Found(finding)),
                None => steps.extend(buckets(sink).await),
            },
            // A folder is made with its first object.
            SinkKind::Local(_) => {}
        }
    }
    steps
}

async fn template(sink: &str, settings: &ElasticsearchSink, apply: bool) -> Step {
    let pattern = pattern(&settings.index);
    let what = format!("index template {} for {pattern}", name(sink));
    if settings.urls.iter().any(|url| url.reveal().contains("/insert/")) {
        let words = "nothing to set up: VictoriaLogs has no index templates";
        return Step::Found(Finding::good(sink, words));
    }
    if pattern.starts_with('*') {
        let problem = "it would count for every index of the store";
        let help = "begin `index` with a word of your own, such as `logs-{project}`";
        return Step::Found(Finding::bad(sink, what, problem, help));
    }
    let unreachable = |problem: String| {
        let help = "does the store run, and may this user read its templates?";
        Step::Found(Finding::bad(sink, what.clone(), problem, help))
    };
    let client = match HttpClient::new(&http_settings(settings)) {
        Ok(client) => client,
        Err(error) => return unreachable(error.to_string()),
    };
    let base = settings.urls.first().map_or("", |url| url.reveal().as_str());
    let api = format!("_index_template/{}", name(sink));
    let ours = body(&pattern, settings.data_stream);
    let stored = match get(&client, base, &api).await {
        Ok((404, _)) => None,
        Ok((200..=299, answer)) => stored_template(&answer),
        Ok((status, answer)) => return unreachable(refusal(status, &answer)),
        Err(problem) => return unreachable(problem),
    };
    let (verb, lines, ours) = match stored {
        None => (if apply { "created" } else { "would create" }, Vec::new(), ours),
        Some(stored) => {
            let lines = differences(&stored, &ours);
            if lines.is_empty() {
                return Step::Found(Finding::good(sink, format!("{what}: current")));
            }
            (if apply { "changed" } else { "would change" }, lines, merged(&stored, &ours))
        }
    };
    let part = sink.to_owned();
    if !apply {
        return Step::Change { part, verb, what, lines, failed: None };
    }
    match put(&client, base, &api, &ours).await {
        Ok(()) => Step::Change { part, verb, what, lines, failed: None },
        Err(why) => Step::Change { part, verb: "tried", what, lines, failed: Some(why) },
    }
}

fn stored_template(answer: &[u8]) -> Option<Value> {
    let mut answer: Value = serde_json::from_slice(answer).ok()?;
    let found = answer.get_mut("index_templates")?.get_mut(0)?.get_mut("index_template")?;
    Some(found.take())
}

async fn put(client: &HttpClient, base: &str, api: &str, body: &Value) -> Result<(), String> {
    let uri = endpoint(base, api, "").map_err(|error| error.to_string())?;
    let body = Bytes::from(body.to_string());
    let answer =
        client.send(Method::PUT, uri, "application/json", Encoding::None, body.into()).await;
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(refusal(status, &answer.body)),
    }
}

/// Status and the store's reason, or the beginning of whatever it said.
fn refusal(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let parsed: Option<Value> = serde_json::from_str(&text).ok();
    let reason = parsed.as_ref().and_then(|it| it.pointer("/error/reason")).and_then(Value::as_str);
    let words: String = reason.unwrap_or(&text).chars().take(WORDS_MAX).collect();
    escape_control(format!("status {status}: {words}").trim_end_matches([':', ' '])).into_owned()
}

async fn buckets(sink: &Sink) -> Vec<Step> {
    let stores = match stores(sink).await {
        Ok(stores) => stores.unwrap_or_default(),
        Err(error) => {
            let finding = Finding::bad(&sink.name, "client", error.to_string(), "");
            return vec![Step::Found(finding)];
        }
    };
    let mut steps = Vec::new();
    for (bucket, store) in &stores {
        let what = format!("bucket {bucket}");
        steps.push(Step::Found(match listable(&**store).await {
            Ok(()) => Finding::good(&sink.name, format!("{what}: there")),
            Err(problem) => {
                let help = "make the bucket, or allow these credentials to list it";
                Finding::bad(&sink.name, what, problem, help)
            }
        }));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_clean_line() {
        let body = br#"{"error":{"type":"x","reason":"no \u001b[2J permission"},"status":403}"#;
        assert_eq!(refusal(403, body), "status 403: no \\x1b[2J permission");
        assert_eq!(refusal(502, b"<html>\nbad"), "status 502: <html>\\nbad");
        assert_eq!(refusal(500, b""), "status 500");
    }

    #[test]
    fn a_stored_template_is_found_in_its_wrapping() {
        let answer = br#"{"index_templates":[{"name":"x","index_template":{"priority":1}}]}"#;
        assert_eq!(stored_template(answer), Some(serde_json::json!({"priority": 1})));
        assert_eq!(stored_template(b"{}"), None);
    }
}
