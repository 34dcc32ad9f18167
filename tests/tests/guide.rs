//! What the documents tell a reader to type: the steps of the guide that need no service, in order
//! and in one folder, and the configuration of the README.
//!
//! The invariant: what a document shows as an answer is an answer of the command before it. Next
//! stop: `docs/getting-started.md`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{binary, run_command};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const GUIDE: &str = include_str!("../../docs/getting-started.md");
const README: &str = include_str!("../../README.md");
const TRANSFORM: &str = include_str!("../../docs/transform.md");
const KAFKA: &str = include_str!("../../docs/kafka.md");
const NUMBERS: &str = include_str!("../../docs/numbers.md");

/// Steps of the guide that need nothing but the program.
const STEPS: [&str; 3] = ["## 2. ", "## 3. ", "## 4. "];

/// A fenced block: the heading it stands under, its language, its text.
struct Block<'a> {
    heading: &'a str,
    language: &'a str,
    text: String,
}

fn blocks(document: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut heading, mut is_open) = (Vec::new(), "", false);
    for line in document.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                blocks.push(Block { heading, language, text: String::new() });
            }
            (None, true) => {
                let block: &mut Block<'_> = blocks.last_mut().expect("one is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) if line.starts_with('#') => heading = line,
            (Some(_), true) | (None, false) => {}
        }
        is_open ^= line.starts_with("```");
    }
    blocks
}

/// Runs a block as one would type it, and gives what it prints.
fn type_in(folder: &Path, text: &str) -> Result<String> {
    let program = binary()?.parent().context("it stands in a folder")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", text]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    let output = command.output()?;
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Every value of the block is one of the lines.
fn shows(text: &str, printed: &str) -> Result<()> {
    let lines: Vec<Value> = printed
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context(printed.to_owned())?;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value?;
        ensure!(lines.contains(&value), "not printed: {value}\nbut: {printed}");
    }
    Ok(())
}

#[test]
fn the_guide_can_be_typed_in() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut printed, mut typed, mut shown) = (String::new(), 0, 0);
    for block in blocks(GUIDE) {
        if !STEPS.iter().any(|step| block.heading.starts_with(step)) {
            continue;
        }
        match block.language {
            "toml" => fs::write(folder.path().join("riverhog.toml"), &block.text)?,
            "csv" => fs::write(folder.path().join("hosts.csv"), &block.text)?,
            "sh" => {
                printed = type_in(folder.path(), &block.text)?;
                typed += 1;
            }
            "json" => {
                shows(&block.text, &printed).with_context(|| block.heading.to_owned())?;
                shown += 1;
            }
            other => anyhow::bail!("{}: what is a block of {other}?", block.heading),
        }
    }
    ensure!((typed, shown) == (3, 2), "{typed} blocks were typed in, {shown} compared");
    Ok(())
}

#[test]
fn the_steps_of_the_documentation_pass_their_tests() -> Result<()> {
    passes_its_tests(TRANSFORM)
}

#[test]
fn the_route_of_numbers_passes_its_tests() -> Result<()> {
    passes_its_tests(NUMBERS)
}

/// Each way into a broker, put into a configuration; what stands outside of the page is made here.
#[test]
fn the_properties_of_secured_brokers_are_known() -> Result<()> {
    const AROUND: &str = r#"[labels]
task = { from = ["header.task"], default = "t" }
[[route]]
sinks = ["archive"]
[sinks.archive]
type = "local"
path = "archive"
prefix = "{task}/"
[sources.logs]
type = "kafka"
brokers = ["127.0.0.1:9093"]
topics = ["logs"]
group = "riverhog"
"#;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("secret"), "secret")?;
    let all = blocks(KAFKA);
    let mut checked = 0;
    for block in all.iter().filter(|block| block.language == "toml") {
        let text = block.text.replace("${KAFKA_KEY_PASSWORD}", "${file:secret}");
        let text = text.replace("/run/secrets/kafka-password", "secret");
        let text = text.replace("/run/secrets/oidc", "secret");
        fs::write(folder.path().join("riverhog.toml"), format!("{AROUND}{text}"))?;
        let finished = run_command(folder.path(), &["check"])?;
        let heading = block.heading;
        ensure!(finished.stdout.ends_with("0 errors, 0 warnings\n"), "{heading}: {finished:?}");
        checked += 1;
    }
    ensure!(checked == 4, "{checked} ways");
    Ok(())
}

/// The configuration of a page is good, and its tests pass.
fn passes_its_tests(page: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let blocks = blocks(page);
    let config = blocks.iter().find(|block| block.language == "toml").context("it has one")?;
    fs::write(folder.path().join("riverhog.toml"), &config.text)?;
    for command in ["check", "test"] {
        let finished = run_command(folder.path(), &[command])?;
        ensure!(finished.code == Some(0) && finished.stderr.is_empty(), "{command}: {finished:?}");
    }
    Ok(())
}

#[test]
fn the_configuration_of_the_readme_is_good() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let blocks = blocks(README);
    let config = blocks.iter().find(|block| block.language == "toml").context("it has one")?;
    fs::write(folder.path().join("riverhog.toml"), &config.text)?;
    let finished = run_command(folder.path(), &["check"])?;
    ensure!(finished.code == Some(0) && finished.stderr.is_empty(), "{finished:?}");
    ensure!(finished.stdout.ends_with("0 errors, 0 warnings\n"), "{finished:?}");
    Ok(())
}
