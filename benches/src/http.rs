//! The little HTTP that the bench needs: a server for the two stores, and a GET for asking them and
//! riverhog how far they are.
//!
//! The invariant: a store answers on one thread, so that it takes no more than one core from what
//! is measured. Next stop: `bulk_store.rs`, `object_store.rs`.

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Longest body that a store takes, and longest answer that is read.
const BODY_BYTES_MAX: usize = 256 << 20;
const GET_MAX: Duration = Duration::from_mins(5);

pub(crate) type Answer = Response<Full<Bytes>>;

/// What a store does with a request whose body has come.
pub(crate) trait Store: Send + 'static {
    fn answer(&mut self, head: &http::request::Parts, body: Bytes) -> Answer;
}

/// An answer of any status.
pub(crate) fn answer(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
}

/// Listens on a free port of loopback, writes its address to standard output, and serves until the
/// process is ended.
pub(crate) fn serve(store: impl Store) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        let store = Arc::new(Mutex::new(store));
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let store = Arc::clone(&store);
            let service = service_fn(move |request| take(Arc::clone(&store), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks is the client's to notice.
            tokio::spawn(async { drop(connection.await) });
        }
    })
}

async fn take<S: Store>(store: Arc<Mutex<S>>, request: Request<Incoming>) -> Result<Answer> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("reading a body: {error}"))?.to_bytes();
    Ok(store.lock().unwrap_or_else(PoisonError::into_inner).answer(&head, body))
}

/// The body of `GET path`; anything but 200 is an error.
pub(crate) async fn get(address: &str, path: &str) -> Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.take(BODY_BYTES_MAX as u64).read_to_string(&mut text).await?;
        anyhow::Ok(text)
    };
    let text = tokio::time::timeout(GET_MAX, exchange).await.context("no answer")??;
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => bail!("GET {path}: {}", text.lines().next().unwrap_or("no answer")),
    }
}
