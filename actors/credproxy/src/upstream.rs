//! A connection that dialer made, as credproxy speaks over it: TLS where the address says so, then HTTP/1.1. It makes
//! no socket and sets no option of one.

use crate::address::Address;
use ::upstream::{Bytewise, Conversation, Fault};
use ipc_proto::credproxy::CredError;
use ipc_proto::dialer::DialError;
use rustls::ClientConfig;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

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
    /// The limits of a host.
    pub(crate) const USUAL: Self = Self {
        handshake: Duration::from_secs(10),
        head: Duration::from_secs(90),
        stall: Duration::from_secs(120),
        idle: Duration::from_secs(300),
        body: 64 * 1024 * 1024,
    };
}

/// Makes a dialled descriptor into a conversation with the address, with TLS where it says so.
pub(crate) async fn open(
    descriptor: OwnedFd,
    address: &Address,
    tls: &Arc<ClientConfig>,
    limits: Limits,
) -> Result<Conversation, CredError> {
    let stream = connect(descriptor, address, tls, limits).await?;
    Conversation::begin(stream).await.map_err(broken)
}

/// Makes a dialled descriptor into a stream to the address, with TLS where it says so.
pub(crate) async fn connect(
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
    let opened = ::upstream::open(stream.into(), &address.target.host, tls, limits.handshake).await;
    opened.map_err(broken)
}

/// Returns true if the other end is this machine. Without TLS that is the only proof of the other end.
fn is_own(stream: &std::net::TcpStream) -> bool {
    stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback())
}

/// The fault of a conversation as the caller sees it.
pub(crate) const fn broken(fault: Fault) -> CredError {
    match fault {
        Fault::Descriptor => CredError::Dial(DialError::Down),
        Fault::Name => CredError::BadUrl,
        Fault::Tls => CredError::Tls,
        Fault::Unsent => CredError::Unsent,
        Fault::Protocol => CredError::Upstream,
        Fault::Compressed => CredError::Compressed,
        Fault::Stalled => CredError::Stalled,
    }
}
