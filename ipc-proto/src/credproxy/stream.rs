//! Streams: connections of a channel's account that stay open. A socket carries whole messages, so that a secret is cut out of one,
//! or put into one, without breaking a frame. An upload carries a request's body in pieces. A line of IMAP or SMTP is logged in, and
//! then passes bytes.

use super::{CHUNK, Head, Header, Placement, Request, Verb};
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Streams of one caller at once.
pub const STREAMS: usize = 16;
/// Bytes of one message of a socket.
pub const MESSAGE_BOUND: usize = 1024 * 1024;
/// Bytes of the body of an upload.
pub const UPLOAD_BOUND: u64 = 64 * 1024 * 1024;

/// A stream of one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stream(pub u64);

/// The stream to open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opening {
    /// A WebSocket.
    Socket {
        /// Its address.
        address: SocketAddress,
        /// Headers besides those of the upgrade.
        headers: List<Header, 16>,
        /// The secret of the upgrade: in a header, the path or the query.
        secret: Option<Placement>,
    },
    /// A request whose body follows in pieces.
    Upload {
        /// Its method.
        verb: Verb,
        /// Its address.
        url: Text<2048>,
        /// Its headers.
        headers: List<Header, 16>,
        /// Its secret: in a header, the path or the query, since nothing is swapped in the body.
        secret: Option<Placement>,
        /// Bytes of the body that follows, at most [`UPLOAD_BOUND`].
        length: u64,
    },
    /// A line of IMAP or SMTP, logged in.
    Line {
        /// Its protocol.
        protocol: LineProtocol,
        /// The server, `host:port`.
        server: Text<260>,
        /// True if TLS begins after `STARTTLS`, false if it begins at once.
        upgrade: bool,
        /// The name by which this host greets, a DNS name.
        name: Text<253>,
        /// The user to log in as.
        user: Text<320>,
        /// The user's secret, bound to logins.
        secret: Name,
        /// The way in which it is given.
        mechanism: Mechanism,
    },
}

/// A protocol of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineProtocol {
    /// Mail that came, RFC 9051.
    Imap,
    /// Mail that goes, RFC 5321.
    Smtp,
}

/// A way to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// User and password, RFC 4616.
    Plain,
    /// User and the token of an OAuth login.
    XOauth2,
}

impl Mechanism {
    /// As SASL writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::XOauth2 => "XOAUTH2",
        }
    }
}

/// The address of a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketAddress {
    /// `wss://host[:port]/path`; `ws` where plain HTTP may go.
    Url(Text<2048>),
    /// Read from the reply to this request, at this JSON pointer. It may hold a ticket, so the caller never sees it.
    Reply(Box<Request>, Text<128>),
}

/// A part of what is sent over a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outgoing {
    /// A text message of a socket.
    Message {
        /// JSON, if a secret goes into it.
        text: Text<MESSAGE_BOUND>,
        /// The secret that goes into it.
        secret: Option<Insertion>,
    },
    /// The next bytes of an upload or of a line.
    Piece(Blob<CHUNK>),
}

/// A place in a JSON message that a secret goes to. [`super::PLACEHOLDER`] stands there as the whole of a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insertion {
    /// The secret's name. It must be bound to a field of the last name in the pointer.
    pub secret: Name,
    /// The place, RFC 6901.
    pub pointer: Text<128>,
}

/// A part of what came over a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Incoming {
    /// A message of a socket, with every live secret cut out.
    Message(Blob<MESSAGE_BOUND>),
    /// Bytes of a line, with stars in the place of every live secret. The first are what the server can do.
    Bytes(Blob<CHUNK>),
    /// The reply to an upload, which is over. Its body is pulled as every reply's.
    Head(Box<Head>),
    /// Nothing came within 25 seconds.
    Quiet,
    /// The other end has closed the socket or the line, which is over.
    Closed {
        /// The reason of a socket, a number of RFC 6455 or of the platform.
        code: Option<u16>,
    },
}
