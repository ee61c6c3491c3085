//! One request over one connection that dialer made: TLS where the address says so, then HTTP/1.1. Redirects are
//! not followed, upgrades and compressed replies are refused. It makes no socket and sets no option of one.

use crate::address::Address;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ipc_proto::credproxy::CredError;
use ipc_proto::dialer::{DialError, Host};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The largest head of a reply, bytes.
const HEAD_BOUND: usize = 64 * 1024;

/// How long an upstream may take, and how much it may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For the TLS handshake.
    pub(crate) handshake: Duration,
    /// From the request to the head of the reply. With recording, dialling and the handshake before it, it stays
    /// within the 130 s of `request`.
    pub(crate) head: Duration,
    /// Between two pieces of a body.
    pub(crate) stall: Duration,
    /// A reply that its caller does not pull for so long is let go.
    pub(crate) idle: Duration,
    /// The longest body, bytes; one that does not end is cut there, as an error.
    pub(crate) body: u64,
}

impl Limits {
    /// What the host uses.
    pub(crate) const USUAL: Self = Self {
        handshake: Duration::from_secs(10),
        head: Duration::from_secs(90),
        stall: Duration::from_secs(120),
        idle: Duration::from_secs(300),
        body: 64 * 1024 * 1024,
    };
}

/// What a connection is to HTTP: a stream of bytes, encrypted or not.
pub(crate) trait Bytewise: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Bytewise for T {}

/// The task that drives a connection; dropping it closes the connection.
pub(crate) struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes a dialled descriptor into a stream to the address, with TLS where it says so.
pub(crate) async fn open(
    descriptor: OwnedFd,
    address: &Address,
    tls: &Arc<ClientConfig>,
    limits: Limits,
) -> Result<Box<dyn Bytewise>, CredError> {
    let stream = adopt(descriptor).map_err(|_| CredError::Dial(DialError::Down))?;
    if !address.tls {
        return plain(stream);
    }
    let name = server_name(&address.target.host)?;
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(tls));
    match timeout(limits.handshake, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(_)) | Err(_) => Err(CredError::Tls),
    }
}

fn adopt(descriptor: OwnedFd) -> std::io::Result<TcpStream> {
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// Without TLS the only proof of who is at the other end is the kernel's, that it is this machine.
fn plain(stream: TcpStream) -> Result<Box<dyn Bytewise>, CredError> {
    match stream.peer_addr() {
        Ok(peer) if peer.ip().is_loopback() => Ok(Box::new(stream)),
        _ => Err(CredError::Dial(DialError::NotAllowed)),
    }
}

fn server_name(host: &Host) -> Result<ServerName<'static>, CredError> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| CredError::BadUrl),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

/// The request as HTTP.
pub(crate) fn request(
    address: &Address,
    post: bool,
    headers: HeaderMap,
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, CredError> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = if post { Method::POST } else { Method::GET };
    *request.uri_mut() = address.path.parse().map_err(|_| CredError::BadUrl)?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Sends it and waits for the head of the reply. The body follows while the driver lives.
pub(crate) async fn send(
    stream: Box<dyn Bytewise>,
    request: Request<Full<Bytes>>,
    limits: Limits,
) -> Result<(Response<Incoming>, Driver), CredError> {
    let built = http1::Builder::new().max_buf_size(HEAD_BOUND).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = built.map_err(|_| CredError::Upstream)?;
    let driver = Driver(tokio::task::spawn_local(async move {
        // What ends the connection is told to whoever reads the body.
        drop(connection.await);
    }));
    let reply = match timeout(limits.head, sender.send_request(request)).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) => return Err(CredError::Upstream),
        Err(_) => return Err(CredError::Stalled),
    };
    if is_opaque(&reply) {
        return Err(CredError::Upstream);
    }
    Ok((reply, driver))
}

/// Whether the body would not be the plain bytes in which a secret can be found.
fn is_opaque(reply: &Response<Incoming>) -> bool {
    let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    reply.status() == StatusCode::SWITCHING_PROTOCOLS
        || !reply.headers().get_all(CONTENT_ENCODING).iter().all(plain)
}

/// `Retry-After` in seconds; a date is left out, since the clocks of two machines differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}
