//! A token endpoint as an identity provider has it: `client_credentials` (RFC 6749, 4.4), answered
//! with a token that the broker checks (RFC 7519, signed with Ed25519).
//!
//! The invariant: a token lives as long as it says, and only who knows the secret gets one. Next
//! stop: `tokens.rs`.

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::bed::Bed;

const CLIENT: &str = "riverhog";
pub(crate) const SECRET: &str = "issuer-secret";

/// See the module documentation. Ends with the test.
pub(crate) struct Issuer {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

struct Shared {
    key: KeyPair,
    lifetime: Duration,
    is_out_of_order: AtomicBool,
    issued: AtomicU64,
}

impl Issuer {
    /// Issues tokens that live so long.
    pub(crate) async fn start(bed: &Bed, lifetime: Duration) -> Result<Issuer> {
        let pem = std::fs::read_to_string(bed.certificate("token.key")).context("the key")?;
        let shared = Arc::new(Shared {
            key: KeyPair::from_pem(&pem).context("the key")?,
            lifetime,
            is_out_of_order: AtomicBool::new(false),
            issued: AtomicU64::new(0),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("a port")?;
        let url = format!("http://{}/token", listener.local_addr()?);
        let (mut serving, answering) = (JoinSet::new(), Arc::clone(&shared));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&answering);
                connections.spawn(async move {
                    let answer = service_fn(move |request| {
                        let answer = shared.answer(&request);
                        async { Ok::<_, Infallible>(answer) }
                    });
                    // A client may go at any time.
                    drop(
                        http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await,
                    );
                });
            }
        });
        Ok(Issuer { url, shared, _serving: serving })
    }

    /// Tokens issued so far.
    pub(crate) fn issued(&self) -> u64 {
        self.shared.issued.load(Ordering::Relaxed)
    }

    /// Answers with 503 from now on, or no more.
    pub(crate) fn set_out_of_order(&self, is_out_of_order: bool) {
        self.shared.is_out_of_order.store(is_out_of_order, Ordering::Relaxed);
    }
}

impl Shared {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let login = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{SECRET}")));
        let shown = request.headers().get(AUTHORIZATION);
        let (status, body) = if self.is_out_of_order.load(Ordering::Relaxed) {
            (503, json!({ "error": "temporarily_unavailable" }))
        } else if shown.is_some_and(|shown| shown.as_bytes() == login.as_bytes()) {
            self.issued.fetch_add(1, Ordering::Relaxed);
            let seconds = self.lifetime.as_secs();
            let token = self.token();
            (200, json!({ "access_token": token, "token_type": "Bearer", "expires_in": seconds }))
        } else {
            (401, json!({ "error": "invalid_client" }))
        };
        let body = Full::new(Bytes::from(body.to_string()));
        let answer = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
        answer.body(body).expect("the head is right")
    }

    #[expect(clippy::disallowed_methods, reason = "the broker compares it with its own clock")]
    fn token(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (now, end) = (now.as_secs(), (now + self.lifetime).as_secs());
        let head = json!({ "alg": "EdDSA", "kid": "test", "typ": "JWT" });
        let claims = json!({
            "iss": "riverhog-tests", "aud": "kafka", "sub": CLIENT, "iat": now, "exp": end,
        });
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(head), part(claims));
        let signature = self.key.sign(signed.as_bytes()).expect("the key signs");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
