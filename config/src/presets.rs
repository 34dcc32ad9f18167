//! What platforms call task, role and rank, and where shippers put it. Invariant: a table and
//! nothing else; docs/identity.md is written from it. Next: `compile/identity.rs`.
//!
//! Sources of the names:
//! - Kubeflow: training-operator, `pkg/apis/kubeflow.org/v1/common_types.go`; the rank of a pod,
//!   that of a worker one more than its index where there is a master,
//!   `pkg/controller.v1/pytorch/envvar.go`.
//! - Ray: kuberay, `ray-operator/controllers/ray/utils/constant.go`.
//! - Volcano: volcano.sh/apis, `pkg/apis/batch/v1alpha1/labels.go`.
//! - JobSet: its documentation's "labels and annotations"; `job-completion-index` is Kubernetes'
//!   own, an annotation from 1.21 on and a label from 1.28 on.
//! - Slurm: the manual of `sbatch`, "filename pattern" and "output environment variables".

use riverhog_rules::{Candidate, NODE_RANK, Names, Reading, Selector, Stage};
use std::fmt::Write as _;

/// The labels that presets give.
pub(crate) const LABELS: [&str; 3] = ["task", "role", NODE_RANK];
/// What is no label of theirs: the rank.
pub(crate) const RANK: &str = "rank";

/// One platform.
struct Preset {
    word: &'static str,
    rows: &'static [Row],
}

/// One candidate, at each place where shippers put it.
struct Row {
    /// One of [`LABELS`], or [`RANK`].
    gives: &'static str,
    from: Key,
    reading: Reading,
    /// Other keys of the same kind, and the values that they must have.
    when: &'static [(&'static str, &'static str)],
}

/// What a shipper calls it.
#[derive(Clone, Copy)]
enum Key {
    /// A label of the pod.
    Label(&'static str),
    /// An annotation of the pod.
    Annotation(&'static str),
    /// A variable of the environment, as a header or a field of the shipper.
    Variable(&'static str),
    /// The path of the file that was read.
    Path,
}

const fn row(gives: &'static str, from: Key) -> Row {
    Row { gives, from, reading: Reading::Whole, when: &[] }
}

static PRESETS: [Preset; 5] = [
    Preset {
        word: "kubeflow",
        rows: &[
            row("task", Key::Label("training.kubeflow.org/job-name")),
            row("role", Key::Label("training.kubeflow.org/replica-type")),
            Row {
                reading: Reading::Next,
                when: &[
                    ("training.kubeflow.org/operator-name", "pytorchjob-controller"),
                    ("training.kubeflow.org/replica-type", "worker"),
                ],
                ..row(NODE_RANK, Key::Label("training.kubeflow.org/replica-index"))
            },
            row(NODE_RANK, Key::Label("training.kubeflow.org/replica-index")),
        ],
    },
    Preset {
        word: "ray",
        rows: &[
            row("task", Key::Label("ray.io/cluster")),
            row("role", Key::Label("ray.io/node-type")),
            row("role", Key::Label("ray.io/group")),
        ],
    },
    Preset {
        word: "volcano",
        rows: &[
            row("task", Key::Label("volcano.sh/job-name")),
            row("role", Key::Label("volcano.sh/task-spec")),
            row(NODE_RANK, Key::Label("volcano.sh/task-index")),
            row(NODE_RANK, Key::Annotation("volcano.sh/task-index")),
        ],
    },
    Preset {
        word: "jobset",
        rows: &[
            row("task", Key::Label("jobset.sigs.k8s.io/jobset-name")),
            row("role", Key::Label("jobset.sigs.k8s.io/replicatedjob-name")),
            // With several jobs of one role an index counts within its job.
            Row {
                when: &[("jobset.sigs.k8s.io/replicatedjob-replicas", "1")],
                ..row(NODE_RANK, Key::Label("batch.kubernetes.io/job-completion-index"))
            },
            Row {
                when: &[("jobset.sigs.k8s.io/replicatedjob-replicas", "1")],
                ..row(NODE_RANK, Key::Annotation("batch.kubernetes.io/job-completion-index"))
            },
        ],
    },
    Preset {
        word: "slurm",
        rows: &[
            row("task", Key::Variable("SLURM_JOB_ID")),
            Row { reading: Reading::SlurmJob, ..row("task", Key::Path) },
            row(NODE_RANK, Key::Variable("SLURM_NODEID")),
            row(RANK, Key::Variable("SLURM_PROCID")),
        ],
    },
];

/// What stands before a label and an annotation of a pod, and whether the dots of its name are
/// replaced by `_`.
struct Shipper {
    label: &'static str,
    annotation: &'static str,
    is_dedotted: bool,
}

static SHIPPERS: [Shipper; 5] = [
    // Filebeat, unless `labels.dedot` is off.
    Shipper {
        label: "envelope.kubernetes.labels.",
        annotation: "envelope.kubernetes.annotations.",
        is_dedotted: true,
    },
    // Fluent Bit, Fluentd, and Filebeat without `dedot`.
    Shipper {
        label: "envelope.kubernetes.labels.",
        annotation: "envelope.kubernetes.annotations.",
        is_dedotted: false,
    },
    // Vector.
    Shipper {
        label: "envelope.kubernetes.pod_labels.",
        annotation: "envelope.kubernetes.pod_annotations.",
        is_dedotted: false,
    },
    // OpenTelemetry's `k8sattributes`, before and since its semantic conventions.
    Shipper {
        label: "envelope.resource.k8s.pod.labels.",
        annotation: "envelope.resource.k8s.pod.annotations.",
        is_dedotted: false,
    },
    Shipper {
        label: "envelope.resource.k8s.pod.label.",
        annotation: "envelope.resource.k8s.pod.annotation.",
        is_dedotted: false,
    },
];

/// Where shippers say which file a line is from; of a file that riverhog itself reads, the topic is
/// its path.
const PATHS: [&str; 6] = [
    "envelope.log.file.path",
    "envelope.file",
    "envelope.filename",
    "envelope.attributes.log.file.path",
    "envelope.labels.filename",
    "topic",
];

/// The candidates that a preset has for a label, in the order in which they are asked.
pub(crate) fn candidates(preset: &str, label: &str) -> Vec<Candidate> {
    let rows = PRESETS.iter().filter(|it| it.word == preset).flat_map(|it| it.rows);
    rows.filter(|row| row.gives == label).flat_map(Row::candidates).collect()
}

impl Row {
    fn candidates(&self) -> Vec<Candidate> {
        let plain = |place: &str| self.candidate(place, Vec::new());
        match self.from {
            Key::Label(key) => {
                SHIPPERS.iter().map(|it| self.of_pod(it, &it.name(it.label, key))).collect()
            }
            Key::Annotation(key) => {
                SHIPPERS.iter().map(|it| self.of_pod(it, &it.name(it.annotation, key))).collect()
            }
            Key::Variable(key) => places_of_variable(key).iter().map(|it| plain(it)).collect(),
            Key::Path => PATHS.iter().map(|place| plain(place)).collect(),
        }
    }

    fn of_pod(&self, shipper: &Shipper, place: &str) -> Candidate {
        let when = self.when.iter();
        let when = when
            .map(|(key, value)| (selector(&shipper.name(shipper.label, key)), (*value).to_owned()));
        self.candidate(place, when.collect())
    }

    fn candidate(&self, place: &str, when: Vec<(Selector, String)>) -> Candidate {
        Candidate { from: selector(place), reading: self.reading, when }
    }
}

impl Shipper {
    fn name(&self, before: &str, key: &str) -> String {
        let key = if self.is_dedotted { key.replace('.', "_") } else { key.to_owned() };
        format!("{before}{key}")
    }
}

/// As it is called, and in lower case: a header, a field of Filebeat's, a member of the envelope.
fn places_of_variable(key: &str) -> Vec<String> {
    let heads = ["header.", "envelope.fields.", "envelope."];
    let names = |head: &&str| [format!("{head}{key}"), format!("{head}{}", key.to_lowercase())];
    heads.iter().flat_map(names).collect()
}

fn selector(text: &str) -> Selector {
    let names = Names::new().at(Stage::Labels);
    Selector::compile(text, &names).expect("the table holds names of records")
}

/// The table of docs/identity.md.
pub fn presets_table() -> String {
    let mut text = "| preset | gives | from |\n|---|---|---|\n".to_owned();
    for preset in &PRESETS {
        for row in preset.rows {
            let (word, gives) = (preset.word, row.gives);
            writeln!(text, "| `{word}` | `{gives}` | {} |", row.shown())
                .expect("a String takes everything");
        }
    }
    text
}

impl Row {
    fn shown(&self) -> String {
        let mut text = match self.from {
            Key::Label(key) => format!("the label `{key}`"),
            Key::Annotation(key) => format!("the annotation `{key}`"),
            Key::Variable(key) => format!("the variable `{key}`"),
            Key::Path => "the path of the file".to_owned(),
        };
        match self.reading {
            Reading::Whole => {}
            Reading::Next => text.push_str(", plus one"),
            Reading::SlurmJob => {
                text.push_str(": `slurm-4711.out`, `slurm-4711_3.out`, a folder `job-4711`");
            }
        }
        let conditions: Vec<String> =
            self.when.iter().map(|(key, value)| format!("`{key}` is `{value}`")).collect();
        if !conditions.is_empty() {
            text.push_str(", where ");
            text.push_str(&conditions.join(" and "));
        }
        text
    }
}
