//! What the topic is filled with: lines of a training job as the comparison with other programs
//! used them, 138 bytes in the mean. 80, 10, 8 and 2 % are INFO, DEBUG, WARN and ERROR, 2 % are
//! parts of tracebacks, which do not match; there are Chinese text, quotes and backslashes.
//!
//! The invariant: a line follows from its number alone, which it carries. Next stop: `broker.rs`.

use std::fmt::Write as _;

/// 2026-03-12T02:00:00Z, ten in the morning in Shanghai; the load spans two hours of one day.
pub(crate) const START_MS: i64 = 1_773_280_800_000;
const SPAN_MS: u64 = 2 * 3_600 * 1_000;
/// Prefixes of an archive: three tasks, four roles, one day.
pub(crate) const PREFIXES: u32 = TASKS.len() as u32 * ROLES.len() as u32;

/// Why writing to a string cannot fail.
const ROOM: &str = "a string takes whatever is written";
const TASKS: [&str; 3] = ["pretrain-7b", "sft-qwen", "train-task-2026-0312"];
const ROLES: [&str; 4] = ["evaluator", "loader", "master", "worker"];
const CONTENTS: [&str; 6] = [
    "saved checkpoint to /data/ckpt/step-12450 (\"best\"), 14 shards, 4.2 GB",
    "数据集加载完成，共 12000 条样本",
    "C:\\models\\qwen is no path on this node, using \"/data/models/qwen\"",
    "gradient overflow detected, scale 65536.0 -> 32768.0, this step is skipped",
    "all-reduce of bucket 17 took 184.2 ms, more than 100 ms, rank 44 came last",
    "dataloader worker 3 restarted after 2 timeouts, queue 128/256, prefetch 4",
];
const FRAMES: [&str; 4] = [
    "Traceback (most recent call last): while training on 8 nodes with 64 ranks, local rank 3 of 8",
    "  File \"/opt/train/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1553, in f",
    "    return self._call_impl(*args, **kwargs) if self._hooks else forward_call(*args, **kwargs)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.11 GiB.",
];

/// So many lines over so many partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) lines: u64,
    pub(crate) partitions: u32,
    /// Neighbouring lines of one host. Collectors send hundreds at once; 1 is the hardest case.
    pub(crate) burst: u64,
}

impl Load {
    /// Hosts that send lines: each prefix in each of a few partitions, or one a partition.
    fn hosts(self) -> u32 {
        self.partitions.max(4) * if self.partitions < 16 { PREFIXES } else { 1 }
    }

    /// The host of a line; its number is the record's key.
    pub(crate) fn host(self, rid: u64) -> u32 {
        (mix(rid / self.burst.max(1)) % u64::from(self.hosts())) as u32
    }

    /// The partition that a host's lines go to.
    pub(crate) fn partition(self, host: u32) -> i32 {
        (host % self.partitions) as i32
    }

    /// The record time of a line, milliseconds since the epoch.
    pub(crate) fn time_ms(self, rid: u64) -> i64 {
        START_MS + self.since_start(rid) as i64
    }

    fn since_start(self, rid: u64) -> u64 {
        (u128::from(SPAN_MS) * u128::from(rid) / u128::from(self.lines.max(1))) as u64
    }

    /// What the configuration's host table says: labels come from there, by the record's key.
    pub(crate) fn hosts_csv(self) -> String {
        let mut table = "host,task,role,rack\n".to_owned();
        for host in 0..self.hosts() {
            let prefix = (host + host / self.partitions) % PREFIXES;
            let task = TASKS[(prefix % TASKS.len() as u32) as usize];
            let role = ROLES[(prefix / TASKS.len() as u32) as usize];
            let name = host_name(host);
            writeln!(table, "{name},{task},{role},rack-{:02}", host % 7).expect(ROOM);
        }
        table
    }

    /// Writes a line over what `line` held.
    pub(crate) fn write_line(self, rid: u64, line: &mut String) {
        line.clear();
        let dice = mix(rid ^ 0x5bd1_e995);
        let written = if dice.is_multiple_of(50) {
            let frame = FRAMES[(dice / 50 % FRAMES.len() as u64) as usize];
            write!(line, "{frame} rid={rid:010}")
        } else {
            self.write_matching(rid, dice / 50, line)
        };
        written.expect(ROOM);
    }

    fn write_matching(self, rid: u64, dice: u64, line: &mut String) -> std::fmt::Result {
        let since = self.since_start(rid);
        let (seconds, ms) = (since / 1000, since % 1000);
        let (hour, minute, second) = (10 + seconds / 3600, seconds / 60 % 60, seconds % 60);
        let level = match dice % 100 {
            0..80 => "INFO",
            80..90 => "DEBUG",
            90..98 => "WARN",
            _ => "ERROR",
        };
        write!(
            line,
            "2026-03-12 {hour:02}:{minute:02}:{second:02},{ms:03} {level} swift.trainer: "
        )?;
        let dice = dice / 100;
        if dice.is_multiple_of(4) {
            let content = CONTENTS[(dice / 4 % CONTENTS.len() as u64) as usize];
            write!(line, "{content} rid={rid:010}")
        } else {
            let (step, loss, tokens) = (rid / 64, dice % 90_000, 17_000 + dice / 7 % 3_000);
            write!(
                line,
                "step {step:06} loss {}.{:04} grad_norm 0.{:04} lr 3.0e-05 {tokens} tokens/s \
                 mem 71.4/80 GB rid={rid:010}",
                1 + loss / 10_000,
                loss % 10_000,
                dice / 11 % 10_000
            )
        }
    }
}

/// A host's name.
pub(crate) fn host_name(host: u32) -> String {
    format!("gpu-{host:04}")
}

/// The last steps of splitmix64: the same on every machine.
fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_lines_are_as_long_and_as_mixed_as_promised() {
        let load = Load { lines: 100_000, partitions: 4, burst: 1 };
        let (mut line, mut bytes, mut matching) = (String::new(), 0, 0);
        for rid in 0..load.lines {
            load.write_line(rid, &mut line);
            bytes += line.len() + 1;
            matching += usize::from(line.starts_with("2026-"));
        }
        let mean = bytes as f64 / load.lines as f64;
        assert!((136.0..141.0).contains(&mean), "{mean} bytes a line");
        assert!((97_500..98_500).contains(&matching), "{matching} match");
    }

    #[test]
    fn every_prefix_is_in_every_partition() {
        let load = Load { lines: 1, partitions: 4, burst: 1 };
        let table = load.hosts_csv();
        let rows = table.lines().skip(1).enumerate();
        let chains: HashSet<_> = rows
            .map(|(host, row)| {
                let labels: Vec<&str> = row.split(',').collect();
                (load.partition(host as u32), labels[1].to_owned(), labels[2].to_owned())
            })
            .collect();
        assert_eq!(chains.len(), 48);
    }

    #[test]
    fn every_one_of_many_partitions_has_a_host() {
        let load = Load { lines: 1, partitions: 200, burst: 1 };
        let filled: HashSet<_> = (0..load.hosts()).map(|host| load.partition(host)).collect();
        assert_eq!(filled.len(), 200);
    }
}
