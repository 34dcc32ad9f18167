//! TLS to stores: whom this client trusts, and what it shows of itself. Files that change count
//! from the next connection on.
//!
//! Invariant: both kinds of store take their certificates from here, and a file that is of no use
//! is named with the reason, at the start and never at the first request; later it changes
//! nothing. Next stop: [`super::elasticsearch::http`], `super::archive::s3`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::followed::Followed;

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

/// What connections to a store are made with. Blocks while the files are read, here and at the
/// handshakes after one has changed.
///
/// # Errors
/// A file that cannot be used.
pub fn client_config(files: &TlsFiles) -> Result<ClientConfig, TlsSetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsSetupError::Other(error.to_string()))?;
    let builder = match &files.ca {
        None => builder.with_root_certificates(system_roots()),
        Some(ca) => {
            let trust = Arc::new(Trust::new(ca.clone(), Arc::clone(&provider))?);
            builder.dangerous().with_custom_certificate_verifier(trust)
        }
    };
    let mut config = match &files.client {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let shown = Shown::new(cert.clone(), key.clone(), provider)?;
            builder.with_client_cert_resolver(Arc::new(shown))
        }
    };
    if files.ca.is_some() || files.client.is_some() {
        // A resumed session would go on with what its first handshake was of.
        config.resumption = Resumption::disabled();
    }
    Ok(config)
}

/// Verifies servers by the authorities of a file, as it is at each handshake.
#[derive(Debug)]
struct Trust {
    verifier: Followed<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn new(ca: PathBuf, provider: Arc<CryptoProvider>) -> Result<Trust, TlsSetupError> {
        let for_verifier = Arc::clone(&provider);
        let verifier = Followed::new(vec![ca.clone()], move || {
            let (roots, provider) = (Arc::new(authorities(&ca)?), Arc::clone(&for_verifier));
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            verifier.map_err(|error| TlsSetupError::Other(error.to_string()))
        })?;
        Ok(Trust { verifier, provider })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verifier = self.verifier.get();
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Shows the certificate of a file, as it is at each handshake.
#[derive(Debug)]
struct Shown(Followed<Arc<CertifiedKey>>);

impl Shown {
    fn new(
        cert: PathBuf,
        key: PathBuf,
        provider: Arc<CryptoProvider>,
    ) -> Result<Shown, TlsSetupError> {
        let paths = vec![cert.clone(), key.clone()];
        let read = move || certified_key(&cert, &key, &provider).map(Arc::new);
        Followed::new(paths, read).map(Shown)
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&*self.0.get()))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// A chain of certificates and the key of its first, from PEM files. Blocks while they are read.
///
/// # Errors
/// A file that cannot be read, holds nothing of use, or is not of the other.
pub(crate) fn certified_key(
    cert: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsSetupError> {
    let chain = certificates(cert)?;
    let bad_key = |error: PemError| TlsSetupError::Key { path: shown(key), why: told(&error) };
    let key_read = PrivateKeyDer::from_pem_file(key).map_err(bad_key)?;
    let pair = |error: rustls::Error| TlsSetupError::Pair {
        cert: shown(cert),
        key: shown(key),
        why: error.to_string(),
    };
    CertifiedKey::from_der(chain, key_read, provider).map_err(pair)
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // An unreadable system certificate is not our problem unless none is left; then every https
    // request says so by failing verification.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsSetupError> {
    let mut roots = RootCertStore::empty();
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
