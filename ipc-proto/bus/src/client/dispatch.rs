//! The task of a connection: it hands on the answers that have come, writes what is in the queue together, and looks at
//! the deadlines once the first of them has passed. It ends with the connection, or when nobody can call any more.

use super::calls::Calls;
use super::{RpcError, Shared, lock, wake};
use std::pin::Pin;
use std::sync::MutexGuard;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tarpc::{ClientMessage, Response, Transport};
use tokio::time::Sleep;

/// Drives the calls of one connection.
#[must_use = "no call is written or answered unless this is polled"]
pub struct RequestDispatch<Req, Resp, T> {
    calls: Shared<Req, Resp>,
    transport: Pin<Box<T>>,
    /// Runs out at the first deadline there was when it was set.
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<Req, Resp, T> RequestDispatch<Req, Resp, T> {
    pub(super) fn new(calls: Shared<Req, Resp>, transport: T) -> Self {
        Self { calls, transport: Box::pin(transport), timer: None }
    }

    fn calls(&self) -> MutexGuard<'_, Calls<Req, Resp>> {
        lock(&self.calls)
    }

    /// Answers the calls whose deadline has passed. Their server sees to its own end of them.
    fn look_at_deadlines(&mut self, task: &mut Context<'_>) {
        loop {
            let Some(earliest) = self.calls().earliest else {
                self.timer = None;
                return;
            };
            if self.timer.as_ref().is_none_or(|(until, _)| *until > earliest) {
                self.timer = Some((earliest, Box::pin(tokio::time::sleep_until(earliest.into()))));
            }
            let Some((_, timer)) = &mut self.timer else { return };
            if timer.as_mut().poll(task).is_pending() {
                return;
            }
            self.timer = None;
            let woken = self.calls().expire(tokio::time::Instant::now().into_std());
            wake(woken);
        }
    }
}

impl<Req, Resp, T> RequestDispatch<Req, Resp, T>
where
    T: Transport<ClientMessage<Req>, Response<Resp>>,
{
    fn drive(&mut self, task: &mut Context<'_>) -> Poll<Result<(), T::TransportError>> {
        self.calls().attend(task);
        if self.read(task)?.is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.write(task)?;
        let flushed = self.transport.as_mut().poll_flush(task)?;
        if self.calls().channels == 0 {
            ready!(flushed);
            return self.transport.as_mut().poll_close(task);
        }
        self.look_at_deadlines(task);
        Poll::Pending
    }

    /// Hands on the answers that have come; ready at the end of the connection.
    fn read(&mut self, task: &mut Context<'_>) -> Poll<Result<(), T::TransportError>> {
        while let Some(response) = ready!(self.transport.as_mut().poll_next(task)?) {
            let answer = response.message.map_err(RpcError::Server);
            let woken = self.calls().answer(response.request_id, answer);
            wake(woken);
        }
        Poll::Ready(Ok(()))
    }

    /// Puts what is in the queue into frames, as far as there is room.
    fn write(&mut self, task: &mut Context<'_>) -> Result<(), T::TransportError> {
        while let Poll::Ready(ready) = self.transport.as_mut().poll_ready(task) {
            ready?;
            let next = self.calls().next();
            let Some(message) = next else { break };
            let id = if let ClientMessage::Request(request) = &message { Some(request.id) } else { None };
            match (self.transport.as_mut().start_send(message), id) {
                (Ok(()), _) => {}
                // A message that fits no frame fails its call, and not the connection.
                (Err(error), Some(id)) => {
                    let woken = self.calls().answer(id, Err(RpcError::Send(Box::new(error))));
                    wake(woken);
                }
                (Err(error), None) => return Err(error),
            }
        }
        let woken = self.calls().crowd();
        wake(woken);
        Ok(())
    }
}

impl<Req, Resp, T> Future for RequestDispatch<Req, Resp, T>
where
    T: Transport<ClientMessage<Req>, Response<Resp>>,
{
    type Output = Result<(), T::TransportError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(self.drive(task));
        let woken = self.calls().end();
        wake(woken);
        Poll::Ready(ended)
    }
}

/// However it ends, nobody waits for it for ever.
impl<Req, Resp, T> Drop for RequestDispatch<Req, Resp, T> {
    fn drop(&mut self) {
        let woken = self.calls().end();
        wake(woken);
    }
}
