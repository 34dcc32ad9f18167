//! `_bulk` over HTTP: hyper with rustls, one keep-alive pool, several URLs in turn. A URL may carry
//! a path and a query (VictoriaLogs).
//!
//! Invariant: a request ends within its timeout and its answer is read up to a bound. Next stop:
//! [`super::response`].

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::body::Body;
use super::transport::{ANSWER_BYTES_MAX, BulkAnswer, BulkTransport, Sending, TransportError};

/// How the sink proves who it is.
#[derive(Clone)]
pub enum Credentials {
    /// No `Authorization` header.
    None,
    /// HTTP basic.
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: String,
    },
    /// `ApiKey`, the base64 text Elasticsearch hands out.
    ApiKey(String),
    /// `Bearer`.
    Bearer(String),
}

/// Where and how to reach a store over HTTP.
#[derive(Clone)]
pub struct HttpSettings {
    /// Base URLs; `_bulk` is added to the path when it does not end in it.
    pub urls: Vec<String>,
    /// The same as logs may show them, without what came from the environment.
    pub urls_shown: Vec<String>,
    /// Who we are.
    pub credentials: Credentials,
    /// A PEM file of certificate authorities to trust instead of the system's.
    pub ca_file: Option<std::path::PathBuf>,
    /// Compress request bodies.
    pub gzip: bool,
    /// A request that takes longer has failed.
    pub timeout: Duration,
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// Not a URL with a host.
    #[error("`{url}` is not a URL: {why}")]
    Url {
        /// As configured.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The CA file cannot be read.
    #[error("cannot read certificates from `{path}`: {why}")]
    CaFile {
        /// As configured.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// The credentials hold characters no header can carry.
    #[error("the credentials hold characters that no HTTP header can carry")]
    Credentials,
    /// The system has no trusted certificates.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

/// The HTTP client of one store.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

/// A `_bulk` endpoint over HTTP.
pub struct HttpBulk {
    http: HttpClient,
    /// Where to send, and how that is named in messages.
    uris: Vec<(Uri, String)>,
    next: Arc<AtomicUsize>,
    gzip: bool,
}

impl HttpClient {
    /// A client with these settings.
    pub fn new(settings: &HttpSettings) -> Result<HttpClient, HttpSetupError> {
        let tls = tls_config(settings.ca_file.as_deref())?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(settings.timeout.min(Duration::from_secs(10))));
        connector.set_nodelay(true);
        connector.enforce_http(false);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(https);
        let authorization = authorization(&settings.credentials)?;
        Ok(HttpClient { client, authorization, timeout: settings.timeout })
    }

    /// Sends a request and reads the whole answer, within the timeout.
    pub async fn send(
        &self,
        method: Method,
        uri: Uri,
        content: &'static str,
        gzipped: bool,
        body: Body,
    ) -> Result<BulkAnswer, TransportError> {
        let mut request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, content);
        if gzipped {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let request = request.body(body);
        let request = request.map_err(|error| TransportError::Retry(error.to_string()))?;
        let exchange = async {
            let answer = self.client.request(request).await.map_err(|error| classify(&error))?;
            let (head, body) = answer.into_parts();
            let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = retry_after.and_then(|text| text.trim().parse().ok());
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body
                .map_err(|error| TransportError::Retry(format!("reading the answer: {error}")))?;
            Ok(BulkAnswer {
                status: head.status.as_u16(),
                retry_after: retry_after.map(Duration::from_secs),
                body: body.to_bytes(),
            })
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(TransportError::Retry(format!("no answer within {:?}", self.timeout))),
        }
    }
}

impl HttpBulk {
    /// The endpoint with these settings.
    pub fn new(settings: &HttpSettings) -> Result<HttpBulk, HttpSetupError> {
        let http = HttpClient::new(settings)?;
        // The server gives up before we do, so that no orphaned request is still at work when the
        // same documents come again.
        let server_seconds = (settings.timeout.as_secs() * 9 / 10).max(1);
        let query = format!(
            "timeout={server_seconds}s&filter_path=errors,error,status,items.*.status,items.*.error"
        );
        let uris = settings.urls.iter().map(|url| endpoint(url, "_bulk", &query));
        let uris = uris.collect::<Result<Vec<Uri>, HttpSetupError>>()?;
        let uris = uris.into_iter().zip(settings.urls_shown.iter().cloned()).collect();
        Ok(HttpBulk { http, uris, next: Arc::new(AtomicUsize::new(0)), gzip: settings.gzip })
    }
}

impl BulkTransport for HttpBulk {
    fn send(&self, body: Body) -> Sending<'_> {
        // The next URL each time: a retry meets another node.
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let (uri, shown) = self.uris[turn % self.uris.len()].clone();
        let body = if self.gzip { body.gzip() } else { body };
        let http = &self.http;
        let gzipped = self.gzip;
        Box::pin(async move {
            let answer = http.send(Method::POST, uri, "application/x-ndjson", gzipped, body).await;
            answer.map_err(|error| error.at(&shown))
        })
    }
}

/// The URL of an API below a base URL: its path with `api` at the end, its own query before ours.
pub fn endpoint(base: &str, api: &str, query: &str) -> Result<Uri, HttpSetupError> {
    let bad = |why: String| HttpSetupError::Url { url: base.to_owned(), why };
    let uri: Uri = base.parse().map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("it must begin with http:// or https:// and name a host".to_owned()));
    }
    let path = uri.path().trim_end_matches('/');
    let path =
        if path.ends_with(&format!("/{api}")) { path.to_owned() } else { format!("{path}/{api}") };
    let query = match (uri.query(), query) {
        (Some(own), "") => format!("?{own}"),
        (Some(own), query) => format!("?{own}&{query}"),
        (None, "") => String::new(),
        (None, query) => format!("?{query}"),
    };
    let mut parts = uri.into_parts();
    let path_and_query = format!("{path}{query}").parse();
    parts.path_and_query =
        Some(path_and_query.map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?);
    Uri::from_parts(parts).map_err(|error| bad(error.to_string()))
}

fn authorization(credentials: &Credentials) -> Result<Option<HeaderValue>, HttpSetupError> {
    let text = match credentials {
        Credentials::None => return Ok(None),
        Credentials::Basic { user, password } => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        Credentials::ApiKey(key) => format!("ApiKey {key}"),
        Credentials::Bearer(token) => format!("Bearer {token}"),
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| HttpSetupError::Credentials)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn tls_config(ca_file: Option<&std::path::Path>) -> Result<ClientConfig, HttpSetupError> {
    let tls = |error: rustls::Error| HttpSetupError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(tls)?;
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca_file {
        let bad = |why: String| HttpSetupError::CaFile { path: path.display().to_string(), why };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| bad(e.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(bad("it holds no certificate".to_owned()));
        }
    } else {
        // An unreadable system certificate is not our problem unless none is left; then every
        // https request says so by failing verification.
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A failed verification halts; everything else on the way may pass.
fn classify(error: &hyper_util::client::legacy::Error) -> TransportError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    if is_tls(error) { TransportError::Tls(text) } else { TransportError::Retry(text) }
}

/// Whether TLS itself is what failed. An io::Error hands on the source of what it wraps, not what
/// it wraps, and may wrap another: both ways are gone.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|wrapped| is_tls(wrapped)) || error.source().is_some_and(is_tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_handshake_is_found_however_deep_it_is_wrapped() {
        use std::io::{Error as IoError, ErrorKind};
        let tls = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let once = IoError::new(ErrorKind::InvalidData, tls());
        let twice = IoError::other(IoError::new(ErrorKind::InvalidData, tls()));
        let refused = IoError::from(ErrorKind::ConnectionRefused);
        assert!(is_tls(&tls()) && is_tls(&once) && is_tls(&twice));
        assert!(!is_tls(&refused) && !is_tls(&IoError::other(refused)));
    }

    #[tokio::test]
    async fn a_refused_connection_names_the_address_and_no_secret() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/?token=hunter2", listener.local_addr().unwrap());
        drop(listener);
        let endpoint = HttpBulk::new(&HttpSettings {
            urls: vec![url],
            urls_shown: vec!["http://${HOST}/".to_owned()],
            credentials: Credentials::None,
            ca_file: None,
            gzip: false,
            timeout: Duration::from_secs(10),
        });
        let answer = endpoint.unwrap().send(Body::default()).await;
        let Err(TransportError::Retry(why)) = answer else { panic!("{answer:?}") };
        assert!(why.starts_with("http://${HOST}/: ") && !why.contains("hunter2"), "{why}");
    }

    #[test]
    fn a_url_may_carry_a_path_and_a_query() {
        let table = [
            ("http://h:9200", "http://h:9200/_bulk?q=1"),
            ("http://h:9200/", "http://h:9200/_bulk?q=1"),
            ("https://h/a/b", "https://h/a/b/_bulk?q=1"),
            (
                "http://h/insert/elasticsearch/_bulk?_msg_field=content",
                "http://h/insert/elasticsearch/_bulk?_msg_field=content&q=1",
            ),
        ];
        for (base, expected) in table {
            assert_eq!(endpoint(base, "_bulk", "q=1").unwrap().to_string(), expected);
        }
        for bad in ["h:9200", "/path", "", "ftp://h", "http://"] {
            assert!(endpoint(bad, "_bulk", "").is_err(), "{bad}");
        }
    }
}
