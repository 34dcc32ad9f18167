//! The real binary as a child process: started, asked, stopped in order or killed, started again.
//!
//! The invariant: no child outlives its test, and a test that fails shows the end of its log.

use anyhow::{Context as _, Result, bail, ensure};
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::{HttpClient, Metrics, eventually};

/// Lines of the log that a failed test shows.
const LOG_LINES_SHOWN: usize = 60;
/// Longer than any step that a test waits for without naming a time of its own.
const DEADLINE: Duration = Duration::from_mins(1);

/// What to run: `riverhog run CONFIG ARGS…` in a folder of the test's.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Where the configuration and the log are put; relative paths in the config start here.
    pub folder: PathBuf,
    /// Tells several instances of one test apart: `NAME.toml`, `NAME.log`.
    pub name: String,
    /// The configuration. `@HTTP@` in it becomes the address of the instance's HTTP port; without
    /// the word an `[http]` table with that address is added.
    pub config: String,
    /// More arguments, after the configuration.
    pub args: Vec<String>,
    /// More of the environment.
    pub env: Vec<(String, String)>,
}

/// A running instance.
#[derive(Debug)]
pub struct Riverhog {
    launch: Launch,
    child: Child,
    port: u16,
    /// Is the end of its log shown when it is dropped?
    tells: bool,
}

/// What a command that ended has left.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Runs `riverhog ARGS…` in a folder and waits for its end.
pub fn run_command(folder: &Path, args: &[&str]) -> Result<Finished> {
    run_with(folder, args, Stdio::null())
}

/// As [`run_command`], anywhere, with a file as its standard input.
pub fn run_on_file(file: &Path, args: &[&str]) -> Result<Finished> {
    let input = File::open(file).with_context(|| format!("opening {}", file.display()))?;
    run_with(Path::new("."), args, input.into())
}

fn run_with(folder: &Path, args: &[&str], input: Stdio) -> Result<Finished> {
    let mut command = Command::new(binary()?);
    let output = command.args(args).current_dir(folder).stdin(input).output();
    let output = output.with_context(|| format!("running riverhog {args:?}"))?;
    Ok(Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A port of loopback that nobody uses and this process has not handed out. Below the range of
/// outgoing connections, so that it is still free when an instance is killed and started again.
pub fn free_port() -> Result<u16> {
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 5_000;
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let next = NEXT.get_or_init(|| AtomicU16::new((crate::random() % u64::from(COUNT)) as u16));
    for _ in 0..COUNT {
        let port = FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} on")
}

/// The binary that is tested: the one that `./x test` names, else the one that cargo has just
/// brought up to date, in the same profile and with the same packages as the tests themselves.
pub fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = BINARY.get_or_init(|| match std::env::var_os("RIVERHOG_BIN") {
        Some(path) => Ok(path.into()),
        None => build_binary().map_err(|error| format!("{error:#}")),
    });
    found.as_deref().map_err(|text| anyhow::anyhow!("no binary to test: {text}"))
}

fn build_binary() -> Result<PathBuf> {
    let test = std::env::current_exe().context("finding the test's own path")?;
    let profile = test.parent().and_then(Path::parent).context("the test is not in target")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--bins"]);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let output = command.stdin(Stdio::null()).output().context("running cargo build")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(profile.join("riverhog"))
}

impl Riverhog {
    /// Starts an instance; it need not be ready, see `wait_ready`.
    pub fn start(launch: Launch) -> Result<Self> {
        let port = free_port()?;
        write_config(&launch, port, &launch.config)?;
        let child = spawn(&launch)?;
        Ok(Self { launch, child, port, tells: true })
    }

    /// Starts it again, as it was, after its process has ended.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(self.exit_status()?.is_some(), "{} is still running", self.launch.name);
        self.child = spawn(&self.launch)?;
        Ok(())
    }

    /// Shows no log when it is dropped: for a program, which shows what it prints at once.
    pub fn quiet(mut self) -> Self {
        self.tells = false;
        self
    }

    /// Changes what the next `restart` runs with; the HTTP port stays. `@HTTP@` as in [`Launch`].
    pub fn set_config(&mut self, config: &str) -> Result<()> {
        write_config(&self.launch, self.port, config)
    }

    /// The process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// A client for the instance's HTTP port.
    pub fn http(&self) -> HttpClient {
        HttpClient::new(&format!("http://127.0.0.1:{}", self.port))
    }

    /// How the process ended, or `None` while it runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("asking for the process")
    }

    /// `kill -9`, as a node that dies; waits until the process has gone.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().context("killing")?;
        self.child.wait().map(drop).context("waiting for the end")
    }

    /// SIGTERM, as Kubernetes and systemd do; returns at once.
    pub fn terminate(&mut self) -> Result<()> {
        self.signal("TERM")
    }

    /// SIGHUP, SIGINT and so on, by the name that `kill` knows.
    pub fn signal(&mut self, name: &str) -> Result<()> {
        ensure!(self.exit_status()?.is_none(), "{} has ended already", self.launch.name);
        // The shell's own `kill`: a program of that name is not on every machine.
        let line = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &line]).status().context("running sh")?;
        ensure!(status.success(), "{line}: {status}");
        Ok(())
    }

    /// Waits for the end of the process and returns its exit code.
    pub async fn wait_exit(&mut self, deadline: Duration) -> Result<Option<i32>> {
        let status = eventually(deadline, "the process ends", || {
            let seen = self.child.try_wait();
            async move { seen.map_err(|e| e.to_string())?.ok_or_else(|| "it runs".to_owned()) }
        });
        Ok(status.await.code())
    }

    /// Waits for the end of the process, which must be one in order.
    pub async fn ends_in_order(&mut self, deadline: Duration) -> Result<()> {
        let code = self.wait_exit(deadline).await?;
        ensure!(code == Some(0), "{} ended with {code:?}", self.launch.name);
        Ok(())
    }

    /// Asks it to stop, and waits for its end in order.
    pub async fn stop(&mut self, deadline: Duration) -> Result<()> {
        self.terminate()?;
        self.ends_in_order(deadline).await
    }

    /// Waits until `/health/ready` answers 200: partitions are assigned.
    pub async fn wait_ready(&mut self) -> Result<()> {
        let http = self.http();
        let ready = eventually(DEADLINE, "the instance is ready", || {
            let ended = self.child.try_wait();
            let http = http.clone();
            async move {
                // An instance that has ended will not become ready: found, and told below.
                if let Some(status) = ended? {
                    return Ok(Err(status));
                }
                let reply = http.get("/health/ready").await?;
                ensure!(reply.status == 200, "{} {}", reply.status, reply.text());
                anyhow::Ok(Ok(()))
            }
        });
        let ready = ready.await;
        ready.map_err(|status| anyhow::anyhow!("{} ended: {status}", self.launch.name))
    }

    /// The metrics now.
    pub async fn metrics(&self) -> Result<Metrics> {
        let reply = self.http().get("/metrics").await?;
        ensure!(reply.status == 200, "/metrics: {}", reply.status);
        Ok(Metrics::parse(&reply.text()))
    }

    /// Everything that all its processes have written to standard error so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(log_path(&self.launch)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Riverhog {
    #[expect(clippy::print_stderr, reason = "the test runner shows it with a failed test only")]
    fn drop(&mut self) {
        // It may have ended already; there is nobody to tell.
        self.kill().ok();
        if !self.tells {
            return;
        }
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let shown = lines.len().saturating_sub(LOG_LINES_SHOWN);
        eprintln!("the end of the log of {}:", self.launch.name);
        lines[shown..].iter().for_each(|line| eprintln!("    {line}"));
    }
}

fn write_config(launch: &Launch, port: u16, config: &str) -> Result<()> {
    let table = if config.contains("@HTTP@") { "" } else { "\n[http]\nlisten = \"@HTTP@\"\n" };
    let text = format!("{config}{table}").replace("@HTTP@", &format!("127.0.0.1:{port}"));
    std::fs::write(config_path(launch), text).context("writing the configuration")
}

fn config_path(launch: &Launch) -> PathBuf {
    launch.folder.join(format!("{}.toml", launch.name))
}

fn log_path(launch: &Launch) -> PathBuf {
    launch.folder.join(format!("{}.log", launch.name))
}

fn spawn(launch: &Launch) -> Result<Child> {
    let log = log_path(launch);
    let log = File::options().create(true).append(true).open(&log);
    let log = log.with_context(|| format!("opening the log of {}", launch.name))?;
    let mut command = Command::new(binary()?);
    command.arg("run").arg(config_path(launch)).args(&launch.args);
    command.current_dir(&launch.folder);
    command.envs(launch.env.iter().map(|(key, value)| (key, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().with_context(|| format!("starting {}", launch.name))
}
