//! `[peel]` and `[join]`. Next: `rules.rs`.

use super::{Kind, Section, Setting, word};

/// `[peel]`
pub(crate) static PEEL: Section = Section {
    title: "`[peel]`",
    doc: "The raw line stays in `message`. What the layers say becomes `rank` and the fields \
          `local_rank`, `worker`, `pid`, `node`, `task_number` and `torchrun_role`.",
    settings: &[
        Setting::new(
            "layers",
            Kind::Choices(&[
            word("ansi", "escape sequences of terminals: colours, cursor movements, links"),
            word(
                "frames",
                "of a progress bar all frames but the last; a log line glued behind a bar becomes \
                 an event of its own",
            ),
            word("glued", "a record that another rank wrote right behind the last letter of one"),
            word("rank", "`[rank3]:`, torchrun's `[default3]:`, mpirun's `[1,3]<stdout>:`"),
            word("worker", "`(Worker pid=7, ip=10.0.0.7)`, of Ray and vLLM"),
            word("task", "`3: `, of `srun --label`"),
            word("host", "`node-3: `, of pdsh and others: a name with a `-` and a digit"),
        ]),
        "What comes off, in whatever order it stands.",
    )
    .absent("`ansi`, `frames`, `rank` and `worker`"),
        Setting::new(
            "frames_every",
            Kind::Integer { min: 0, max: 1_000_000 },
            "With `frames`: of the frames of a progress bar one in so many becomes an event too; 0 \
             for none but the last.",
        )
        .default("0"),
    ],
    example: "[peel]\nlayers = [\"ansi\", \"frames\", \"rank\", \"worker\", \"task\"]\n",
};

/// `[join]`
pub(crate) static JOIN: Section = Section {
    title: "`[join]`",
    doc: "Only a line that opens a record is held, all others wait for nobody. A record ends with \
          the first line of its stream and process that does not continue it; see docs/joining.md.",
    settings: &[
        Setting::new(
            "builtin",
            Kind::Flag,
            "The forms that riverhog knows are joined: tracebacks of Python with their chains, \
             groups and boxes, torchrun's table of failures, stacks of C++ and Java, Python's \
             warnings, the kernel's reports of a kill.",
        )
        .default("true"),
        Setting::new(
            "stream",
            Kind::Texts,
            "What tells the streams of a partition apart, besides rank and worker. All values \
             count; those that are absent do not.",
        )
        .default(
            "header.host, envelope.host, key, envelope.log.file.path, envelope.container.id, \
             envelope.stream",
        ),
        Setting::new(
            "lines_max",
            Kind::Integer { min: 2, max: 100_000 },
            "Lines that a record has at most. Those behind it are events of their own.",
        )
        .default("1000"),
        Setting::new(
            "bytes_max",
            Kind::Bytes { min: 1 << 10, max: 1 << 20 },
            "Bytes that a record has at most.",
        )
        .default("256KiB"),
        Setting::new(
            "gap",
            Kind::Duration { min: 100, max: 3_600_000 },
            "A record ends when a later record of its partition is this much younger than its \
             last line. At the end of a partition the clock counts too.",
        )
        .default("5s"),
        Setting::new("rules", Kind::Sections(&JOIN_RULE), "Forms of your own; they come first."),
    ],
    example: "[join]\n\
              \n\
              [[join.rules]]\n\
              name     = \"indented\"\n\
              start    = '^\\d{4}-\\d\\d-\\d\\d '\n\
              continue = '^\\s+\\S'\n",
};

/// `[[join.rules]]`
static JOIN_RULE: Section = Section {
    title: "`[[join.rules]]`",
    doc: "Regular expressions on the line without what was peeled off.",
    settings: &[
        Setting::new("name", Kind::Text, "Its name, in messages.").required(),
        Setting::new("start", Kind::Text, "What a record begins with.").required(),
        Setting::new("continue", Kind::Text, "Which lines go on with it.")
            .absent("all that do not begin another, or end it"),
        Setting::new("end", Kind::Text, "The line that is its last."),
    ],
    example: "",
};
