//! Instructions that a line costs on the hottest paths, beside baselines kept in the repository.
//!
//! A clock on a shared machine tells little of a change by a few per cent; instructions do not
//! depend on what else runs. Valgrind counts them: virtual machines seldom let a program read the
//! processor's own counters. What two more rounds cost is counted, not what preparing them costs.
//! The invariant: without `--update` nothing is written. Next stop: `parsing.rs` and `chain.rs`,
//! which are counted.

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum as _;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::chain::Way;
use crate::parsing::Stage;
use crate::report;

/// Splitting is most of the work for lines that come many to a record; the pattern and the time are
/// most of parsing; encoding is paid for every line whatever its parser; the transform is all of it
/// with redaction, as a worker runs it. The chain is that of a training job's lines, from the
/// envelope to the fields, to the document, with joining, and with a preset.
const PATHS: [Path; 9] = [
    Path::Stage(Stage::Split),
    Path::Stage(Stage::Grok),
    Path::Stage(Stage::Time),
    Path::Stage(Stage::Encode),
    Path::Stage(Stage::Transform),
    Path::Way(Way::Fields),
    Path::Way(Way::Document),
    Path::Way(Way::Joined),
    Path::Way(Way::Identity),
];
/// A megabyte of lines: a batch.
const LINES: u32 = 7_000;
/// Rounds of the longer of two runs.
const ROUNDS: u32 = 3;
/// Above so much of its baseline a path fails.
const RATIO_MAX: f64 = 1.05;
const HEAD: &str = "# Instructions a line, written by `./x bench instructions --update`.\n";
const VALGRIND: &str = "valgrind";

/// What is counted: a stage of `parsing`, or a way of `chain`.
#[derive(Clone, Copy)]
enum Path {
    Stage(Stage),
    Way(Way),
}

impl Path {
    /// The word for it on the command line.
    fn word(self) -> String {
        let value = match self {
            Path::Stage(stage) => stage.to_possible_value(),
            Path::Way(way) => way.to_possible_value(),
        };
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The word for it in the file.
    fn name(self) -> String {
        match self {
            Path::Stage(_) => self.word(),
            Path::Way(_) => format!("chain-{}", self.word()),
        }
    }

    fn arguments(self) -> [String; 3] {
        let (command, option) = match self {
            Path::Stage(_) => ("parsing", "--stage"),
            Path::Way(_) => ("chain", "--way"),
        };
        [command.to_owned(), option.to_owned(), self.word()]
    }
}

/// What to do with what is counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write what is counted as the new baselines
    #[arg(long)]
    update: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt"));
    let known = match std::fs::read_to_string(&file) {
        Ok(text) => read(&text)?,
        Err(_) if args.update => Vec::new(),
        Err(error) => {
            let context = format!("reading the baselines {}", file.display());
            return Err(error).context(context);
        }
    };
    report::print("| path | instructions a line | baseline | ratio |")?;
    report::print("|---|---|---|---|")?;
    let (mut written, mut above) = (HEAD.to_owned(), Vec::new());
    for path in PATHS {
        let name = path.name();
        let count = count(path)?;
        writeln!(written, "{name} {count:.1}")?;
        let baseline = known.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        let Some(baseline) = baseline else {
            report::print(&format!("| {name} | {count:.1} | – | – |"))?;
            above.push(name);
            continue;
        };
        let ratio = count / baseline;
        report::print(&format!("| {name} | {count:.1} | {baseline:.1} | {ratio:.3} |"))?;
        if is_above(ratio) {
            above.push(name);
        }
    }
    if args.update {
        return std::fs::write(&file, written).context("writing the baselines");
    }
    let above = above.join(", ");
    ensure!(above.is_empty(), "more than 5 % above the baseline, or without one: {above}");
    Ok(())
}

fn is_above(ratio: f64) -> bool {
    // A ratio that is no number is no proof.
    ratio.is_nan() || ratio > RATIO_MAX
}

/// Instructions of a line.
fn count(path: Path) -> Result<f64> {
    let (few, many) = (total(path, 1)?, total(path, ROUNDS)?);
    let lines = f64::from(LINES) * f64::from(ROUNDS - 1);
    Ok(many.saturating_sub(few) as f64 / lines)
}

/// Instructions of a process that goes through the lines so often.
fn total(path: Path, rounds: u32) -> Result<u64> {
    let program = std::env::current_exe().context("finding this program")?;
    let output = Command::new(VALGRIND)
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args(path.arguments())
        .args(["--lines", &LINES.to_string(), "--rounds", &rounds.to_string()])
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => bail!(
            "{VALGRIND} counts the instructions and cannot be started ({error}); install it: \
             sudo apt-get install valgrind"
        ),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{VALGRIND} failed on {}: {told}", path.name());
    instructions(&told).with_context(|| format!("{VALGRIND} told no count: {told}"))
}

/// What cachegrind says: `==42== I   refs:      1,234,567`, and `I refs:` in newer ones.
fn instructions(told: &str) -> Option<u64> {
    told.lines().find_map(|line| {
        let (head, count) = line.split_once("refs:")?;
        head.trim_end().ends_with('I').then(|| count.replace(',', "").trim().parse().ok())?
    })
}

/// The baselines: a name and a number a line, `#` before what is said about them.
fn read(text: &str) -> Result<Vec<(String, f64)>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let baseline = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        let count = count.parse().ok().filter(|count| *count > 0.0)?;
        Some((name.to_owned(), count))
    };
    lines.map(|line| baseline(line).with_context(|| format!("no baseline: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_baseline() {
        let known = read(include_str!("../instructions.txt")).unwrap();
        let known: Vec<String> = known.into_iter().map(|(name, _)| name).collect();
        assert_eq!(known, PATHS.map(Path::name));
    }

    #[test]
    fn counts_are_read() {
        let told = "==7== Cachegrind\n==7== D refs: 5\n==7== I   refs:      1,234,567\n";
        assert_eq!(instructions(told), Some(1_234_567));
        assert_eq!(instructions("==7== I refs:  89\n"), Some(89));
        assert_eq!(instructions("==7== LL refs: 89\n"), None);
    }

    #[test]
    fn what_is_no_baseline_is_an_error() {
        assert_eq!(read("# x\n\ngrok 12.5\n").unwrap(), [("grok".to_owned(), 12.5)]);
        for text in ["grok", "grok x", "grok 0", "grok -1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn five_per_cent_more_is_above() {
        assert!(!is_above(0.5) && !is_above(1.05) && is_above(1.051) && is_above(f64::NAN));
    }
}
