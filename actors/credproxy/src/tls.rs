//! How upstreams are believed: the public certificate authorities, and those in `extra-roots.pem` of the own
//! folder if an owner put it there (a private authority, or a test's). Read before the seal.

use crate::store::Store;
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;

/// Certificates of more authorities.
pub(crate) const EXTRA_FILE: &str = "extra-roots.pem";
/// Stands before each.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
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
    /// The file holds something else.
    #[error("extra-roots.pem holds no certificate: PEM is wanted, with `-----BEGIN CERTIFICATE-----`")]
    None,
}

/// The client's side of TLS, with the authorities of the file.
pub(crate) fn client(store: &Store) -> Result<Arc<ClientConfig>, TlsFault> {
    let file = store.read(EXTRA_FILE, BOUND).map_err(TlsFault::File)?;
    let bytes = file.map(|file| file.bytes).unwrap_or_default();
    // Taken for one of no authorities, what its owner meant would be missed at the first handshake.
    if !bytes.trim_ascii().is_empty() && !bytes.windows(BEGIN.len()).any(|part| part == BEGIN) {
        return Err(TlsFault::None);
    }
    ::upstream::client(&bytes).map_err(TlsFault::Roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_roots_that_is_no_certificate_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(client(&store).is_ok());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for bad in [broken.as_bytes(), b"no certificate", b"\x30\x82\x03\x00"] {
            std::fs::write(folder.path().join(EXTRA_FILE), bad).unwrap();
            assert!(client(&store).unwrap_err().to_string().contains(EXTRA_FILE));
        }
        std::fs::write(folder.path().join(EXTRA_FILE), "\n").unwrap();
        assert!(client(&store).is_ok(), "an empty one names none");
    }
}
