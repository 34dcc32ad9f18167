//! What one rank of the failing job says, and its launcher: lines, and how each must be read.
//!
//! The invariant: a traceback is one event however many lines it has, each with the rank in front;
//! a line of any other kind is one event. Next stop: `job.rs` mixes what ranks say.

use super::job::{RANKS_PER_NODE, host};
use super::text::Dice;

/// What becomes one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// As written.
    pub(super) lines: Vec<String>,
    pub(super) content: String,
    pub(super) level: Option<&'static str>,
    pub(super) component: Option<&'static str>,
    pub(super) rank: Option<u32>,
    /// The step that it counts.
    pub(super) step: Option<u64>,
    /// Its first line was written.
    pub(super) is_begun: bool,
}

impl Said {
    fn line(text: String, content: &str) -> Said {
        Said { lines: vec![text], content: content.to_owned(), ..Said::default() }
    }
}

/// NCCL's start, without a prefix.
pub(super) fn start(node: u32, rank: u32) -> Vec<Said> {
    let (host, local) = (host(node), rank % RANKS_PER_NODE);
    let channels = (0..16).map(|channel| {
        let next = (rank + 1) % (8 * RANKS_PER_NODE);
        let content = format!("Channel {channel:02}/16 : {rank}[{local}] -> {next}[0] via P2P/IPC");
        let pid = 4000 + local;
        let line = format!("{host}:{pid}:{} [{local}] NCCL INFO {content}", pid + 100);
        let (level, component) = (Some("info"), Some("NCCL"));
        Said { level, component, ..Said::line(line, &content) }
    });
    channels.collect()
}

/// Steps of a logger, bars of the first rank of a node, Megatron's iterations of the last.
pub(super) fn steps(seed: u64, rank: u32) -> Vec<Said> {
    let mut dice = Dice::new(seed, 1000 + u64::from(rank));
    let local = rank % RANKS_PER_NODE;
    let mut said = Vec::new();
    for step in 0..20 {
        let second = 20 + step;
        let content = format!("step {step} done, 训练 loss {}", dice.below(1000));
        let line = format!(
            "[rank{rank}]: 2026-03-12 10:23:{second},{:03} - trainer.loop - INFO - {content}",
            dice.below(1000)
        );
        let (level, component, rank) = (Some("info"), Some("trainer.loop"), Some(rank));
        said.push(Said { level, component, rank, ..Said::line(line, &content) });
        if local == 0 {
            said.push(bar(&mut dice, step));
        }
        if local == RANKS_PER_NODE - 1 {
            said.push(iteration(&mut dice, step));
        }
    }
    said
}

fn bar(dice: &mut Dice, step: u64) -> Said {
    let frame = |count: u64| {
        let full = "█".repeat((count / 100) as usize);
        let percent = count / 10;
        format!("Training: {percent:3}%|{full:<10}| {count}/1000 [00:{step:02}<00:50, 10.0it/s]")
    };
    let frames = 2 + dice.below(6);
    let counts = (0..frames).map(|index| step * 50 + index * 5);
    let frames: Vec<String> = counts.map(frame).collect();
    let line = format!("\r{}", frames.join("\r"));
    let step = Some(step * 50 + (frames.len() as u64 - 1) * 5);
    Said { step, ..Said::line(line, &frames[frames.len() - 1]) }
}

fn iteration(dice: &mut Dice, step: u64) -> Said {
    let content = format!(
        "iteration {:8}/    5000 | consumed samples: {:12} | elapsed time per iteration (ms): \
         {}.5 | lm loss: 2.{:06}E+00 | grad norm: 0.870 |",
        step * 10,
        step * 10_240,
        1000 + dice.below(500),
        dice.below(1_000_000)
    );
    let line = format!("[default7]: [2026-03-12 10:23:{:02}.123456] {content}", 20 + step);
    Said { step: Some(step * 10), ..Said::line(line, &content) }
}

/// A traceback of a rank, some of NCCL's words without a prefix, and the watchdog's last.
pub(super) fn failure(seed: u64, node: u32, rank: u32) -> Vec<Said> {
    let mut dice = Dice::new(seed, 2000 + u64::from(rank));
    let (traceback, local) = (traceback(&mut dice), rank % RANKS_PER_NODE);
    let content = traceback.join("\n");
    let lines = traceback.iter().map(|line| format!("[rank{rank}]: {line}")).collect();
    let mut said = vec![Said { lines, content, rank: Some(rank), ..Said::default() }];
    let peer = "NET/IB: Got completion from peer 10.0.0.7<54862> with status=12";
    let line = format!("{}:{}:4200 [{local}] NCCL WARN {peer}", host(node), 4000 + local);
    let (level, component) = (Some("warn"), Some("NCCL"));
    said.push(Said { level, component, ..Said::line(line, peer) });
    for content in [
        format!("[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12)"),
        format!("[PG ID 0 PG GUID 0(default_pg) Rank {rank}] failure detected by watchdog"),
        "To avoid data inconsistency, we are taking the entire process down.".to_owned(),
    ] {
        let header = format!("E312 10:23:5{}.123456789 ProcessGroupNCCL.cpp:632", dice.below(10));
        let line = format!("[rank{rank}]:[{header}] {content}");
        let (level, component) = (Some("error"), Some("ProcessGroupNCCL.cpp"));
        said.push(Said { level, component, rank: Some(rank), ..Said::line(line, &content) });
    }
    said
}

/// The lines of a traceback without what stands in front of them.
fn traceback(dice: &mut Dice) -> Vec<String> {
    let mut lines = vec!["Traceback (most recent call last):".to_owned()];
    frames(dice, &mut lines);
    match dice.below(4) {
        0 => lines.push("torch.OutOfMemoryError: CUDA out of memory. Tried 2.50 GiB.".to_owned()),
        1 => lines.push("ValueError: 数据格式错误: \"x\" \\ 3".to_owned()),
        2 => lines.extend([
            "RuntimeError: CUDA error: device-side assert triggered".to_owned(),
            "CUDA kernel errors might be asynchronously reported at some other API call, so the \
             stacktrace below might be incorrect."
                .to_owned(),
            "For debugging consider passing CUDA_LAUNCH_BLOCKING=1".to_owned(),
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.".to_owned(),
        ]),
        _ => {
            lines.extend(
                ["KeyError: 'input_ids'", "", CHAIN, "", &lines[0].clone()].map(str::to_owned),
            );
            frames(dice, &mut lines);
            lines.push("RuntimeError: step failed".to_owned());
        }
    }
    lines
}

const CHAIN: &str = "During handling of the above exception, another exception occurred:";

fn frames(dice: &mut Dice, lines: &mut Vec<String>) {
    for number in 0..=dice.below(4) {
        lines.push(format!("  File \"/app/train.py\", line {}, in f{number}", 1 + dice.below(900)));
        lines.push("    loss = self.step(batch)".to_owned());
    }
}

/// Torchrun: which process failed, its own traceback, and the table that it ends with.
pub(super) fn launcher(node: u32) -> Vec<Said> {
    let failed = "failed (exitcode: 1) local_rank: 0 (pid: 4000) of binary: /usr/bin/python3";
    let api = "torch/distributed/elastic/multiprocessing/api.py";
    let line = format!("E0312 10:23:59.123000 3999 {api}:986] {failed}");
    let (level, component) = (Some("error"), Some(api));
    let mut table = vec![
        "Traceback (most recent call last):".to_owned(),
        "  File \"/usr/local/bin/torchrun\", line 8, in <module>".to_owned(),
        "    sys.exit(main())".to_owned(),
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ".to_owned(),
        "=".repeat(60),
        "train.py FAILED".to_owned(),
        "-".repeat(60),
        "Failures:".to_owned(),
    ];
    for local in 1..RANKS_PER_NODE {
        table.extend(entry(node, local));
    }
    table.extend(["-".repeat(60), "Root Cause (first observed failure):".to_owned()]);
    table.extend(entry(node, 0));
    table.push("=".repeat(60));
    let content = table.join("\n");
    vec![
        Said { level, component, ..Said::line(line, failed) },
        Said { lines: table, content, ..Said::default() },
    ]
}

fn entry(node: u32, local: u32) -> Vec<String> {
    let rank = node * RANKS_PER_NODE + local;
    vec![
        format!("[{local}]:"),
        "  time      : 2026-03-12_10:23:59".to_owned(),
        format!("  host      : {}", host(node)),
        format!("  rank      : {rank} (local_rank: {local})"),
        format!("  exitcode  : 1 (pid: {})", 4000 + local),
        "  error_file: <N/A>".to_owned(),
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            .to_owned(),
    ]
}
