//! TLS to stores: whom this client trusts, and what it shows of itself.
//!
//! Invariant: both kinds of store take their certificates from here, and a file that is of no use
//! is named with the reason, at the start and never at the first request. Next stop:
//! [`super::elasticsearch::http`], `super::archive::s3`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Files of TLS, all PEM.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// Certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// Certificate chain and key that this client shows.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// A file of no use, or a system of none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsSetupError {
    /// A file of certificates.
    #[error("cannot read certificates from `{path}`: {why}")]
    Certificates {
        /// As configured.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// The client's key.
    #[error("cannot read a key from `{path}`: {why}")]
    Key {
        /// As configured.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// Certificate and key do not fit together.
    #[error("`{key}` is not the key of the certificate in `{cert}`: {why}")]
    Pair {
        /// The certificate's file.
        cert: String,
        /// The key's file.
        key: String,
        /// What went wrong.
        why: String,
    },
    /// Something else.
    #[error("cannot set up TLS: {0}")]
    Other(String),
}

/// What connections to a store are made with.
///
/// # Errors
/// A file that cannot be used.
pub fn client_config(files: &TlsFiles) -> Result<ClientConfig, TlsSetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsSetupError::Other(error.to_string()))?;
    let builder = builder.with_root_certificates(roots(files.ca.as_deref())?);
    let Some((cert, key)) = &files.client else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(cert)?;
    let bad_key = |error: PemError| TlsSetupError::Key { path: shown(key), why: told(&error) };
    let key_read = PrivateKeyDer::from_pem_file(key).map_err(bad_key)?;
    let pair = |error: rustls::Error| TlsSetupError::Pair {
        cert: shown(cert),
        key: shown(key),
        why: error.to_string(),
    };
    builder.with_client_auth_cert(chain, key_read).map_err(pair)
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, TlsSetupError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca else {
        // An unreadable system certificate is not our problem unless none is left; then every
        // https request says so by failing verification.
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        return Ok(roots);
    };
    for certificate in certificates(path)? {
        let bad = |error: rustls::Error| TlsSetupError::Certificates {
            path: shown(path),
            why: error.to_string(),
        };
        roots.add(certificate).map_err(bad)?;
    }
    Ok(roots)
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let bad = |why: String| TlsSetupError::Certificates { path: shown(path), why };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(|error| bad(told(&error)))?;
    if certificates.is_empty() {
        Err(bad("it holds no certificate".to_owned()))
    } else {
        Ok(certificates)
    }
}

fn told(error: &PemError) -> String {
    match error {
        PemError::NoItemsFound => "it holds none".to_owned(),
        error => error.to_string(),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
