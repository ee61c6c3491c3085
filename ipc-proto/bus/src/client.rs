//! The calls of one connection: a table of those that are under way, and the one task that writes and reads.
//!
//! tarpc's own keeps a queue, a one-shot channel, a span and an entry of a timer wheel for each call, which together cost
//! more than the call's way through the kernel. Here a call has one slot of a table, and all calls of a connection share
//! one timer.

mod calls;
mod dispatch;

pub use dispatch::RequestDispatch;
pub use tarpc::client::{Config, NewClient, RpcError, stub};

use calls::{Calls, Ticket};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tarpc::{ClientMessage, RequestName, Response, Transport, context};

/// The table that a connection's channels and its dispatch share.
type Shared<Req, Resp> = Arc<Mutex<Calls<Req, Resp>>>;

/// The way to make calls over a connection. Clones make calls over the same one; with the last of them it ends.
pub struct Channel<Req, Resp>(Shared<Req, Resp>);

/// A channel over `transport`, and what drives it: to be polled until it ends.
pub fn new<Req, Resp, T>(
    config: Config,
    transport: T,
) -> NewClient<Channel<Req, Resp>, RequestDispatch<Req, Resp, T>>
where
    T: Transport<ClientMessage<Req>, Response<Resp>>,
{
    let calls = Arc::new(Mutex::new(Calls::new(&config)));
    NewClient { client: Channel(Arc::clone(&calls)), dispatch: RequestDispatch::new(calls, transport) }
}

impl<Req: RequestName, Resp> stub::Stub for Channel<Req, Resp> {
    type Req = Req;
    type Resp = Resp;

    /// Dropped before its answer, a call is cancelled at the server.
    async fn call(&self, context: context::Context, request: Req) -> Result<Resp, RpcError> {
        let mut request = Some(request);
        let ticket = poll_fn(|task| lock(&self.0).poll_enter(task, &context, &mut request)).await?;
        let call = UnderWay { calls: &self.0, ticket };
        poll_fn(|task| lock(call.calls).poll_answer(task, call.ticket)).await
    }
}

/// A call that has its slot.
struct UnderWay<'a, Req, Resp> {
    calls: &'a Mutex<Calls<Req, Resp>>,
    ticket: Ticket,
}

impl<Req, Resp> Drop for UnderWay<'_, Req, Resp> {
    fn drop(&mut self) {
        let woken = lock(self.calls).leave(self.ticket);
        wake(woken);
    }
}

impl<Req, Resp> Clone for Channel<Req, Resp> {
    fn clone(&self) -> Self {
        lock(&self.0).channels += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<Req, Resp> Drop for Channel<Req, Resp> {
    fn drop(&mut self) {
        let woken = lock(&self.0).lose_channel();
        wake(woken);
    }
}

impl<Req, Resp> fmt::Debug for Channel<Req, Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Channel")
    }
}

/// Nothing that holds the lock can panic; if it did, the table would still be whole.
fn lock<Req, Resp>(calls: &Mutex<Calls<Req, Resp>>) -> MutexGuard<'_, Calls<Req, Resp>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To be called with the table unlocked: who is woken may come back to it at once.
fn wake(woken: impl IntoIterator<Item = Waker>) {
    woken.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests;
