//! `[sources.NAME]`: where lines come from. Next: `rules.rs`.

use super::{Kind, Section, Setting, word};

const ENVELOPE: Setting = Setting::new(
    "envelope",
    Kind::Choice(&[
        word(
            "auto",
            "recognises all envelopes below by what each shipper alone writes, up to three around \
             each other; a value that is none is raw lines. See [envelopes](envelopes.md)",
        ),
        word("none", "every value is raw lines"),
        word(
            "filebeat",
            "Filebeat's JSON: every object with a `message`; no other envelope is looked for, and \
             so with each word below",
        ),
        word("fluent-bit", "Fluent Bit's JSON: every object with a `log`, or else a `message`"),
        word("vector", "Vector's JSON: every object with a `message`"),
        word(
            "cri",
            "lines of container runtimes, `TIME stdout F TEXT`. Long lines that came in pieces are \
             put together, with `docker` and `auto` too",
        ),
        word("docker", "lines of Docker's `json-file`: every object with a `log`"),
        word("otlp", "OpenTelemetry's log requests, in JSON or protobuf: many lines a record"),
        word("loki", "Loki's push requests in JSON: many lines a record"),
        word("journald", "the journal's JSON: every object with a `MESSAGE`"),
        word("pack", "lines of promtail's `pack` stage: every object of texts with an `_entry`"),
    ]),
    "What the collector has wrapped around a line.",
)
.default("auto");

const LINE_MAX: Setting = Setting::new(
    "line_max",
    Kind::Bytes { min: 1 << 10, max: 64 << 20 },
    "A longer line is cut at a character boundary, tagged `_cut` and counted.",
)
.default("1MiB");

const LINEAGE: Setting = Setting::new(
    "lineage",
    Kind::Text,
    "Added to the lineage in every event id: up to 16 letters and digits. Needed only where two \
     clusters share an id, such as a cluster that was restored from a copy.",
);

/// `type = "kafka"`
pub(crate) static SOURCE_KAFKA: Section = Section {
    title: "a `kafka` source",
    doc: "A Kafka consumer group. Offsets are committed by riverhog alone, once every line below \
          them is settled in every sink it was routed to.",
    settings: &[
        Setting::new("brokers", Kind::Texts, "`host:port` of one or more brokers.").required(),
        Setting::new("topics", Kind::Texts, "The topics to read. Either this or `topic_pattern`."),
        Setting::new(
            "topic_pattern",
            Kind::Text,
            "A regular expression that begins with `^`; every topic it matches is read, also one \
             that appears later.",
        ),
        Setting::new("group", Kind::Text, "The consumer group.").required(),
        Setting::new(
            "start",
            Kind::Start,
            "Where a group that has never committed begins: `earliest`, `latest` (the time of its \
             first start), an RFC 3339 time, or `group:NAME`: where that group has committed, such \
             as Logstash's (`earliest` in partitions where it has not).",
        )
        .default("earliest"),
        ENVELOPE,
        Setting::new(
            "properties",
            Kind::Properties,
            "Any librdkafka property, such as `\"security.protocol\" = \"SASL_SSL\"`. Those that \
             riverhog must set itself to keep its promise are refused.",
        ),
        LINE_MAX,
        LINEAGE,
    ],
    example: "[sources.logs]\n\
              type    = \"kafka\"\n\
              brokers = [\"127.0.0.1:9092\"]\n\
              topics  = [\"train-logs\"]\n\
              group   = \"riverhog\"\n",
};

/// `type = "file"`
pub(crate) static SOURCE_FILE: Section = Section {
    title: "a `file` source",
    doc: "A file, read once from its beginning to its end, for trying things out.",
    settings: &[
        Setting::new(
            "path",
            Kind::Path,
            "The file. A line is known by the file and its place in it: a file rewritten in place \
             under the same first line counts as the same file, and what stands at a known place \
             is not stored again. Move files instead of rewriting them.",
        )
        .required(),
        ENVELOPE,
        LINE_MAX,
        LINEAGE,
    ],
    example: "[sources.sample]\ntype = \"file\"\npath = \"sample.log\"\n",
};

/// `type = "stdin"`
pub(crate) static SOURCE_STDIN: Section = Section {
    title: "a `stdin` source",
    doc: "Standard input, read to its end, for trying things out.",
    settings: &[ENVELOPE, LINE_MAX, LINEAGE],
    example: "[sources.pipe]\ntype = \"stdin\"\n",
};
