//! The metrics: one row each, in the order of the guide.
//!
//! Invariant: a printed name stands once in the table, in snake case. Printed names are those of
//! the programs' own sources and of logs that were seen. Next stop: `lookup`.

/// A metric.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    /// Its name, which ends in its unit where it has one.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) meaning: &'static str,
    /// Names that are printed, without a unit; each may be printed with one.
    pub(super) printed: &'static [&'static str],
    /// Names that are printed in one unit only, and the factor to that of the metric.
    pub(super) exact: &'static [(&'static str, f64)],
}

const fn row(
    name: &'static str,
    meaning: &'static str,
    printed: &'static [&'static str],
) -> Metric {
    Metric { name, meaning, printed, exact: &[] }
}

const fn exact(row: Metric, exact: &'static [(&'static str, f64)]) -> Metric {
    Metric { exact, ..row }
}

/// Numbers of headers: no line is asked for their meaning.
pub(super) const NO_METRICS: [&str; 13] = [
    "format",
    "line",
    "pid",
    "thread",
    "device",
    "local_rank",
    "uptime",
    "infra_rank",
    "infra_local_rank",
    "task_number",
    "xid",
    "sxid",
    "version",
];

/// Words that make a name one of a loss, a reward or a rate of learning, whatever else it says.
const WORDS: [&str; 19] = [
    "loss",
    "losses",
    "reward",
    "rewards",
    "kl",
    "ppl",
    "perplexity",
    "accuracy",
    "accuracies",
    "entropy",
    "advantage",
    "advantages",
    "logps",
    "logits",
    "chosen",
    "rejected",
    "lr",
    "mfu",
    "tflops",
];

/// True for a name in snake case that is a metric whoever prints it: `mtp_1_loss`,
/// `rewards_margins_mean`, `actor_grad_norm`.
pub(super) fn is_own(name: &str) -> bool {
    name.split('_').any(|word| WORDS.contains(&word))
        || name.ends_with("grad_norm")
        || name.ends_with("learning_rate")
}

/// The table.
pub(super) const METRICS: &[Metric] = &[
    row(
        "loss",
        "of training",
        &[
            "lm_loss",
            "train_loss",
            "training_loss",
            "reduced_train_loss",
            "lossmean",
            "loss_mean",
            "avg_loss",
            "average_loss",
            "trl",
            "train_loss_step",
        ],
    ),
    row(
        "eval_loss",
        "of evaluation",
        &[
            "val_loss",
            "valid_loss",
            "validation_loss",
            "test_loss",
            "tel",
            "lm_loss_value",
            "reduced_val_loss",
        ],
    ),
    row("perplexity", "", &["ppl", "lm_loss_ppl"]),
    row("eval_perplexity", "", &["eval_ppl", "val_ppl", "valid_ppl"]),
    row(
        "accuracy",
        "",
        &["acc", "train_accuracy", "train_acc", "token_acc", "mean_token_accuracy"],
    ),
    row(
        "eval_accuracy",
        "",
        &["val_accuracy", "val_acc", "eval_acc", "eval_token_acc", "eval_mean_token_accuracy"],
    ),
    row(
        "reward",
        "mean of a batch",
        &["rewards", "mean_reward", "reward_mean", "rewards_mean", "average_reward_score"],
    ),
    row("kl", "divergence from the reference", &["kl_divergence", "kl_div", "mean_kl"]),
    row(
        "grad_norm",
        "of all gradients",
        &[
            "gnorm",
            "total_norm",
            "gradient_norm",
            "global_grad_norm",
            "train_grad_norm",
            "norm",
            "grad_norm_total",
        ],
    ),
    row("params_norm", "of all parameters", &["param_norm"]),
    row("num_zeros", "gradients that are zero", &["num_zeros_in_grad"]),
    row("learning_rate", "", &["lr", "cur_lr", "current_lr", "lr_adamw", "train_lr"]),
    row("loss_scale", "of mixed precision", &["loss_scaler", "grad_scale", "cur_scale"]),
    row(
        "skipped_iterations",
        "since the last such line, or since the start, as the program counts them",
        &["number_of_skipped_iterations", "skipped", "skipped_steps", "skipped_iters"],
    ),
    row("nan_iterations", "the same", &["number_of_nan_iterations", "nan_steps", "nan_iters"]),
    row(
        "step",
        "steps of the optimiser, or of a bar",
        &[
            "iteration",
            "iter",
            "global_step",
            "global_steps",
            "num_updates",
            "current_steps",
            "current_step",
            "steps",
            "s",
        ],
    ),
    row(
        "step_total",
        "where it ends",
        &[
            "iteration_total",
            "iter_total",
            "global_step_total",
            "s_total",
            "max_steps",
            "max_step",
            "total_steps",
            "total_iterations",
            "num_steps",
            "train_iters",
        ],
    ),
    row("micro_step", "forward and backward passes", &["micro_steps"]),
    row("epoch", "may be a fraction", &["train_epoch", "training_epoch"]),
    row(
        "epoch_total",
        "where it ends",
        &["epochs", "num_epochs", "num_train_epochs", "max_epochs", "total_epochs"],
    ),
    row("ppo_epoch", "of one batch of PPO", &["ppo_ep"]),
    row("progress_percent", "how far it is", &["percent", "percentage", "progress"]),
    row(
        "elapsed_seconds",
        "since the start",
        &[
            "elapsed",
            "elapsed_time",
            "time_elapsed",
            "train_runtime",
            "train_time",
            "wall",
            "wall_time",
            "total_time",
        ],
    ),
    row("eta_seconds", "until the end", &["eta", "remaining", "remaining_time", "time_remaining"]),
    exact(
        row(
            "step_seconds",
            "of one step",
            &[
                "elapsed_time_per_iteration",
                "train_step_timing",
                "step_time",
                "iteration_time",
                "iter_time",
                "time_per_step",
                "time_per_iteration",
                "time_per_iter",
                "batch_time",
                "e2e_latency",
            ],
        ),
        &[
            ("train_speed_s_it", 1.0),
            ("rate_s_it", 1.0),
            ("rate_s_step", 1.0),
            ("rate_ms_step", 1e-3),
            ("rate_us_step", 1e-6),
            ("s_it", 1.0),
            ("time_ms", 1e-3),
        ],
    ),
    row("step_average_seconds", "mean of steps so far", &["step_avg"]),
    row("data_seconds", "waiting for data, of a step", &["data_time", "data_loading_time"]),
    row("train_seconds", "in steps alone", &["train_wall"]),
    row("training_seconds", "of a step of PPO", &["training_time"]),
    row("generate_seconds", "of a step of PPO", &["generate_time", "generation_time"]),
    row("gather_seconds", "of a step of PPO", &["gather_latency"]),
    row("other_seconds", "of a step of PPO", &["others"]),
    row("eval_seconds", "of an evaluation", &["eval_runtime", "eval_time"]),
    exact(
        row(
            "steps_per_second",
            "",
            &["train_steps_per_second", "steps_per_sec", "iterations_per_second", "ups"],
        ),
        &[
            ("rate_it_s", 1.0),
            ("rate_kit_s", 1e3),
            ("rate_step_s", 1.0),
            ("rate_steps_s", 1.0),
            ("train_speed_iter_s", 1.0),
            ("it_s", 1.0),
        ],
    ),
    exact(
        row(
            "samples_per_second",
            "of the whole job, as far as the program knows",
            &[
                "samples_per_sec",
                "train_samples_per_second",
                "curr_samples_per_sec",
                "cur_samples_per_sec",
                "samples_sec",
            ],
        ),
        &[("samples_s", 1.0), ("rate_samples_s", 1.0), ("rate_examples_s", 1.0)],
    ),
    row(
        "samples_per_second_average",
        "mean since the start",
        &["running_avg_samples_per_sec", "avg_samples_per_sec"],
    ),
    exact(
        row(
            "tokens_per_second",
            "of the whole job, as far as the program knows",
            &["tokens_per_sec", "train_tokens_per_second", "wps", "tokens_sec"],
        ),
        &[("tokens_s", 1.0), ("tok_s", 1.0), ("rate_tok_s", 1.0), ("rate_tokens_s", 1.0)],
    ),
    exact(
        row(
            "tokens_per_second_per_gpu",
            "",
            &["tps", "tgs", "throughput", "tokens_per_sec_per_gpu", "tokens_per_gpu_per_second"],
        ),
        &[("tokens_s_gpu", 1.0), ("throughput_tokens_s_gpu", 1.0)],
    ),
    row("eval_samples_per_second", "", &["eval_samples_per_sec"]),
    row("eval_steps_per_second", "", &["eval_steps_per_sec"]),
    row("global_batch_size", "samples of a step", &["gbs"]),
    row("consumed_samples", "since the start of training", &[]),
    row("skipped_samples", "", &[]),
    row(
        "consumed_tokens",
        "since the start of training",
        &["total_tokens", "num_input_tokens_seen", "tokens_seen", "num_tokens"],
    ),
    row("sequence_length", "tokens", &["actual_seqlen", "seqlen", "seq_length", "seq_len"]),
    exact(
        row(
            "tflops_per_gpu",
            "",
            &["tflops", "model_tflops", "effective_tera_flops_per_gpu", "model_tflops_per_gpu"],
        ),
        &[("throughput_per_gpu_tflop_s_gpu", 1.0), ("throughput_tflop_s_gpu", 1.0)],
    ),
    row("hardware_tflops_per_gpu", "with activations computed again", &["hardware_tflops"]),
    row("mfu_percent", "of the peak", &["mfu"]),
    row("hfu_percent", "of the peak, with activations computed again", &["hfu"]),
    row(
        "memory_gib",
        "of the device in use",
        &[
            "memory",
            "mem_allocated",
            "memory_allocated",
            "memory_used",
            "ma",
            "allocated",
            "gpu_memory",
            "gpu_mem",
            "dcgm_fi_dev_fb_used",
        ],
    ),
    row(
        "memory_max_gib",
        "most of it so far",
        &[
            "max_mem_allocated",
            "max_memory_allocated",
            "max_allocated",
            "max_ma",
            "max_memory",
            "peak_memory",
            "peak_mem",
            "memory_max",
        ],
    ),
    row("memory_reserved_gib", "by the allocator", &["memory_reserved", "reserved", "ca"]),
    row(
        "memory_reserved_max_gib",
        "most of it so far",
        &["max_memory_reserved", "max_reserved", "max_ca"],
    ),
    exact(row("memory_free_gib", "", &["memory_free", "dcgm_fi_dev_fb_free"]), &[("gb_free", 1.0)]),
    row("memory_total_gib", "of the device", &["memory_total"]),
    row("memory_percent", "of the device in use", &[]),
    row(
        "temperature_celsius",
        "of the device",
        &["temperature", "temperature_gpu", "gpu_temp", "gpu_temperature", "dcgm_fi_dev_gpu_temp"],
    ),
    row(
        "memory_temperature_celsius",
        "",
        &["temperature_memory", "memory_temp", "dcgm_fi_dev_memory_temp"],
    ),
    exact(
        row(
            "power_watts",
            "of the device",
            &["power", "power_draw", "power_usage", "gpu_power", "dcgm_fi_dev_power_usage"],
        ),
        &[("power_per_gpu_w_gpu", 1.0)],
    ),
    row("power_limit_watts", "", &["power_limit", "enforced_power_limit"]),
    exact(row("energy_joules_per_gpu", "of a step", &[]), &[("energy_per_gpu_j_iter_gpu", 1.0)]),
    row(
        "gpu_utilization_percent",
        "",
        &["utilization_gpu", "gpu_util", "gpu_utilization", "dcgm_fi_dev_gpu_util"],
    ),
    row(
        "memory_utilization_percent",
        "of the memory's bandwidth",
        &["utilization_memory", "mem_copy_util", "dcgm_fi_dev_mem_copy_util"],
    ),
];
