//! A cluster at work, simulated: three tasks with their ranks, roles and hosts, and the records
//! they log. One of them ends as training runs do: a rank runs out of GPU memory, the others wait
//! for it until their watchdogs fire, and a new attempt begins at the last checkpoint.
//!
//! Invariant: what is logged follows from the seed, the clock handed in and the number of lines
//! asked for; exactly as many lines come out. Next stop: `producer.rs` sends them.

use super::lines::{self, Moment};

/// Partitions of the topic.
pub(super) const PARTITIONS: i32 = 4;
/// One line in so many loses its task on the way: it becomes a dead letter.
const LOST_TASK_EVERY: u64 = 2_000;
/// Lines of the whole cluster between two failures, where no end is set.
const FAILURE_EVERY: u64 = 20_000;
/// Records that the failing run still logs after the first rank has failed.
const DYING_RECORDS: u64 = 200;

/// What a task looks like.
struct Task {
    name: &'static str,
    project: &'static str,
    role: &'static str,
    first_node: u64,
    nodes: u64,
    /// Its share of the records, in hundredths.
    share: u64,
}

/// The ranks on each node.
pub(super) const RANKS_PER_NODE: u64 = 8;
/// The one that runs out of memory.
pub(super) const FAILING_RANK: u64 = 37;

const TASKS: [Task; 4] = [
    Task {
        name: "train-task-2026-0312",
        project: "nlp",
        role: "trainer",
        first_node: 0,
        nodes: 8,
        share: 60,
    },
    Task {
        name: "train-task-2026-0312",
        project: "nlp",
        role: "dataloader",
        first_node: 0,
        nodes: 8,
        share: 10,
    },
    Task {
        name: "sft-qwen-7b",
        project: "nlp",
        role: "trainer",
        first_node: 8,
        nodes: 2,
        share: 20,
    },
    Task {
        name: "eval-mmlu",
        project: "eval",
        role: "evaluator",
        first_node: 10,
        nodes: 1,
        share: 10,
    },
];

/// The hosts, as the table that is joined to the events.
pub(super) fn host_table() -> String {
    let mut rows = vec!["host,node,gpu_model,rack".to_owned()];
    rows.extend((0..11).map(|node| {
        let model = if node < 8 { "H100" } else { "A100" };
        format!("{},n{node},{model},r{}", host(node), node / 4 + 1)
    }));
    rows.join("\n") + "\n"
}

fn host(node: u64) -> String {
    format!("gpu-{node:02}")
}

/// One Kafka record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobRecord {
    pub(super) partition: i32,
    pub(super) key: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) value: String,
    /// Lines in the value.
    pub(super) lines: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Job {
    dice: Dice,
    /// Lines still to come; `None`: no end.
    left: Option<u64>,
    made: u64,
    /// Lines at which the next failure begins.
    failure_at: u64,
    /// Records of the failing run since its first rank failed.
    dying: Option<u64>,
    attempt: u64,
    step: u64,
}

impl Job {
    /// A job of so many lines, or without an end.
    pub(super) fn new(seed: u64, lines: Option<u64>) -> Job {
        Job {
            dice: Dice(seed),
            left: lines,
            made: 0,
            failure_at: lines.map_or(FAILURE_EVERY, |lines| lines - lines / 20),
            dying: None,
            attempt: 1,
            step: 1,
        }
    }

    /// The next record, logged at `now_ms`; `None` once all lines are made.
    pub(super) fn next(&mut self, now_ms: i64) -> Option<JobRecord> {
        if self.left == Some(0) {
            return None;
        }
        let mut task = self.pick();
        if self.dying.is_none() && self.made >= self.failure_at {
            // The failure itself is logged whatever the dice say.
            (self.dying, task) = (Some(0), &TASKS[0]);
        }
        let node = task.first_node + self.dice.below(task.nodes);
        let is_training = task.role == "trainer" && task.first_node == 0;
        let record = if let (true, Some(dying)) = (is_training, self.dying) {
            self.die(task, dying, now_ms)
        } else {
            let rank = (node - task.first_node) * RANKS_PER_NODE + self.dice.below(RANKS_PER_NODE);
            self.step += u64::from(self.dice.below(64) == 0);
            let moment = Moment { now_ms, rank, step: self.step, attempt: self.attempt };
            let value = lines::ordinary(task.role, &moment, &mut self.dice);
            self.record(task, node, value)
        };
        Some(record)
    }

    /// A task by its share; the one that has died logs no more.
    fn pick(&mut self) -> &'static Task {
        loop {
            let mut at = self.dice.below(100);
            let picked = TASKS.iter().find(|task| {
                let hit = at < task.share;
                at = at.saturating_sub(task.share);
                hit
            });
            let task = picked.unwrap_or(&TASKS[0]);
            let is_dead = self.dying.is_some_and(|dying| dying > DYING_RECORDS);
            if !(is_dead && task.name == TASKS[0].name) {
                return task;
            }
            // Half as many lines again, then somebody starts it anew.
            if self.left.is_none() && self.made >= self.failure_at + FAILURE_EVERY / 2 {
                self.dying = None;
                self.attempt += 1;
                self.step = self.step.saturating_sub(100).max(1);
                self.failure_at = self.made + FAILURE_EVERY;
            }
        }
    }

    /// What the failing run logs: first the rank that failed, then all the others.
    fn die(&mut self, task: &'static Task, dying: u64, now_ms: i64) -> JobRecord {
        self.dying = Some(dying + 1);
        let rank = match dying {
            0 => FAILING_RANK,
            _ => (FAILING_RANK + dying) % (task.nodes * RANKS_PER_NODE),
        };
        let moment = Moment { now_ms, rank, step: self.step, attempt: self.attempt };
        let value = match dying {
            0 => lines::out_of_memory(&moment),
            1..=128 => lines::watchdog(&moment),
            _ => lines::terminated(&moment),
        };
        self.record(task, rank / RANKS_PER_NODE, value)
    }

    fn record(&mut self, task: &Task, node: u64, mut value: String) -> JobRecord {
        let mut lines = value.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
        if let Some(left) = &mut self.left {
            if lines > *left {
                let kept: Vec<&str> = value.split('\n').take(*left as usize).collect();
                value = kept.join("\n");
                lines = *left;
            }
            *left -= lines;
        }
        let before = (self.made + LOST_TASK_EVERY / 2) / LOST_TASK_EVERY;
        self.made += lines;
        let loses_task = lines == 1 && (self.made + LOST_TASK_EVERY / 2) / LOST_TASK_EVERY > before;
        let host = host(node);
        let mut headers = vec![
            ("role", task.role.to_owned()),
            ("project", task.project.to_owned()),
            ("host", host.clone()),
        ];
        if !loses_task {
            headers.push(("task", task.name.to_owned()));
        }
        // A task's node always logs to the same partition, which keeps its chains few.
        let partition = (node % PARTITIONS as u64) as i32;
        JobRecord { partition, key: format!("{}/{host}", task.name), headers, value, lines }
    }
}

/// Numbers that look random (splitmix64).
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// A number below `limit`, which is at least 1.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (state ^ (state >> 31)) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_773_282_225_123;

    fn records(lines: u64) -> Vec<JobRecord> {
        let mut job = Job::new(1, Some(lines));
        std::iter::from_fn(|| job.next(NOW_MS)).collect()
    }

    #[test]
    fn exactly_as_many_lines_come_out() {
        for lines in [1, 2, 100, 9_999] {
            let records = records(lines);
            assert_eq!(records.iter().map(|record| record.lines).sum::<u64>(), lines);
            for record in &records {
                assert_eq!(record.value.split('\n').count() as u64, record.lines);
                assert!((0..PARTITIONS).contains(&record.partition));
            }
        }
    }

    #[test]
    fn one_line_in_two_thousand_loses_its_task() {
        let has_no_task =
            |record: &&JobRecord| record.headers.iter().all(|(name, _)| *name != "task");
        let lost = records(100_000).iter().filter(has_no_task).count();
        assert!((40..=50).contains(&lost), "{lost}");
        assert!(records(2_000).iter().filter(has_no_task).count() <= 1);
    }

    #[test]
    fn rank_37_fails_first_and_the_run_falls_silent() {
        let records = records(20_000);
        let first = records.iter().position(|it| it.value.contains("CUDA out of memory")).unwrap();
        assert!(records[first].value.contains("[rank 37]"), "{}", records[first].value);
        assert!(records[..first].iter().all(|it| !it.value.contains("Watchdog")));
        assert!(records[first..].iter().filter(|it| it.value.contains("Watchdog")).count() > 100);
        let of_run = |it: &JobRecord| it.key.starts_with("train-task");
        assert!(!records[records.len() - 100..].iter().any(of_run));
    }

    #[test]
    fn a_job_without_an_end_begins_again() {
        let mut job = Job::new(1, None);
        let mut failures = 0;
        for _ in 0..100_000 {
            let record = job.next(NOW_MS).unwrap();
            failures += u64::from(record.value.contains("torch.OutOfMemoryError"));
        }
        assert!(failures >= 3 && job.attempt >= 3, "{failures} {}", job.attempt);
    }

    #[test]
    fn every_host_is_in_the_table() {
        let table = host_table();
        for record in records(5_000) {
            let host = record.headers.iter().find(|(name, _)| *name == "host").unwrap();
            assert!(table.contains(&format!("\n{},", host.1)), "{}", host.1);
        }
    }
}
