//! One request over one connection that dialer made: TLS where the address says so, then HTTP/1.1. Redirects are
//! not followed, upgrades and compressed replies are refused. It makes no socket and sets no option of one.

use crate::address::Address;
use ::upstream::{Bytewise, Fault};
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use ipc_proto::credproxy::CredError;
use ipc_proto::dialer::DialError;
use rustls::ClientConfig;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use ::upstream::Driver;

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

/// Makes a dialled descriptor into a stream to the address, with TLS where it says so.
pub(crate) async fn open(
    descriptor: OwnedFd,
    address: &Address,
    tls: &Arc<ClientConfig>,
    limits: Limits,
) -> Result<Box<dyn Bytewise>, CredError> {
    let stream = std::net::TcpStream::from(descriptor);
    if !address.tls && !is_own(&stream) {
        return Err(CredError::Dial(DialError::NotAllowed));
    }
    let tls = address.tls.then_some(tls);
    ::upstream::open(stream.into(), &address.target.host, tls, limits.handshake).await.map_err(broken)
}

/// Without TLS the only proof of who is at the other end is the kernel's, that it is this machine.
fn is_own(stream: &std::net::TcpStream) -> bool {
    stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback())
}

const fn broken(fault: Fault) -> CredError {
    match fault {
        Fault::Descriptor => CredError::Dial(DialError::Down),
        Fault::Name => CredError::BadUrl,
        Fault::Tls => CredError::Tls,
        Fault::Protocol => CredError::Upstream,
        Fault::Stalled => CredError::Stalled,
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

/// Sends it and waits for the head of the reply. The body follows while the driver lives. A compressed reply is
/// refused: no secret could be found in it.
pub(crate) async fn send(
    stream: Box<dyn Bytewise>,
    request: Request<Full<Bytes>>,
    limits: Limits,
) -> Result<(Response<Incoming>, Driver), CredError> {
    ::upstream::send(stream, request, limits.head).await.map_err(broken)
}

/// `Retry-After` in seconds; a date is left out, since the clocks of two machines differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}
