//! The HTTP server: `/metrics` for a Prometheus scrape, `/health/live` and `/health/ready` for
//! whoever keeps the process running, `/api/unparsed` for whoever writes parsers for it.
//!
//! Invariant: a client costs a bounded number of connections, bytes and seconds, whatever it sends
//! or refuses to read; no request has an effect, and no request body is read. What holds text of
//! lines is shown to this machine only, wherever the server listens. Next stop:
//! [`super::health`] and [`super::metrics`], which answer.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::health::Health;
use super::metrics::Metrics;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const UNPARSED: &str = "/api/unparsed";
const PATHS: [&str; 4] = ["/metrics", "/health/live", "/health/ready", UNPARSED];

/// Pause after a failed `accept`: it fails for want of file descriptors, and would again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What clients may cost.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Connections at once; more wait in the kernel's backlog.
    connections: u32,
    /// From an accepted connection, or the answer before, to the end of a request's head.
    head: Duration,
    /// Age of a connection, after which it may finish what it is at and is closed.
    connection: Duration,
    /// What a connection gets to finish, at its age or when the server stops.
    finish: Duration,
    /// Bytes of a request's head.
    head_bytes: usize,
    /// Lines of a request's head.
    head_lines: usize,
}

const LIMITS: Limits = Limits {
    connections: 64,
    head: Duration::from_secs(10),
    connection: Duration::from_mins(5),
    finish: Duration::from_secs(5),
    head_bytes: 16 * 1024,
    head_lines: 64,
};

/// The address cannot be listened on. The caller ends the process, or goes on without the server.
#[derive(Debug, thiserror::Error)]
#[error("[http] listen: cannot listen on {address}: {cause}")]
pub struct ListenError {
    /// The address as it is configured.
    pub address: SocketAddr,
    /// What the system said; part of the message, so no `source` of it.
    pub cause: io::Error,
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self.cause.kind() {
            io::ErrorKind::AddrInUse => Some(
                "another process listens there, perhaps a riverhog that still runs: end it, or \
                 choose another port",
            ),
            io::ErrorKind::AddrNotAvailable => {
                Some("no interface of this machine has that address")
            }
            io::ErrorKind::PermissionDenied => Some("choose a port of 1024 or above"),
            _ => None,
        }
    }
}

/// A running server. It stops when it is dropped; [`Server::stop`] waits for open answers.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens on `listen` (port 0: any free port) and serves from a task of its own.
    ///
    /// # Errors
    /// The address is in use, not of this machine, or not allowed.
    pub async fn start(
        listen: SocketAddr,
        metrics: Metrics,
        health: Health,
    ) -> Result<Server, ListenError> {
        Self::start_with(listen, metrics, health, LIMITS).await
    }

    async fn start_with(
        listen: SocketAddr,
        metrics: Metrics,
        health: Health,
        limits: Limits,
    ) -> Result<Server, ListenError> {
        let failed = |cause| ListenError { address: listen, cause };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let answers = Arc::new(Answers { metrics, health });
        let task = tokio::spawn(accept(listener, answers, stopped, limits));
        Ok(Server { address, stop, task })
    }

    /// The address that is listened on, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, and returns when open ones have got their answer, or after five
    /// seconds. To be called last of all: until then a probe is told that the process is stopping.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the http server ended badly");
        }
    }
}

/// What requests are answered from.
#[derive(Debug)]
struct Answers {
    metrics: Metrics,
    health: Health,
}

impl Answers {
    /// `is_near`: the client is on this machine.
    fn answer<B>(&self, request: &Request<B>, is_near: bool) -> Response<Full<Bytes>> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            path if PATHS.contains(&path) && !is_read => {
                let detail = json!({ "error": "method_not_allowed", "allowed": ["GET", "HEAD"] });
                let mut response = json_response(405, &detail);
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }
            "/metrics" => response(200, TEXT, self.metrics.render()),
            "/health/live" => {
                let (status, body) = self.health.live();
                json_response(status, &body)
            }
            "/health/ready" => {
                let (status, body) = self.health.ready();
                json_response(status, &body)
            }
            UNPARSED if is_near => json_response(200, &self.metrics.unparsed_lines().to_json()),
            UNPARSED => json_response(403, &json!({ "error": "not_from_this_machine" })),
            _ => json_response(404, &json!({ "error": "not_found", "paths": PATHS })),
        }
    }
}

fn json_response(status: u16, body: &Value) -> Response<Full<Bytes>> {
    response(status, JSON, format!("{body}\n"))
}

fn response(status: u16, content_type: HeaderValue, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Takes connections until the server stops, then waits for those that are open.
async fn accept(
    listener: TcpListener,
    answers: Arc<Answers>,
    stopped: watch::Receiver<bool>,
    limits: Limits,
) {
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    let mut stopping = stopped.clone();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = told(&mut stopping) => break,
        };
        let Ok(place) = place else { break };
        match accepted {
            Ok((stream, _)) => {
                let answers = Arc::clone(&answers);
                tokio::spawn(serve(stream, answers, stopped.clone(), limits, place));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the http port cannot be taken");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = places.acquire_many(limits.connections);
    if timeout(limits.finish, all).await.is_err() {
        tracing::debug!("connections to the http port did not end in time");
    }
}

/// Serves one connection until it ends, grows too old, or the server stops.
async fn serve(
    stream: TcpStream,
    answers: Arc<Answers>,
    mut stopped: watch::Receiver<bool>,
    limits: Limits,
    _place: OwnedSemaphorePermit,
) {
    let is_near = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
    let service = service_fn(|request: Request<Incoming>| {
        let response = answers.answer(&request, is_near);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .max_headers(limits.head_lines)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = told(&mut stopped) => None,
        () = sleep(limits.connection) => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        timeout(limits.finish, connection).await.unwrap_or(Ok(()))
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the http port ended early");
    }
}

/// Returns when the server stops, or is dropped.
async fn told(stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        tracing::debug!("the http server was dropped");
    }
}

#[cfg(test)]
mod tests {
    use riverhog_rules::transform::UnparsedLine;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::source::Partition;

    const ANY_PORT: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    async fn start(limits: Limits) -> (Server, Metrics, Health) {
        let (metrics, health) = (Metrics::new(), Health::new());
        let server = Server::start_with(ANY_PORT, metrics.clone(), health.clone(), limits);
        (server.await.unwrap(), metrics, health)
    }

    /// Sends `head` and reads to the end of the connection: head and body of the answer.
    async fn send(address: SocketAddr, head: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_ascii_lowercase(), body.to_owned())
    }

    async fn check(server: &Server, method: &str, path: &str, status: u16) -> (String, String) {
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        let (head, body) = send(server.address(), &request).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{method} {path}: {head}");
        (head, body)
    }

    #[tokio::test]
    async fn metrics_are_served() {
        let (server, metrics, _) = start(LIMITS).await;
        metrics.source_lines("logs", 42);
        let (head, body) = check(&server, "GET", "/metrics", 200).await;
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
        assert!(body.contains("\nriverhog_source_lines_total{topic=\"logs\"} 42\n"), "{body}");
        let (with_query, _) = check(&server, "GET", "/metrics?name=up", 200).await;
        assert!(with_query.contains("text/plain"), "{with_query}");
        let (head, nothing) = check(&server, "HEAD", "/metrics", 200).await;
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert_eq!(nothing, "");
        server.stop().await;
    }

    #[tokio::test]
    async fn health_is_served() {
        let (server, _, health) = start(LIMITS).await;
        let (head, body) = check(&server, "GET", "/health/ready", 503).await;
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["reason"], "no_broker");
        check(&server, "GET", "/health/live", 200).await;
        health.set_connected(true);
        health.set_assigned(true);
        health.set_halted("search", "logs-nlp", "forbidden", "403", true);
        let (_, body) = check(&server, "GET", "/health/ready", 200).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["halted"][0]["destination"], "logs-nlp");
        health.set_stopping();
        check(&server, "GET", "/health/ready", 503).await;
        check(&server, "GET", "/health/live", 200).await;
    }

    #[tokio::test]
    async fn unparsed_lines_are_served_to_this_machine() {
        let (server, metrics, health) = start(LIMITS).await;
        let (_, body) = check(&server, "GET", UNPARSED, 200).await;
        assert_eq!(body, "{\"lines\":[]}\n");
        let partition = Partition { topic: Arc::from("train"), number: 3 };
        let text = "no \"parser\" for \u{1b}this".to_owned();
        let line = UnparsedLine { offset: 42, index: 1, text: text.clone(), cut: false };
        metrics.unparsed_lines().add(&partition, vec![line]);
        let (head, body) = check(&server, "GET", UNPARSED, 200).await;
        assert!(head.contains("content-type: application/json"), "{head}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let expect = json!({
            "topic": "train", "partition": 3, "offset": 42, "index": 1, "line": text, "cut": false,
        });
        assert_eq!(body, json!({ "lines": [expect] }));
        check(&server, "POST", UNPARSED, 405).await;
        let request = Request::builder().uri(UNPARSED).body(()).unwrap();
        let answers = Answers { metrics, health };
        assert_eq!(answers.answer(&request, false).status(), StatusCode::FORBIDDEN);
        server.stop().await;
    }

    #[tokio::test]
    async fn other_requests_are_refused() {
        let (server, ..) = start(LIMITS).await;
        let (_, body) = check(&server, "GET", "/nothing/here", 404).await;
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["error"], "not_found");
        let (head, body) = check(&server, "POST", "/metrics", 405).await;
        assert!(head.contains("allow: get, head"), "{head}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["error"], "method_not_allowed");
        // A body is announced and never read: the answer comes without it.
        let announced = "PUT /metrics HTTP/1.1\r\nhost: test\r\ncontent-length: 9999999\r\n\r\n";
        let (head, _) = send(server.address(), announced).await;
        assert!(head.starts_with("http/1.1 405 "), "{head}");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LIMITS.head_bytes));
        let (head, _) = send(server.address(), &long).await;
        assert!(head.starts_with("http/1.1 4"), "{head}");
    }

    #[tokio::test]
    async fn a_silent_client_gives_its_place_back() {
        let limits = Limits { connections: 1, head: Duration::from_millis(50), ..LIMITS };
        let (server, ..) = start(limits).await;
        let mut silent = TcpStream::connect(server.address()).await.unwrap();
        silent.write_all(b"GET /metr").await.unwrap();
        // There is one place: this is answered only once the silent client was sent away.
        check(&server, "GET", "/health/live", 200).await;
        let mut rest = Vec::new();
        silent.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test]
    async fn an_old_connection_is_closed() {
        let limits = Limits { connection: Duration::from_millis(50), ..LIMITS };
        let (server, ..) = start(limits).await;
        // It is kept alive, and ends because of its age.
        let request = "GET /health/live HTTP/1.1\r\nhost: test\r\n\r\n";
        let (head, _) = send(server.address(), request).await;
        assert!(head.starts_with("http/1.1 200 "), "{head}");
    }

    #[tokio::test]
    async fn stop_closes_idle_connections_and_the_port() {
        let (server, ..) = start(LIMITS).await;
        let address = server.address();
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /health/live HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        idle.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        timeout(Duration::from_secs(3), server.stop()).await.unwrap();
        idle.read_to_end(&mut Vec::new()).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn a_port_in_use_names_the_setting() {
        let (server, metrics, health) = start(LIMITS).await;
        let error = Server::start(server.address(), metrics, health).await.unwrap_err();
        let text = error.to_string();
        let expect = format!("[http] listen: cannot listen on {}: ", server.address());
        assert!(text.starts_with(&expect), "{text}");
        assert!(error.hint().unwrap().contains("another process"), "{error:?}");
    }
}
