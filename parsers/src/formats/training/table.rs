//! The formats of training logs, one row each, in the order in which they are tried.
//!
//! Invariant: a row stands before another one where both accept a line and it knows more of it; the
//! sample of a row is read by that row. Next on the trip: the file named after the row.

use super::stamp::Form::{
    Comma, Dashes, Iso, MonthDay, MonthName, MonthNamePoint, MonthNameYear, Plain, Point, Slashes,
    SlashesLongYearLast, SlashesNoYear, SlashesPoint, SlashesYearLast, Unix, UnixMillis, Weekday,
};
use super::{
    Shapes, TrainingFormat, absl, accelerate, c10, colossalai, deepspeed, fabric_manager, fairseq,
    hf_trainer, iso, kernel, klog, lightning, llama_factory, logrus, loguru, megatron, metrics,
    mllog, mmengine, nccl, nemo, nvidia_smi, nvrx, progress, python_warnings, ray, rich, slurm,
    stdlib, structlog, swift, syslog, torch, torchtitan, traceback, transformers, ucx, vllm, wandb,
    xla,
};

/// How many there are.
const COUNT: usize = 41;

/// Which of them a line may be of.
pub(super) static SHAPES: Shapes = {
    let mut shapes: [&[&str]; COUNT] = [&[]; COUNT];
    let mut row = 0;
    while row < COUNT {
        shapes[row] = TABLE[row].shapes;
        row += 1;
    }
    Shapes::new(&shapes)
};

/// The table.
pub(super) static TABLE: [TrainingFormat; COUNT] = [
    TrainingFormat {
        name: "hf_trainer",
        about: "the metrics that the Trainer of transformers and others print as a dictionary",
        sample: "{'loss': 2.104, 'grad_norm': 0.87, 'learning_rate': 1.9e-05, 'epoch': '0.42'}",
        shapes: &["{'", "{ '"],
        forms: &[],
        read: hf_trainer::read,
    },
    TrainingFormat {
        name: "deepspeed",
        about: "DeepSpeed, its steps and timers",
        sample: "[2024-05-15 10:23:45,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=100, \
                 skipped=2, lr=[6e-05], mom=[(0.9, 0.95)]",
        shapes: &["[@] [", "time ("],
        forms: &[Comma],
        read: deepspeed::read,
    },
    TrainingFormat {
        name: "megatron",
        about: "Megatron-LM and its forks: iterations, validation, timers, memory, checkpoints",
        sample: " [2024-05-15 10:23:45.123456] iteration      100/  500000 | elapsed time per \
                 iteration (ms): 13248.2 | lm loss: 2.104512E+00 | grad norm: 0.870 |",
        shapes: &[
            "iterat", "[@] a", "valida", "[Rank ", "[after", "[befor", "Rank 9", "time (",
            "saving", "succes", "loadin",
        ],
        forms: &[Point],
        read: megatron::read,
    },
    TrainingFormat {
        name: "nccl",
        about: "NCCL of all generations",
        sample: "[2024-05-15 10:23:45] gpu-node-017:12345:12401 [3] transport/net_ib/p2p.cc:688 \
                 (ibCheckWc) NCCL WARN NET/IB: Got completion from peer 192.0.2.7<54862>",
        shapes: &["w", "[@] w"],
        forms: &[Plain, Point],
        read: nccl::read,
    },
    TrainingFormat {
        name: "c10",
        about: "PyTorch's C++ log, with a time and a rank or without",
        sample: "[rank3]:[E515 10:23:45.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog \
                 caught collective operation timeout",
        shapes: &["[L ", "[L999 ", "[L9999"],
        forms: &[MonthDay],
        read: c10::read,
    },
    TrainingFormat {
        name: "torch",
        about: "torch's Python log and torch elastic, in both of their forms",
        sample: "E0515 10:23:46.101000 12345 torch/distributed/elastic/multiprocessing/api.py:986] \
                 failed (exitcode: -9) local_rank: 3 (pid: 12349)",
        shapes: &["L9999 ", "[@] t", "[@] ["],
        forms: &[MonthDay, Comma],
        read: torch::read,
    },
    TrainingFormat {
        name: "klog",
        about: "Kubernetes components",
        sample: "I0515 10:23:45.123456    2261 kuberuntime_manager.go:1007] \"SyncLoop (PLEG)\" \
                 pod=\"train/job-4711-worker-3\"",
        shapes: &["L9999 "],
        forms: &[MonthDay],
        read: klog::read,
    },
    TrainingFormat {
        name: "absl",
        about: "absl, glog, TensorFlow and JAX",
        sample: "I0515 10:23:45.123456 140000000000000 train.py:610] Starting training.",
        shapes: &["L9999 "],
        forms: &[MonthDay, Unix],
        read: absl::read,
    },
    TrainingFormat {
        name: "xla",
        about: "TensorFlow and XLA from C++",
        sample: "2024-05-15 10:23:45.123456: W external/xla/xla/service/gpu/nvptx_compiler.cc:760] \
                 The NVIDIA driver's CUDA version is 12.4",
        shapes: &["@: L"],
        forms: &[Point],
        read: xla::read,
    },
    TrainingFormat {
        name: "transformers",
        about: "the logger of transformers",
        sample: "[INFO|trainer.py:2134] 2024-05-15 10:23:45,123 >> ***** Running training *****",
        shapes: &["[AAAA", "AAAA"],
        forms: &[Comma, Plain],
        read: transformers::read,
    },
    TrainingFormat {
        name: "llama_factory",
        about: "LLaMA-Factory",
        sample: "[INFO|2024-05-15 10:23:45] llamafactory.train.callbacks:143 >> {'loss': 2.1040, \
                 'epoch': 0.42}",
        shapes: &["[AAAA"],
        forms: &[Plain, Comma],
        read: llama_factory::read,
    },
    TrainingFormat {
        name: "swift",
        about: "ms-swift: with brackets as it writes now, with dashes as it wrote before",
        sample: "[INFO:swift] Start time of running main: 2024-05-15 10:20:00.123456",
        shapes: &["[AAAA", "@ - "],
        forms: &[Comma],
        read: swift::read,
    },
    TrainingFormat {
        name: "nemo",
        about: "NeMo, its log and its progress",
        sample: "[NeMo I 2024-05-15 10:23:45 megatron_gpt_model:1587] Pipeline model parallel \
                 rank: 0",
        shapes: &["[NeMo ", "Traini"],
        forms: &[Plain],
        read: nemo::read,
    },
    TrainingFormat {
        name: "nvrx",
        about: "NVIDIA's resiliency extension",
        sample: "2024-05-15 10:23:45,123 [WARNING] [gpu-node-017] [workload:8(0) infra:8(0)] \
                 monitor.py:67 heartbeat late",
        shapes: &["@ [A"],
        forms: &[Comma],
        read: nvrx::read,
    },
    TrainingFormat {
        name: "ray",
        about: "Ray, from Python and from C++",
        sample: "[2024-05-15 10:23:45,206 E 3934 3934] (raylet) node_manager.cc:3277: 2 Workers \
                 killed due to memory pressure (OOM)",
        shapes: &["@\tA", "@ A", "[@ L ", ":actor", ":task_", ":job_i"],
        forms: &[Comma],
        read: ray::read,
    },
    TrainingFormat {
        name: "vllm",
        about: "vLLM",
        sample: "INFO 05-15 10:23:45 [core.py:93] Initializing a V1 LLM engine (v0.11.2)",
        shapes: &["AAAA 9", "AAAAA ", "AAAAAA"],
        forms: &[Dashes],
        read: vllm::read,
    },
    TrainingFormat {
        name: "loguru",
        about: "loguru",
        sample: "2024-05-15 10:23:45.575 | INFO     | __main__:train:88 - step=100 loss=2.104",
        shapes: &["@ | "],
        forms: &[Point, Comma, Plain],
        read: loguru::read,
    },
    TrainingFormat {
        name: "fairseq",
        about: "fairseq, its log and its progress",
        sample: "2024-05-15 10:23:45 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.1, \
                 \"loss\": \"8.1\", \"ppl\": \"274.4\"}",
        shapes: &["@ | ", "epoch "],
        forms: &[Plain, Comma],
        read: fairseq::read,
    },
    TrainingFormat {
        name: "structlog",
        about: "structlog without a configuration",
        sample: "2024-05-15 10:23:45 [info     ] step done                      loss=2.1 step=100",
        shapes: &["@ [a"],
        forms: &[Plain, Iso],
        read: structlog::read,
    },
    TrainingFormat {
        name: "mmengine",
        about: "MMEngine and what is built on it",
        sample: "2024/05/15 10:23:45 - mmengine - INFO - Epoch(train)  [3][  50/1000]  \
                 lr: 1.0000e-02  eta: 1:02:03  memory: 15022  loss: 2.1040",
        shapes: &["@ - ", "99/99 "],
        forms: &[Slashes, SlashesNoYear],
        read: mmengine::read,
    },
    TrainingFormat {
        name: "colossalai",
        about: "ColossalAI",
        sample: "colossalai - colossalai - INFO: Booster ready",
        shapes: &["coloss"],
        forms: &[],
        read: colossalai::read,
    },
    TrainingFormat {
        name: "torchtitan",
        about: "torchtitan",
        sample: "[titan] 2024-05-15 10:23:45,123 - root - INFO - step: 10  loss:  2.10400  \
                 memory: 61.75GiB(78.01%)  tps: 8,123  mfu: 41.69%",
        shapes: &["[titan"],
        forms: &[Comma],
        read: torchtitan::read,
    },
    TrainingFormat {
        name: "lightning",
        about: "the progress bar of Lightning",
        sample: "Epoch 0:  35%|███▌      | 7/20 [00:01<00:02,  5.00it/s, v_num=0, \
                 train_loss=2.310]",
        shapes: &["Epoch ", "Sanity", "Traini", "Valida", "Testin"],
        forms: &[],
        read: lightning::read,
    },
    TrainingFormat {
        name: "accelerate",
        about: "Accelerate: a message with its rank before it",
        sample: "[RANK 3] Saving current state to /ckpt/step_100",
        shapes: &["[RANK "],
        forms: &[],
        read: accelerate::read,
    },
    TrainingFormat {
        name: "rich",
        about: "the handler of rich, on consoles of launchers",
        sample: "[05/15/24 10:23:45] INFO     Booster ready                    booster.py:12",
        shapes: &["[99/99", "[99:99", "99/99 "],
        forms: &[SlashesYearLast, SlashesNoYear],
        read: rich::read,
    },
    TrainingFormat {
        name: "slurm",
        about: "Slurm's daemons and commands",
        sample: "[2024-05-15T10:23:45.123] [4711.batch] error: Detected 1 oom_kill event in \
                 StepId=4711.batch",
        shapes: &[
            "[@] ", "[Aaa 9", "[Aaa  ", "slurms", "slurmc", "slurmd", "srun: ", "sbatch", "salloc",
            "scance", "sattac",
        ],
        forms: &[Iso, MonthName, MonthNamePoint],
        read: slurm::read,
    },
    TrainingFormat {
        name: "ucx",
        about: "UCX: its log, and signals that it caught",
        sample: "[node:227  :0:227] Caught signal 11 (Segmentation fault: address not mapped)",
        shapes: &["[w"],
        forms: &[Unix],
        read: ucx::read,
    },
    TrainingFormat {
        name: "kernel",
        about: "the kernel's ring buffer as dmesg and kmsg show it, with Xid and SXid",
        sample: "[123456.789012] NVRM: Xid (PCI:0000:9b:00 GPU-I:05): 94, pid=7194, name=python, \
                 Contained: CE User Channel (0x9)",
        shapes: &[
            "[9", "[ ", "[Aaa A", "[w", "<9", "9,9", "9,99", "99,9", "999,9", "kern ", "user ",
            "daemon", "auth", "syslog",
        ],
        forms: &[Weekday, Plain, Iso],
        read: kernel::read,
    },
    TrainingFormat {
        name: "fabric_manager",
        about: "NVIDIA's Fabric Manager",
        sample: "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on \
                 fid 0 on NVSwitch pci bus id 00000000:86:00.0",
        shapes: &["[Aaa "],
        forms: &[MonthNameYear],
        read: fabric_manager::read,
    },
    TrainingFormat {
        name: "nvidia_smi",
        about: "rows of `nvidia-smi --format=csv`, beginning with `timestamp`",
        sample: "2024/05/15 10:23:45.613, 0, 69, 68 %, 61234 MiB, 512.33 W",
        shapes: &["@, ", "timest"],
        forms: &[SlashesPoint, Slashes],
        read: nvidia_smi::read,
    },
    TrainingFormat {
        name: "logrus",
        about: "containerd and other programs that log by logrus",
        sample: "time=\"2024-05-15T10:23:45.198678872+01:00\" level=error msg=\"ExecSync failed\" \
                 error=\"failed to exec in container\"",
        shapes: &["time=\""],
        forms: &[Iso],
        read: logrus::read,
    },
    TrainingFormat {
        name: "syslog",
        about: "syslog with a priority, RFC 3164 and RFC 5424",
        sample: "<11>May  5 10:23:45 gpu-node-017 slurmd[1234]: error: Node configuration differs",
        shapes: &["<9>", "<99>", "<999>"],
        forms: &[MonthName, Iso],
        read: syslog::read,
    },
    TrainingFormat {
        name: "iso",
        about: "the classic form `TIME LEVEL COMPONENT: CONTENT`, its time with a `T`",
        sample: "2024-05-15T10:23:45.123Z INFO Trainer: Epoch 3/10, Step 1250, Loss=2.104, \
                 GradNorm=0.87",
        shapes: &["@ A", "@  A"],
        forms: &[Iso],
        read: iso::read,
    },
    TrainingFormat {
        name: "journald",
        about: "syslog without a priority, as journalctl and files of rsyslog have it",
        sample: "May 15 10:23:45 gpu-node-017 kernel: NVRM: Xid (PCI:0000:9b:00): 63, pid=1896, \
                 name=python, Row Remapper: New row marked for remapping",
        shapes: &["Aaa 99", "Aaa  9", "Aaa 9 ", "@ w"],
        forms: &[MonthName, MonthNamePoint, Iso],
        read: syslog::read_short,
    },
    TrainingFormat {
        name: "mllog",
        about: "records of MLPerf",
        sample: ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1695804432071, \"event_type\": \
                 \"POINT_IN_TIME\", \"key\": \"eval_accuracy\", \"value\": 0.72}",
        shapes: &[":::M"],
        forms: &[UnixMillis],
        read: mllog::read,
    },
    TrainingFormat {
        name: "wandb",
        about: "Weights & Biases on a terminal",
        sample: "wandb: WARNING Step must only increase in log calls.",
        shapes: &["wandb:", "wandb\u{1b}"],
        forms: &[],
        read: wandb::read,
    },
    TrainingFormat {
        name: "python_warnings",
        about: "warnings of Python",
        sample: "/app/train/loader.py:171: RuntimeWarning: invalid value encountered in divide",
        shapes: &["/", "w", "<froze"],
        forms: &[],
        read: python_warnings::read,
    },
    TrainingFormat {
        name: "traceback",
        about: "tracebacks of Python, joined or line by line",
        sample: "Traceback (most recent call last):",
        shapes: &["Traceb", "+ Exce", "╭─"],
        forms: &[],
        read: traceback::read,
    },
    TrainingFormat {
        name: "stdlib",
        about: "Python's logging module, with its usual layouts",
        sample: "2024-05-15 10:23:45,434 - trainer.loop - INFO - step 100 done",
        shapes: &["AAAA", "@", "[@]"],
        forms: &[Comma, Plain, Point, Iso, Slashes, SlashesLongYearLast],
        read: stdlib::read,
    },
    TrainingFormat {
        name: "metrics",
        about: "names and numbers alone, as scripts print them, and JSON objects of numbers alone",
        sample: "step:13/5100 train_loss:6.7598 train_time:530ms step_avg:176.69ms",
        shapes: &["a", "A", "|", "{\"", "{ \""],
        forms: &[],
        read: metrics::read,
    },
    TrainingFormat {
        name: "progress",
        about: "progress bars of tqdm, Keras and rich",
        sample: "Loading checkpoint shards:  50%|█████     | 2/4 [00:07<00:07,  3.61s/it]",
        shapes: &["?"],
        forms: &[],
        read: progress::read,
    },
];
