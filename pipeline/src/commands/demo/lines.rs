//! What ranks log: progress, warnings, Chinese text, lines no pattern takes, tracebacks, and the
//! end of a run.
//!
//! Invariant: a value holds whole lines without a newline at its end. Next stop: `job.rs`.

use chrono::DateTime;

use super::job::{Dice, FAILING_RANK, RANKS_PER_NODE};

/// Who logs, and when.
pub(super) struct Moment {
    pub(super) now_ms: i64,
    pub(super) rank: u64,
    pub(super) step: u64,
    pub(super) attempt: u64,
}

impl Moment {
    /// `2026-03-12 10:23:45,123`, UTC.
    fn time(&self) -> String {
        let time = DateTime::from_timestamp_millis(self.now_ms).unwrap_or_default();
        time.format("%Y-%m-%d %H:%M:%S,%3f").to_string()
    }

    fn line(&self, level: &str, component: &str, content: &str) -> String {
        format!("{} {level} {component}: [rank {}] {content}", self.time(), self.rank)
    }
}

/// What a healthy rank logs.
pub(super) fn ordinary(role: &str, moment: &Moment, dice: &mut Dice) -> String {
    match role {
        "trainer" => trainer(moment, dice),
        "dataloader" => dataloader(moment, dice),
        _ => evaluator(moment, dice),
    }
}

fn trainer(moment: &Moment, dice: &mut Dice) -> String {
    let step = moment.step;
    let loss = 2.5 * 0.999_f64.powi(step.min(5_000) as i32) + dice.below(100) as f64 / 1_000.0;
    let seconds = 1.8 + dice.below(30) as f64 / 100.0;
    match dice.below(1_000) {
        0..700 => moment.line(
            "INFO",
            "swift.trainer",
            &format!(
                "step {step}/50000 loss {loss:.3} grad_norm 0.{:02} {seconds:.2} s/step",
                dice.below(100)
            ),
        ),
        700..850 => moment.line(
            "DEBUG",
            "swift.comm",
            &format!("all_reduce bucket {} took {} us", dice.below(48), 300 + dice.below(900)),
        ),
        850..900 => {
            let percent = step * 100 / 50_000;
            format!(
                "Training: {percent:3}%|██▌       | {step}/50000 [40:12<22:00:33, {seconds:.2}s/it]"
            )
        }
        900..940 => format!(
            "gpu-{:02}:{}:12400 [{}] NCCL INFO Channel {:02}/0 : via P2P/CUMEM",
            moment.rank / RANKS_PER_NODE,
            12_000 + moment.rank,
            moment.rank % RANKS_PER_NODE,
            dice.below(32),
        ),
        940..970 => moment.line(
            "INFO",
            "swift.trainer",
            &format!("第 {step} 步:损失 {loss:.3},学习率 1.0e-05"),
        ),
        970..990 => moment.line(
            "WARNING",
            "swift.trainer",
            &format!("loss spike at step {step}: {loss:.3} → {:.3}", loss * 3.0),
        ),
        990..998 => moment.line(
            "INFO",
            "swift.checkpoint",
            &format!("saved checkpoint-{step} of attempt {} in 12.4 s", moment.attempt),
        ),
        _ => traceback(
            moment,
            "swift.checkpoint",
            "upload failed, trying again",
            "ConnectionResetError: [Errno 104] Connection reset by peer",
        ),
    }
}

fn dataloader(moment: &Moment, dice: &mut Dice) -> String {
    match dice.below(100) {
        0..80 => moment.line(
            "INFO",
            "swift.data",
            &format!(
                "shard {:05} of 20000 read, {} MB/s",
                dice.below(20_000),
                200 + dice.below(700)
            ),
        ),
        80..90 => moment.line(
            "INFO",
            "swift.data",
            &format!(
                "数据集分片 {} 加载完成,共 {} 条样本",
                dice.below(20_000),
                4_000 + dice.below(5_000)
            ),
        ),
        90..98 => moment.line("WARNING", "swift.data", "worker is slow: queue empty for 1.2 s"),
        _ => traceback(
            moment,
            "swift.data",
            "sample dropped",
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0",
        ),
    }
}

fn evaluator(moment: &Moment, dice: &mut Dice) -> String {
    match dice.below(100) {
        0..90 => moment.line(
            "INFO",
            "eval.mmlu",
            &format!("question {} answered in {} ms", dice.below(14_042), 40 + dice.below(400)),
        ),
        90..98 => moment.line("DEBUG", "eval.mmlu", "kv cache hit rate 0.87"),
        _ => moment.line("ERROR", "eval.judge", "judge answered with status 503, trying again"),
    }
}

fn traceback(moment: &Moment, component: &str, what: &str, error: &str) -> String {
    format!(
        "{}\nTraceback (most recent call last):\n  File \"/app/train.py\", line 214, in run\n    \
         self.step(batch)\n{error}",
        moment.line("ERROR", component, what)
    )
}

/// The rank that ends the run.
pub(super) fn out_of_memory(moment: &Moment) -> String {
    let (rank, gpu) = (moment.rank, moment.rank % RANKS_PER_NODE);
    let error = format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {gpu} has a \
         total capacity of 79.15 GiB of which 1.25 GiB is free."
    );
    format!(
        "{}\n[rank{rank}]: Traceback (most recent call last):\n\
         [rank{rank}]:   File \"/app/train.py\", line 88, in <module>\n\
         [rank{rank}]:     main()\n[rank{rank}]: {error}",
        moment.line("ERROR", "swift.trainer", &format!("step {} failed: {error}", moment.step)),
    )
}

/// A rank that waits for the one that is gone.
pub(super) fn watchdog(moment: &Moment) -> String {
    moment.line(
        "ERROR",
        "torch.distributed",
        &format!(
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType=ALLREDUCE, \
             Timeout(ms)=600000) ran for 600047 milliseconds before timing out",
            moment.step * 12
        ),
    )
}

/// A rank that is ended by its launcher.
pub(super) fn terminated(moment: &Moment) -> String {
    moment.line(
        "CRITICAL",
        "torch.distributed.elastic",
        &format!("received SIGTERM; root cause (first observed failure): rank {FAILING_RANK}"),
    )
}
