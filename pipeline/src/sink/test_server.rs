//! A server for tests of what is sent to stores: it keeps every request and answers as it is told.
//! With certificates of a throw-away authority where a test is about TLS.
//!
//! Invariant: one request a connection, which is closed after its answer; loopback only. Off the
//! trip.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose,
};
use rcgen::{IsCa, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Status and body; none hangs up.
pub(crate) type Answer = Option<(u16, String)>;

/// A running server; it ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers each request as `answer` says.
    pub(crate) async fn start(
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
        tls: Option<ServerConfig>,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Server::on(listener, answer, tls)
    }

    /// The same on a listener that is there.
    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
        tls: Option<ServerConfig>,
    ) -> Server {
        let address = listener.local_addr().unwrap();
        let server = Server { address, seen: Arc::default() };
        let (seen, answer) = (Arc::clone(&server.seen), Arc::new(answer));
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer, acceptor) =
                    (Arc::clone(&seen), Arc::clone(&answer), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, &*answer, &seen).await,
                        // A client that shows nothing is told so, and that is the end.
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => serve(stream, &*answer, &seen).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        server
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &(dyn Fn(&Seen) -> Answer + Send + Sync),
    seen: &Mutex<Vec<Seen>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let mut request =
        Seen { head: String::from_utf8_lossy(&head).to_lowercase(), ..Seen::default() };
    let length = request.header("content-length").and_then(|text| text.parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut request.body).await.ok()?;
    let answered = answer(&request);
    seen.lock().unwrap().push(request);
    let (status, body) = answered?;
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

/// A folder with `ca.pem`, `client.pem` and `client.key`, `server.pem` and `server.key`, and of a
/// stranger `other.key`.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "a test's own authority");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Authority { folder: tempfile::tempdir().unwrap(), issuer };
        let (cert, key) = authority.issue("riverhog", ExtendedKeyUsagePurpose::ClientAuth);
        authority.write("ca.pem", &authority.issuer.pem());
        authority.write("client.pem", &cert.pem());
        authority.write("client.key", &key.serialize_pem());
        let (cert, key) = authority.issue("server", ExtendedKeyUsagePurpose::ServerAuth);
        authority.write("server.pem", &cert.pem());
        authority.write("server.key", &key.serialize_pem());
        authority.write("other.key", &KeyPair::generate().unwrap().serialize_pem());
        authority
    }

    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server of this authority that lets nobody in who shows no certificate of it.
    pub(crate) fn server(&self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let (cert, key) = self.issue("server", ExtendedKeyUsagePurpose::ServerAuth);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap()
    }
}
