//! The lines themselves: what a training job prints, drawn by the dice of the line's number.
//!
//! The invariant: a line that is not to be parsed holds no timestamp before a level, since the
//! pattern of the config is not anchored.

use super::calendar::{NANOS_PER_MILLI, shanghai};
use super::expect::{Expect, KNOWN_HOSTS, host_name};
use super::{Corpus, CorpusLine, CorpusRecord};
use crate::NewRecord;

/// Which of several things stands in this line: splitmix64, the same on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice of a seed; `rid` is the line's number, or whatever tells several dice apart.
    pub fn new(seed: u64, rid: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ rid.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// A number below `count`, which is above 0.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    }

    /// One of several, each as likely.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// True in so many of 100 cases.
    pub fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}

const TASKS: [&str; 5] =
    ["train-task-2026-0312", "pretrain-7b", "sft-qwen", "eval-nightly", "rlhf.v2_big"];
const ROLES: [&str; 3] = ["worker", "master", "evaluator"];
const PROJECTS: [&str; 3] = ["nlp", "nlp", "vision"];
const COMPONENTS: [&str; 5] =
    ["swift.trainer", "swift.data", "torch.distributed", "c10d::Store", "数据.加载器"];

/// As printed and as it must be read, by weight.
const LEVELS: [(u64, &str, &str); 10] = [
    (2, "TRACE", "trace"),
    (12, "DEBUG", "debug"),
    (58, "INFO", "info"),
    (3, "NOTICE", "info"),
    (9, "WARNING", "warn"),
    (4, "WARN", "warn"),
    (8, "ERROR", "error"),
    (1, "error", "error"),
    (2, "CRITICAL", "fatal"),
    (1, "FATAL", "fatal"),
];

const CONTENTS: [&str; 9] = [
    "step finished, loss 2.104, 1.92 s a step",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "saved checkpoint to /data/ckpt/step-12450 (\"best\")",
    "数据集加载完成，共 12000 条样本",
    "loss 突然升高：2.104 → 9.731，请检查学习率 🚨",
    "RuntimeError: expected scalar type Half but found Float",
    "C:\\models\\qwen is no path on this node",
    "grad_norm=0.8812\tlr=3e-05",
    "{\"step\": 12450, \"loss\": 2.104, \"tags\": [\"a\", \"b\"]}",
];

const UNPARSED: [&str; 6] = [
    "NCCL version 2.21.5+cuda12.4",
    "  0%|          | 0/1000 [00:00<?, ?it/s]",
    "W0312 10:23:45.123456 140 torch/run.py:779] OMP_NUM_THREADS is set to 1",
    "警告：磁盘空间不足",
    "==== memory summary ====",
    "2026-03-12 nothing of a level here",
];

/// The frames of a traceback after its head; the last line says what happened.
const TRACEBACK: [&str; 6] = [
    "Traceback (most recent call last):",
    "  File \"/opt/train/main.py\", line 412, in <module>",
    "    main()",
    "  File \"/opt/train/loop.py\", line 88, in step",
    "    loss.backward()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
];

/// What all lines of a record share.
struct Context {
    time_ms: i64,
    partition: i32,
    task: &'static str,
    role: &'static str,
    project: &'static str,
    host: String,
}

/// The record whose first line has this number; it has at most `left` lines.
pub(super) fn record(corpus: &Corpus, rid: u64, left: u64) -> CorpusRecord {
    let mut dice = corpus.dice(rid);
    let (record, context) = frame(corpus, rid, &mut dice);
    let traceback = dice.percent(2) && left > TRACEBACK.len() as u64;
    let mut lines = Vec::new();
    if traceback {
        lines.push(parsed_line(&context, rid, &mut dice, Some(("ERROR", "error"))));
        for (index, frame) in (1..).zip(TRACEBACK) {
            lines.push(unparsed_line(&context, rid + index, index, frame));
        }
    } else if dice.percent(7) {
        lines.push(unparsed_line(&context, rid, 0, dice.pick(&UNPARSED)));
    } else {
        lines.push(parsed_line(&context, rid, &mut dice, None));
    }
    // Some shippers end a record by a newline, some end lines by CR LF; neither adds a line.
    let (between, end) = dice.pick(&[("\n", ""), ("\n", ""), ("\n", "\n"), ("\r\n", "\r\n")]);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let value = format!("{}{end}", texts.join(between));
    CorpusRecord { record: NewRecord { value: Some(value.into_bytes()), ..record }, lines }
}

/// Key, headers, time and partition: everything but the value.
fn frame(corpus: &Corpus, rid: u64, dice: &mut Dice) -> (NewRecord, Context) {
    let task = dice.pick(&TASKS);
    let host_number = if dice.percent(4) { KNOWN_HOSTS } else { dice.below(KNOWN_HOSTS) };
    let host = host_name(host_number);
    let key = format!("{task}/{host}");
    let mut headers = Vec::new();
    let mut header = |name: &str, value: &'static str, absent: bool, default: &'static str| {
        if absent {
            return default;
        }
        headers.push((name.to_owned(), value.as_bytes().to_vec()));
        value
    };
    let task = header("task", task, dice.percent(3), "unassigned");
    let role = header("role", dice.pick(&ROLES), dice.percent(3), "worker");
    let project = header("project", dice.pick(&PROJECTS), dice.percent(5), "shared");
    let host = if dice.percent(3) {
        key.clone()
    } else {
        headers.push(("host".to_owned(), host.as_bytes().to_vec()));
        host
    };
    let time_ms = corpus.record_time_ms(rid);
    let sum = key.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let partition = (sum % corpus.partitions.unsigned_abs()) as i32;
    let record = NewRecord {
        partition: Some(partition),
        key: Some(key.into_bytes()),
        headers,
        time_ms: Some(time_ms),
        value: None,
    };
    (record, Context { time_ms, partition, task, role, project, host })
}

fn parsed_line(
    context: &Context,
    rid: u64,
    dice: &mut Dice,
    level: Option<(&'static str, &'static str)>,
) -> CorpusLine {
    let (word, level) = level.unwrap_or_else(|| weighted_level(dice));
    let component = dice.pick(&COMPONENTS);
    let content = format!("{} rid={rid:010}", dice.pick(&CONTENTS));
    // Written up to 3 s before it was produced; the line knows milliseconds.
    let time_ms = context.time_ms - dice.below(3_000) as i64;
    let time_ns = time_ms * NANOS_PER_MILLI;
    let text = format!("{} {} {component}: {content}", shanghai(time_ns), word);
    let expect = Expect {
        rid,
        line: text.clone(),
        parsed: true,
        time_ns,
        record_time_ms: context.time_ms,
        level: Some(level),
        component: Some(component),
        content,
        task: context.task,
        role: context.role,
        project: context.project,
        host: context.host.clone(),
        index: 0,
        partition: context.partition,
    };
    CorpusLine { rid, text, expect }
}

fn weighted_level(dice: &mut Dice) -> (&'static str, &'static str) {
    let mut left = dice.below(LEVELS.iter().map(|(weight, ..)| weight).sum());
    for (weight, word, level) in LEVELS {
        if left < weight {
            return (word, level);
        }
        left -= weight;
    }
    unreachable!("the dice are below the sum of the weights")
}

fn unparsed_line(context: &Context, rid: u64, index: u64, text: &str) -> CorpusLine {
    let text = format!("{text} rid={rid:010}");
    let expect = Expect {
        rid,
        line: text.clone(),
        parsed: false,
        time_ns: context.time_ms * NANOS_PER_MILLI,
        record_time_ms: context.time_ms,
        level: None,
        component: None,
        content: text.clone(),
        task: context.task,
        role: context.role,
        project: context.project,
        host: context.host.clone(),
        index,
        partition: context.partition,
    };
    CorpusLine { rid, text, expect }
}
