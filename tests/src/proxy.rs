//! A proxy of the tests in front of a store: it hands requests on, notes what they carried and what
//! came back, and fails on demand.
//!
//! The invariant: what is not told to fail goes on byte for byte, with its `Host` and signature,
//! and an exchange counts as answered only when its whole answer was handed to the client. It runs
//! on threads of its own, so that a test may block. Next stop: `proxy/items.rs`, where it fails
//! single documents.

mod items;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};

pub use items::{Items, Pick};

use crate::free_port;

/// More than any request of a test carries and any answer holds.
const BODY_BYTES_MAX: usize = 128 << 20;

type Request = http::Request<Incoming>;
type Response = http::Response<Full<Bytes>>;

/// What the proxy does to the requests that come from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: everything is handed on.
    #[default]
    None,
    /// It answers with this status itself; the store sees nothing.
    Answer(u16),
    /// It hands on a signature that does not fit, as a wrong secret makes: S3 answers 403.
    SpoilSignature,
    /// The store gets the request; the connection is closed in place of its answer.
    LoseAnswer,
    /// Some documents of `_bulk` requests are refused, the others handed on.
    Items(Items),
    /// Bodies of more bytes are answered with 413.
    BodyMax(usize),
}

/// One request and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// `POST`, `PUT` and so on.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The documents of a `_bulk` request, in order: the `_id` of each.
    pub ids: Vec<String>,
    /// What the store answered, if it was asked and did answer.
    pub stored: Option<u16>,
    /// What the client was answered; `None` where the connection was closed.
    pub answered: Option<u16>,
    /// The status of each item of a `_bulk` answer, in order.
    pub items: Vec<u16>,
}

/// A proxy on a port of its own; it ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
    // Invariant: `Some` until dropped.
    runtime: Option<Runtime>,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    client: Client<HttpConnector, Full<Bytes>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    fault: Fault,
    exchanges: Vec<Exchange>,
}

impl Proxy {
    /// A proxy in front of `upstream`, such as `http://127.0.0.1:9200`, that hands everything on.
    pub fn start(upstream: &str) -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime =
            builder.worker_threads(1).enable_all().build().context("a proxy's runtime")?;
        let shared = Arc::new(Shared {
            upstream: upstream.trim_end_matches('/').to_owned(),
            client: Client::builder(TokioExecutor::new()).build_http(),
            state: Mutex::default(),
        });
        let mut proxy = Self { port: free_port()?, shared, server: None, runtime: Some(runtime) };
        proxy.open()?;
        Ok(proxy)
    }

    /// Its address, in place of the store's.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What happens to requests from now on.
    pub fn set_fault(&self, fault: Fault) {
        self.shared.state().fault = fault;
    }

    /// All exchanges so far, in the order of their ends.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.state().exchanges.clone()
    }

    /// Breaks all connections and refuses new ones, as a store that has gone does.
    pub async fn close(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
            // The listener is closed once the aborted task is joined; that it was is no news.
            drop(server.await);
        }
    }

    /// Takes connections again, on the same port.
    pub fn open(&mut self) -> Result<()> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, self.port));
        let listener = listener.context("listening")?;
        listener.set_nonblocking(true).context("listening")?;
        let Some(runtime) = &self.runtime else { return Ok(()) };
        let _entered = runtime.enter();
        let listener = TcpListener::from_std(listener).context("listening")?;
        self.server = Some(runtime.spawn(serve(listener, Arc::clone(&self.shared))));
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime must not wait for its end inside another one.
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, exchange: Exchange) {
        self.state().exchanges.push(exchange);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let answer = service_fn(|request| answer(Arc::clone(&shared), request));
            let connection = hyper::server::conn::http1::Builder::new();
            // It ends by the client's wish or by a fault; either is seen in the exchanges.
            drop(connection.serve_connection(TokioIo::new(stream), answer).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// An error closes the connection.
async fn answer(shared: Arc<Shared>, request: Request) -> Result<Response> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
    let path = head.uri.path().to_owned();
    let ids = if path.ends_with("/_bulk") { bulk_ids(&body) } else { Vec::new() };
    let exchange = Exchange { method: head.method.to_string(), path, ids, ..Exchange::default() };
    // Until it is handed to the client, an exchange is unanswered, also when this task is dropped.
    let mut noting = Noting { shared: &shared, exchange };
    let fault = shared.state().fault;
    if let Fault::Answer(status) = fault {
        noting.exchange.answered = Some(status);
        return refusal(status);
    }
    if matches!(fault, Fault::BodyMax(limit) if body.len() > limit) {
        noting.exchange.answered = Some(413);
        return refusal(413);
    }
    if let Fault::Items(items) = fault
        && !noting.exchange.ids.is_empty()
    {
        return answer_items(&mut noting, head, body, items).await;
    }
    let (mut head, body) = hand_on(&shared, head, body, fault).await?;
    noting.exchange.stored = Some(head.status.as_u16());
    noting.exchange.items = bulk_statuses(&noting.exchange, &body);
    anyhow::ensure!(fault != Fault::LoseAnswer, "the answer is lost");
    noting.exchange.answered = Some(head.status.as_u16());
    head.headers.remove(http::header::TRANSFER_ENCODING);
    Ok(Response::from_parts(head, Full::new(body)))
}

/// Some items are refused here; the store is asked for the others alone.
async fn answer_items(
    noting: &mut Noting<'_>,
    head: http::request::Parts,
    body: Bytes,
    items: Items,
) -> Result<Response> {
    let shared = noting.shared;
    let sifted = items.sift(&body, shared.state().exchanges.len() as u64);
    let mut stored = None;
    if !sifted.rest.is_empty() {
        let mut head = head;
        head.headers.remove(http::header::CONTENT_LENGTH);
        let (head, body) = hand_on(shared, head, sifted.rest.clone(), Fault::None).await?;
        noting.exchange.stored = Some(head.status.as_u16());
        if !head.status.is_success() || !sifted.has_refusals() {
            noting.exchange.items = bulk_statuses(&noting.exchange, &body);
            noting.exchange.answered = Some(head.status.as_u16());
            let response = http::Response::builder().status(head.status);
            return response.body(Full::new(body)).context("an answer");
        }
        stored = Some(body);
    }
    let body = sifted.answer(stored.as_deref())?;
    noting.exchange.items = bulk_statuses(&noting.exchange, &body);
    noting.exchange.answered = Some(200);
    let response = http::Response::builder().header(http::header::CONTENT_TYPE, "application/json");
    response.body(Full::new(body)).context("an answer")
}

struct Noting<'a> {
    shared: &'a Shared,
    exchange: Exchange,
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.shared.note(std::mem::take(&mut self.exchange));
    }
}

fn refusal(status: u16) -> Result<Response> {
    let body =
        format!(r#"{{"error":{{"type":"test","reason":"by the proxy"}},"status":{status}}}"#);
    let response = http::Response::builder().status(status);
    response.body(Full::new(Bytes::from(body))).context("a refusal")
}

async fn hand_on(
    shared: &Shared,
    mut head: http::request::Parts,
    body: Bytes,
    fault: Fault,
) -> Result<(http::response::Parts, Bytes)> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("{}{path}", shared.upstream).parse().context("the store's address")?;
    head.headers.remove(http::header::TRANSFER_ENCODING);
    if fault == Fault::SpoilSignature {
        spoil_signature(&mut head.headers)?;
    }
    let request = http::Request::from_parts(head, Full::new(body));
    let response = shared.client.request(request).await.context("asking the store")?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    Ok((head, body.map_err(anyhow::Error::from_boxed)?.to_bytes()))
}

/// Another last digit: well-formed, and wrong.
fn spoil_signature(headers: &mut http::HeaderMap) -> Result<()> {
    let Some(value) = headers.get_mut(http::header::AUTHORIZATION) else { return Ok(()) };
    let text = value.to_str().context("a signature")?;
    let (rest, last) = text.split_at(text.len() - 1);
    let other = if last == "0" { "1" } else { "0" };
    *value = format!("{rest}{other}").parse().context("a signature")?;
    Ok(())
}

/// The ids of the actions; every other line of a body of `create` and `index` is a document.
fn bulk_ids(body: &[u8]) -> Vec<String> {
    let actions = body.split(|byte| *byte == b'\n').step_by(2).filter(|line| !line.is_empty());
    let id = |line: &[u8]| {
        let action: serde_json::Value = serde_json::from_slice(line).ok()?;
        let (_, action) = action.as_object()?.iter().next()?;
        Some(action["_id"].as_str()?.to_owned())
    };
    actions.map(|line| id(line).unwrap_or_default()).collect()
}

fn bulk_statuses(exchange: &Exchange, body: &[u8]) -> Vec<u16> {
    if exchange.ids.is_empty() {
        return Vec::new();
    }
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let items = body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let status = |item: &serde_json::Value| {
        let (_, item) = item.as_object()?.iter().next()?;
        u16::try_from(item["status"].as_u64()?).ok()
    };
    items.iter().map(|item| status(item).unwrap_or_default()).collect()
}
