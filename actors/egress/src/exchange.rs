//! One request and its reply: connect or use a connection again, send, and give the body out piece by piece.

use crate::connections::{Connections, Key};
use crate::request::{self, build, told};
use crate::tunnel::Tunnel;
use bytes::Bytes;
use futures::FutureExt;
use http::Request;
use http::response::Parts;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Frame, Incoming};
use ipc_proto::Blob;
use ipc_proto::dialer::{DialError, HostPort};
use ipc_proto::egress::{self, EgressError, Head, Origin, PIECE, Piece, ReplyId};
use kit::Dial;
use rustls::ClientConfig;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use upstream::{Bytewise, Conversation, Fault, Upgraded};

/// Replies that are open at once, of all jails.
pub(crate) const AT_ONCE: usize = 256;
/// How long a server may take for its head, and how long it may be silent within a body.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open reply.
struct Reply {
    key: Key,
    body: Incoming,
    conversation: Conversation,
    /// Bytes that came and did not fit the last piece.
    left: Bytes,
}

/// Egress itself.
pub(crate) struct Exchanges {
    dial: Dial,
    tls: Arc<ClientConfig>,
    replies: RefCell<HashMap<ReplyId, Reply>>,
    tunnels: RefCell<HashMap<ReplyId, Rc<Tunnel>>>,
    connections: RefCell<Connections>,
    next: Cell<u64>,
    /// Requests whose head has not come.
    asking: Cell<usize>,
}

impl Exchanges {
    /// None yet.
    pub(crate) fn new(dial: Dial, tls: Arc<ClientConfig>) -> Self {
        Self {
            dial,
            tls,
            replies: RefCell::default(),
            tunnels: RefCell::default(),
            connections: RefCell::default(),
            next: Cell::new(1),
            asking: Cell::new(0),
        }
    }

    /// Requests and replies that are under way.
    pub(crate) fn open(&self) -> usize {
        self.replies.borrow().len() + self.tunnels.borrow().len() + self.asking.get()
    }

    /// Sends a request and waits for the head of the reply.
    pub(crate) async fn request(&self, scope: u64, request: egress::Request) -> Result<Head, EgressError> {
        if self.open() >= AT_ONCE {
            return Err(EgressError::Busy);
        }
        let (key, websocket) = ((scope, request.origin.clone()), request.websocket);
        let request = build(request)?;
        self.asking.set(self.asking.get() + 1);
        let replied = if websocket { self.upgrade(key, request).await } else { self.ask(key, request).await };
        self.asking.set(self.asking.get() - 1);
        replied
    }

    async fn ask(&self, key: Key, request: Request<Full<Bytes>>) -> Result<Head, EgressError> {
        let (parts, body, conversation) = self.send(&key, request).await?;
        Ok(self.head(parts, Reply { key, body, conversation, left: Bytes::new() }))
    }

    /// Asks for a WebSocket, over a connection of its own.
    async fn upgrade(&self, key: Key, request: Request<Full<Bytes>>) -> Result<Head, EgressError> {
        let stream = self.open_stream(&key.1, key.1.tls.then_some(&self.tls)).await?;
        match upstream::upgrade(stream, request, PATIENCE).await.map_err(broken)? {
            Upgraded::Refused(reply, conversation) => {
                let (parts, body) = reply.into_parts();
                Ok(self.head(parts, Reply { key, body, conversation, left: Bytes::new() }))
            }
            Upgraded::Agreed(parts, stream, left) => {
                let reply = self.keep_tunnel(Tunnel::upgraded(stream, left));
                let (headers, _) = told(&parts.headers);
                let status = parts.status.as_u16();
                Ok(Head { reply, status, headers, length: None, first: Piece::default() })
            }
        }
    }

    /// Opens a tunnel for TLS.
    pub(crate) async fn tunnel(&self, origin: &Origin) -> Result<ReplyId, EgressError> {
        if self.open() >= AT_ONCE {
            return Err(EgressError::Busy);
        }
        self.asking.set(self.asking.get() + 1);
        let stream = self.open_stream(origin, None).await;
        self.asking.set(self.asking.get() - 1);
        Ok(self.keep_tunnel(Tunnel::secured(stream?, request::host(origin)?)))
    }

    /// Sends bytes into a tunnel. One that fails is over.
    pub(crate) async fn push(&self, id: ReplyId, piece: Piece) -> Result<(), EgressError> {
        let tunnel = self.tunnels.borrow().get(&id).cloned().ok_or(EgressError::NoReply)?;
        tunnel.send(piece).await.inspect_err(|_| self.close(id))
    }

    fn keep_tunnel(&self, tunnel: Tunnel) -> ReplyId {
        let id = self.number();
        self.tunnels.borrow_mut().insert(id, Rc::new(tunnel));
        id
    }

    fn number(&self) -> ReplyId {
        ReplyId(self.next.replace(self.next.get() + 1))
    }

    /// Sends over a connection that waits, and over a new one where there is none or it was closed in the meantime.
    async fn send(
        &self,
        key: &Key,
        request: Request<Full<Bytes>>,
    ) -> Result<(Parts, Incoming, Conversation), EgressError> {
        let waiting = self.connections.borrow_mut().take(key);
        if let Some(mut conversation) = waiting {
            match conversation.pass(request.clone(), PATIENCE).await {
                Err(Fault::Unsent) => {}
                sent => {
                    let (parts, body) = sent.map_err(broken)?.into_parts();
                    return Ok((parts, body, conversation));
                }
            }
        }
        let mut conversation = self.connect(&key.1).await?;
        let (parts, body) = conversation.pass(request, PATIENCE).await.map_err(broken)?.into_parts();
        Ok((parts, body, conversation))
    }

    async fn connect(&self, origin: &Origin) -> Result<Conversation, EgressError> {
        let stream = self.open_stream(origin, origin.tls.then_some(&self.tls)).await?;
        Conversation::begin(stream).await.map_err(broken)
    }

    async fn open_stream(
        &self,
        origin: &Origin,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Box<dyn Bytewise>, EgressError> {
        let host = request::host(origin)?;
        let target = HostPort { host: host.clone(), port: origin.port };
        let descriptor = self.dial.connect(&target).await.map_err(EgressError::Dial)?;
        upstream::open(descriptor, &host, tls, PATIENCE).await.map_err(broken)
    }

    /// The head of a reply, with as much of its body as is there already.
    fn head(&self, parts: Parts, mut reply: Reply) -> Head {
        let id = self.number();
        let (headers, length) = told(&parts.headers);
        let came = if reply.body.is_end_stream() { Some(None) } else { reply.body.frame().now_or_never() };
        let first = match came {
            None => Piece::default(),
            Some(None) => Piece { last: true, ..Piece::default() },
            Some(Some(Ok(frame))) => reply.piece(frame),
            // The next piece says that it broke.
            Some(Some(Err(_))) => Piece::default(),
        };
        self.put_back(id, reply, first.last);
        Head { reply: id, status: parts.status.as_u16(), headers, length, first }
    }

    /// The next piece of a reply.
    pub(crate) async fn next(&self, id: ReplyId) -> Result<Piece, EgressError> {
        let tunnel = self.tunnels.borrow().get(&id).cloned();
        if let Some(tunnel) = tunnel {
            let piece = tunnel.next().await.inspect_err(|_| self.close(id))?;
            if piece.last {
                self.close(id);
            }
            return Ok(piece);
        }
        let mut reply = self.replies.borrow_mut().remove(&id).ok_or(EgressError::NoReply)?;
        let piece = if reply.left.is_empty() {
            match timeout(PATIENCE, reply.body.frame()).await {
                Err(_) => return Err(EgressError::TimedOut),
                Ok(Some(Err(_))) => return Err(EgressError::Upstream),
                Ok(Some(Ok(frame))) => reply.piece(frame),
                Ok(None) => Piece { last: true, ..Piece::default() },
            }
        } else {
            let left = std::mem::take(&mut reply.left);
            reply.cut(left)
        };
        self.put_back(id, reply, piece.last);
        Ok(piece)
    }

    /// Keeps a reply that goes on, and the connection of one that is over.
    fn put_back(&self, id: ReplyId, reply: Reply, over: bool) {
        if over {
            self.connections.borrow_mut().keep(reply.key, reply.conversation);
        } else {
            self.replies.borrow_mut().insert(id, reply);
        }
    }

    /// Lets a reply go, and its connection with it.
    pub(crate) fn close(&self, id: ReplyId) {
        self.replies.borrow_mut().remove(&id);
        self.tunnels.borrow_mut().remove(&id);
    }

    /// Lets everything go: the caller is gone.
    pub(crate) fn clear(&self) {
        self.replies.borrow_mut().clear();
        self.tunnels.borrow_mut().clear();
        self.connections.borrow_mut().clear();
    }
}

impl Reply {
    fn piece(&mut self, frame: Frame<Bytes>) -> Piece {
        // Trailers are not passed on.
        let bytes = frame.into_data().unwrap_or_default();
        self.cut(bytes)
    }

    /// As much of these bytes as one piece takes.
    fn cut(&mut self, mut bytes: Bytes) -> Piece {
        self.left = bytes.split_off(bytes.len().min(PIECE));
        let last = self.left.is_empty() && self.body.is_end_stream();
        Piece { bytes: Blob::new(bytes).unwrap_or_default(), last }
    }
}

const fn broken(fault: Fault) -> EgressError {
    match fault {
        Fault::Descriptor => EgressError::Dial(DialError::Down),
        Fault::Name | Fault::Tls => EgressError::Tls,
        Fault::Protocol | Fault::Unsent | Fault::Compressed => EgressError::Upstream,
        Fault::Stalled => EgressError::TimedOut,
    }
}
