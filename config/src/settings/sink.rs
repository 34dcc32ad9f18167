//! Where events go: `[sinks.NAME]`. Invariant: sinks keep the order of the file, which is the order
//! of `Plan::targets` and of the bits in `Route::sinks`. Next: `dead_letter.rs`.

use super::Secret;
use riverhog_rules::Op;
use riverhog_rules::step::Share;
use std::path::PathBuf;

/// One sink.
#[derive(Debug, Clone, PartialEq)]
pub struct Sink {
    /// The NAME of `[sinks.NAME]`.
    pub name: String,
    /// Which kind of sink, with what only that kind needs.
    pub kind: SinkKind,
    /// After how long a halted destination's lines go to the dead letters; `None`: never.
    pub halt_after_ms: Option<u64>,
}

/// The kinds of sink.
#[derive(Debug, Clone, PartialEq)]
pub enum SinkKind {
    /// A store that speaks Elasticsearch's `_bulk`.
    Elasticsearch(ElasticsearchSink),
    /// An archive in a bucket.
    S3(S3Sink),
    /// An archive in a folder.
    Local(LocalSink),
}

/// A store that speaks `_bulk`.
#[derive(Debug, Clone, PartialEq)]
pub struct ElasticsearchSink {
    /// Base addresses, at least one; each may carry a path and a query. Shown without what came
    /// from the environment.
    pub urls: Vec<Secret<String>>,
    /// The index as a template; compiled in `Plan::targets`.
    pub index: String,
    /// `index` names data streams.
    pub data_stream: bool,
    /// What becomes of a document whose id is there: create, or index. Compiled in `Plan::targets`.
    pub op: Op,
    /// What decides the shard, as a template; compiled in `Plan::targets`.
    pub routing: Option<String>,
    /// The store's ingest pipeline, as a template; compiled in `Plan::targets`.
    pub pipeline: Option<String>,
    /// How requests prove who they are.
    pub auth: Auth,
    /// Files of TLS.
    pub tls: TlsFiles,
    /// How request bodies are compressed.
    pub compression: Compression,
    /// When a request is full.
    pub batch: BatchSettings,
    /// Requests in flight at most.
    pub in_flight_max: usize,
    /// Fewer of them while the store is overloaded.
    pub adaptive: bool,
    /// Leave `message`, the raw line, out of the documents.
    pub omit_message: bool,
    /// A request without an answer is given up after this long.
    pub timeout_ms: u64,
    /// When more of the lines are refused for one reason, their destination halts.
    pub halt_above: Share,
}

/// Files of TLS, all PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate authorities that replace the system's.
    pub ca: Option<PathBuf>,
    /// What this client shows: its certificate chain, and its key.
    pub client: Option<ClientFiles>,
}

/// The files of a client's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFiles {
    /// The certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// How requests prove who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// They do not.
    None,
    /// A user and a password.
    Basic {
        /// The user.
        user: Secret<String>,
        /// The password.
        password: Secret<String>,
    },
    /// `Authorization: ApiKey …`.
    ApiKey(Secret<String>),
    /// `Authorization: Bearer …`.
    Bearer(Secret<String>),
}

/// How request bodies are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zstd; gzip where the store does not take it.
    Zstd,
}

/// When a `_bulk` request is full: whichever comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchSettings {
    /// Bytes of the body before compression.
    pub size_max_bytes: usize,
    /// Documents.
    pub count_max: usize,
    /// Milliseconds since its first document.
    pub age_max_ms: u64,
}

/// When an archive object is closed: whichever comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectSettings {
    /// Compressed bytes.
    pub size_max_bytes: usize,
    /// Milliseconds since its first line.
    pub age_max_ms: u64,
    /// zstd level, 1 to 19.
    pub level: i32,
}

/// An archive in a bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct S3Sink {
    /// The address of the server; the SDK's own for the region when absent.
    pub endpoint: Option<Secret<String>>,
    /// The region requests are signed for.
    pub region: String,
    /// The bucket as a template; compiled in `Plan::targets`.
    pub bucket: String,
    /// Every bucket the template may give: these are probed at start, others are refused. Holds
    /// just `bucket` where that has no placeholder.
    pub buckets: Vec<String>,
    /// The prefix as a template; compiled in `Plan::targets`. Empty or ends in `/`.
    pub prefix: String,
    /// When an object is closed.
    pub object: ObjectSettings,
    /// `endpoint/bucket/key` in place of `bucket.endpoint/key`.
    pub path_style: bool,
    /// Keys from the file; the SDK's own chain when absent.
    pub credentials: Option<S3Credentials>,
    /// Files of TLS.
    pub tls: TlsFiles,
    /// How the server encrypts objects: `AES256` or `aws:kms`.
    pub encryption: Option<&'static str>,
    /// The key of `aws:kms`.
    pub kms_key: Option<String>,
    /// The storage class of objects; none that must be restored before it is read.
    pub storage_class: Option<String>,
    /// Whether the store can refuse to overwrite.
    pub exclusive: Exclusive,
    /// What an object holds.
    pub records: Records,
    /// Uploads in flight at most; never two of one chain.
    pub in_flight_max: usize,
    /// Live chains at most; beyond it the one longest untouched is closed and let go.
    pub prefixes_max: usize,
    /// A request without an answer is given up after this long.
    pub timeout_ms: u64,
}

/// Keys for a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Credentials {
    /// The access key's id.
    pub access_key: Secret<String>,
    /// Its secret.
    pub secret_key: Secret<String>,
}

/// Whether a store can refuse to overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusive {
    /// It can (`If-None-Match: *`), which a probe proves at start: effectively once.
    Create,
    /// The same with the header of OSS.
    Oss,
    /// The same with the header of COS.
    Cos,
    /// It cannot: names carry a writer's nonce and the promise is at least once.
    None,
}

impl Exclusive {
    /// The store refuses to overwrite, by whatever header.
    pub fn is_proved(self) -> bool {
        self != Exclusive::None
    }
}

/// What an archive object holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    /// The documents of events.
    Events,
}

/// An archive in a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalSink {
    /// The folder; created when missing.
    pub path: PathBuf,
    /// The same as messages may show it, without what came from the environment.
    pub path_shown: String,
    /// The prefix below it as a template; compiled in `Plan::targets`. Empty or ends in `/`.
    pub prefix: String,
    /// When an object is closed.
    pub object: ObjectSettings,
    /// What an object holds.
    pub records: Records,
    /// Live chains at most; beyond it the one longest untouched is closed and let go.
    pub prefixes_max: usize,
}
