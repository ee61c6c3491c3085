//! The greeting of TLS that a tunnel begins with: the host that it names is the one that the tunnel was opened to, or nothing passes.

use ipc_proto::dialer::Host;
use ipc_proto::egress::EgressError;
use rustls::server::Acceptor;

/// Bytes of a greeting.
const BOUND: usize = 64 * 1024;

/// A greeting that has not come whole.
pub(crate) struct Greeting {
    host: Host,
    acceptor: Acceptor,
    held: Vec<u8>,
}

impl Greeting {
    /// None yet, of a tunnel to this host.
    pub(crate) fn new(host: Host) -> Self {
        Self { host, acceptor: Acceptor::default(), held: Vec::new() }
    }

    /// Takes further bytes; gives all of them back once the greeting is whole and names the host.
    ///
    /// # Errors
    /// [`EgressError::OtherName`].
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<Option<Vec<u8>>, EgressError> {
        self.held.extend_from_slice(bytes);
        if self.held.len() > BOUND {
            return Err(EgressError::OtherName);
        }
        while !bytes.is_empty() {
            match self.acceptor.read_tls(&mut bytes) {
                Ok(0) | Err(_) => return Err(EgressError::OtherName),
                Ok(_) => {}
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) if self.names(accepted.client_hello().server_name()) => {
                    return Ok(Some(std::mem::take(&mut self.held)));
                }
                Ok(Some(_)) | Err(_) => return Err(EgressError::OtherName),
            }
        }
        Ok(None)
    }

    /// An address cannot be named in a greeting, so that no tunnel leads to one.
    fn names(&self, name: Option<&str>) -> bool {
        name.and_then(|name| name.parse::<Host>().ok()).is_some_and(|name| name == self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::sync::Arc;

    fn greeting(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.unwrap().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut bytes = Vec::new();
        ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut bytes).unwrap();
        bytes
    }

    fn of(host: &str) -> Greeting {
        Greeting::new(host.parse().unwrap())
    }

    #[test]
    fn a_greeting_that_names_the_host_passes_whole_however_it_is_cut() {
        let whole = greeting("a.example");
        for size in [1, 7, whole.len()] {
            let (mut greeting, mut passed) = (of("a.example"), None);
            for part in whole.chunks(size) {
                passed = greeting.take(part).unwrap();
            }
            assert_eq!(passed.as_ref(), Some(&whole), "{size}");
        }
    }

    #[test]
    fn another_name_no_name_and_no_greeting_are_refused() {
        for (host, bytes) in [
            ("a.example", greeting("b.example")),
            ("a.example", greeting("a.example.evil.example")),
            ("a.example", greeting("127.0.0.1")),
            ("127.0.0.1", greeting("127.0.0.1")),
            ("a.example", b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec()),
            ("a.example", b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        ] {
            assert_eq!(of(host).take(&bytes), Err(EgressError::OtherName), "{host}");
        }
        let mut endless = of("a.example");
        let mut head = greeting("a.example");
        head.truncate(40);
        assert_eq!(endless.take(&head), Ok(None), "half a greeting passes nothing");
    }
}
