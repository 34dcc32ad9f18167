//! A training job of 64 ranks on 8 nodes that fails: what Filebeat sends of its files, a record a
//! line, and the events that must come of it.
//!
//! Each node has one file that its eight ranks write into at once: NCCL's start, bars of frames,
//! steps of a logger and of Megatron, then tracebacks of all ranks line by line between each other,
//! the watchdogs' last words, and torchrun's table. The nodes' files are mixed in turn.
//!
//! The invariant: records and events follow from the seed alone, and what is expected is written
//! down beside each line, without any code of riverhog's. Next stop: `script.rs`, what a rank says.

use serde_json::json;
use std::collections::VecDeque;
use std::ops::Range;

use super::script::{self, Said};
use super::text::Dice;
use crate::NewRecord;

/// Nodes, ranks of each, and partitions.
const NODES: u32 = 8;
pub(super) const RANKS_PER_NODE: u32 = 8;
const PARTITIONS: i32 = 4;
/// 2026-03-12T10:23:00Z.
const START_MS: i64 = 1_773_310_980_000;

/// A job by its seed.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Another seed, another order and other tracebacks.
    pub seed: u64,
}

/// What the job wrote, and what must become of it.
#[derive(Debug)]
pub struct Written {
    /// To be produced in this order.
    pub records: Vec<NewRecord>,
    /// Those between the first traceback and the last table.
    pub failing: Range<usize>,
    /// One for each event that must be stored.
    pub events: Vec<JobEvent>,
    /// How many partitions the records are in.
    pub partitions: i32,
}

/// An event that must be stored, once.
#[derive(Clone, Debug)]
pub struct JobEvent {
    /// Of its first line.
    pub partition: i32,
    /// Of its first line, in a topic that holds nothing else.
    pub offset: i64,
    /// Record time of its first line in milliseconds.
    pub time_ms: i64,
    /// How many lines it is made of.
    pub lines: usize,
    /// `content`.
    pub content: String,
    /// The lines as they came, with line ends between them; of a bar what its last frame showed.
    pub raw: String,
    /// `metrics.step`.
    pub step: Option<u64>,
    /// `level`.
    pub level: Option<&'static str>,
    /// `component`.
    pub component: Option<&'static str>,
    /// `rank`.
    pub rank: Option<u32>,
    /// `host.name`.
    pub host: String,
    /// `labels.role` and `labels.node_rank`.
    pub role: &'static str,
    /// See `role`.
    pub node_rank: String,
}

/// A line in the order of a node's file, and which of the node's events it is of.
struct Line {
    text: String,
    event: usize,
}

/// The file of one node: its lines, and its events without their places.
struct File {
    node: u32,
    lines: VecDeque<Line>,
    events: Vec<Said>,
    failing: usize,
}

impl Job {
    /// Everything that the job wrote.
    pub fn written(self) -> Written {
        let mut dice = Dice::new(self.seed, 0);
        let mut files: Vec<File> = (0..NODES).map(|node| File::new(self.seed, node)).collect();
        let mut out = Written {
            records: Vec::new(),
            failing: 0..0,
            events: Vec::new(),
            partitions: PARTITIONS,
        };
        let mut ends = [0; PARTITIONS as usize];
        let mut time_ms = START_MS;
        // All files come as far as their first traceback before one goes on.
        for is_failing in [false, true] {
            if is_failing {
                out.failing.start = out.records.len();
            }
            let left = |file: &File| file.lines.len() > if is_failing { 0 } else { file.failing };
            loop {
                let open: Vec<usize> =
                    (0..files.len()).filter(|index| left(&files[*index])).collect();
                let Some(&last) = open.last() else { break };
                let file = &mut files[if open.len() == 1 { last } else { dice.pick(&open) }];
                time_ms += 1 + dice.below(9) as i64;
                file.write_next(time_ms, &mut ends, &mut out);
            }
        }
        out.failing.end = out.records.len();
        out
    }
}

impl File {
    fn new(seed: u64, node: u32) -> File {
        let mut dice = Dice::new(seed, 1 + u64::from(node));
        let mut file = File { node, lines: VecDeque::new(), events: Vec::new(), failing: 0 };
        let ranks = node * RANKS_PER_NODE..(node + 1) * RANKS_PER_NODE;
        file.mix(&mut dice, ranks.clone().map(|rank| script::start(node, rank)).collect());
        file.mix(&mut dice, ranks.clone().map(|rank| script::steps(seed, rank)).collect());
        let steady = file.lines.len();
        file.mix(&mut dice, ranks.map(|rank| script::failure(seed, node, rank)).collect());
        file.mix(&mut dice, vec![script::launcher(node)]);
        file.failing = file.lines.len() - steady;
        file
    }

    /// Appends the lines of several processes in turn, each in its own order.
    fn mix(&mut self, dice: &mut Dice, processes: Vec<Vec<Said>>) {
        let mut queues: Vec<VecDeque<Line>> = Vec::new();
        for said in processes {
            let mut queue = VecDeque::new();
            for said in said {
                let event = self.events.len();
                let lines = said.lines.iter();
                queue.extend(lines.map(|text| Line { text: text.clone(), event }));
                self.events.push(said);
            }
            queues.push(queue);
        }
        while !queues.is_empty() {
            let index = dice.below(queues.len() as u64) as usize;
            match queues[index].pop_front() {
                Some(line) => self.lines.push_back(line),
                None => drop(queues.swap_remove(index)),
            }
        }
    }

    /// Writes the next line; with the first line of an event the event gets its place.
    fn write_next(&mut self, time_ms: i64, ends: &mut [i64], out: &mut Written) {
        let Some(line) = self.lines.pop_front() else { return };
        let partition = (self.node % PARTITIONS as u32) as i32;
        let end = &mut ends[partition as usize];
        out.records.push(record(self.node, partition, time_ms, &line.text));
        let said = &mut self.events[line.event];
        if !said.is_begun {
            said.is_begun = true;
            out.events.push(JobEvent {
                partition,
                offset: *end,
                time_ms,
                lines: said.lines.len(),
                content: said.content.clone(),
                raw: shown(&said.lines),
                step: said.step,
                level: said.level,
                component: said.component,
                rank: said.rank,
                host: host(self.node),
                role: role(self.node),
                node_rank: self.node.to_string(),
            });
        }
        *end += 1;
    }
}

/// What a terminal shows of lines in the end.
fn shown(lines: &[String]) -> String {
    let last = lines.iter().map(|line| line.rsplit('\r').next().unwrap_or_default());
    last.collect::<Vec<_>>().join("\n")
}

pub(super) fn host(node: u32) -> String {
    format!("gpu-{node:02}")
}

fn role(node: u32) -> &'static str {
    if node == 0 { "master" } else { "worker" }
}

/// As Filebeat sends a line of a pod of Kubeflow's.
fn record(node: u32, partition: i32, time_ms: i64, line: &str) -> NewRecord {
    let index = node.saturating_sub(1).to_string();
    let value = json!({
        "@timestamp": super::rfc3339(time_ms * 1_000_000),
        "@metadata": { "beat": "filebeat", "type": "_doc", "version": "8.13.4" },
        "log": { "file": { "path": "/var/log/containers/sft-7b.log" } },
        "message": line, "input": { "type": "filestream" }, "stream": "stderr",
        "host": { "name": host(node), "os": { "kernel": "5.15.0" } },
        "agent": { "type": "filebeat", "version": "8.13.4" },
        "kubernetes": { "labels": {
            "training_kubeflow_org/job-name": "sft-7b",
            "training_kubeflow_org/operator-name": "pytorchjob-controller",
            "training_kubeflow_org/replica-type": role(node),
            "training_kubeflow_org/replica-index": index,
        } },
    });
    NewRecord {
        partition: Some(partition),
        key: Some(host(node).into_bytes()),
        headers: Vec::new(),
        time_ms: Some(time_ms),
        value: Some(value.to_string().into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_line_is_in_one_event_and_all_ranks_fail() {
        let written = Job { seed: 7 }.written();
        let lines: usize = written.events.iter().map(|event| event.lines).sum();
        assert_eq!(lines, written.records.len());
        let places: HashSet<_> =
            written.events.iter().map(|it| (it.partition, it.offset)).collect();
        assert_eq!(places.len(), written.events.len());
        let failed = written.events.iter().filter(|it| it.content.starts_with("Traceback"));
        let failed: HashSet<_> = failed.filter_map(|event| event.rank).collect();
        assert_eq!(failed.len(), 64);
        let tables = written.events.iter().filter(|it| it.content.contains("train.py FAILED"));
        assert_eq!(tables.count(), 8);
        assert!(written.records.iter().is_sorted_by_key(|record| record.time_ms));
    }

    #[test]
    fn tracebacks_are_torn_apart() {
        let written = Job { seed: 7 }.written();
        let ranks = written.records[written.failing.clone()].iter().filter_map(|record| {
            let value = String::from_utf8_lossy(record.value.as_deref()?).into_owned();
            Some(value.split_once("[rank")?.1.split_once(']')?.0.to_owned())
        });
        let ranks: Vec<String> = ranks.collect();
        let turns = ranks.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns * 10 > ranks.len() * 9, "{turns} of {}", ranks.len());
    }
}
