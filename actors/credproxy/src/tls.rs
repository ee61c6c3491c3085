//! How upstreams are believed: the public certificate authorities, and those in `extra-roots.pem` of the own
//! folder if an owner put it there (a private authority, or a test's). Read before the seal.

use crate::store::Store;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::sync::Arc;

/// Certificates of more authorities.
pub(crate) const EXTRA_FILE: &str = "extra-roots.pem";
/// The largest such file, bytes.
const BOUND: u64 = 1024 * 1024;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsFault {
    /// The file cannot be read.
    #[error("extra-roots.pem: {0}")]
    File(#[source] io::Error),
    /// The file holds something that is no certificate.
    #[error("extra-roots.pem: not certificates in PEM: {0}")]
    Pem(rustls::pki_types::pem::Error),
    /// A certificate cannot stand for an authority.
    #[error("extra-roots.pem: {0}")]
    Root(rustls::Error),
    /// The library refuses its own defaults.
    #[error("TLS: {0}")]
    Setup(rustls::Error),
}

/// The client's side of TLS 1.2 and 1.3, HTTP/1.1 only.
pub(crate) fn client(store: &Store) -> Result<Arc<ClientConfig>, TlsFault> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = store.read(EXTRA_FILE, BOUND).map_err(TlsFault::File)? {
        for certificate in CertificateDer::pem_slice_iter(&file.bytes) {
            roots.add(certificate.map_err(TlsFault::Pem)?).map_err(TlsFault::Root)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.map_err(TlsFault::Setup)?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_roots_that_is_no_certificate_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(client(&store).is_ok());
        let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(folder.path().join(EXTRA_FILE), bad).unwrap();
        assert!(client(&store).unwrap_err().to_string().contains(EXTRA_FILE));
    }
}
