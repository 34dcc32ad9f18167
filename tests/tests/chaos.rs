//! The short version of `./x chaos`: one small round of some scenarios, on the services of
//! `./x test`.
//!
//! The invariant: the seed is fixed, so that what fails here fails again; other seeds
//! are for runs by hand. Next stop: `tests/src/bin/chaos/main.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::{binary, services};
use std::process::{Command, Stdio};

const SEED: &str = "1";

#[test]
fn under_fire_nothing_is_lost_and_nothing_is_there_twice() -> Result<()> {
    if services().is_none() {
        return Ok(());
    }
    let mut chaos = Command::new(env!("CARGO_BIN_EXE_chaos"));
    chaos.args(["--short", "--seed", SEED]).env("RIVERHOG_BIN", binary()?);
    let output = chaos.stdin(Stdio::null()).output()?;
    let table = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}\n{table}\n{said}", output.status);
    // A table without a row would be a success too.
    let rows = table.lines().filter(|line| line.contains(" wire ")).count();
    ensure!(rows == 3 && !table.contains("skipped"), "{table}\n{said}");
    println!("{table}");
    Ok(())
}
