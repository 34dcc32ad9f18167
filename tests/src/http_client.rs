//! A small HTTP client: one request, one answer, read whole.
//!
//! The invariant: any status is an answer, not an error; only no answer is an error.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use std::time::Duration;

/// A page of search hits is the largest answer that tests read.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Nothing that tests ask for takes longer on a loaded machine.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// Speaks HTTP/1.1 without TLS to one server.
#[derive(Clone, Debug)]
pub struct HttpClient {
    base: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body, whole.
    pub body: Bytes,
}

impl HttpClient {
    /// A client for `base`, such as `http://127.0.0.1:9600`.
    pub fn new(base: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { base: base.trim_end_matches('/').to_owned(), client }
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send("GET", path, None).await
    }

    /// Any request; a body is sent as JSON.
    pub async fn send(&self, method: &str, path: &str, body: Option<String>) -> Result<Reply> {
        let doing = format!("{method} {}{path}", self.base);
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .with_context(|| doing.clone())?;
        let answer = async {
            let response = self.client.request(request).await?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
            anyhow::Ok(Reply { status, body })
        };
        tokio::time::timeout(ANSWER_TIMEOUT, answer)
            .await
            .with_context(|| doing.clone())?
            .context(doing)
    }
}

impl Reply {
    /// The body as text; what is not UTF-8 is shown as the replacement character.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("not JSON: {}", self.text()))
    }
}
