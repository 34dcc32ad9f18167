//! The formats of training logs: a mixture of lines as a job writes them, split and read, beside
//! the bare splitting; and one line of each kind.
//!
//! The invariant: both ways go over the same bytes in turns, so that the ratio holds on a machine
//! that does other things too. Next stop: `report.rs`.

use anyhow::{Result, ensure};
use riverhog::clock;
use riverhog_parsers::fields::Fields;
use riverhog_parsers::formats::{Format, FormatParser, Training};
use riverhog_parsers::grok::Outcome;
use riverhog_parsers::lines::split_lines;
use std::hint::black_box;

use crate::report;

/// Lines of a job and how many of a hundred they are: what starts and steps write most.
const MIXTURE: [(usize, &str); 17] = [
    (18, "gpu-node-017:12345:12400 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM"),
    (2, "gpu-node-018:2201:2290 [0] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer"),
    (12, "2024-05-15 10:23:45,434 - trainer.loop - INFO - saved the state of the sampler"),
    (6, "[INFO:swift] Using `local_rank` from the environment."),
    (
        6,
        "{'loss': 2.10412345, 'grad_norm': 0.87, 'learning_rate': 1.9e-05, 'memory(GiB)': 61.75, \
         'epoch': 0.42, 'global_step/max_steps': '100/1000', 'elapsed_time': '3m 12s'}",
    ),
    (
        3,
        " [2024-05-15 10:23:45.123456] iteration      100/  500000 | consumed samples:       \
         102400 | elapsed time per iteration (ms): 13248.2 | throughput per GPU (TFLOP/s/GPU): \
         412.3 | learning rate: 1.000000E-05 | global batch size:  1024 | lm loss: 2.104512E+00 | \
         loss scale: 1.0 | grad norm: 0.870 | number of skipped iterations:   0 | number of nan \
         iterations:   0 |",
    ),
    (
        8,
        "[2024-05-15 10:23:45,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=100, skipped=2, \
         lr=[6e-05], mom=[(0.9, 0.95)]",
    ),
    (5, "[2024-05-15 10:23:40,000] [INFO] [comm.py:637:init_distributed] cdb=None"),
    (
        6,
        "[rank3]:[E515 10:23:45.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught \
         collective operation timeout: WorkNCCL(SeqNum=4821, OpType=_ALLGATHER_BASE)",
    ),
    (
        3,
        "W0515 10:23:45.987000 12345 torch/distributed/elastic/multiprocessing/api.py:1012] \
         Sending process 12346 closing signal SIGTERM",
    ),
    (2, "2024-05-15T10:23:45.123Z INFO Trainer: Epoch 3/10, Step 1250, Loss=2.104"),
    (3, "[INFO|trainer.py:2134] 2024-05-15 10:23:45,123 >> ***** Running training *****"),
    (2, "2024-05-15 10:23:45,123\tINFO worker.py:1724 -- Started a local Ray instance."),
    (2, "[123456.789012] NVRM: Xid (PCI:0000:9b:00): 94, pid=7194, name=python, Contained"),
    (
        12,
        "  File \"/opt/conda/lib/python3.10/site-packages/torch/nn/module.py\", line 1511, in \
         _wrapped_call_impl",
    ),
    (6, "    return self._call_impl(*args, **kwargs)"),
    (4, "Loading the tokenizer and the model takes a while"),
];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Lines of the mixture in a round
    #[arg(long, default_value_t = 100_000)]
    lines: usize,
    /// Rounds, of which the median is told
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let text = mixture(args.lines);
    let parser = FormatParser::new(Format::Training(Training::all()), []);
    let (mut fields, mut matched) = (Fields::new(), 0);
    let (mut split, mut read) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        split.push(nanoseconds(args.lines, || {
            for line in split_lines(text.as_bytes()) {
                black_box(line);
            }
        }));
        read.push(nanoseconds(args.lines, || {
            for line in split_lines(text.as_bytes()) {
                let line = std::str::from_utf8(line).unwrap_or_default();
                matched +=
                    usize::from(parser.run(black_box(line), &mut fields) == Outcome::Matched);
            }
        }));
    }
    ensure!(matched > 0, "no line of the mixture matched");
    let (split, read) = (median(&mut split), median(&mut read));
    report::print(&format!(
        "training formats: {read:.0} ns a line, {:.2} million lines/s; splitting alone {split:.1} ns, \
         ratio {:.1}; {:.0} % of the lines matched",
        1e3 / read,
        read / split,
        matched as f64 * 100.0 / (args.rounds * args.lines) as f64,
    ))?;
    report::print("\n| line | ns |\n|---|---|")?;
    for (_, line) in MIXTURE {
        let mut times: Vec<f64> = (0..args.rounds)
            .map(|_| {
                nanoseconds(20_000, || {
                    for _ in 0..20_000 {
                        black_box(parser.run(black_box(line), &mut fields));
                    }
                })
            })
            .collect();
        let start: String = line.trim_start().chars().take(48).collect();
        report::print(&format!("| `{}` | {:.0} |", start.trim_end(), median(&mut times)))?;
    }
    Ok(())
}

/// That many lines, no two neighbours of one kind where it can be.
pub(crate) fn job_lines(lines: usize) -> impl Iterator<Item = &'static str> {
    let kinds = MIXTURE.iter().flat_map(|(share, line)| std::iter::repeat_n(*line, *share));
    let hundred: Vec<&str> = kinds.collect();
    // 37 and the number of lines have no common divisor, so that each comes in its turn.
    (0..lines).map(move |number| hundred[number * 37 % hundred.len()])
}

fn mixture(lines: usize) -> String {
    job_lines(lines).flat_map(|line| [line, "\n"]).collect()
}

/// Nanoseconds for each of so many lines.
pub(crate) fn nanoseconds(lines: usize, turn: impl FnOnce()) -> f64 {
    let started = clock::instant();
    turn();
    started.elapsed().as_secs_f64() * 1e9 / lines.max(1) as f64
}

pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares are of a hundred, and each kind is what it is there for.
    #[test]
    fn the_mixture_is_a_hundred_lines_of_which_most_match() {
        assert_eq!(MIXTURE.iter().map(|(share, _)| share).sum::<usize>(), 100);
        let text = mixture(100);
        assert_eq!(text.lines().count(), 100);
        let parser = FormatParser::new(Format::Training(Training::all()), []);
        let reads = |line: &&str| parser.run(line, &mut Fields::new()) == Outcome::Matched;
        assert_eq!(text.lines().filter(reads).count(), 78);
    }
}
