//! `[identity]`. Next: `join.rs`.

use super::{Kind, Section, Setting, word};

/// `[identity]`
pub(crate) static IDENTITY: Section = Section {
    title: "`[identity]`",
    doc: "A preset knows where the shippers of a platform put its labels. It adds candidates to \
          the labels `task`, `role` and `node_rank`, behind your own and before their `default`, \
          and gives the rank of lines that state none; see docs/identity.md.",
    settings: &[
        Setting::new(
            "presets",
            Kind::Choices(&[
                word("kubeflow", "jobs of the Training Operator: PyTorchJob, MPIJob and others"),
                word("ray", "clusters of KubeRay"),
                word("volcano", "jobs of Volcano"),
                word("jobset", "JobSet, which Kubeflow Trainer makes jobs of"),
                word("slurm", "Slurm: names of files, and variables that a shipper passes on"),
            ]),
            "Whose labels are read; where several have a value the first that is named counts.",
        ),
        Setting::new(
            "ranks_per_node",
            Kind::Integer { min: 0, max: 1024 },
            "How many ranks each node (or pod) runs, where all run as many. A line that names no \
             rank has then the rank `node_rank` × this + its local rank, which may be left out \
             where this is 1. Leave it out where PyTorchJobs have no master: their `node_rank` \
             is one too high. `0`: not known, and no rank is computed.",
        )
        .default("0"),
    ],
    example: "[identity]\npresets = [\"kubeflow\"]\nranks_per_node = 8\n",
};
