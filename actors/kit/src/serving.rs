//! Calls of one connection, a bounded number at once. Answers go out whatever else waits: when there is no room for
//! more calls, they are left in the socket, which is the back-pressure, and what was answered is still written.
//!
//! tarpc reads and writes in one and the same poll. A server that stops polling while it is full stops writing too,
//! and with a peer that reads late both would wait for each other for ever.

use futures::stream::FuturesUnordered;
use futures::{Sink, Stream, StreamExt, future};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use tarpc::server::{BaseChannel, Channel, Config, InFlightRequest};
use tarpc::{ChannelError, ClientMessage, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use wire::codec::Messages;

/// Serves the calls of one connection until it ends, at most `at_once` of them at once; a call counts until its
/// answer is on its way out. `begin` makes the future that serves one.
///
/// # Errors
/// Why the connection was ended: what could not be read is no message of the interface, or came too slowly; what
/// could not be written was not taken, or is over the interface's bound.
pub async fn serve_calls<Q, A, S, F>(
    transport: Messages<ClientMessage<Q>, Response<A>, S>,
    at_once: usize,
    mut begin: impl FnMut(InFlightRequest<Q, A>) -> F,
) -> Result<(), ChannelError<io::Error>>
where
    Q: DeserializeOwned,
    A: Serialize,
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = ()>,
{
    let full = Rc::new(Cell::new(false));
    let transport = Gated { transport, full: Rc::clone(&full) };
    let requests = BaseChannel::new(Config { pending_response_buffer: at_once }, transport).requests();
    let (mut requests, mut served) = (pin!(requests), FuturesUnordered::new());
    future::poll_fn(|context| {
        loop {
            full.set(requests.channel().in_flight_requests() >= at_once);
            match requests.as_mut().poll_next(context) {
                Poll::Ready(Some(request)) => {
                    served.push(begin(request?));
                    continue;
                }
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => {}
            }
            // Answers went out meanwhile, so there is room; nobody else would wake the gate.
            if full.get() && requests.channel().in_flight_requests() < at_once {
                continue;
            }
            // All that can go on does so before an answer is written, so that answers share a write: one write for
            // each answer nearly halves the calls a second (`make bench`).
            let mut answered = false;
            while let Poll::Ready(Some(())) = served.poll_next_unpin(context) {
                answered = true;
            }
            if !answered {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// A transport that gives no more while it is full, and takes all the while.
struct Gated<T> {
    transport: T,
    full: Rc<Cell<bool>>,
}

impl<T: Stream + Unpin> Stream for Gated<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T::Item>> {
        if self.full.get() { Poll::Pending } else { self.transport.poll_next_unpin(context) }
    }
}

impl<I, T: Sink<I> + Unpin> Sink<I> for Gated<T> {
    type Error = T::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.transport).poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, item: I) -> Result<(), T::Error> {
        Pin::new(&mut self.transport).start_send(item)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.transport).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        Pin::new(&mut self.transport).poll_close(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::gate::{
        FRAME_BOUND, Gate, GateRequest, GateResponse, POLICY_BOUND, PolicyError, PolicySet,
    };
    use ipc_proto::model::ModelInfo;
    use ipc_proto::{List, Name, Text};
    use manifest::Process;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use wire::codec::encode;

    const AT_ONCE: usize = 64;
    type Policy = Text<POLICY_BOUND>;
    type Changed = Result<Name, PolicyError>;
    type Transport<Q, A> = Messages<ClientMessage<Q>, Response<A>>;

    /// Counts how many of its calls run at once.
    #[derive(Clone, Default)]
    struct Slow {
        running: std::sync::Arc<std::sync::atomic::AtomicUsize>,
        most: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    }

    impl Gate for Slow {
        async fn models(self, _: tarpc::context::Context) -> List<ModelInfo, 256> {
            use std::sync::atomic::Ordering::Relaxed;
            let running = self.running.fetch_add(1, Relaxed) + 1;
            self.most.fetch_max(running, Relaxed);
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Relaxed);
            let name = Text::clip(&"m".repeat(100));
            List::clip(vec![ModelInfo { name, context: 0, output: 0, tools: false }; 10])
        }

        async fn policies(self, _: tarpc::context::Context) -> PolicySet {
            PolicySet { version: Name::default(), files: List::default() }
        }

        async fn set_policy(self, _: tarpc::context::Context, name: Name, _: Policy, _: Name) -> Changed {
            Err(PolicyError::BadName(name))
        }

        async fn remove_policy(self, _: tarpc::context::Context, name: Name, _: Name) -> Changed {
            Err(PolicyError::BadName(name))
        }
    }

    fn request(id: u64) -> Vec<u8> {
        let context = tarpc::context::current();
        let message = ClientMessage::Request(tarpc::Request { context, id, message: GateRequest::Models {} });
        let body = encode(&message, FRAME_BOUND).unwrap();
        [u32::try_from(body.len()).unwrap().to_le_bytes().as_slice(), &body].concat()
    }

    /// A connection: the server's transport, and the caller's bare socket.
    async fn connected() -> (Transport<GateRequest, GateResponse>, UnixStream) {
        let (near, mut far) = UnixStream::pair().unwrap();
        let server = wire::server(near, Process::Gate, FRAME_BOUND);
        let (transport, hello) =
            future::join(server, wire::hello::exchange(&mut far, Process::Control)).await;
        hello.unwrap();
        (transport.unwrap(), far)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() });
    }

    #[test]
    fn calls_whose_answers_are_left_unread_are_answered_once_they_are_read_and_only_so_many_run_at_once() {
        const CALLS: u64 = 5_000;
        run(async {
            let (transport, far) = connected().await;
            let handler = Slow::default();
            let server = serve_calls(transport, AT_ONCE, |request| request.execute(handler.clone().serve()));
            let (mut reader, mut writer) = far.into_split();
            let write = async {
                for id in 0..CALLS {
                    writer.write_all(&request(id)).await.unwrap();
                }
            };
            let read = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                for _ in 0..CALLS {
                    let length = reader.read_u32_le().await.unwrap();
                    reader.read_exact(&mut vec![0; length as usize]).await.unwrap();
                }
            };
            tokio::select! {
                ended = server => panic!("it ended before all was answered: {ended:?}"),
                _ = future::join(write, read) => {}
            }
            let most = handler.most.load(std::sync::atomic::Ordering::Relaxed);
            assert!(most > 1 && most <= AT_ONCE, "{most} at once");
        });
    }

    #[test]
    fn a_caller_that_sends_no_message_is_told_from_one_that_goes_away() {
        run(async {
            let garbage = vec![4, 0, 0, 0, 0xa5, 0xa5, 0xa5, 0xa5];
            let misframed = request(1).split_off(9);
            for (bytes, is_message) in [(garbage, false), (request(1), true), (misframed, false)] {
                let (transport, mut far) = connected().await;
                far.write_all(&bytes).await.unwrap();
                let server =
                    serve_calls(transport, AT_ONCE, |request| request.execute(Slow::default().serve()));
                let close = async {
                    let mut answer = [0; 1];
                    drop(far.read(&mut answer).await);
                    drop(far);
                };
                let (ended, ()) = future::join(server, close).await;
                let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::InvalidData;
                let refused = matches!(&ended, Err(ChannelError::Read(cause)) if broken(cause));
                assert_eq!(refused, !is_message, "{ended:?}");
            }
        });
    }
}
