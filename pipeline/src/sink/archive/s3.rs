//! A bucket of an S3 server as a store of objects.
//!
//! Invariant: one call is one request, and one more where a PUT's connection broke; the SDK's own
//! retries are off, every request has a deadline, and every answer goes through the one table in
//! `s3_outcome.rs`. No secret is ever shown.
//! Next stop: the server.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    Builder, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    StalledStreamProtectionConfig,
};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ServerSideEncryption, StorageClass};
use bytes::{Bytes, BytesMut};

use super::s3_failure::{Failure, failure_of, no_answer, told};
use super::s3_outcome::Request;
use super::s3_tls::http_client;
use super::store::{
    Answer, Depth, Halt, HaltReason, ListRequest, Listed, ObjectStore, PAGE_KEYS, PROBE_KEY, Page,
    PutOutcome, ReadOutcome, RetryReason, Suffix, Unreadable, UnreadableReason,
};
use crate::sink::tls::{TlsFiles, TlsSetupError};

/// Longest that credentials are looked for by whoever only asks whether there are any.
const CREDENTIALS_MAX: Duration = Duration::from_secs(3);

/// The cure of missing credentials.
pub const CREDENTIALS_HELP: &str = "set `access_key` and `secret_key`, or the environment's \
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the profile, web identity or instance a \
    role that has some";

/// How to reach a server.
#[derive(Clone)]
pub struct S3Settings {
    /// Its address; none means AWS's own for the region.
    pub endpoint: Option<String>,
    /// The same as logs may show it, without what came from the environment.
    pub endpoint_shown: Option<String>,
    /// Region that requests are signed for.
    pub region: String,
    /// Whether buckets stand in the path (most servers beside AWS) or in the host name.
    pub path_style: bool,
    /// Access key and secret; none means the SDK's chain (environment, profile, web identity,
    /// instance metadata).
    pub credentials: Option<(String, String)>,
    /// Whom to trust, and what to show.
    pub tls: TlsFiles,
    /// How objects are stored.
    pub stored: StoredAs,
    /// How long a connection may take to open.
    pub connect_timeout: Duration,
    /// How long one request may take, body included.
    pub timeout: Duration,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("S3Settings")
            .field("endpoint", &self.endpoint_shown)
            .field("region", &self.region)
            .field("path_style", &self.path_style)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What a PUT says beside key and body.
#[derive(Debug, Clone, Default)]
pub struct StoredAs {
    /// Server-side encryption, `AES256` or `aws:kms`; as the bucket says where none is named.
    pub encryption: Option<String>,
    /// The key of `aws:kms`.
    pub kms_key: Option<String>,
    /// The storage class; as the bucket says where none is named.
    pub storage_class: Option<String>,
    /// How the server is asked not to overwrite.
    pub exclusive_by: ExclusiveBy,
}

/// How a server is asked not to overwrite an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExclusiveBy {
    /// `If-None-Match: *`, answered with 412.
    #[default]
    IfNoneMatch,
    /// A header of the server's own with the value `true`, answered with 409.
    Header(&'static str),
}

/// The header of OSS; of no effect in a bucket with versions.
pub const OSS_FORBID_OVERWRITE: &str = "x-oss-forbid-overwrite";
/// The header of COS; of no effect in a bucket with versions.
pub const COS_FORBID_OVERWRITE: &str = "x-cos-forbid-overwrite";

/// The settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum S3SettingsError {
    /// A file of certificates or a key is of no use.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
}

/// A bucket. Clones share connections.
#[derive(Clone)]
pub struct S3Store {
    client: Client,
    bucket: String,
    timeout: Duration,
    stored: Arc<StoredAs>,
    /// How the server is named in messages.
    place: Arc<str>,
    /// The SDK's chain, where no keys were given.
    chain: Option<SharedCredentialsProvider>,
}

impl fmt::Debug for S3Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("S3Store").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

impl S3Store {
    /// A store of one bucket. Nothing is sent yet, but for the SDK's chain, which may look for
    /// credentials in files.
    ///
    /// # Errors
    /// When certificates or key are of no use.
    pub async fn new(settings: &S3Settings, bucket: &str) -> Result<S3Store, S3SettingsError> {
        let http = http_client(&settings.tls, settings.connect_timeout)?;
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(settings.connect_timeout)
            .operation_timeout(settings.timeout)
            .build();
        let mut found = None;
        let builder = if let Some((access_key, secret_key)) = &settings.credentials {
            let keys = Credentials::new(access_key, secret_key, None, None, "riverhog");
            Builder::new().behavior_version(BehaviorVersion::latest()).credentials_provider(keys)
        } else {
            let chain = aws_config::defaults(BehaviorVersion::latest())
                .http_client(http.clone())
                .region(Region::new(settings.region.clone()))
                .load()
                .await;
            found = chain.credentials_provider();
            Builder::from(&chain)
        };
        let builder = builder
            .http_client(http)
            .region(Region::new(settings.region.clone()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .force_path_style(settings.path_style);
        let config = match &settings.endpoint {
            Some(endpoint) => builder.endpoint_url(endpoint).build(),
            None => builder.build(),
        };
        Ok(S3Store {
            client: Client::from_conf(config),
            bucket: bucket.to_owned(),
            timeout: settings.timeout,
            stored: Arc::new(settings.stored.clone()),
            place: match &settings.endpoint_shown {
                Some(shown) => shown.as_str().into(),
                None => format!("AWS S3 in {}", settings.region).into(),
            },
            chain: found,
        })
    }

    /// Whether there are credentials to sign requests with, which the SDK's chain may have to look
    /// for in the network.
    ///
    /// # Errors
    /// Why there are none; the cure is [`CREDENTIALS_HELP`].
    pub async fn has_credentials(&self) -> Result<(), String> {
        let Some(chain) = &self.chain else { return Ok(()) };
        match tokio::time::timeout(CREDENTIALS_MAX, chain.provide_credentials()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(CredentialsError::CredentialsNotLoaded(_))) | Err(_) => {
                Err("none were found".to_owned())
            }
            Ok(Err(error)) => Err(format!("none could be loaded: {}", told(&error))),
        }
    }

    /// Another bucket of the same server, over the same connections.
    pub fn bucket(&self, bucket: &str) -> S3Store {
        S3Store { bucket: bucket.to_owned(), ..self.clone() }
    }

    async fn put(&self, key: &str, bytes: Bytes, only_new: bool) -> PutOutcome {
        let by = self.stored.exclusive_by;
        let header = match by {
            ExclusiveBy::Header(name) if only_new => Some(name),
            _ => None,
        };
        let if_none_match = only_new && by == ExclusiveBy::IfNoneMatch;
        let encryption = self.stored.encryption.as_deref();
        let class = self.stored.storage_class.as_deref();
        let request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(key)
            .content_type("application/zstd")
            .set_if_none_match(if_none_match.then(|| "*".to_owned()))
            .set_server_side_encryption(encryption.map(ServerSideEncryption::from))
            .set_ssekms_key_id(self.stored.kms_key.clone())
            .set_storage_class(class.map(StorageClass::from))
            .body(ByteStream::from(bytes))
            .customize()
            // Before the request is signed, as some servers want every header of theirs to be.
            .mutate_request(move |request| {
                if let Some(name) = header {
                    request.headers_mut().insert(name, "true");
                }
            });
        // The SDK's futures take kilobytes; on the heap they do not travel with each caller's.
        match self.in_time(Request::Put, Box::pin(request.send())).await {
            Ok(_) => PutOutcome::Done,
            Err(failure) if only_new && self.may_be_taken(key, &failure) => {
                if self.is_taken(key).await { PutOutcome::Exists } else { failure.into_put() }
            }
            Err(failure) => failure.into_put(),
        }
    }

    /// Whether a creation may have failed because the key is taken, without the answer saying so.
    fn may_be_taken(&self, key: &str, failure: &Failure) -> bool {
        // Some servers refuse a taken key before they have read the body, and close: the 412 is
        // lost in the reset, again with every attempt. The probe proves that a second PUT is
        // refused, which a key that is taken does not.
        let is_lost = failure.is_broken_connection() && key != PROBE_KEY;
        // Headers of a server's own are refused with codes of its own; here there was an answer.
        let is_own = self.stored.exclusive_by != ExclusiveBy::IfNoneMatch && failure.is_conflict();
        is_lost || is_own
    }

    /// Whether there is an object under the key, readable or not.
    async fn is_taken(&self, key: &str) -> bool {
        match self.get_range(key, Some("bytes=-1".to_owned()), 1).await {
            Ok(_) => true,
            Err(Failure::Unreadable(unreadable)) => unreadable.reason != UnreadableReason::Missing,
            Err(_) => false,
        }
    }

    async fn get_range(
        &self,
        key: &str,
        range: Option<String>,
        bytes_max: u64,
    ) -> Result<Suffix, Failure> {
        let ranged = range.is_some();
        let request = self.client.get_object().bucket(&self.bucket).key(key).set_range(range);
        let reading = async move {
            let sent = Box::pin(request.send());
            let answer = sent.await;
            let answer = answer.map_err(|error| failure_of(Request::Get, &self.place, &error))?;
            read_body(answer, ranged, bytes_max).await
        };
        tokio::time::timeout(self.timeout, reading).await.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Waits for an answer no longer than the deadline: the SDK's own covers it but for the body.
    async fn in_time<T, E>(
        &self,
        request: Request,
        answer: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => answer.map_err(|error| failure_of(request, &self.place, &error)),
            Err(_) => Err(self.too_late()),
        }
    }

    fn too_late(&self) -> Failure {
        no_answer(
            RetryReason::Timeout,
            format!("{}: no answer within {:?}", self.place, self.timeout),
        )
    }

    async fn list_page(&self, request: &ListRequest) -> Result<Page, Failure> {
        let call = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(&request.prefix)
            .max_keys(PAGE_KEYS as i32)
            .set_start_after(request.start_after.clone())
            .set_continuation_token(request.next.clone())
            .set_delimiter((request.depth == Depth::Folder).then(|| "/".to_owned()));
        let answer = self.in_time(Request::List, Box::pin(call.send())).await?;
        let more = answer.is_truncated().unwrap_or(false);
        let after = request.start_after.as_deref().unwrap_or("");
        let wanted = |key: &str| {
            // Servers that ignore a parameter must not make a stranger's key ours.
            key.strip_prefix(request.prefix.as_str()).is_some_and(|rest| {
                key > after && (request.depth == Depth::Tree || !rest.contains('/'))
            })
        };
        let mut page = Page {
            objects: Vec::new(),
            next: answer.next_continuation_token().filter(|_| more).map(str::to_owned),
        };
        for object in answer.contents.unwrap_or_default() {
            let bytes = object.size().and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
            if let Some(key) = object.key.filter(|key| wanted(key)) {
                page.objects.push(Listed { key, bytes });
            }
        }
        Ok(page)
    }
}

impl ObjectStore for S3Store {
    fn put_new<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(self.put(key, bytes, true))
    }

    fn put_any<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(self.put(key, bytes, false))
    }

    fn get_suffix<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Suffix>> {
        Box::pin(async move {
            let range = format!("bytes=-{bytes_max}");
            match self.get_range(key, Some(range), bytes_max).await {
                Ok(suffix) => ReadOutcome::Done(suffix),
                Err(failure) => failure.into_read(),
            }
        })
    }

    fn get<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Bytes>> {
        Box::pin(async move {
            match self.get_range(key, None, bytes_max).await {
                Ok(whole) => ReadOutcome::Done(whole.bytes),
                Err(failure) => failure.into_read(),
            }
        })
    }

    fn list<'a>(&'a self, request: &'a ListRequest) -> Answer<'a, ReadOutcome<Page>> {
        Box::pin(async move {
            match self.list_page(request).await {
                Ok(page) => ReadOutcome::Done(page),
                Err(failure) => failure.into_read(),
            }
        })
    }
}

/// Reads a body of at most `bytes_max` bytes; a longer object is one that was damaged, or more than
/// was asked for.
async fn read_body(
    answer: GetObjectOutput,
    ranged: bool,
    bytes_max: u64,
) -> Result<Suffix, Failure> {
    let unsupported = |detail| Failure::Halt(Halt { reason: HaltReason::Unsupported, detail });
    let announced = answer.content_length().and_then(|length| u64::try_from(length).ok());
    let total = match answer.content_range() {
        // `bytes 0-9/10`
        Some(range) => match range.rsplit_once('/').and_then(|(_, total)| total.parse().ok()) {
            Some(total) => Some(total),
            None => return Err(unsupported(format!("no size in Content-Range {range:?}"))),
        },
        None => None,
    };
    if let Some(length) = announced.filter(|length| *length > bytes_max) {
        let detail = format!("{length} bytes, asked for at most {bytes_max}");
        if ranged {
            return Err(unsupported(detail));
        }
        let reason = UnreadableReason::Damaged;
        return Err(Failure::Unreadable(Unreadable { reason, detail }));
    }
    let mut bytes = BytesMut::with_capacity(announced.unwrap_or(0) as usize);
    let mut body = answer.body;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            no_answer(RetryReason::Connection, format!("body cut short: {error}"))
        })?;
        if (bytes.len() + chunk.len()) as u64 > bytes_max {
            return Err(no_answer(
                RetryReason::Answer,
                format!("a body longer than {bytes_max} bytes"),
            ));
        }
        bytes.extend_from_slice(&chunk);
    }
    if announced.is_some_and(|length| length != bytes.len() as u64) {
        return Err(no_answer(RetryReason::Connection, "body cut short".to_owned()));
    }
    Ok(Suffix { object_bytes: total.unwrap_or(bytes.len() as u64), bytes: bytes.freeze() })
}

#[cfg(test)]
mod tests;
