//! The command line as people and scripts see it: what is typed, what comes out, and the exit code,
//! compared with transcripts in `golden/cli`. `UPDATE=1` writes them anew; the diff is reviewed.
//!
//! The invariant: a transcript holds no path of a machine and no time but what was asked for. Each
//! command runs in a folder of its own that holds a copy of the examples. Next stop: the commands
//! themselves, `pipeline/src/commands/`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{Finished, Launch, Riverhog, binary, eventually, free_port, run_command};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A fixed time of receipt.
const REFERENCE: &str = "2026-03-12T02:23:47Z";
const DEADLINE: Duration = Duration::from_mins(1);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder with the examples and the transcripts' own files.
fn folder() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for from in [root().join("examples"), root().join("tests/golden/cli/files")] {
        for entry in fs::read_dir(&from).with_context(|| from.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().context("a file has a name")?;
            fs::copy(&path, folder.path().join(name))?;
        }
    }
    Ok(folder)
}

/// Runs a command with something on standard input.
fn run_with_input(folder: &Path, args: &[&str], input: &[u8]) -> Result<Finished> {
    let mut child = Command::new(binary()?)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A command that refuses its arguments does not read.
    child.stdin.take().context("standard input is piped")?.write_all(input).ok();
    let output = child.wait_with_output()?;
    Ok(Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Compares a command with its transcript.
fn check(name: &str, args: &[&str], input: Option<&str>) -> Result<()> {
    let folder = folder()?;
    let shown: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
    let mut transcript = format!("$ riverhog {}", shown.join(" "));
    let mut bytes = Vec::new();
    if let Some(input) = input {
        bytes = fs::read(folder.path().join(input))?;
        transcript.push_str(" < ");
        transcript.push_str(input);
    }
    let finished = run_with_input(folder.path(), args, &bytes)?;
    transcript.push('\n');
    transcript.push_str(&finished.stdout);
    if !finished.stderr.is_empty() {
        transcript.push_str("--- standard error\n");
        transcript.push_str(&finished.stderr);
    }
    let code = finished.code.context("it ended by a signal")?;
    writeln!(transcript, "--- exit {code}")?;
    let place = folder.path().to_string_lossy();
    ensure!(!transcript.contains(&*place), "{name} holds a path of this machine:\n{transcript}");
    let path = root().join(format!("tests/golden/cli/{name}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &transcript)?;
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    ensure!(golden == transcript, "{name} differs; UPDATE=1 accepts it:\n{transcript}");
    Ok(())
}

fn quoted(arg: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:".contains(letter);
    if arg.chars().all(plain) { arg.to_owned() } else { format!("'{arg}'") }
}

#[test]
fn help_is_there_for_each_command() -> Result<()> {
    check("help", &["--help"], None)?;
    let commands =
        ["run", "check", "test", "parse", "demo", "grok", "dissect", "date", "setup", "redrive"];
    for command in commands {
        check(&format!("help-{command}"), &[command, "--help"], None)?;
    }
    check("redrive-wrong", &["redrive", "--name", "Again-1"], None)?;
    check("help-archive-verify", &["archive", "verify", "--help"], None)?;
    check("unknown-command", &["chekc"], None)
}

#[test]
fn check_tells_everything() -> Result<()> {
    check("check-good", &["check", "training.toml"], None)?;
    check("check-broken", &["check", "broken.toml"], None)?;
    check("check-broken-json", &["check", "broken.toml", "--format", "json"], None)?;
    check("check-missing", &["check", "nowhere.toml"], None)?;
    check("check-default", &["check"], None)?;
    check("run-broken", &["run", "broken.toml"], None)
}

#[test]
fn every_example_passes_its_own_tests() -> Result<()> {
    let folder = folder()?;
    for entry in fs::read_dir(root().join("examples"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        for command in ["check", "test"] {
            let finished = run_command(folder.path(), &[command, &name])?;
            ensure!(finished.code == Some(0), "{command} {name}: {finished:?}");
            ensure!(finished.stderr.is_empty(), "{command} {name}: {finished:?}");
        }
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains("[[tests]]"), "{name} has no tests");
    }
    Ok(())
}

#[test]
fn test_tells_what_differs() -> Result<()> {
    check("test-good", &["test", "training.toml"], None)?;
    check("test-redacted", &["test", "redact.toml"], None)?;
    check("test-joined", &["test", "joined.toml"], None)?;
    check("test-failing", &["test", "failing.toml"], None)?;
    check("test-failing-json", &["test", "failing.toml", "--format", "json"], None)
}

#[test]
fn parse_shows_what_would_be_sent() -> Result<()> {
    let config = ["parse", "--config", "file-to-local.toml", "--reference", REFERENCE];
    check("parse-config", &config, Some("sample.log"))?;
    let usual = ["parse", "--reference", REFERENCE, "--zone", "Asia/Shanghai"];
    check("parse-usual", &usual, Some("usual.log"))?;
    let syslog = ["parse", "--as", "syslog", "--reference", REFERENCE, "--zone", "+08:00"];
    check("parse-as", &syslog, Some("syslog.log"))?;
    let training = ["parse", "--as", "training", "--reference", REFERENCE];
    check("parse-as-training", &training, Some("training.log"))?;
    check("parse-as-training-pieces", &training, Some("cri.log"))?;
    let config = ["parse", "--config", "training.toml", "--reference", REFERENCE];
    check("parse-pieces", &config, Some("cri.log"))?;
    check("parse-as-unknown", &["parse", "--as", "trainings"], Some("sample.log"))?;
    check("parse-redacted", &usual, Some("secrets.log"))?;
    let config = ["parse", "--config", "redact.toml", "--reference", REFERENCE];
    check("parse-redact-config", &config, Some("secrets.log"))?;
    check("parse-list", &["parse", "--list"], None)?;
    check("parse-list-json", &["parse", "--list", "--format", "json"], None)?;
    check("parse-format-alone", &["parse", "--format", "json"], None)?;
    check("parse-zone", &["parse", "--zone", "Asia/Shanghia"], Some("sample.log"))
}

#[test]
fn grok_answers_each_line() -> Result<()> {
    let pattern = "%{LOGLEVEL:level} %{NOTSPACE:node} %{NOTSPACE:component}: %{GREEDYDATA:content}";
    check("grok-lines", &["grok", pattern], Some("sample.log"))?;
    check("grok-null", &["grok", "--null", "(?<all>.*)"], Some("sample.log"))?;
    check("grok-wrong", &["grok", "%{LOGLEVLE:level} x"], Some("sample.log"))?;
    let pattern = "%{LOGLEVEL:[log][level]} %{SYSLOGPROG}";
    check("grok-ecs", &["grok", "--set", "ecs-v1", pattern], Some("sample.log"))?;
    check("grok-explain", &["grok", "--explain", "%{INT:step:int} %{WORD:[a][b]}"], None)?;
    check("grok-slips", &["grok", "--explain", "%{INT:n:bool} %{INT :m} %{WORD:w"], None)?;
    let pattern = "^%{NOTSPACE:word} %{LOGLEVEL:level} %{NOTSPACE:node}: %{INT:step:long}";
    check("grok-text", &["grok", "--format", "text", pattern], Some("columns.log"))?;
    let long = format!("{}%{{LOGLEVLE:level}}{}", "训 ".repeat(100), " x".repeat(100));
    check("grok-wrong-long", &["grok", &long], Some("sample.log"))?;
    check("grok-batch", &["grok", "--batch"], Some("requests.jsonl"))
}

#[test]
fn dissect_answers_each_line() -> Result<()> {
    let mapping = "%{level->} %{node} %{component}: %{content}";
    check("dissect-lines", &["dissect", mapping], Some("sample.log"))?;
    let mapping = "%{date} %{h}:%{m}:%{s},%{ms} %{rest}";
    let convert = ["dissect", "--convert", "ms=int", "--convert", "m=float", mapping];
    check("dissect-convert", &convert, Some("sample.log"))?;
    check("dissect-wrong", &["dissect", "%{level} %{+} %{content}"], Some("sample.log"))?;
    check("dissect-touching", &["dissect", "%{level}%{node} %{content}"], Some("sample.log"))?;
    check("dissect-batch", &["dissect", "--batch"], Some("mappings.jsonl"))
}

#[test]
fn date_answers_each_line() -> Result<()> {
    let formats = ["date", "ISO8601", "MMM d HH:mm:ss", "UNIX_MS", "TAI64N"];
    let at = ["--zone", "Asia/Shanghai", "--reference", REFERENCE];
    check("date-lines", &[&formats[..], &at[..]].concat(), Some("times.txt"))?;
    check("date-wrong", &["date", "yyyy-MM-ddTHH"], Some("times.txt"))?;
    check("date-zone", &["date", "ISO8601", "--zone", "Asia/Shanghia"], Some("times.txt"))?;
    check("date-locale", &["date", "MMM", "--locale", "tlh"], Some("times.txt"))?;
    check("date-batch", &["date", "--batch"], Some("dates.jsonl"))
}

#[test]
fn the_schema_is_json() -> Result<()> {
    let finished = run_command(folder()?.path(), &["schema"])?;
    ensure!(finished.code == Some(0), "{finished:?}");
    let schema: serde_json::Value = serde_json::from_str(&finished.stdout)?;
    ensure!(schema["properties"]["sinks"].is_object(), "{schema}");
    Ok(())
}

/// The example without a service, on a port of its own.
fn file_to_local(folder: &Path) -> Result<()> {
    let text = fs::read_to_string(folder.join("file-to-local.toml"))?;
    let text = format!("{text}\n[http]\nlisten = \"127.0.0.1:{}\"\n", free_port()?);
    Ok(fs::write(folder.join("riverhog.toml"), text)?)
}

fn find(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(find(&path, ending)?);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[test]
fn a_file_is_archived_once_and_verified() -> Result<()> {
    let folder = folder()?;
    let folder = folder.path();
    file_to_local(folder)?;
    // The second run finds that all of it is there.
    for _ in 0..2 {
        let finished = run_command(folder, &["run"])?;
        ensure!(finished.code == Some(0), "{finished:?}");
        let verified = run_command(folder, &["archive", "verify", "riverhog.toml"])?;
        ensure!(verified.code == Some(0), "{verified:?}");
        let expect = "archive (archive): 3 chains, 3 objects, 10 lines, ";
        ensure!(verified.stdout.starts_with(expect), "{verified:?}");
        ensure!(verified.stdout.contains("2 chains, 2 objects, 3 lines"), "{verified:?}");
    }
    let object = find(&folder.join("archive"), ".jsonl.zst")?.remove(0);
    let mut bytes = fs::read(&object)?;
    bytes[20] ^= 0xff;
    fs::write(&object, bytes)?;
    let damaged = run_command(folder, &["archive", "verify", "--path", "archive"])?;
    ensure!(damaged.code == Some(1) && damaged.stdout.contains("damaged"), "{damaged:?}");
    let nowhere = run_command(folder, &["archive", "verify", "--path", "nowhere"])?;
    ensure!(nowhere.code == Some(2), "{nowhere:?}");
    Ok(())
}

#[test]
fn a_taken_port_ends_the_run() -> Result<()> {
    let folder = folder()?;
    file_to_local(folder.path())?;
    let text = fs::read_to_string(folder.path().join("riverhog.toml"))?;
    let address = text.rsplit('"').nth(1).context("the address stands last")?;
    let _taken = std::net::TcpListener::bind(address)?;
    let finished = run_command(folder.path(), &["run"])?;
    ensure!(finished.code == Some(1), "{finished:?}");
    ensure!(finished.stderr.contains("cannot listen") && finished.stderr.contains("help: "));
    Ok(())
}

/// A file whose lines cannot be delivered.
fn stuck(folder: &Path) -> Result<Riverhog> {
    let config = fs::read_to_string(folder.join("stuck.toml"))?;
    let config = config.replace("@PORT@", &free_port()?.to_string());
    let (name, folder) = ("stuck".to_owned(), folder.to_owned());
    Riverhog::start(Launch { folder, name, config, ..Launch::default() })
}

async fn logged(running: &Riverhog, words: &str) {
    eventually(DEADLINE, words, || {
        let log = running.log();
        async move { if log.contains(words) { Ok(()) } else { Err(log) } }
    })
    .await;
}

#[tokio::test]
async fn a_second_signal_cannot_wait() -> Result<()> {
    let folder = folder()?;
    let mut running = stuck(folder.path())?;
    logged(&running, "riverhog starts").await;
    running.signal("INT")?;
    logged(&running, "a second signal ends at once").await;
    running.signal("INT")?;
    let code = running.wait_exit(DEADLINE).await?;
    ensure!(code == Some(130), "{code:?}");
    Ok(())
}

#[tokio::test]
async fn a_pipe_that_nobody_writes_to_is_told_and_can_be_stopped() -> Result<()> {
    let folder = folder()?;
    let made = Command::new("mkfifo").arg(folder.path().join("sample.pipe")).status()?;
    ensure!(made.success(), "{made:?}");
    let config = fs::read_to_string(folder.path().join("pipe.toml"))?;
    let (name, path) = ("waiting".to_owned(), folder.path().to_owned());
    let launch = Launch { folder: path, name, config, ..Launch::default() };
    let mut running = Riverhog::start(launch)?;
    logged(&running, "riverhog starts").await;
    let ready = running.http().get("/health/ready").await?;
    ensure!(ready.json()?["reason"] == "no_input", "{}", ready.text());
    running.signal("TERM")?;
    // Within the hour that the stop might take only because nothing has to be waited for.
    let code = running.wait_exit(DEADLINE).await?;
    ensure!(code == Some(130), "{code:?}");
    Ok(())
}

#[test]
fn input_that_cannot_be_read_is_not_called_output() -> Result<()> {
    let folder = folder()?;
    for args in [&["parse"][..], &["grok", "%{WORD:w}"], &["grok", "--batch"]] {
        let mut command = Command::new(binary()?);
        let output = command.args(args).stdin(fs::File::open(folder.path())?).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(stderr.contains("cannot read standard input"), "{args:?}: {stderr}");
        ensure!(stderr.contains("help: ") && output.status.code() == Some(1), "{args:?}: {stderr}");
    }
    Ok(())
}

/// Starts a configuration and waits until its log holds all these words.
async fn logs(folder: &Path, name: &str, config: String, words: &[&str]) -> Result<()> {
    let (name, folder) = (name.to_owned(), folder.to_owned());
    let running = Riverhog::start(Launch { folder, name, config, ..Launch::default() })?;
    for words in words {
        logged(&running, words).await;
    }
    Ok(())
}

#[tokio::test]
async fn what_stands_still_says_where_and_what_to_do() -> Result<()> {
    let folder = folder()?;
    let folder = folder.path();
    let port = free_port()?;
    let config = fs::read_to_string(folder.join("stuck.toml"))?;
    let refused = format!("http://127.0.0.1:{port}: ");
    logs(folder, "refused", config.replace("@PORT@", &port.to_string()), &[&refused]).await?;

    // Keys that another sink has written.
    let config = fs::read_to_string(folder.join("file-to-local.toml"))?;
    file_to_local(folder)?;
    let finished = run_command(folder, &["run"])?;
    ensure!(finished.code == Some(0), "{finished:?}");
    let renamed = config.replace("[sinks.archive]", "[sinks.other]");
    let renamed = renamed.replace("\"archive\"]", "\"other\"]");
    let words = ["foreign_chain", "name it as before, or give it another `prefix` or `bucket`"];
    logs(folder, "foreign", renamed, &words).await?;

    // A file where the archive's folder must be.
    let taken = config.replace("\"archive-errors\"", "\"sample.log\"");
    let words = ["not_a_folder", "in the folder ", "set another `path` or `prefix`"];
    logs(folder, "taken", taken, &words).await
}

/// A machine without credentials, and an address of instance metadata that never answers.
#[test]
fn missing_credentials_are_told_soon_and_plainly() -> Result<()> {
    let folder = folder()?;
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let mut command = Command::new(binary()?);
    command.args(["check", "--connect", "without-keys.toml"]).current_dir(folder.path());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    let metadata = format!("http://{}", silent.local_addr()?);
    command.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata).env("HOME", folder.path());
    let output = command.output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    ensure!(stdout.contains("archive  credentials: none were found\n"), "{stdout}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(stderr.lines().any(|line| line == "asking archive …"), "{stderr}");
    ensure!(stdout.contains("help: set `access_key` and `secret_key`, or "), "{stdout}");
    ensure!(output.status.code() == Some(3), "{output:?}");
    Ok(())
}

/// The whole of `./x demo`, with its counts.
#[test]
fn the_demo_adds_up() -> Result<()> {
    let folder = folder()?;
    let args = ["demo", "--lines", "200000", "--dir", "demo"];
    let finished = run_command(folder.path(), &args)?;
    ensure!(finished.code == Some(0), "{finished:?}");
    let sum = "produced 200,000 = archive 199,9";
    ensure!(finished.stdout.contains(sum), "{finished:?}");
    ensure!(finished.stdout.contains("nothing lost, nothing twice"), "{finished:?}");
    let again = run_command(folder.path(), &args)?;
    ensure!(again.code == Some(2), "{again:?}");
    for command in
        [&["test", "demo/riverhog.toml"][..], &["archive", "verify", "--path", "demo/archive"]]
    {
        let finished = run_command(folder.path(), command)?;
        ensure!(finished.code == Some(0), "{command:?}: {finished:?}");
    }
    Ok(())
}
