//! TLS of the HTTP port. Files that change count from the next connection on.
//!
//! Invariant: a file that is of no use is named with the reason before the port speaks with it;
//! later it changes nothing. Next stop: [`super::Server`].

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::followed::Followed;
use crate::sink::tls::{TlsSetupError, certified_key};

/// Why the port cannot speak TLS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[http]: {0}")]
pub struct ServerTlsError(#[from] TlsSetupError);

/// What the port speaks TLS with; blocks while it reads the files.
///
/// # Errors
/// A file of no use.
pub fn server_config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServerTlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (paths, for_key) = (vec![cert.to_owned(), key.to_owned()], Arc::clone(&provider));
    let (cert, key) = (cert.to_owned(), key.to_owned());
    let shown = Followed::new(paths, move || certified_key(&cert, &key, &for_key).map(Arc::new))?;
    let other = |error: rustls::Error| TlsSetupError::Other(error.to_string());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shown(shown)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Shows the certificate of a file, as it is at each handshake.
#[derive(Debug)]
struct Shown(Followed<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&*self.0.get()))
    }
}
