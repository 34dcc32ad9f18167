//! Grok beside the engines that it could have been: one line of each kind, matching and not,
//! through the pattern, through PCRE2's machine code alone and through the regex crate.
//!
//! The invariant: what is compared runs in one process, in turns, so that ratios hold on a machine
//! that does other things too. Next stop: `formats.rs`.

use anyhow::{Result, anyhow};
use pcre2::bytes::{Regex as Pcre, RegexBuilder as PcreBuilder};
use regex::bytes::{Regex, RegexBuilder};
use riverhog::clock;
use riverhog_parsers::grok::{Grok, GrokOptions};
use std::hint::black_box;

use crate::{formats, report};

const SWIFT: &str = "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: \
                     %{GREEDYDATA:content}";
const BRACKETS: &str = r"^\[%{DATA:t}\] \[%{DATA:l}\] %{DATA:c}: %{GREEDYDATA:m}";
const STEP: &str = "step %{INT:step:int}/%{INT:of:int} loss=%{NUMBER:loss:float}";
const TRAINING: &str = "2026-03-12 10:23:45,123 [INFO] [swift.trainer] step 120/5000 loss=2.104512 \
                        lr=6e-05 grad_norm=1.23 tokens/s=1234.5";
const TRACEBACK: &str = "  File \"/opt/conda/lib/python3.10/site-packages/torch/nn/module.py\", \
                         line 1511, in _wrapped_call_impl";

/// Name, pattern, line.
const CASES: [(&str, &str, &str); 11] = [
    (
        "the guide's pattern, hit",
        SWIFT,
        "2026-03-12T10:23:45.135Z INFO Trainer: Epoch 3/10, step 120/5000, loss=2.1045, lr=6e-05, \
         tokens/s=12345.6, mem=71.2GiB ok",
    ),
    ("the guide's pattern, miss", SWIFT, TRAINING),
    ("the guide's pattern, traceback", SWIFT, TRACEBACK),
    (
        "COMBINEDAPACHELOG, hit",
        "%{COMBINEDAPACHELOG}",
        "10.20.45.213 - frank [10/Oct/2026:13:55:36 -0700] \"GET /longer/path.gif?x=1 HTTP/1.0\" \
         200 2326 \"http://www.example.org/start.html\" \"Mozilla/5.0 (X11; Linux) Chrome/120\"",
    ),
    ("COMBINEDAPACHELOG, miss", "%{COMBINEDAPACHELOG}", TRAINING),
    (
        "SYSLOGLINE, hit",
        "%{SYSLOGLINE}",
        "Mar  7 04:02:11 node-12 kernel[123]: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234",
    ),
    ("SYSLOGLINE, miss", "%{SYSLOGLINE}", TRAINING),
    ("brackets, hit", BRACKETS, "[2026-03-12 10:23:45,123] [INFO] [c10d.cpp:42] rank 3: is here"),
    ("brackets, miss", BRACKETS, TRACEBACK),
    ("a step anywhere, hit", STEP, TRAINING),
    ("a step anywhere, miss", STEP, TRACEBACK),
];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often a line is read in a round
    #[arg(long, default_value_t = 20_000)]
    pub(crate) lines: u32,
    /// Rounds, of which the median is told
    #[arg(long, default_value_t = 9)]
    pub(crate) rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    report::print("| case | tier | grok, ns | PCRE2 alone | ratio | regex | ratio |")?;
    report::print("|---|---|---|---|---|---|---|")?;
    for (name, pattern, line) in CASES {
        report::print(&case(args, name, pattern, line)?)?;
    }
    formats::run(args)
}

fn case(args: &Args, name: &str, pattern: &str, line: &str) -> Result<String> {
    let grok = compile(pattern)?;
    let plain = without_names(&grok.explain().expansion);
    let pcre = pcre(&plain)?;
    let regex = regex(&plain);
    let (mut scratch, mut captures) = (grok.scratch(), Vec::new());
    let mut locations = pcre.capture_locations();
    let mut groups = regex.as_ref().map(Regex::capture_locations);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..args.rounds {
        times[0].push(each(args.lines, || {
            black_box(grok.run(black_box(line), &mut scratch, &mut captures));
        }));
        times[1].push(each(args.lines, || {
            black_box(pcre.captures_read(&mut locations, black_box(line.as_bytes())).is_ok());
        }));
        if let (Some(regex), Some(groups)) = (&regex, &mut groups) {
            times[2].push(each(args.lines, || {
                black_box(regex.captures_read(groups, black_box(line.as_bytes())));
            }));
        }
    }
    let own = Spread::of(&mut times[0]);
    let beside = |times: &mut Vec<f64>| {
        if times.is_empty() {
            return "– | –".to_owned();
        }
        let other = Spread::of(times);
        format!("{other} | {:.2}", other.median / own.median)
    };
    let (pcre, regex) = (beside(&mut times[1]), beside(&mut times[2]));
    Ok(format!("| {name} | {} | {own} | {pcre} | {regex} |", grok.tier().as_str()))
}

pub(crate) fn compile(pattern: &str) -> Result<Grok> {
    Grok::compile(pattern, &GrokOptions::default()).map_err(|error| anyhow!("{pattern}: {error}"))
}

/// As a program would use PCRE2 that has nothing but the expression.
fn pcre(expression: &str) -> Result<Pcre> {
    let mut builder = PcreBuilder::new();
    builder.utf(true).multi_line(true).dotall(true).jit(true);
    Ok(builder.build(expression)?)
}

/// `None` where it cannot say the same: it knows no look-around.
fn regex(expression: &str) -> Option<Regex> {
    let linear = expression.replace("(?>", "(?:").replace("(?<![0-9.+-])", "");
    let mut builder = RegexBuilder::new(&linear);
    builder.multi_line(true).dot_matches_new_line(true).unicode(false).build().ok()
}

/// Groups named after numbers, since a field's name is no group's.
fn without_names(expression: &str) -> String {
    let mut plain = String::with_capacity(expression.len());
    for (number, part) in expression.split("(?<").enumerate() {
        let part = match part.split_once('>') {
            _ if number == 0 => part,
            Some((_, rest)) if !part.starts_with(['=', '!']) => {
                plain.extend(["(?<g", &number.to_string(), ">"]);
                rest
            }
            // It looks behind.
            _ => {
                plain.push_str("(?<");
                part
            }
        };
        plain.push_str(part);
    }
    plain
}

/// Nanoseconds of one turn.
pub(crate) fn each(turns: u32, mut turn: impl FnMut()) -> f64 {
    let started = clock::instant();
    for _ in 0..turns {
        turn();
    }
    started.elapsed().as_secs_f64() * 1e9 / f64::from(turns.max(1))
}

/// A median with the least and the greatest.
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    greatest: f64,
}

impl Spread {
    pub(crate) fn of(times: &mut [f64]) -> Spread {
        times.sort_by(f64::total_cmp);
        let at = |index: usize| times.get(index).copied().unwrap_or(f64::NAN);
        Spread {
            median: at(times.len() / 2),
            least: at(0),
            greatest: at(times.len().saturating_sub(1)),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.1} ({:.1}–{:.1})", self.median, self.least, self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use riverhog_parsers::grok::Outcome;

    use super::*;

    #[test]
    fn names_become_numbers() {
        assert_eq!(without_names("a(?<X:b>c)(?<!d>)(?<e>f)"), "a(?<g1>c)(?<!d>)(?<g3>f)");
        assert_eq!(without_names("(?:a)"), "(?:a)");
    }

    /// A row that compares a hit with a miss says nothing.
    #[test]
    fn cases_are_what_they_are_called() {
        for (name, pattern, line) in CASES {
            let grok = compile(pattern).unwrap();
            let outcome = grok.run(line, &mut grok.scratch(), &mut Vec::new());
            assert_eq!(outcome == Outcome::Matched, name.ends_with("hit"), "{name}");
            let pcre = pcre(&without_names(&grok.explain().expansion)).unwrap();
            assert_eq!(pcre.is_match(line.as_bytes()).unwrap(), name.ends_with("hit"), "{name}");
        }
    }
}
