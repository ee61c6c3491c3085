//! How servers are believed: the public certificate authorities, and those that an owner adds.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    /// The added authorities hold something that is no certificate.
    #[error("not certificates in PEM: {0}")]
    Pem(pem::Error),
    /// A certificate cannot stand for an authority.
    #[error("{0}")]
    Root(rustls::Error),
    /// The library refuses its own defaults.
    #[error("TLS: {0}")]
    Setup(rustls::Error),
}

/// The client's side of TLS 1.2 and 1.3, HTTP/1.1 only. `extra` is PEM with more authorities; it may be empty.
///
/// # Errors
/// A part of `extra` that is no authority.
pub fn client(extra: &[u8]) -> Result<Arc<ClientConfig>, TlsFault> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(extra) {
        roots.add(certificate.map_err(TlsFault::Pem)?).map_err(TlsFault::Root)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.map_err(TlsFault::Setup)?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
