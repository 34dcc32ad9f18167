//! `riverhog check`: everything that is wrong with a configuration, and what each sink gives.
//!
//! Invariant: a configuration that `check` passes is one that `run` starts; nothing is changed, but
//! for the probe object with which `--connect` proves exclusive creation. Next stop: `connect.rs`.

use std::io::Write;

use clap::Args;
use riverhog_config::{Config, Counts, Diagnostic, ProcessEnv, Severity, Sink};
use serde_json::{Value, json};

use super::connect::{Finding, connect};
use super::console::Mood;
use super::{CommandError, ConfigArg, Console, Exit, Format, runtime};
use crate::assemble::sinks::tls_files_of;
use crate::sink::tls::{TlsSetupError, client_config};

const EXAMPLES: &str = "Examples:
  riverhog check                             everything wrong with riverhog.toml
  riverhog check pipeline.toml --connect     and whether brokers and stores answer
  riverhog check --format json | jq .diagnostics

Exit codes: 0 fine, 2 the configuration is wrong, 3 a service does not answer as it must.";

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Also ask brokers and stores
    #[arg(long)]
    connect: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is told.
struct Answer {
    diagnostics: Vec<Diagnostic>,
    counts: Counts,
    guarantees: Vec<(String, String)>,
    findings: Option<Vec<Finding>>,
}

pub(super) fn run(args: &CheckArgs, console: Console) -> Result<Exit, CommandError> {
    let answer = match riverhog_config::load(&args.config.path, &ProcessEnv) {
        Err(report) => Answer {
            diagnostics: report.diagnostics,
            counts: report.counts,
            guarantees: Vec::new(),
            findings: None,
        },
        Ok(config) => loaded(config, args.connect.then_some(console))?,
    };
    let mut out = console.out();
    match args.format {
        Format::Text => write_text(&answer, console, &mut out)?,
        Format::Json => writeln!(out, "{}", as_json(&answer))?,
    }
    out.flush()?;
    Ok(answer.exit())
}

/// `asking` is where it is told who is asked; nobody is where there is none.
fn loaded(config: Config, asking: Option<Console>) -> Result<Answer, CommandError> {
    let findings = if let Some(console) = asking {
        let runtime = runtime()?;
        let findings = runtime.block_on(connect(&config, |part| {
            console.tell_progress(&format!("asking {part} …"));
        }));
        console.end_progress();
        runtime.shutdown_background();
        Some(findings)
    } else {
        None
    };
    let mut diagnostics = tls_problems(&config);
    let guarantees = riverhog_config::guarantees(&config);
    diagnostics.extend(config.warnings);
    Ok(Answer { guarantees, counts: config.counts, diagnostics, findings })
}

/// Files of TLS that do not fit together, which shows only when they are used.
fn tls_problems(config: &Config) -> Vec<Diagnostic> {
    let problem = |sink: &Sink| {
        let files = tls_files_of(sink)?;
        if files.ca.is_none() && files.client.is_none() {
            return None;
        }
        let error = client_config(&files).err()?;
        let setting = match error {
            TlsSetupError::Certificates { .. } | TlsSetupError::Other(_) => "ca_file",
            TlsSetupError::Key { .. } | TlsSetupError::Pair { .. } => "key_file",
        };
        let message = format!("`sinks.{}.{setting}`: {error}", sink.name);
        let help = "name PEM files that belong together, and let this user read them";
        Some(Diagnostic::unreadable(message, help))
    };
    config.sinks.iter().filter_map(problem).collect()
}

impl Answer {
    fn is_wrong(&self) -> bool {
        self.diagnostics.iter().any(|it| it.severity == Severity::Error)
    }

    fn exit(&self) -> Exit {
        let findings = self.findings.iter().flatten();
        if self.is_wrong() {
            Exit::WrongInput
        } else if findings.into_iter().any(|it| it.problem.is_some()) {
            Exit::Partial
        } else {
            Exit::Done
        }
    }
}

fn write_text(answer: &Answer, console: Console, out: &mut impl Write) -> std::io::Result<()> {
    let colors = console.colors_out();
    out.write_all(riverhog_config::render_all(&answer.diagnostics, colors).as_bytes())?;
    if !answer.diagnostics.is_empty() {
        writeln!(out)?;
    }
    let width = answer.guarantees.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, guarantee) in &answer.guarantees {
        writeln!(out, "{name:width$}  {guarantee}")?;
    }
    for finding in answer.findings.iter().flatten() {
        write_finding(finding, console, out)?;
    }
    writeln!(out, "{}", riverhog_config::summary(answer.counts, &answer.diagnostics))
}

/// One line a finding, with the cure below.
pub(super) fn write_finding(
    finding: &Finding,
    console: Console,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let part = &finding.part;
    match &finding.problem {
        None => writeln!(out, "{} {part}  {}", console.paint(Mood::Good, "✓"), finding.words),
        Some(problem) => {
            let mark = console.paint(Mood::Bad, "✗");
            writeln!(out, "{mark} {part}  {}: {problem}", finding.words)?;
            match &finding.help {
                Some(help) => writeln!(out, "  help: {help}"),
                None => Ok(()),
            }
        }
    }
}

fn as_json(answer: &Answer) -> Value {
    let diagnostic = |it: &Diagnostic| {
        let place = it.place.as_ref();
        let severity = match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({
            "severity": severity,
            "message": it.message,
            "file": place.map(|place| place.file().name.as_str()),
            "line": place.map(riverhog_config::Place::line),
            "column": place.map(riverhog_config::Place::column),
            "help": it.help,
        })
    };
    let sink = |(name, guarantee): &(String, String)| json!({"name": name, "guarantee": guarantee});
    let mut object = json!({
        "ok": answer.exit() == Exit::Done,
        "diagnostics": answer.diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
        "sinks": answer.guarantees.iter().map(sink).collect::<Vec<_>>(),
        "counts": {
            "sources": answer.counts.sources,
            "parsers": answer.counts.parsers,
            "routes": answer.counts.routes,
            "sinks": answer.counts.sinks,
        },
    });
    if let Some(findings) = &answer.findings {
        let finding = |it: &Finding| {
            json!({
                "part": it.part, "what": it.words, "ok": it.problem.is_none(),
                "problem": it.problem, "help": it.help,
            })
        };
        object["connect"] = findings.iter().map(finding).collect();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::test_server::Authority;

    #[test]
    fn files_that_do_not_fit_together_are_told_before_they_are_used() {
        let authority = Authority::new();
        let said = |cert: &str, key: &str| {
            let text = format!(
                "[sources.p]\ntype = 'stdin'\n[[route]]\nsinks = ['a']\n[sinks.a]\n\
                 type = 's3'\nbucket = 'b'\nca_file = 'ca.pem'\ncert_file = '{cert}'\n\
                 key_file = '{key}'\n"
            );
            let path = authority.path("riverhog.toml");
            std::fs::write(&path, text).unwrap();
            let config = riverhog_config::load(&path, &ProcessEnv).unwrap();
            tls_problems(&config).into_iter().map(|it| it.message).collect::<Vec<_>>()
        };
        assert_eq!(said("client.pem", "client.key"), Vec::<String>::new());
        let [other] = &said("client.pem", "other.key")[..] else { panic!("one problem") };
        assert!(
            other.starts_with("`sinks.a.key_file`: ") && other.contains("other.key"),
            "{other}"
        );
        std::fs::write(
            authority.path("bent.key"),
            "-----BEGIN PRIVATE KEY-----\n@@@@\n-----END PRIVATE KEY-----\n",
        )
        .unwrap();
        let [bent] = &said("client.pem", "bent.key")[..] else { panic!("one problem") };
        assert!(bent.starts_with("`sinks.a.key_file`: ") && bent.contains("bent.key"), "{bent}");
    }
}
