//! A shop on this machine, behind the proxy that is the shell's only way out: each host by its own pages, HTTPS by a certificate that
//! the proxy makes for the host.

use base64::Engine;
use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The shop and what was asked of it: `METHOD SCHEME://HOST/PATH BODY`.
pub(crate) struct Shop {
    pub(crate) address: String,
    /// The pin of the key that the shell is to believe.
    pub(crate) key: String,
    pub(crate) asked: Rc<RefCell<Vec<String>>>,
}

impl Shop {
    /// Opens it.
    pub(crate) async fn open() -> Self {
        let key = Rc::new(KeyPair::generate().unwrap());
        let pin = Sha256::digest(key.subject_public_key_info());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&asked);
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (key, seen) = (Rc::clone(&key), Rc::clone(&seen));
                tokio::task::spawn_local(async move { serve(stream, &key, &seen).await });
            }
        });
        let key = base64::engine::general_purpose::STANDARD.encode(pin);
        Self { address, key, asked }
    }

    /// Returns whether something that holds this was asked for.
    pub(crate) fn was_asked(&self, what: &str) -> bool {
        self.asked.borrow().iter().any(|asked| asked.contains(what))
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, key: &KeyPair, seen: &RefCell<Vec<String>>) {
    let Some(head) = head(&mut stream).await else { return };
    if let Some(tunnel) = head.strip_prefix("CONNECT ") {
        let host = tunnel.split(':').next().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let Ok(mut secured) = TlsAcceptor::from(certificate(host, key)).accept(stream).await else { return };
        let Some(head) = self::head(&mut secured).await else { return };
        answer(secured, &head, &format!("https://{host}"), seen).await;
    } else {
        answer(stream, &head, "", seen).await;
    }
}

fn certificate(host: &str, key: &KeyPair) -> Arc<ServerConfig> {
    let certificate = CertificateParams::new(vec![host.to_owned()]).unwrap().self_signed(key).unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate.into()], private).unwrap())
}

/// A request's head with as much of the body as it says there is.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        read.extend(&piece[..count]);
    }
}

async fn answer(mut stream: impl AsyncWrite + Unpin, head: &str, origin: &str, seen: &RefCell<Vec<String>>) {
    let (line, rest) = head.split_once("\r\n").unwrap();
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let url = format!("{origin}{path}");
    let body = rest.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    seen.borrow_mut().push(format!("{method} {url} {body}"));
    let cookie = head.to_lowercase().contains("cookie: session=ada");
    let Some((more, page)) = super::pages::page(&url, body, cookie) else {
        // A server that never answers.
        return std::future::pending().await;
    };
    let length = page.len();
    let status = if more.contains("Location") { "303 See Other" } else { "200 OK" };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{more}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{page}"
    );
    drop(stream.write_all(reply.as_bytes()).await);
    drop(stream.shutdown().await);
}
