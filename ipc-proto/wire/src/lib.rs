//! How an interface crosses a Unix socket: a hello frame first, then length-delimited bincode.
//!
//! Kit uses it on every edge and `agentctl` on the control socket. It must never open a socket itself.

pub mod codec;
mod frames;
pub mod hello;
pub mod socket;

use codec::{Messages, Side};
use hello::{Hello, Purpose};
use ipc_proto::Fault;
use socket::Socket;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;

/// Exchanges hellos and gives the transport of a client.
///
/// # Errors
/// [`Fault::WrongVersion`] if the peer speaks another version, [`Fault::Unreachable`] if it went away.
pub async fn client<Req, Resp>(
    mut stream: UnixStream,
    me: manifest::Process,
    bound: usize,
) -> Result<Messages<tarpc::Response<Resp>, tarpc::ClientMessage<Req>>, Fault>
where
    Resp: for<'de> serde::Deserialize<'de>,
    Req: serde::Serialize,
{
    hello::exchange(&mut stream, me).await?;
    let stream = Socket::new(stream).map_err(|_| Fault::Unreachable)?;
    Ok(Messages::new(stream, bound, Side::Client))
}

/// Exchanges hellos and gives the transport of a server.
///
/// # Errors
/// As [`client`].
pub async fn server<Req, Resp>(
    mut stream: UnixStream,
    me: manifest::Process,
    bound: usize,
) -> Result<Messages<tarpc::ClientMessage<Req>, tarpc::Response<Resp>>, Fault>
where
    Req: for<'de> serde::Deserialize<'de>,
    Resp: serde::Serialize,
{
    hello::exchange(&mut stream, me).await?;
    let stream = Socket::new(stream).map_err(|_| Fault::Unreachable)?;
    Ok(Messages::new(stream, bound, Side::Server))
}

/// Answers a hello that was read already, and gives the transport of a server. The answer goes out before the
/// peer's version is looked at, so that the peer sees that they differ.
///
/// # Errors
/// As [`client`].
pub async fn server_after_hello<Req, Resp, S>(
    mut stream: S,
    theirs: Hello,
    me: manifest::Process,
    bound: usize,
) -> Result<Messages<tarpc::ClientMessage<Req>, tarpc::Response<Resp>, S>, Fault>
where
    Req: for<'de> serde::Deserialize<'de>,
    Resp: serde::Serialize,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let ours = Hello::new(me, Purpose::Calls);
    stream.write_all(&ours.encode()).await.map_err(|_| Fault::Unreachable)?;
    if theirs.version != ours.version {
        return Err(Fault::WrongVersion);
    }
    Ok(Messages::new(stream, bound, Side::Server))
}
