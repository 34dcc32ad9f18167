//! Sinks from their settings, and the stores and clients that other commands share with them.
//!
//! Invariant: a setting is read here and nowhere else in this room, so that `check`, `setup` and
//! `archive` reach a store exactly as the sink does. Next stop: [`crate::sink`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use riverhog_config::{
    Auth, Compression, Config, ElasticsearchSink, Exclusive, ObjectSettings, Records, S3Sink, Sink,
    SinkKind,
};
use riverhog_rules::ActionForm;

use super::{AssembleError, random};
use crate::share::Share;
use crate::sink::archive::footer::RecordKind;
use crate::sink::archive::local::LocalStore;
use crate::sink::archive::s3::{
    COS_FORBID_OVERWRITE, ExclusiveBy, OSS_FORBID_OVERWRITE, S3Settings, S3SettingsError, S3Store,
    StoredAs,
};
use crate::sink::archive::store::ObjectStore;
use crate::sink::elasticsearch::encoding::Encoding;
use crate::sink::elasticsearch::endpoint::HttpBulk;
use crate::sink::elasticsearch::http::{Credentials, HttpSettings};
use crate::sink::tls::TlsFiles;
use crate::sink::{SinkContext, SinkHandle, archive, elasticsearch};

/// Longest that opening a connection to a store may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Objects written to a folder at once; more only make a disk seek.
const LOCAL_TRANSFERS: usize = 4;

/// The stores of an archive by bucket; a folder stands under the empty name.
pub type Stores = BTreeMap<String, Arc<dyn ObjectStore>>;

/// Starts a sink.
pub(super) async fn start(
    sink: &Sink,
    context: SinkContext,
    fingerprint: &str,
) -> Result<SinkHandle, AssembleError> {
    match &sink.kind {
        SinkKind::Elasticsearch(elasticsearch) => {
            let settings = http_settings(elasticsearch);
            let jitter = Arc::clone(&context.jitter);
            let transport = HttpBulk::new(&settings, &context.name, &context.metrics, jitter)
                .map_err(|cause| AssembleError::Http { sink: sink.name.clone(), cause })?;
            let settings = bulk_settings(elasticsearch);
            Ok(elasticsearch::spawn(context, settings, Arc::new(transport)))
        }
        SinkKind::S3(s3) => {
            let stores = stores(sink).await?.unwrap_or_default();
            let cut = Cut {
                object: &s3.object,
                records: s3.records,
                transfers: s3.in_flight_max,
                prefixes_max: s3.prefixes_max,
                exclusive: s3.exclusive.is_proved(),
            };
            Ok(archive::spawn(context, cut.settings(fingerprint), stores))
        }
        SinkKind::Local(local) => {
            let stores = stores(sink).await?.unwrap_or_default();
            let cut = Cut {
                object: &local.object,
                records: local.records,
                transfers: LOCAL_TRANSFERS,
                prefixes_max: local.prefixes_max,
                exclusive: true,
            };
            Ok(archive::spawn(context, cut.settings(fingerprint), stores))
        }
    }
}

/// When more of a destination's lines are refused for one reason, it halts.
pub(super) fn halt_above(sink: &Sink) -> riverhog_rules::step::Share {
    match &sink.kind {
        SinkKind::Elasticsearch(it) => it.halt_above,
        SinkKind::S3(_) | SinkKind::Local(_) => riverhog_rules::step::Share::ALL,
    }
}

/// What the slowest sink of a share waits before it sends what it holds.
pub(super) fn settle_max(config: &Config, share: Share) -> Duration {
    let here = config.sinks.iter().enumerate().filter(|(number, _)| share.has(*number));
    let ages = here.map(|(_, sink)| match &sink.kind {
        SinkKind::Elasticsearch(it) => it.batch.age_max_ms,
        SinkKind::S3(it) => it.object.age_max_ms,
        SinkKind::Local(it) => it.object.age_max_ms,
    });
    Duration::from_millis(ages.max().unwrap_or_default())
}

/// How to reach the store of an `elasticsearch` sink.
pub fn http_settings(sink: &ElasticsearchSink) -> HttpSettings {
    HttpSettings {
        urls: sink.urls.iter().map(|url| url.reveal().clone()).collect(),
        urls_shown: sink.urls.iter().map(|url| url.shown().to_owned()).collect(),
        credentials: match &sink.auth {
            Auth::None => Credentials::None,
            Auth::Basic { user, password } => Credentials::Basic {
                user: user.reveal().clone(),
                password: password.reveal().clone(),
            },
            Auth::ApiKey(key) => Credentials::ApiKey(key.reveal().clone()),
            Auth::Bearer(token) => Credentials::Bearer(token.reveal().clone()),
        },
        tls: tls_files(&sink.tls),
        encoding: match sink.compression {
            Compression::None => Encoding::None,
            Compression::Gzip => Encoding::Gzip,
            Compression::Zstd => Encoding::Zstd,
        },
        timeout: Duration::from_millis(sink.timeout_ms),
    }
}

/// The files of TLS of a sink; `None` for one that connects nowhere.
pub fn tls_files_of(sink: &Sink) -> Option<TlsFiles> {
    match &sink.kind {
        SinkKind::Elasticsearch(it) => Some(tls_files(&it.tls)),
        SinkKind::S3(it) => Some(tls_files(&it.tls)),
        SinkKind::Local(_) => None,
    }
}

fn tls_files(files: &riverhog_config::TlsFiles) -> TlsFiles {
    let client = files.client.as_ref().map(|client| (client.cert.clone(), client.key.clone()));
    TlsFiles { ca: files.ca.clone(), client }
}

/// The stores of an archive sink; `None` for a sink that is no archive.
///
/// # Errors
/// Settings of no use.
pub async fn stores(sink: &Sink) -> Result<Option<Stores>, AssembleError> {
    match &sink.kind {
        SinkKind::Elasticsearch(_) => Ok(None),
        SinkKind::S3(s3) => {
            let stores = s3_stores(s3).await;
            stores.map(Some).map_err(|cause| AssembleError::S3 { sink: sink.name.clone(), cause })
        }
        SinkKind::Local(local) => {
            let store: Arc<dyn ObjectStore> =
                Arc::new(LocalStore::shown_as(&local.path, &local.path_shown));
            Ok(Some(Stores::from([(String::new(), store)])))
        }
    }
}

async fn s3_stores(sink: &S3Sink) -> Result<Stores, S3SettingsError> {
    let first = s3_store(sink).await?;
    let store = |bucket: &String| -> (String, Arc<dyn ObjectStore>) {
        (bucket.clone(), Arc::new(first.bucket(bucket)))
    };
    Ok(sink.buckets.iter().map(store).collect())
}

/// The store of the first bucket of an `s3` sink.
///
/// # Errors
/// Settings of no use.
pub async fn s3_store(sink: &S3Sink) -> Result<S3Store, S3SettingsError> {
    let timeout = Duration::from_millis(sink.timeout_ms);
    let credentials = sink.credentials.as_ref();
    let settings = S3Settings {
        endpoint: sink.endpoint.as_ref().map(|it| it.reveal().clone()),
        endpoint_shown: sink.endpoint.as_ref().map(|it| it.shown().to_owned()),
        region: sink.region.clone(),
        path_style: sink.path_style,
        credentials: credentials
            .map(|it| (it.access_key.reveal().clone(), it.secret_key.reveal().clone())),
        tls: tls_files(&sink.tls),
        stored: StoredAs {
            encryption: sink.encryption.map(str::to_owned),
            kms_key: sink.kms_key.clone(),
            storage_class: sink.storage_class.clone(),
            exclusive_by: match sink.exclusive {
                Exclusive::Create | Exclusive::None => ExclusiveBy::IfNoneMatch,
                Exclusive::Oss => ExclusiveBy::Header(OSS_FORBID_OVERWRITE),
                Exclusive::Cos => ExclusiveBy::Header(COS_FORBID_OVERWRITE),
            },
        },
        connect_timeout: timeout.min(CONNECT_MAX),
        timeout,
    };
    S3Store::new(&settings, sink.buckets.first().map_or("", String::as_str)).await
}

fn bulk_settings(sink: &ElasticsearchSink) -> elasticsearch::Settings {
    elasticsearch::Settings {
        batch_bytes: sink.batch.size_max_bytes,
        batch_count: sink.batch.count_max,
        batch_age: Duration::from_millis(sink.batch.age_max_ms),
        in_flight: sink.in_flight_max.max(1),
        adaptive: sink.adaptive,
        action: ActionForm {
            op: sink.op,
            routing: sink.routing.is_some(),
            pipeline: sink.pipeline.is_some(),
        },
        pipeline_is_fixed: !sink.pipeline.as_ref().is_some_and(|text| text.contains('{')),
        omit_message: sink.omit_message,
    }
}

/// What the two kinds of archive have in common.
struct Cut<'a> {
    object: &'a ObjectSettings,
    records: Records,
    transfers: usize,
    prefixes_max: usize,
    exclusive: bool,
}

impl Cut<'_> {
    fn settings(&self, fingerprint: &str) -> archive::Settings {
        archive::Settings {
            fingerprint: fingerprint.into(),
            records: match self.records {
                Records::Events => RecordKind::Events,
            },
            object_bytes: self.object.size_max_bytes as u64,
            object_age: Duration::from_millis(self.object.age_max_ms),
            level: self.object.level,
            transfers: self.transfers,
            prefixes_max: self.prefixes_max,
            // An archive keeps the raw line.
            omit_message: false,
            exclusive: self.exclusive,
            nonce: random() as u32,
        }
    }
}
