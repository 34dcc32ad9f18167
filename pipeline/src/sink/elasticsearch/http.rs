//! HTTP to a store: hyper with rustls, one keep-alive pool. A URL may carry a path and a query
//! (VictoriaLogs).
//!
//! Invariant: a request ends within its timeout and its answer is read up to a bound. Next stop:
//! [`super::endpoint`], which sends `_bulk` requests by it.

use std::error::Error;
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

use super::body::Body;
use super::encoding::Encoding;
use super::transport::{ANSWER_BYTES_MAX, BulkAnswer, TransportError};
use crate::sink::tls::{TlsFiles, TlsSetupError, client_config};

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
    /// Whom to trust, and what to show.
    pub tls: TlsFiles,
    /// How request bodies are compressed, where the store takes it.
    pub encoding: Encoding,
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
    /// The credentials hold characters no header can carry.
    #[error("the credentials hold characters that no HTTP header can carry")]
    Credentials,
    /// A file of certificates or a key is of no use.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
}

/// The HTTP client of one store.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

impl HttpClient {
    /// A client with these settings.
    pub fn new(settings: &HttpSettings) -> Result<HttpClient, HttpSetupError> {
        let tls = client_config(&settings.tls)?;
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
        encoding: Encoding,
        body: Body,
    ) -> Result<BulkAnswer, TransportError> {
        let mut request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, content);
        if let Some(encoding) = encoding.header() {
            request = request.header(CONTENT_ENCODING, encoding);
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
            Err(_) => Err(TransportError::Timeout(format!("no answer within {:?}", self.timeout))),
        }
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

/// A failed verification halts; everything else on the way may pass.
fn classify(error: &hyper_util::client::legacy::Error) -> TransportError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    if is_tls(error) {
        TransportError::Tls(text)
    } else if error.is_connect() {
        TransportError::Retry(text)
    } else {
        TransportError::Closed(text)
    }
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
