//! TLS of the HTTP port.
//!
//! Invariant: a file that is of no use is named with the reason before the port speaks with it.
//! Next stop: [`super::Server`].

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why the port cannot speak TLS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerTlsError {
    /// A file cannot be read, or holds nothing of use.
    #[error("[http] {setting} `{path}`: {why}")]
    File {
        /// `cert_file` or `key_file`.
        setting: &'static str,
        /// As configured.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// Both can be read, and together they are of no use.
    #[error("[http] cert_file and key_file do not fit together: {0}")]
    Pair(String),
}

/// What the port speaks TLS with; blocks while it reads the files.
///
/// # Errors
/// A file of no use.
pub fn server_config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServerTlsError> {
    let bad = |setting: &'static str, path: &Path, why: String| ServerTlsError::File {
        setting,
        path: path.display().to_string(),
        why,
    };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad("cert_file", cert, error.to_string()))?;
    let read = PrivateKeyDer::from_pem_file(key);
    let key_read = read.map_err(|error| bad("key_file", key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pair = |error: rustls::Error| ServerTlsError::Pair(error.to_string());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, key_read)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
