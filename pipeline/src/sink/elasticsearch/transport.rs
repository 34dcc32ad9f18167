//! The seam between the sink and a `_bulk` endpoint: bytes out, status and bytes back. The real one
//! is [`super::http`]; the simulation puts its own here, so that the sink's reading of answers,
//! its retries and its halts are what is simulated.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use super::body::Body;

/// A boxed future, so that transports can be swapped at run time.
pub type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<BulkAnswer, TransportError>> + Send + 'a>>;

/// What came back.
#[derive(Debug, Clone)]
pub struct BulkAnswer {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, when the server sent one in seconds.
    pub retry_after: Option<Duration>,
    /// The body, at most [`ANSWER_BYTES_MAX`].
    pub body: Bytes,
}

/// Most bytes of an answer that are read; a longer one is not a `_bulk` answer.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Refused, reset, timed out, cut off: the same may work later.
    #[error("{0}")]
    Retry(String),
    /// The connection was closed before an answer came, if there was one.
    #[error("{0}")]
    Closed(String),
    /// No answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The server's certificate is not trusted, or is another's: nothing will get through.
    #[error("{0}")]
    Tls(String),
}

impl TransportError {
    /// The same with the address in front.
    pub fn at(self, url: &str) -> TransportError {
        let at = |why: String| format!("{url}: {why}");
        match self {
            TransportError::Retry(why) => TransportError::Retry(at(why)),
            TransportError::Closed(why) => TransportError::Closed(at(why)),
            TransportError::Timeout(why) => TransportError::Timeout(at(why)),
            TransportError::Tls(why) => TransportError::Tls(at(why)),
        }
    }
}

/// A `_bulk` endpoint.
pub trait BulkTransport: Send + Sync + 'static {
    /// Sends one body (newline-delimited JSON) and waits for the answer; bounded by a timeout.
    fn send(&self, body: Body) -> Sending<'_>;
}
