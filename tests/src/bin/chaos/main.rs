//! `./x chaos`: the real binary on real services while everything around it fails, and at the end
//! every line counted in every store.
//!
//! The invariant: a round ends well only when each line it produced stands once in each store it is
//! routed to (where a store keeps no ids: at least once), and when its fault was really met. Every
//! choice comes from a seed that is printed. Next stop: `scenarios.rs`, the list.

mod answers;
mod count;
mod options;
mod place;
mod processes;
mod restarts;
mod scenarios;
mod wires;

use anyhow::{Context as _, Result};
use riverhog_tests::{Services, services};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use count::Count;
use options::Options;
use place::Round;
use scenarios::{SCENARIOS, Scenario};

/// Lines of a round.
const LINES: u64 = 20_000;
/// The same in the short version.
const LINES_SHORT: u64 = 6_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match chaos().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Did every round end well?
async fn chaos() -> Result<bool> {
    let options = Options::read(std::env::args().skip(1))?;
    if options.help {
        say(options::USAGE);
        return Ok(true);
    }
    if options.list {
        for scenario in &SCENARIOS {
            say(&format!("{:<18} {}", scenario.name, scenario.about));
        }
        return Ok(true);
    }
    let services = services().context("it needs its services: type ./x chaos")?;
    say(&format!("seed {}", options.seed));
    say(&format!(
        "{:<18} {:>6} {:>9} {:>6} {:>9} {:>8}  {}",
        "scenario", "rounds", "lines", "lost", "repeated", "seconds", "what was met"
    ));
    let mut all_well = true;
    for scenario in SCENARIOS.iter().filter(|scenario| options.wants(scenario)) {
        all_well &= run(scenario, &services, &options).await;
    }
    Ok(all_well)
}

/// All rounds of a scenario, and its row of the table.
async fn run(scenario: &Scenario, services: &Services, options: &Options) -> bool {
    let rounds = options.rounds_of(scenario);
    let began = now();
    let (mut total, mut failed) = (Count::default(), 0);
    for number in 0..rounds {
        let seed = options.seed.wrapping_add(number);
        let folder = folder_of(scenario, seed);
        let lines = if options.short { LINES_SHORT } else { LINES };
        let (services, short) = (services.clone(), options.short);
        let round = Round { services, seed, lines, short, folder: folder.clone() };
        match one(scenario, round).await {
            Ok(count) => {
                let is_well = count.is_well();
                failed += u64::from(!is_well);
                if !is_well {
                    say_failed(scenario, seed, &folder, &count.complaint());
                }
                let is_skipped = count.skipped.is_some();
                total.add(count);
                if is_well {
                    fs::remove_dir_all(&folder).ok();
                }
                if is_skipped {
                    break;
                }
            }
            Err(error) => {
                failed += 1;
                say_failed(scenario, seed, &folder, &format!("{error:#}"));
            }
        }
    }
    if let Some(why) = &total.skipped {
        say(&format!("{:<18} skipped: {why}", scenario.name));
        return failed == 0;
    }
    say(&format!(
        "{:<18} {:>6} {:>9} {:>6} {:>9} {:>8.1}  {}{}",
        scenario.name,
        rounds,
        total.lines,
        total.lost,
        total.repeated,
        began.elapsed().as_secs_f64(),
        total.met,
        if failed > 0 { format!("; {failed} FAILED") } else { String::new() },
    ));
    failed == 0
}

/// A round in a task of its own: a wait that is not fulfilled panics.
async fn one(scenario: &Scenario, round: Round) -> Result<Count> {
    fs::create_dir_all(&round.folder).context("making the round's folder")?;
    match tokio::spawn((scenario.run)(round)).await {
        Ok(result) => result,
        Err(error) => {
            let panic = error.try_into_panic().context("the round was ended")?;
            let text = panic.downcast_ref::<String>().map_or("it panicked", String::as_str);
            Err(anyhow::anyhow!("{text}"))
        }
    }
}

fn folder_of(scenario: &Scenario, seed: u64) -> PathBuf {
    let name = scenario.name.replace(' ', "-");
    let all = format!("riverhog-chaos-{}", std::process::id());
    std::env::temp_dir().join(all).join(format!("{name}-{seed}"))
}

fn say_failed(scenario: &Scenario, seed: u64, folder: &Path, why: &str) {
    let name = scenario.name;
    say(&format!(
        "FAILED {name}: {why}\n  its folder: {}\n  again: ./x chaos --only '{name}' --seed {seed} \
         --rounds 1",
        folder.display()
    ));
}

/// A line of standard output, which may be closed.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

#[expect(clippy::disallowed_methods, reason = "a program of the tests may ask for the time")]
fn now() -> Instant {
    Instant::now()
}
