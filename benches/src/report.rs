//! The table: medians with the least and the greatest, ratios, and what a line costs beyond a bare
//! consumer.
//!
//! The invariant: a row with lost, repeated or foreign lines says so in its own cells.

use anyhow::Result;
use std::fmt::Write as _;
use std::io::Write as _;

use crate::load::Load;
use crate::row::{Row, Run};

/// Why writing to a string cannot fail.
const ROOM: &str = "a string takes whatever is written";
const MIB: f64 = 1_048_576.0;

/// Tells how far the bench is, on standard error.
pub(crate) fn say(words: &str) {
    // Nobody is there to tell that nobody is there.
    writeln!(std::io::stderr(), "{words}").ok();
}

/// Tells why the bench failed.
pub(crate) fn complain(error: &anyhow::Error) {
    say(&format!("error: {error:#}"));
}

/// Writes a result to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// All runs so far.
pub(crate) struct Table {
    load: Load,
    memory: String,
    rows: Vec<(Row, Vec<Run>)>,
}

impl Table {
    pub(crate) fn new(load: Load, memory: &str) -> Table {
        Table { load, memory: memory.to_owned(), rows: Vec::new() }
    }

    /// Adds a run; tells it in a line.
    pub(crate) fn add(&mut self, row: Row, run: Run) -> String {
        match self.rows.iter_mut().find(|(of, _)| *of == row) {
            Some((_, runs)) => runs.push(run),
            None => self.rows.push((row, vec![run])),
        }
        let mut words = format!(
            "{}: {:.0} k lines/s, {:.2} CPU s/M lines, {:.0} MiB",
            row.title(),
            self.rate(&run),
            self.cpu(&run),
            run.used.peak_rss as f64 / MIB
        );
        if let Some(counted) = run.counted {
            let written = write!(
                words,
                ", lost {}, repeated {}, foreign {}, {} requests, {:.0} B a line",
                counted.lost,
                counted.repeated,
                counted.foreign,
                counted.requests,
                counted.bytes as f64 / self.load.lines as f64
            );
            written.expect(ROOM);
        }
        words
    }

    /// Thousand lines a second.
    fn rate(&self, run: &Run) -> f64 {
        self.load.lines as f64 / run.wall.as_secs_f64() / 1e3
    }

    /// Seconds of CPU for a million lines, which is microseconds for one.
    fn cpu(&self, run: &Run) -> f64 {
        run.used.cpu_s / (self.load.lines as f64 / 1e6)
    }

    /// The whole table.
    pub(crate) fn to_markdown(&self) -> String {
        let Load { lines, partitions, burst } = self.load;
        let mut text = format!(
            "{lines} lines, {burst} of a host at a time, {partitions} partitions, memory {}; median \
             (least–greatest)\n\n\
             | row | runs | k lines/s | CPU s/M lines | beyond the source, ns a line | ratio | \
             peak RSS, MiB | lost | repeated |\n|---|---|---|---|---|---|---|---|---|\n",
            self.memory
        );
        let source = self.rows.iter().find(|(row, _)| *row == Row::Source);
        let source = source.map(|(_, runs)| spread(runs.iter().map(|run| self.cpu(run))).1);
        for (row, runs) in &self.rows {
            let cpu = spread(runs.iter().map(|run| self.cpu(run)));
            let beyond = source.filter(|_| *row != Row::Source);
            let cell = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
            let summed = |of: fn(&crate::tally::Counted) -> u64| {
                runs.iter().filter_map(|run| run.counted.as_ref()).map(of).sum::<u64>()
            };
            let counted = runs.iter().any(|run| run.counted.is_some());
            let written = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.title(),
                runs.len(),
                shown(spread(runs.iter().map(|run| self.rate(run))), 0),
                shown(cpu, 2),
                cell(beyond.map(|bare| format!("{:.0}", (cpu.1 - bare) * 1e3))),
                cell(source.map(|bare| format!("{:.2}", cpu.1 / bare))),
                shown(spread(runs.iter().map(|run| run.used.peak_rss as f64 / MIB)), 0),
                cell(counted.then(|| summed(|it| it.lost).to_string())),
                cell(counted.then(|| summed(|it| it.repeated + it.foreign).to_string())),
            );
            written.expect(ROOM);
        }
        text
    }
}

/// Least, median, greatest; zeros of nothing.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}

fn shown((least, median, greatest): (f64, f64, f64), digits: usize) -> String {
    format!("{median:.digits$} ({least:.digits$}–{greatest:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Used;
    use crate::tally::Counted;
    use std::time::Duration;

    #[test]
    fn costs_are_told_beyond_the_source() {
        let mut table = Table::new(Load { lines: 2_000_000, partitions: 4, burst: 1 }, "96MiB");
        let run = |cpu_s| Run {
            used: Used { cpu_s, peak_rss: 100 << 20 },
            wall: Duration::from_secs(4),
            counted: Some(Counted { lost: 3, ..Counted::default() }),
        };
        table.add(Row::Source, Run { counted: None, ..run(1.0) });
        for cpu_s in [2.2, 2.0, 9.0] {
            table.add(Row::Bulk, run(cpu_s));
        }
        let text = table.to_markdown();
        let expect =
            "| 3 | 500 (500–500) | 1.10 (1.00–4.50) | 600 | 2.20 | 100 (100–100) | 9 | 0 |";
        assert!(text.contains(expect), "{text}");
    }
}
