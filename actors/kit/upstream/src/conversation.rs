//! Requests over a connection, one after the other. Upgrades and compressed replies are refused, so that the bytes that come are
//! those that are read.

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ipc_proto::dialer::Host;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The largest head of a reply, bytes.
pub(crate) const HEAD_BOUND: usize = 64 * 1024;
/// How long a connection may take to be ready for a request.
const READY: Duration = Duration::from_millis(500);
/// Header lines of a reply.
pub(crate) const HEADERS: usize = 128;

/// Why there is no conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The descriptor is no connection.
    #[error("the descriptor is not a connection")]
    Descriptor,
    /// The name cannot stand in a certificate.
    #[error("the host cannot be named in TLS")]
    Name,
    /// No handshake, not in time, or a certificate that is not believed.
    #[error("the TLS handshake failed")]
    Tls,
    /// The server broke HTTP, went away, or changed the protocol.
    #[error("the server broke the protocol or went away")]
    Protocol,
    /// The server compressed its reply, which the request had asked it not to.
    #[error("the server compressed its reply")]
    Compressed,
    /// The connection was over before anything of the request had left.
    #[error("the server had closed the connection")]
    Unsent,
    /// No head of a reply in time.
    #[error("the server did not answer in time")]
    Stalled,
}

/// A connection as HTTP sees it: a stream of bytes, encrypted or not.
pub trait Bytewise: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Bytewise for T {}

/// The task that drives a connection; dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Driver(JoinHandle<()>);

impl Driver {
    /// Begins to drive one.
    pub(crate) fn of(connection: impl Future<Output = ()> + 'static) -> Self {
        Self(tokio::task::spawn_local(connection))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes a dialled descriptor into a stream to `host`, with TLS where there is a configuration for it: the name
/// that was judged is the name that the certificate must bear.
///
/// # Errors
/// [`Fault`].
pub async fn open(
    descriptor: OwnedFd,
    host: &Host,
    tls: Option<&Arc<ClientConfig>>,
    patience: Duration,
) -> Result<Box<dyn Bytewise>, Fault> {
    let stream = Box::new(adopt(descriptor).map_err(|_| Fault::Descriptor)?);
    match tls {
        Some(config) => secure(stream, host, config, patience).await,
        None => Ok(stream),
    }
}

/// Begins TLS over a stream to `host`.
///
/// # Errors
/// [`Fault::Name`], [`Fault::Tls`].
pub async fn secure(
    stream: Box<dyn Bytewise>,
    host: &Host,
    config: &Arc<ClientConfig>,
    patience: Duration,
) -> Result<Box<dyn Bytewise>, Fault> {
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
    match timeout(patience, connector.connect(server_name(host)?, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(_)) | Err(_) => Err(Fault::Tls),
    }
}

fn adopt(descriptor: OwnedFd) -> std::io::Result<TcpStream> {
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, Fault> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| Fault::Name),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

/// A connection over which one request after the other is sent. Dropping it closes it.
#[derive(Debug)]
pub struct Conversation {
    sender: http1::SendRequest<Full<Bytes>>,
    _driver: Driver,
}

impl Conversation {
    /// Begins one.
    ///
    /// # Errors
    /// [`Fault::Unsent`].
    pub async fn begin(stream: Box<dyn Bytewise>) -> Result<Self, Fault> {
        let (sender, connection) =
            builder().handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Unsent)?;
        // The reader of the body sees why the connection ends.
        let driver = Driver::of(async move { drop(connection.await) });
        Ok(Self { sender, _driver: driver })
    }

    /// Sends a request and waits for the head of the reply. The body follows while this lives; another request may be
    /// sent once it was read to its end.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::Unsent`] if nothing of the request has left.
    pub async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Response<Incoming>, Fault> {
        plain(self.pass(request, patience).await?)
    }

    /// The same, and the reply may be compressed: its bytes are passed on and not read.
    ///
    /// # Errors
    /// [`Fault`]; [`Fault::Unsent`] if nothing of the request has left.
    pub async fn pass(
        &mut self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Response<Incoming>, Fault> {
        let asked = async {
            // One that was used before is ready as soon as its task has seen the end of the last reply.
            let ready = timeout(READY, self.sender.ready()).await;
            ready.map_err(|_| Fault::Unsent)?.map_err(|_| Fault::Unsent)?;
            let sent = self.sender.try_send_request(request).await;
            sent.map_err(|mut fault| match fault.take_message() {
                Some(_) => Fault::Unsent,
                None => Fault::Protocol,
            })
        };
        match timeout(patience, asked).await {
            Ok(Ok(reply)) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => Err(Fault::Protocol),
            Ok(sent) => sent,
            Err(_) => Err(Fault::Stalled),
        }
    }

    /// Returns whether the other end has closed it already.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The answer to a request for another protocol.
pub enum Upgraded {
    /// The server agreed: the head of its reply, the connection, and bytes that came behind the head.
    Agreed(Box<http::response::Parts>, Box<dyn Bytewise>, Bytes),
    /// It answered by HTTP.
    Refused(Response<Incoming>, Conversation),
}

/// Sends a request for another protocol over a connection of its own. The request says itself which.
///
/// # Errors
/// [`Fault`].
pub async fn upgrade(
    stream: Box<dyn Bytewise>,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<Upgraded, Fault> {
    let (mut sender, connection) =
        builder().handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Unsent)?;
    let (give, taken) = oneshot::channel();
    let driver = Driver::of(async move { drop(give.send(connection.without_shutdown().await.ok())) });
    let asked = async { sender.send_request(request).await.map_err(|_| Fault::Protocol) };
    let reply = timeout(patience, asked).await.map_err(|_| Fault::Stalled)??;
    if reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Upgraded::Refused(reply, Conversation { sender, _driver: driver }));
    }
    let (head, _) = reply.into_parts();
    let parts = timeout(patience, taken).await.map_err(|_| Fault::Stalled)?;
    let parts = parts.ok().flatten().ok_or(Fault::Protocol)?;
    Ok(Upgraded::Agreed(Box::new(head), parts.io.into_inner(), parts.read_buf))
}

fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BOUND).max_headers(HEADERS);
    builder
}

/// Sends one request over a connection of its own and waits for the head of the reply. The body follows while what is
/// given back lives.
///
/// # Errors
/// [`Fault`].
pub async fn send(
    stream: Box<dyn Bytewise>,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<(Response<Incoming>, Conversation), Fault> {
    let mut conversation = Conversation::begin(stream).await?;
    let reply = conversation.ask(request, patience).await?;
    Ok((reply, conversation))
}

/// A reply whose body is the plain bytes that it stands for.
pub(crate) fn plain(reply: Response<Incoming>) -> Result<Response<Incoming>, Fault> {
    let identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Fault::Protocol);
    }
    if !reply.headers().get_all(CONTENT_ENCODING).iter().all(identity) {
        return Err(Fault::Compressed);
    }
    Ok(reply)
}
