//! What a test asks of OpenSearch: counts, every document, settings and templates.
//!
//! The invariant: a count or a list is of everything written before it was asked for (it refreshes
//! first), and of nothing when the index is not there.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::HttpClient;

/// Documents in one page of a scroll.
const PAGE_DOCUMENTS: usize = 5_000;

/// A search store by its URL.
#[derive(Clone, Debug)]
pub struct SearchStore {
    http: HttpClient,
}

/// A document as it is stored.
#[derive(Clone, Debug)]
pub struct Document {
    /// The index it was found in.
    pub index: String,
    /// Its `_id`.
    pub id: String,
    /// Its `_source`.
    pub source: Value,
}

impl SearchStore {
    /// A client for `url`, such as `http://127.0.0.1:9200`.
    pub fn new(url: &str) -> Self {
        Self { http: HttpClient::new(url) }
    }

    /// Any request: the status and the JSON of the answer.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value)> {
        let reply = self.http.send(method, path, body.map(|body| body.to_string())).await?;
        Ok((reply.status, reply.json()?))
    }

    /// A request that must succeed.
    pub async fn expect(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value> {
        let (status, answer) = self.request(method, path, body).await?;
        ensure!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        Ok(answer)
    }

    /// How many documents the indices of this pattern hold.
    pub async fn count(&self, pattern: &str) -> Result<u64> {
        self.count_where(pattern, json!({ "match_all": {} })).await
    }

    /// How many documents of the indices of this pattern match a query.
    pub async fn count_where(&self, pattern: &str, query: Value) -> Result<u64> {
        self.refresh(pattern).await?;
        let path = format!("/{pattern}/_count?ignore_unavailable=true");
        let answer = self.expect("POST", &path, Some(json!({ "query": query }))).await?;
        answer["count"].as_u64().with_context(|| format!("no count in {answer}"))
    }

    /// Every document of the indices of this pattern, in no order.
    pub async fn documents(&self, pattern: &str) -> Result<Vec<Document>> {
        self.refresh(pattern).await?;
        let mut documents = Vec::new();
        let first = format!("/{pattern}/_search?scroll=1m&ignore_unavailable=true");
        let body = json!({ "size": PAGE_DOCUMENTS, "sort": ["_doc"], "version": false });
        let mut page = self.expect("POST", &first, Some(body)).await?;
        loop {
            let hits = page["hits"]["hits"].as_array().context("no hits in the answer")?;
            if hits.is_empty() {
                break;
            }
            documents.extend(hits.iter().map(|hit| Document {
                index: hit["_index"].as_str().unwrap_or_default().to_owned(),
                id: hit["_id"].as_str().unwrap_or_default().to_owned(),
                source: hit["_source"].clone(),
            }));
            let next = json!({ "scroll": "1m", "scroll_id": page["_scroll_id"] });
            page = self.expect("POST", "/_search/scroll", Some(next)).await?;
        }
        // Without an index there was nothing to scroll.
        if page["_scroll_id"].is_string() {
            let close = json!({ "scroll_id": page["_scroll_id"] });
            self.expect("DELETE", "/_search/scroll", Some(close)).await?;
        }
        Ok(documents)
    }

    /// The names of the indices of this pattern, sorted.
    pub async fn indices(&self, pattern: &str) -> Result<Vec<String>> {
        let path = format!("/_cat/indices/{pattern}?format=json&h=index&s=index");
        let answer = self.expect("GET", &path, None).await?;
        let rows = answer.as_array().context("no list of indices")?;
        Ok(rows.iter().filter_map(|row| row["index"].as_str().map(str::to_owned)).collect())
    }

    /// Changes settings of the indices of this pattern, such as `{"index.blocks.write": true}`.
    pub async fn put_settings(&self, pattern: &str, settings: Value) -> Result<()> {
        self.expect("PUT", &format!("/{pattern}/_settings"), Some(settings)).await.map(drop)
    }

    /// Makes an index with a body of settings and mappings.
    pub async fn create_index(&self, name: &str, body: Value) -> Result<()> {
        self.expect("PUT", &format!("/{name}"), Some(body)).await.map(drop)
    }

    /// Puts an index template.
    pub async fn put_template(&self, name: &str, body: Value) -> Result<()> {
        self.expect("PUT", &format!("/_index_template/{name}"), Some(body)).await.map(drop)
    }

    async fn refresh(&self, pattern: &str) -> Result<()> {
        let path = format!("/{pattern}/_refresh?ignore_unavailable=true");
        self.expect("POST", &path, None).await.map(drop)
    }
}
