//! Settings of the process: the top of the file and `[http]`. Next: `sources.rs`.

use super::{Kind, Section, Setting, word};

/// Settings that stand above the first section.
pub(crate) static ROOT: Section = Section {
    title: "the top of the file",
    doc: "These stand above the first section.",
    settings: &[
        Setting::new(
            "memory",
            Kind::Bytes { min: 32 << 20, max: 1 << 40 },
            "What everything held in memory may add up to: prefetched records, batches in work, \
             requests in flight, open objects, known event ids. The process as a whole takes about \
             twice as much: set a container's limit by that.",
        )
        .default("256MiB")
        .beside_events(),
        Setting::new(
            "unparsed",
            Kind::Choice(&[
                word("keep", "it is an event all the same: `content` is the line, tag `_unparsed`"),
                word("dead_letter", "it becomes a dead letter"),
                word("drop", "it is dropped and counted"),
            ]),
            "What becomes of a line that no parser accepts.",
        )
        .default("keep"),
        Setting::new(
            "stop_deadline",
            Kind::Duration { min: 0, max: 3_600_000 },
            "What a stop may take. What is not settled by then is read again at the next start.",
        )
        .default("25s")
        .beside_events(),
        Setting::new(
            "ahead_max",
            Kind::Duration { min: 60_000, max: 7 * 86_400_000 },
            "How far, in record time, a partition is read ahead of lines that wait for a halted \
             destination. Beyond it the partition is read no further until that is cured.",
        )
        .default("1h")
        .beside_events(),
        Setting::new(
            "stall_after",
            Kind::Duration { min: 1_000, max: 86_400_000 },
            "An assigned partition that has lag and of which nothing has moved for this long is an \
             error in the log and `riverhog_partition_stalled`. Where a sink holds it, what the \
             slowest sink waits before it sends is added.",
        )
        .default("5m")
        .beside_events(),
    ],
    example: "memory   = \"256MiB\"\nunparsed = \"keep\"\n",
};

/// `[http]`
pub(crate) static HTTP: Section = Section {
    title: "`[http]`",
    doc: "`/metrics` for Prometheus, `/health/live`, `/health/ready`, and `/api/…` for people and \
          their tools. Metrics and health hold no text of lines and need no token.",
    settings: &[
        Setting::new(
            "listen",
            Kind::Text,
            "Address and port to listen on. Anything but loopback can be reached by others.",
        )
        .default("127.0.0.1:9600")
        .beside_events(),
        Setting::new(
            "cert_file",
            Kind::Path,
            "A PEM file of the server's certificates, with `key_file`: all of the port speaks TLS.",
        )
        .beside_events(),
        Setting::new("key_file", Kind::Path, "A PEM file of its key.").beside_events(),
        Setting::new(
            "access",
            Kind::Sections(&HTTP_ACCESS),
            "Who may ask `/api/…`. Without an entry only this machine may, and nobody may change \
             anything.",
        )
        .beside_events(),
    ],
    example: "[http]\nlisten = \"127.0.0.1:9600\"\n",
};

/// `[[http.access]]`
pub(crate) static HTTP_ACCESS: Section = Section {
    title: "`[[http.access]]`",
    doc: "A bearer token and what it opens. With one entry `/api/…` needs a token, from this \
          machine too.",
    settings: &[
        Setting::new("token", Kind::Secret, "At least 16 characters, as `${NAME}` best.")
            .required()
            .beside_events(),
        Setting::new(
            "projects",
            Kind::Texts,
            "Only lines whose label `project` is one of these are shown.",
        )
        .absent("lines of all projects")
        .beside_events(),
        Setting::new("reload", Kind::Flag, "It may ask for a reload: `POST /api/reload`.")
            .default("false")
            .beside_events(),
    ],
    example: "[[http.access]]\ntoken = \"${RIVERHOG_TOKEN}\"\nprojects = [\"nlp\"]\n",
};
