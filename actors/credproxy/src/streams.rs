//! Streams of a channel's account: sockets and uploads. Each goes to a host of the account, and every secret that goes out is on the
//! record before.

use crate::address::Address;
use crate::binding::Wanted;
use crate::draft::Draft;
use crate::lines::{Line, server_of};
use crate::poll_leases::Poll;
use crate::proxy::{Outside, Proxy, Used, hash, wanted};
use crate::replies::Replies;
use crate::reply::Held;
use crate::socket_message;
use crate::socket_stream::SocketStream;
use crate::stream_table::{Open, Streams};
use crate::upstream::{self, broken};
use ::upstream::{NoUpgrade, Received, Socket, Upload};
use bytes::Bytes;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::{
    CredError, Incoming, Insertion, MESSAGE_BOUND, Opening, Outgoing, Request, SocketAddress, Stream,
    UPLOAD_BOUND, Verb,
};
use ipc_proto::{Blob, Name, Text};
use manifest::Process;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a caller waits for a message before it hears that there is none.
const QUIET: Duration = Duration::from_secs(25);
/// Bytes of a reply that an address is read from.
const TICKET_BOUND: usize = 64 * 1024;

/// The caller and its account.
pub(crate) type Owner = (Process, Name);

impl<O: Outside> Proxy<O> {
    /// Opens a stream for an account.
    pub(crate) async fn open_stream(
        &self,
        owner: Owner,
        streams: &Streams,
        opening: Opening,
    ) -> Result<Stream, CredError> {
        let room = streams.room()?;
        let account = owner.1.clone();
        let open = match opening {
            Opening::Socket { address, headers, secret } => {
                let url = match address {
                    SocketAddress::Url(url) => url,
                    SocketAddress::Reply(request, pointer) => {
                        self.address_in_reply(owner.clone(), *request, &pointer).await?
                    }
                };
                let url = over_http(&url)?;
                let (verb, body) = (Verb::Get, Blob::default());
                let request = Request { verb, url, headers, body, secret, cookies: false };
                self.upgrade(owner, request).await?
            }
            Opening::Upload { verb, url, headers, secret, length } => {
                let body = Blob::default();
                let request = Request { verb, url, headers, body, secret, cookies: false };
                self.upload(owner, request, length).await?
            }
            Opening::Line { protocol, server, upgrade, name, user, secret, mechanism } => {
                let line =
                    Line { protocol, server: server_of(&server)?, upgrade, name, user, secret, mechanism };
                Open::Line(self.open_line(owner, line).await?)
            }
        };
        Ok(streams.insert(account, open, room))
    }

    /// Sends a message of a socket, or the next bytes of an upload.
    pub(crate) async fn push(
        &self,
        caller: Process,
        streams: &Streams,
        (id, outgoing): (Stream, Outgoing),
    ) -> Result<(), CredError> {
        let entry = streams.get(id)?;
        match (&entry.open, outgoing) {
            (Open::Socket { socket, target, path }, Outgoing::Message { text, secret }) => {
                let text = match secret {
                    None => text.into_string(),
                    Some(insertion) => {
                        let place = socket_message::place(&insertion)?;
                        let target = self.accounts.bound_as(caller, &entry.account, target);
                        let wanted = Wanted { target, verb: Verb::Get, path: path.clone(), at: place };
                        self.filled((caller, &entry.account), &text, insertion, wanted).await?
                    }
                };
                socket.send(text).await
            }
            (Open::Upload(upload), Outgoing::Piece(bytes)) => {
                let upload = upload.lock().await;
                let (upload, _) = upload.as_ref().ok_or(CredError::NoReply)?;
                upload.push(Bytes::from(bytes.into_vec()), self.limits.stall).await.map_err(broken)
            }
            (Open::Line(line), Outgoing::Piece(bytes)) => line.send(&bytes, self.limits.stall).await,
            _ => Err(CredError::NoReply),
        }
    }

    /// The next message of a socket, or the head of the reply to an upload, which is over with that.
    pub(crate) async fn pull(
        &self,
        (streams, replies): (&Streams, &Replies),
        id: Stream,
    ) -> Result<Incoming, CredError> {
        let entry = streams.get(id)?;
        let pulled = match &entry.open {
            Open::Socket { socket, .. } => match timeout(QUIET, socket.next()).await {
                Err(_) => return Ok(Incoming::Quiet),
                Ok(Some(Ok(Received::Message(message)))) => return self.cleaned(&message).await,
                Ok(Some(Ok(Received::Closed(code)))) => Ok(Incoming::Closed { code }),
                Ok(Some(Err(fault))) => Err(fault),
                Ok(None) => Ok(Incoming::Closed { code: None }),
            },
            Open::Line(line) => {
                let live = Arc::clone(&self.patterns.borrow());
                let came = line.next(QUIET, &live).await;
                self.record_redaction(came.as_ref().map_or(0, |came| came.masked)).await;
                match came.map(|came| came.incoming) {
                    Ok(incoming) if !matches!(incoming, Incoming::Closed { .. }) => return Ok(incoming),
                    over => over,
                }
            }
            Open::Upload(upload) => match upload.lock().await.take() {
                None => Err(CredError::NoReply),
                Some((upload, slot)) => match upload.finish(self.limits.head).await {
                    Err(fault) => Err(broken(fault)),
                    Ok((reply, connection)) => {
                        let held = Held::Own { _connection: connection };
                        let head = self.begin_reply(replies, (reply, false), held, slot).await;
                        Ok(Incoming::Head(Box::new(head)))
                    }
                },
            },
        };
        streams.close(id);
        pulled
    }

    async fn cleaned(&self, message: &[u8]) -> Result<Incoming, CredError> {
        let live = Arc::clone(&self.patterns.borrow());
        let (clean, cut_out) = socket_message::clean(message, &[&live]);
        self.record_redaction(cut_out).await;
        Blob::new(clean).map(Incoming::Message).map_err(|_| CredError::Upstream)
    }

    /// A message with its secret in it, once the use of that is on the record.
    async fn filled(
        &self,
        (caller, account): (Process, &Name),
        text: &str,
        insertion: Insertion,
        wanted: Wanted,
    ) -> Result<String, CredError> {
        let Insertion { secret, pointer } = insertion;
        let sum: [u8; 32] = Sha256::digest(text).into();
        if !self.accounts.owns(caller, account, &secret) {
            tracing::warn!(caller = caller.name(), "refused: a message with a secret that is not its own");
            let event = Event::new(Action::SecretMisdirected, Result3::Blocked).about(&secret);
            self.note(Event { hash: Some(sum), ..event.because("not a secret of the account") }).await;
            return Err(CredError::NotBound);
        }
        socket_message::check(text, &pointer)?;
        let used = Used { name: secret, wanted, sum, bytes: text.len() as u64, poll: None };
        let value = self.value(&used).await?;
        socket_message::fill(text, &pointer, &value)
    }

    async fn upgrade(&self, owner: Owner, request: Request) -> Result<Open, CredError> {
        let address = self.own_address(&owner, &request).await?;
        let (caller, account) = owner;
        let poll = request.secret.as_ref().map(|placement| Poll {
            caller,
            account,
            secret: placement.secret.clone(),
            target: address.target.clone(),
            path: address.path.clone(),
        });
        let draft = self.drafted(request, &address, poll).await?;
        let (parts, _) = draft.finish()?.into_parts();
        let descriptor = self.outside.dial(&address.target).await?;
        let stream = upstream::connect(descriptor, &address, &self.tls, self.limits).await?;
        let path = parts.uri.to_string();
        let asked = Socket::upgrade(stream, &path, parts.headers, MESSAGE_BOUND, self.limits.head).await;
        let socket = asked.map_err(|fault| match fault {
            NoUpgrade::Status(status) => CredError::NoUpgrade { status },
            NoUpgrade::Fault(fault) => broken(fault),
        })?;
        let socket = SocketStream::new(socket, self.limits);
        Ok(Open::Socket { socket, target: address.target, path: address.path })
    }

    async fn upload(&self, owner: Owner, request: Request, length: u64) -> Result<Open, CredError> {
        if length > UPLOAD_BOUND {
            return Err(CredError::Full);
        }
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| CredError::Full)?;
        let address = self.own_address(&owner, &request).await?;
        let draft = self.drafted(request, &address, None).await?;
        let request = draft.finish()?.map(|_| ());
        let descriptor = self.outside.dial(&address.target).await?;
        let stream = upstream::connect(descriptor, &address, &self.tls, self.limits).await?;
        let upload = Upload::begin(stream, request, length).await.map_err(broken)?;
        Ok(Open::Upload(tokio::sync::Mutex::new(Some((upload, slot)))))
    }

    /// The address of a request, if it is one of the account's, with a secret of the account's or with none.
    async fn own_address(&self, (caller, account): &Owner, request: &Request) -> Result<Address, CredError> {
        let address = Address::parse(&request.url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        let secret = request.secret.as_ref().map(|placement| &placement.secret);
        if self.accounts.admits(*caller, account, &address.target, secret) {
            return Ok(address);
        }
        self.refused(*caller, request, "not a host or a secret of the account").await
    }

    /// A request with its secret in it, once the use of that is on the record.
    async fn drafted(
        &self,
        request: Request,
        address: &Address,
        poll: Option<Poll>,
    ) -> Result<Draft, CredError> {
        let (sum, placement) = (hash(&request), request.secret.clone());
        let verb = request.verb;
        let mut draft = Draft::new(request, address)?;
        if let Some(placement) = placement {
            let wanted = wanted(&placement, address, verb);
            let used = Used { name: placement.secret, wanted, sum, bytes: 0, poll };
            draft.fill(&self.value(&used).await?)?;
        }
        Ok(draft)
    }

    /// The address of a socket in the reply to a request. The caller sees neither.
    async fn address_in_reply(
        &self,
        owner: Owner,
        request: Request,
        pointer: &str,
    ) -> Result<Text<2048>, CredError> {
        let replies = Replies::default();
        let head = self.channel_request(owner, &replies, request).await?;
        let (status, mut chunk) = (head.status, head.first);
        let mut body = Vec::new();
        loop {
            body.extend_from_slice(&chunk.bytes);
            if body.len() > TICKET_BOUND {
                return Err(CredError::NoUpgrade { status });
            }
            if chunk.last {
                break;
            }
            chunk = self.next(&replies, head.reply, u32::MAX).await?;
        }
        let found = socket_message::string_at(&body, pointer).and_then(|url| Text::new(url).ok());
        found.ok_or(CredError::NoUpgrade { status })
    }
}

/// The address of a socket as that of the request it begins as.
fn over_http(url: &str) -> Result<Text<2048>, CredError> {
    let (scheme, rest) = url.split_once("://").ok_or(CredError::BadUrl)?;
    let scheme = match scheme {
        "wss" => "https",
        "ws" => "http",
        _ => return Err(CredError::BadUrl),
    };
    Text::new(format!("{scheme}://{rest}")).map_err(|_| CredError::BadUrl)
}
