//! How upstreams are believed: the public certificate authorities, and those in `extra-roots.pem` of the own
//! folder if an owner put it there (a private authority, or a test's). Read before the seal.

use crate::store::Store;
use rustls::ClientConfig;
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
    /// The file holds something that stands for no authority.
    #[error("extra-roots.pem: {0}")]
    Roots(::upstream::TlsFault),
}

/// The client's side of TLS, with the authorities of the file.
pub(crate) fn client(store: &Store) -> Result<Arc<ClientConfig>, TlsFault> {
    let file = store.read(EXTRA_FILE, BOUND).map_err(TlsFault::File)?;
    ::upstream::client(&file.map(|file| file.bytes).unwrap_or_default()).map_err(TlsFault::Roots)
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
