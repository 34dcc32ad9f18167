//! A measured process: started from this very program, its CPU time and memory read from `/proc`.
//!
//! The invariant: no child outlives the bench, and CPU time is read after the child has ended and
//! before it is collected, when nothing more can be added to it.

use anyhow::{Context as _, Result, bail, ensure};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Linux counts the CPU time of processes in hundredths of a second for every program to read.
const TICKS_PER_SECOND: f64 = 100.0;
/// Between two looks at a child.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What a process has used.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Used {
    /// User and system time, seconds.
    pub(crate) cpu_s: f64,
    /// Most memory it ever held, bytes.
    pub(crate) peak_rss: u64,
}

/// A child process.
pub(crate) struct Measured {
    child: Child,
    used: Used,
}

/// This program, again, as something else.
pub(crate) fn myself(arguments: &[String]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("finding this program")?);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

impl Measured {
    /// Starts a command whose complaints go into `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Measured> {
        let log = std::fs::File::create(log).context("making a log")?;
        let child = command.stderr(log).spawn().context("starting a child")?;
        Ok(Measured { child, used: Used::default() })
    }

    /// The first line that the child writes to standard output.
    pub(crate) fn first_line(&mut self) -> Result<String> {
        let stdout = self.child.stdout.take().context("no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(!line.is_empty(), "a child has ended before it said anything");
        Ok(line.trim().to_owned())
    }

    /// Reads what the child has used so far; true once it has ended.
    pub(crate) fn look(&mut self) -> Result<bool> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
        let (state, ticks) = state_and_ticks(&stat).context("reading /proc/PID/stat")?;
        self.used.cpu_s = ticks as f64 / TICKS_PER_SECOND;
        // A process that has ended has no memory to tell of.
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        if let Some(bytes) = peak_bytes(&status) {
            self.used.peak_rss = self.used.peak_rss.max(bytes);
        }
        Ok(state == 'Z')
    }

    /// What it has used at the last look.
    pub(crate) fn used(&self) -> Used {
        self.used
    }

    /// SIGTERM.
    pub(crate) fn terminate(&self) -> Result<()> {
        let line = format!("kill -TERM {}", self.child.id());
        let status = Command::new("sh").args(["-c", &line]).status().context("running sh")?;
        ensure!(status.success(), "{line}: {status}");
        Ok(())
    }

    /// Waits for the end and tells it.
    pub(crate) async fn wait(&mut self, at_most: Duration) -> Result<ExitStatus> {
        let mut left = at_most.as_millis() / LOOK.as_millis();
        while !self.look()? {
            if left == 0 {
                bail!("a child did not end within {at_most:?}");
            }
            left -= 1;
            tokio::time::sleep(LOOK).await;
        }
        Ok(self.child.wait()?)
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        // It may have ended already; there is nobody to tell.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The state of a process, and its user and system time in ticks.
fn state_and_ticks(stat: &str) -> Option<(char, u64)> {
    // The name, in parentheses, may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut times = fields.skip(10);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    Some((state, user + system))
}

fn peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read() {
        let stat = "42 (a) b) Z 1 42 42 0 -1 4194560 120 0 0 0 250 31 0 0 20 0 1 0";
        assert_eq!(state_and_ticks(stat), Some(('Z', 281)));
        assert_eq!(peak_bytes("VmPeak: 9 kB\nVmHWM:\t   96 kB\n"), Some(96 * 1024));
        assert_eq!(peak_bytes(""), None);
    }
}
