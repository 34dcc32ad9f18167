//! What a test asks of VictoriaLogs: every document of a topic.
//!
//! The invariant: everything that was written before is found, since it is flushed first. Members
//! come flat, `origin.offset` and so on, and all as text.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::HttpClient;

/// More documents than a test writes.
const DOCUMENTS_MAX: usize = 5_000_000;

/// A VictoriaLogs server by its URL.
#[derive(Clone, Debug)]
pub struct LogStore {
    http: HttpClient,
}

impl LogStore {
    /// A client for `url`, such as `http://127.0.0.1:9428`.
    pub fn new(url: &str) -> Self {
        Self { http: HttpClient::new(url) }
    }

    /// Every document whose `origin.topic` is this one, in no order; the name is plain text.
    pub async fn documents(&self, topic: &str) -> Result<Vec<Value>> {
        let flushed = self.http.get("/internal/force_flush").await?;
        ensure!(flushed.status == 200, "flushing: {} {}", flushed.status, flushed.text());
        let query = format!("origin.topic:=%22{topic}%22");
        let path = format!("/select/logsql/query?query={query}&limit={DOCUMENTS_MAX}");
        let reply = self.http.get(&path).await?;
        ensure!(reply.status == 200, "{path}: {} {}", reply.status, reply.text());
        let text = reply.text();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).context("a line is not JSON")).collect()
    }
}
