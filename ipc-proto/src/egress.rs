//! Egress makes the requests that jails send out, over connections that dialer made. It builds each anew from the fields that the
//! gate hands over, holds no secret and serves the gate alone; everything that it gives back is untrusted.

use crate::dialer::DialError;
use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a body in one request at most.
pub const BODY: usize = 8 * 1024 * 1024;
/// Bytes of a reply in one piece.
pub const PIECE: usize = 64 * 1024;
/// Header lines of a request, and of a reply.
pub const HEADERS: usize = 64;
/// Bytes of a path with its query.
pub const PATH: usize = 8192;
/// Places of a jail that connections pass to undecrypted.
pub const OPAQUE: usize = 32;

/// A place outside that a jail asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Over TLS.
    pub tls: bool,
    /// The host in its one normal form, as [`crate::dialer::Host`] writes it.
    pub host: Text<253>,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// Host and port, always both.
    #[must_use]
    pub fn host_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// As a URL without a path; the scheme's own port is left out.
    #[must_use]
    pub fn url(&self) -> String {
        let (scheme, usual) = if self.tls { ("https", 443) } else { ("http", 80) };
        if self.port == usual {
            format!("{scheme}://{}", self.host)
        } else {
            format!("{scheme}://{}", self.host_port())
        }
    }
}

/// A header line; its value is printable ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Text<8192>,
}

/// A request as a jail's program made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Where it goes.
    pub origin: Origin,
    /// Its method, in capitals.
    pub method: Name,
    /// Its path with its query, from the first slash.
    pub path: Text<PATH>,
    /// Its headers without those of the connection; egress sets host and length itself.
    pub headers: List<Line, HEADERS>,
    /// Its body.
    pub body: Blob<BODY>,
    /// It asks for a WebSocket: where the server agrees by a status of 101, bytes pass both ways from then on.
    pub websocket: bool,
}

impl Request {
    /// Returns true if it only reads: GET or HEAD without a body, and no WebSocket.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD") && self.body.is_empty() && !self.websocket
    }
}

/// A reply whose body is read piece by piece; also a tunnel or a WebSocket, which is written to as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReplyId(pub u64);

/// The head of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The reply.
    pub reply: ReplyId,
    /// HTTP status.
    pub status: u16,
    /// Its headers without those of the connection.
    pub headers: List<Line, HEADERS>,
    /// Bytes of the body, where the server says.
    pub length: Option<u64>,
    /// The beginning of the body.
    pub first: Piece,
}

/// A piece of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The bytes.
    pub bytes: Blob<PIECE>,
    /// No more follow, and the reply is let go.
    pub last: bool,
}

/// Why a request got no reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum EgressError {
    /// A field is not what it must be.
    #[error("the request's {0} cannot be sent on; send it in a plain form")]
    BadRequest(Name),
    /// No connection.
    #[error("no connection: {0}")]
    Dial(DialError),
    /// TLS failed.
    #[error("the TLS handshake with the host failed; check the host's name and certificate")]
    Tls,
    /// The server broke HTTP, or went away.
    #[error("the server broke the protocol or went away; try again")]
    Upstream,
    /// It took too long.
    #[error("the server did not answer in time; try again later")]
    TimedOut,
    /// A tunnel does not begin with a greeting of TLS, or that names no host or another one.
    #[error(
        "the tunnel does not begin with TLS for the host that it was opened to; send that host's name in the greeting"
    )]
    OtherName,
    /// The reply is not open.
    #[error("the reply is over")]
    NoReply,
    /// Too many requests at once.
    #[error("too many requests at once; try again")]
    Busy,
    /// Egress is not there.
    #[error("egress is held or away; if it is held: `agentctl release egress`")]
    Down,
}

service! {
    /// Requests of jails to the world.
    pub trait Egress {
        /// Sends a request and waits for the head of the reply. Connections are used again within a `scope`, which is the caller's
        /// number for a jail.
        [once, 8448, 75]
        async fn request(scope: u64, request: Request) -> Result<Head, EgressError>;
        /// The next piece of a reply.
        [once, 80, 75]
        async fn next(reply: ReplyId) -> Result<Piece, EgressError>;
        /// Opens a tunnel, through which TLS passes as it is. Its first bytes have to be a greeting of TLS that names the host; none
        /// pass either way before that.
        [once, 4, 75]
        async fn tunnel(origin: Origin) -> Result<ReplyId, EgressError>;
        /// Sends bytes into a tunnel or a WebSocket, the last of them if the piece says so; `next` gives those that come, and an
        /// empty piece where none came for a while.
        [once, 80, 75]
        async fn send(reply: ReplyId, piece: Piece) -> Result<(), EgressError>;
        /// Lets a reply go.
        [idempotent, 2, 10]
        async fn close(reply: ReplyId) -> ();
    }
}
