//! A line over TLS, and the authority that it is trusted by.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks at what changed meanwhile, and for the client's part of a handshake.
const LOOK: Duration = Duration::from_millis(50);
const HANDSHAKE: Duration = Duration::from_secs(30);

/// An authority of its own as PEM, and the server's side of TLS on 127.0.0.1 by it.
pub(super) fn authority() -> (String, Arc<ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("its key");
    let chain = vec![made.cert.der().clone()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.expect("versions").with_no_client_auth().with_single_cert(chain, key);
    let body = STANDARD.encode(made.cert.der());
    let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    (pem, Arc::new(config.expect("the server's side")))
}

/// A line.
pub(super) struct Stream {
    stream: StreamOwned<ServerConnection, TcpStream>,
    buffer: Vec<u8>,
}

impl Stream {
    /// A line whose handshake is over; one that fails ends with the first read.
    pub(super) fn new(mut stream: TcpStream, config: Arc<ServerConfig>) -> Self {
        stream.set_read_timeout(Some(HANDSHAKE)).expect("a time");
        let mut connection = ServerConnection::new(config).expect("a connection");
        while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
        stream.set_read_timeout(Some(LOOK)).expect("a time");
        Self { stream: StreamOwned::new(connection, stream), buffer: Vec::new() }
    }

    /// Sends a text; an error means that nobody is there.
    pub(super) fn say(&mut self, text: &str) -> Option<()> {
        self.stream.write_all(text.as_bytes()).ok()?;
        self.stream.flush().ok()
    }

    /// The bytes up to this end, which is left out. While none come, `meanwhile` is asked for a text to send.
    pub(super) fn until(
        &mut self,
        end: &str,
        mut meanwhile: impl FnMut() -> Option<String>,
    ) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end.as_bytes()) {
                let rest = self.buffer.split_off(at + end.len());
                let mut taken = std::mem::replace(&mut self.buffer, rest);
                taken.truncate(at);
                return String::from_utf8(taken).ok();
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if let Some(text) = meanwhile() {
                        self.say(&text)?;
                    }
                }
                Err(_) => return None,
            }
        }
    }

    /// The next line.
    pub(super) fn line(&mut self) -> Option<String> {
        self.until("\r\n", || None)
    }

    /// This number of bytes.
    pub(super) fn exactly(&mut self, length: usize) -> Option<String> {
        while self.buffer.len() < length {
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.buffer.extend_from_slice(&bytes[..read]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return None,
            }
        }
        let rest = self.buffer.split_off(length);
        String::from_utf8(std::mem::replace(&mut self.buffer, rest)).ok()
    }
}
