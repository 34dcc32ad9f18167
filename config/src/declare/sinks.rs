//! `[sinks.NAME]` and `[dead_letter]`: where events go. Next: `mod.rs`, which puts all in order.

use super::{Choice, Kind, Section, Setting, later, word};

const HOUR_MS: u64 = 3_600_000;

const IN_FLIGHT_DOC: &str = "Requests in flight at most.";

const TIMEOUT_DOC: &str = "A request without an answer is given up after this long, and retried.";

const HALT_AFTER: Setting = Setting::new(
    "halt_after",
    Kind::Duration { min: 1_000, max: 7 * 24 * HOUR_MS },
    "When a destination (this index, this bucket) has been halted for so long, its lines go to the \
     dead letters, with the reason `halted`, until it is cured.",
)
.absent("never: its lines wait in Kafka until somebody cures it")
.beside_events();

const OBJECT_SETTING: Setting =
    Setting::new("object", Kind::Section(&OBJECT), "When an object is closed.");

const PREFIXES_MAX: Setting = Setting::new(
    "prefixes_max",
    Kind::Integer { min: 1, max: 1_000_000 },
    "Chains (prefix, topic, partition) open at once at most; beyond it the one longest untouched \
     is closed early, with an alarm.",
)
.default("2000");

const CA_FILE: Setting = Setting::new(
    "ca_file",
    Kind::Path,
    "A PEM file of certificate authorities, in place of the system's.",
)
.beside_events();

const CERT_FILE: Setting = Setting::new(
    "cert_file",
    Kind::Path,
    "A PEM file with the certificate that this client shows, and those between it and its \
     authority; with `key_file`.",
)
.beside_events();

const KEY_FILE: Setting = Setting::new(
    "key_file",
    Kind::Path,
    "A PEM file with the key of `cert_file`, without a password.",
)
.beside_events();

const RECORDS: Setting = Setting::new(
    "records",
    Kind::Choice(&[
        word("events", "documents, as sinks for search get them"),
        later("raw", "use `events`; its `message` is the raw line"),
    ]),
    "What an object holds.",
)
.default("events");

const PREFIX: Setting = Setting::new(
    "prefix",
    Kind::Template,
    "What stands before the name of an object, as a template: empty, or ending in `/`. An event \
     without one of its values becomes a dead letter.",
)
.default("{timestamp:%Y-%m-%d}/")
.or_empty();

/// `type = "elasticsearch"`
pub(crate) static ELASTICSEARCH: Section = Section {
    title: "an `elasticsearch` sink",
    doc: "Elasticsearch, OpenSearch, VictoriaLogs: whatever speaks `_bulk`.",
    settings: &[
        Setting::new(
            "urls",
            Kind::Texts,
            "Base addresses; each may carry a path and a query (VictoriaLogs: \
             `http://host:9428/insert/elasticsearch/?_time_field=@timestamp`).",
        )
        .required(),
        Setting::new(
            "index",
            Kind::Template,
            "The index as a template. An event without one of its values becomes a dead letter.",
        )
        .required(),
        Setting::new(
            "data_stream",
            Kind::Flag,
            "`index` names data streams. They take `op = \"create\"` alone and no `routing`, and \
             know an id within one backing index only: at least once where one rolls over.",
        )
        .default("false"),
        Setting::new(
            "op",
            Kind::Choice(&[
                word("create", "what has the id already stays as it is: a repeat adds nothing"),
                word("index", "it is replaced: a repeat overwrites, and is not counted as known"),
            ]),
            "What becomes of a document whose id the index holds.",
        )
        .default("create"),
        Setting::new(
            "routing",
            Kind::Template,
            "What decides the shard, as a template of at most 512 bytes. An id is unique within \
             one routing. An event without one of its values becomes a dead letter.",
        )
        .absent("the event id"),
        Setting::new(
            "pipeline",
            Kind::Template,
            "The store's ingest pipeline, by its name or a template of names. An event without \
             one of its values becomes a dead letter.",
        )
        .absent("the index's own"),
        Setting::new("user", Kind::Secret, "The user, with `password`.").beside_events(),
        Setting::new("password", Kind::Secret, "The password, with `user`.").beside_events(),
        Setting::new("api_key", Kind::Secret, "An API key, in place of `user` and `password`.")
            .beside_events(),
        Setting::new("bearer", Kind::Secret, "A token, in place of `user` and `password`.")
            .beside_events(),
        CA_FILE,
        CERT_FILE,
        KEY_FILE,
        Setting::new(
            "compression",
            Kind::Choice(&[
                word("none", "not at all"),
                word("gzip", "gzip, which every store takes"),
                word("zstd", "zstd: smaller and faster, where the store takes it"),
            ]),
            "How request bodies are compressed. A store that does not take `zstd` is sent `gzip`, \
             and one that takes neither `none`, with one warning.",
        )
        .default("none")
        .beside_events(),
        Setting::new("batch", Kind::Section(&BATCH), "When a request is full."),
        Setting::new("in_flight", Kind::Integer { min: 1, max: 64 }, IN_FLIGHT_DOC)
            .default("4")
            .beside_events(),
        Setting::new(
            "adaptive",
            Kind::Flag,
            "Fewer requests in flight, down to one, while the store is overloaded (429, 503, \
             timeouts, answers twice as slow as before); then one more at a time up to `in_flight`.",
        )
        .default("true")
        .beside_events(),
        Setting::new(
            "omit",
            Kind::Choices(&[word("message", "the raw line")]),
            "Parts of the document that are left out: `[\"message\"]` saves space where `content` \
             is enough.",
        ),
        HALT_AFTER,
        Setting::new(
            "halt_above",
            Kind::Text,
            "When more of the sink's lines of five minutes are refused for one reason (100 at \
             least), their destination halts instead of filling the dead letters. `\"100%\"`: never.",
        )
        .default("10%")
        .beside_events(),
        Setting::new("timeout", Kind::Duration { min: 1_000, max: 600_000 }, TIMEOUT_DOC)
            .default("30s")
            .beside_events(),
    ],
    example: "[sinks.search]\n\
              type  = \"elasticsearch\"\n\
              urls  = [\"http://127.0.0.1:9200\"]\n\
              index = \"ms-swift-train-logs-{timestamp:%Y.%m.%d}\"\n",
};

/// Which of `user`, `password`, `api_key`, `bearer` belong together.
pub(crate) const BASIC_AUTH: [&str; 2] = ["user", "password"];

/// `batch = { … }`
pub(crate) static BATCH: Section = Section {
    title: "`batch`",
    doc: "A request is sent when it reaches any of these.",
    settings: &[
        Setting::new(
            "size",
            Kind::Bytes { min: 1 << 10, max: 90 << 20 },
            "Size of the body before compression.",
        )
        .default("4MiB")
        .beside_events(),
        Setting::new("count", Kind::Integer { min: 1, max: 1_000_000 }, "Documents.")
            .default("10000")
            .beside_events(),
        Setting::new("age", Kind::Duration { min: 1, max: HOUR_MS }, "Age of its first document.")
            .default("1s")
            .beside_events(),
    ],
    example: "",
};

/// `object = { … }`
pub(crate) static OBJECT: Section = Section {
    title: "`object`",
    doc: "An object is closed when it reaches any of these, or when memory runs short.",
    settings: &[
        Setting::new("size", Kind::Bytes { min: 1 << 10, max: 1 << 30 }, "Compressed size.")
            .default("16MiB"),
        Setting::new(
            "age",
            Kind::Duration { min: 1_000, max: 24 * HOUR_MS },
            "Age of its first line. Lines are settled, and offsets committed, only when the \
             object is stored.",
        )
        .default("10m"),
        Setting::new("level", Kind::Integer { min: 1, max: 19 }, "zstd level.").default("1"),
    ],
    example: "",
};

const EXCLUSIVE: [Choice; 4] = [
    word("create", "it can (`If-None-Match: *`); proved by a probe at start: effectively once"),
    word("oss", "the same with the header of OSS, `x-oss-forbid-overwrite`; no versioned bucket"),
    word("cos", "the same with the header of COS, `x-cos-forbid-overwrite`; no versioned bucket"),
    word("none", "it cannot: names carry a nonce, nothing is overwritten: at least once"),
];

const ENDPOINT: Setting =
    Setting::new("endpoint", Kind::Text, "The server, with `http://` or `https://`.")
        .absent("AWS's for the region");

const REGION: Setting =
    Setting::new("region", Kind::Text, "The region requests are signed for.").default("us-east-1");

const PATH_STYLE: Setting = Setting::new(
    "path_style",
    Kind::Flag,
    "`endpoint/bucket/key` in place of `bucket.endpoint/key`.",
)
.absent("`true` with `endpoint`, else `false`");

const ACCESS_KEY: Setting =
    Setting::new("access_key", Kind::Secret, "The id of an access key, with `secret_key`.")
        .absent("the AWS SDK's own chain: environment, profile, web identity, instance")
        .beside_events();

const SECRET_KEY: Setting = Setting::new("secret_key", Kind::Secret, "Its secret.").beside_events();

const ENCRYPTION: Setting = Setting::new(
    "encryption",
    Kind::Choice(&[
        word("AES256", "with keys of the store"),
        word("aws:kms", "with a key of its key service, see `kms_key`"),
    ]),
    "How the server encrypts objects at rest.",
)
.absent("as the bucket says")
.beside_events();

const KMS_KEY: Setting = Setting::new(
    "kms_key",
    Kind::Text,
    "The key's id, ARN or alias, with `encryption = \"aws:kms\"`.",
)
.absent("the store's own key")
.beside_events();

const STORAGE_CLASS: Setting = Setting::new(
    "storage_class",
    Kind::Text,
    "The class of objects: `STANDARD`, `STANDARD_IA`, `ONEZONE_IA`, `INTELLIGENT_TIERING`, \
     `GLACIER_IR`, or a word of your store. No archive class: footers are read back.",
)
.absent("as the bucket says")
.beside_events();

const S3_TIMEOUT: Setting =
    Setting::new("timeout", Kind::Duration { min: 1_000, max: 600_000 }, TIMEOUT_DOC)
        .default("60s")
        .beside_events();

/// `type = "s3"`
pub(crate) static SINK_S3: Section = Section {
    title: "an `s3` sink",
    doc: "An archive in a bucket of AWS S3, MinIO, SeaweedFS, COS, OSS or Ceph: zstd objects of \
          JSON lines, in chains that are read back after a crash.",
    settings: &[
        ENDPOINT,
        REGION,
        Setting::new(
            "bucket",
            Kind::Template,
            "The bucket. With placeholders (`logs-{project}`) it must be one of `buckets`.",
        )
        .required(),
        Setting::new(
            "buckets",
            Kind::Texts,
            "Every bucket that `bucket` may give. Another one halts, with an alarm: its \
             lines wait until it is listed.",
        )
        .absent("`bucket` alone"),
        PREFIX,
        OBJECT_SETTING,
        PATH_STYLE,
        ACCESS_KEY,
        SECRET_KEY,
        CA_FILE,
        CERT_FILE,
        KEY_FILE,
        ENCRYPTION,
        KMS_KEY,
        STORAGE_CLASS,
        Setting::new(
            "exclusive",
            Kind::Choice(&EXCLUSIVE),
            "Whether the store can refuse to overwrite an object.",
        )
        .default("create"),
        RECORDS,
        Setting::new("in_flight", Kind::Integer { min: 1, max: 64 }, IN_FLIGHT_DOC)
            .default("8")
            .beside_events(),
        PREFIXES_MAX,
        HALT_AFTER,
        S3_TIMEOUT,
    ],
    example: "[sinks.archive]\n\
              type     = \"s3\"\n\
              endpoint = \"http://127.0.0.1:8333\"\n\
              bucket   = \"train-logs\"\n\
              prefix   = \"{task}/{timestamp:%Y-%m-%d}/{role}/\"\n\
              object   = { size = \"16MiB\", age = \"10m\", level = 1 }\n",
};

/// `type = "local"`
pub(crate) static SINK_LOCAL: Section = Section {
    title: "a `local` sink",
    doc: "The same archive in a folder.",
    settings: &[
        Setting::new("path", Kind::Path, "The folder; created when missing.").required(),
        PREFIX,
        OBJECT_SETTING,
        RECORDS,
        PREFIXES_MAX,
        HALT_AFTER,
    ],
    example: "[sinks.archive]\ntype = \"local\"\npath = \"archive\"\n",
};

/// `[dead_letter]` with `type = "kafka"`
pub(crate) static DEAD_LETTER_KAFKA: Section = Section {
    title: "a `kafka` dead letter",
    doc: "A topic, keyed by event id.",
    settings: &[
        Setting::new("brokers", Kind::Texts, "`host:port` of one or more brokers.").absent(
            "the brokers of the Kafka source, with its properties of connection and security",
        ),
        Setting::new("topic", Kind::Text, "The topic; none that a source reads.").required(),
        Setting::new("properties", Kind::Properties, "Any librdkafka property of a producer."),
    ],
    example: "[dead_letter]\ntype  = \"kafka\"\ntopic = \"train-logs.dead\"\n",
};

/// `[dead_letter]` with `type = "local"`
pub(crate) static DEAD_LETTER_LOCAL: Section = Section {
    title: "a `local` dead letter",
    doc: "A folder of JSON lines.",
    settings: &[Setting::new("path", Kind::Path, "The folder; created when missing.").required()],
    example: "[dead_letter]\ntype = \"local\"\npath = \"dead\"\n",
};

/// `[dead_letter]` with `type = "s3"`
pub(crate) static DEAD_LETTER_S3: Section = Section {
    title: "an `s3` dead letter",
    doc: "A bucket: some hundred letters, or those of some hundred milliseconds, are one zstd \
          object of JSON lines, `<prefix><yyyy-mm-dd>/<nonce>-<number>.jsonl.zst`.",
    settings: &[
        ENDPOINT,
        REGION,
        Setting::new("bucket", Kind::Text, "The bucket.").required(),
        Setting::new(
            "prefix",
            Kind::Text,
            "What stands before the names of objects: empty, or ending in `/`. `redrive` keeps \
             its marks below it, in `redriven/`.",
        )
        .default("dead/")
        .or_empty(),
        PATH_STYLE,
        ACCESS_KEY,
        SECRET_KEY,
        CA_FILE,
        CERT_FILE,
        KEY_FILE,
        ENCRYPTION,
        KMS_KEY,
        STORAGE_CLASS,
        S3_TIMEOUT,
    ],
    example: "[dead_letter]\n\
              type     = \"s3\"\n\
              endpoint = \"http://127.0.0.1:8333\"\n\
              bucket   = \"train-logs\"\n\
              prefix   = \"dead/\"\n",
};
