//! Requests whose body is longer than one frame between processes: it is handed over in pieces, and its length is announced.

use crate::conversation::{Bytewise, Driver, Fault, HEAD_BOUND, HEADERS, plain};
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Pieces that wait for the connection.
const WAITING: usize = 4;

/// A body of a known length.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    left: u64,
}

/// The body ended before the length that was announced, or would go on after it.
#[derive(Debug, thiserror::Error)]
#[error("the body is not of the length that was announced")]
struct WrongLength;

impl Body for Pieces {
    type Data = Bytes;
    type Error = WrongLength;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WrongLength>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let piece = ready!(self.receiver.poll_recv(context));
        let length = piece.as_ref().map_or(u64::MAX, |piece| piece.len() as u64);
        Poll::Ready(Some(match (piece, self.left.checked_sub(length)) {
            (Some(piece), Some(left)) => {
                self.left = left;
                Ok(Frame::data(piece))
            }
            _ => Err(WrongLength),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A request on its way. Dropping it closes its connection.
pub struct Upload {
    pieces: mpsc::Sender<Bytes>,
    reply: oneshot::Receiver<Result<Response<Incoming>, Fault>>,
    driver: Driver,
}

/// The connection of a reply, which lives while the body of the reply is read.
pub struct Connection {
    _driver: Driver,
}

impl Upload {
    /// Sends the head of a request, whose body of `length` bytes follows.
    ///
    /// # Errors
    /// [`Fault::Unsent`].
    pub async fn begin(stream: Box<dyn Bytewise>, request: Request<()>, length: u64) -> Result<Self, Fault> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BOUND).max_headers(HEADERS);
        let opened = builder.handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = opened.map_err(|_| Fault::Unsent)?;
        let (pieces, receiver) = mpsc::channel(WAITING);
        let (answer, reply) = oneshot::channel();
        let driver = Driver::of(async move {
            let asked = async move {
                let sent = sender.try_send_request(request.map(|()| Pieces { receiver, left: length })).await;
                let fault = |mut fault: TrySendError<Request<Pieces>>| match fault.take_message() {
                    Some(_) => Fault::Unsent,
                    None => Fault::Protocol,
                };
                drop(answer.send(sent.map_err(fault).and_then(plain)));
            };
            let ((), _) = tokio::join!(asked, connection);
        });
        Ok(Self { pieces, reply, driver })
    }

    /// Hands the next bytes of the body over, once there is room for them.
    ///
    /// # Errors
    /// [`Fault::Protocol`]: the server takes no more, or the connection broke; the reply says which. [`Fault::Stalled`].
    pub async fn push(&self, piece: Bytes, patience: Duration) -> Result<(), Fault> {
        match timeout(patience, self.pieces.send(piece)).await {
            Ok(sent) => sent.map_err(|_| Fault::Protocol),
            Err(_) => Err(Fault::Stalled),
        }
    }

    /// Waits for the head of the reply. The body follows while what is given back lives.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn finish(self, patience: Duration) -> Result<(Response<Incoming>, Connection), Fault> {
        let Self { pieces, reply, driver } = self;
        drop(pieces);
        match timeout(patience, reply).await {
            Ok(Ok(reply)) => Ok((reply?, Connection { _driver: driver })),
            Ok(Err(_)) => Err(Fault::Protocol),
            Err(_) => Err(Fault::Stalled),
        }
    }
}
