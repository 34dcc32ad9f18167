//! The HTTP server: `/metrics` for a Prometheus scrape, `/health/live` and `/health/ready` for
//! whoever keeps the process running, `/api/unparsed` for whoever writes parsers for it,
//! `/api/reload` for whoever changes its configuration.
//!
//! Invariant: a client costs a bounded number of connections, bytes and seconds, whatever it sends
//! or refuses to read; no request but a reload has an effect, and no request body is read. What
//! holds text of lines is shown to whom [`access`] says. Next stop: [`super::health`] and
//! [`super::metrics`], which answer.

pub mod access;
pub mod tls;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use self::access::{Access, Grant, Refusal};
pub use self::tls::ServerTlsError;
use super::health::Health;
use super::metrics::Metrics;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const UNPARSED: &str = "/api/unparsed";
const RELOAD: &str = "/api/reload";
const PATHS: [&str; 5] = ["/metrics", "/health/live", "/health/ready", UNPARSED, RELOAD];

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

/// Somebody wants the configuration loaded again, and to hear what became of it.
#[derive(Debug)]
pub struct ReloadRequest {
    /// Told once.
    pub reply: oneshot::Sender<Reloaded>,
}

/// What a reload came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// The number of the configuration that runs now, from 1.
    pub generation: u64,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Why the one that was asked for does not run.
    pub refused: Option<String>,
}

/// What the port is, until it is told otherwise.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// Who may ask `/api/…`; empty: this machine.
    pub access: Vec<Access>,
    /// What it speaks TLS with.
    pub tls: Option<Arc<ServerConfig>>,
}

/// A running server. It stops when it is dropped; [`Server::stop`] waits for open answers.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    doors: watch::Sender<Arc<Doors>>,
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
        answers: Answers,
        doors: Doors,
    ) -> Result<Server, ListenError> {
        Self::start_with(listen, answers, doors, LIMITS).await
    }

    async fn start_with(
        listen: SocketAddr,
        answers: Answers,
        doors: Doors,
        limits: Limits,
    ) -> Result<Server, ListenError> {
        let failed = |cause| ListenError { address: listen, cause };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let (doors, open) = watch::channel(Arc::new(doors));
        let around = Around { answers: Arc::new(answers), doors: open, stopped, limits };
        let task = tokio::spawn(accept(listener, around));
        Ok(Server { address, doors, stop, task })
    }

    /// A handle that changes who may ask, and certificates; connections that are open keep theirs.
    pub fn doors(&self) -> watch::Sender<Arc<Doors>> {
        self.doors.clone()
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
pub struct Answers {
    /// `/metrics`, and the lines that no parser accepted.
    pub metrics: Metrics,
    /// `/health/…`
    pub health: Health,
    /// Where a reload is asked for; `None` where there is nothing to reload.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
}

impl Answers {
    /// `is_near`: the client is on this machine.
    async fn answer<B>(
        &self,
        request: &Request<B>,
        doors: &Doors,
        is_near: bool,
    ) -> Response<Full<Bytes>> {
        let allowed: &[&str] = match request.uri().path() {
            RELOAD => &["POST"],
            path if PATHS.contains(&path) => &["GET", "HEAD"],
            _ => return json_response(404, &json!({ "error": "not_found", "paths": PATHS })),
        };
        if !allowed.contains(&request.method().as_str()) {
            let detail = json!({ "error": "method_not_allowed", "allowed": allowed });
            let mut response = json_response(405, &detail);
            if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
                response.headers_mut().insert(ALLOW, allowed);
            }
            return response;
        }
        match request.uri().path() {
            "/metrics" => response(200, TEXT, self.metrics.render()),
            "/health/live" => {
                let (status, body) = self.health.live();
                json_response(status, &body)
            }
            "/health/ready" => {
                let (status, body) = self.health.ready();
                json_response(status, &body)
            }
            path => match access::grant(&doors.access, request.headers(), is_near) {
                Err(refusal) => refused(refusal),
                Ok(grant) if path == RELOAD => self.reload(grant).await,
                Ok(grant) => {
                    let lines = self.metrics.unparsed_lines().to_json(|it| grant.sees(it));
                    json_response(200, &lines)
                }
            },
        }
    }

    async fn reload(&self, grant: Grant<'_>) -> Response<Full<Bytes>> {
        if !grant.reload {
            let help = "give the token `reload = true` in [[http.access]]";
            return json_response(403, &json!({ "error": "no_reload", "help": help }));
        }
        let (reply, reloaded) = oneshot::channel();
        let asked = self.reload.as_ref().map(|it| it.try_send(ReloadRequest { reply }));
        if !matches!(asked, Some(Ok(()))) {
            return json_response(503, &json!({ "error": "busy" }));
        }
        match reloaded.await {
            Err(_) => json_response(503, &json!({ "error": "stopping" })),
            Ok(Reloaded { generation, fingerprint, refused }) => {
                let status = if refused.is_none() { 200 } else { 422 };
                let outcome = if refused.is_none() { "done" } else { "refused" };
                let body = json!({
                    "outcome": outcome,
                    "generation": generation,
                    "fingerprint": fingerprint,
                    "reason": refused,
                });
                json_response(status, &body)
            }
        }
    }
}

fn refused(refusal: Refusal) -> Response<Full<Bytes>> {
    match refusal {
        Refusal::Unauthorised => {
            let mut response = json_response(401, &json!({ "error": "unauthorised" }));
            let bearer = HeaderValue::from_static("Bearer realm=\"riverhog\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            response
        }
        Refusal::NotNear => json_response(403, &json!({ "error": "not_from_this_machine" })),
        Refusal::ForeignHost => json_response(403, &json!({ "error": "not_for_this_host" })),
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
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Takes connections until the server stops, then waits for those that are open.
async fn accept(listener: TcpListener, around: Around) {
    let (limits, stopped) = (around.limits, &around.stopped);
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
                tokio::spawn(open(stream, around.clone(), place));
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

/// What a connection is served with.
#[derive(Clone)]
struct Around {
    answers: Arc<Answers>,
    doors: watch::Receiver<Arc<Doors>>,
    stopped: watch::Receiver<bool>,
    limits: Limits,
}

/// Opens one connection, with TLS where the port speaks it, and serves it.
async fn open(stream: TcpStream, around: Around, place: OwnedSemaphorePermit) {
    let is_near = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
    let doors = Arc::clone(&around.doors.borrow());
    let Some(tls) = doors.tls.clone() else {
        return serve(stream, (around, doors), is_near, place).await;
    };
    let shaking = TlsAcceptor::from(tls).accept(stream);
    match timeout(around.limits.head, shaking).await {
        Ok(Ok(stream)) => serve(stream, (around, doors), is_near, place).await,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a client of the http port speaks no TLS of ours");
        }
        Err(_) => tracing::debug!("a client of the http port took too long to begin TLS"),
    }
}

/// Serves one connection until it ends, grows too old, or the server stops.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    (around, doors): (Around, Arc<Doors>),
    is_near: bool,
    _place: OwnedSemaphorePermit,
) {
    let Around { answers, mut stopped, limits, .. } = around;
    let service = service_fn(|request: Request<Incoming>| {
        let (answers, doors) = (Arc::clone(&answers), Arc::clone(&doors));
        async move { Ok::<_, Infallible>(answers.answer(&request, &doors, is_near).await) }
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
mod tests;
