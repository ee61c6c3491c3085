//! Calls of one connection, a bounded number at once. Answers are written before more calls are read: when there is
//! no room for more calls, they are left in the socket, which is the back-pressure, and answers still go out.
//!
//! The messages are tarpc's. Its own server keeps an entry of a timer wheel, an abort handle, a span and a place in a
//! queue for each call, which is more than most handlers do; here a call has its future, and all share one timer.

use futures::stream::FuturesUnordered;
use futures::{Sink, Stream, StreamExt, future};
use pin_project_lite::pin_project;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tarpc::{ClientMessage, Request, Response, ServerError, context};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;
use wire::codec::Messages;

/// Serves the calls of one connection until it ends, at most `at_once` of them at once; a call counts until its answer
/// is on its way out. `begin` makes the future that serves one. It is dropped when its caller gives the call up or its
/// deadline passes. A caller that closed its sending end still receives its answers.
///
/// # Errors
/// The reason for which the connection was ended: a message that is none of the interface, or came too slowly;
/// an answer that the caller did not read, or that is over the interface's bound.
pub async fn serve_calls<Q, A, S, F>(
    transport: Messages<ClientMessage<Q>, Response<A>, S>,
    at_once: usize,
    begin: impl FnMut(context::Context, Q) -> F,
) -> io::Result<()>
where
    Q: DeserializeOwned,
    A: Serialize,
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = Result<A, ServerError>>,
{
    let mut serving = Serving {
        transport,
        at_once,
        begin,
        calls: FuturesUnordered::new(),
        answers: VecDeque::new(),
        earliest: None,
        timer: None,
        is_read: false,
    };
    future::poll_fn(|task| serving.poll(task)).await
}

/// A connection whose calls are served.
struct Serving<T, B, F, A> {
    transport: T,
    at_once: usize,
    begin: B,
    calls: FuturesUnordered<Call<F>>,
    /// Answers for which there was no room on the way out yet.
    answers: VecDeque<Response<A>>,
    /// No deadline of a call is before this time.
    earliest: Option<Instant>,
    /// Expires at the earliest deadline that was known when it was set.
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
    /// The caller sends no more calls.
    is_read: bool,
}

impl<Q, A, T, B, F> Serving<T, B, F, A>
where
    T: Stream<Item = io::Result<ClientMessage<Q>>> + Sink<Response<A>, Error = io::Error> + Unpin,
    B: FnMut(context::Context, Q) -> F,
    F: Future<Output = Result<A, ServerError>>,
{
    fn poll(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let full = self.take(task)?;
            self.look_at_deadlines(task);
            // All that can go on does so before an answer is written, so that answers share a write: one write for
            // each answer nearly halves the calls a second (`make bench`).
            while let Poll::Ready(Some(answer)) = self.calls.poll_next_unpin(task) {
                self.answers.extend(answer);
            }
            let flushed = self.answer(task)?;
            if self.is_read && self.under_way() == 0 {
                return flushed.map(Ok);
            }
            // With room again, nobody else would have the socket looked at.
            if !full || self.under_way() >= self.at_once {
                return Poll::Pending;
            }
        }
    }

    fn under_way(&self) -> usize {
        self.calls.len() + self.answers.len()
    }

    /// Begins the calls that have come; returns true if more had to be left in the socket.
    fn take(&mut self, task: &mut Context<'_>) -> io::Result<bool> {
        while !self.is_read {
            if self.under_way() >= self.at_once {
                return Ok(true);
            }
            let Poll::Ready(message) = self.transport.poll_next_unpin(task)? else { break };
            match message {
                Some(ClientMessage::Request(request)) => self.begin(request),
                Some(ClientMessage::Cancel { request_id, .. }) => self.give_up(|id, _| id == request_id),
                Some(_) => return Err(io::ErrorKind::InvalidData.into()),
                None => self.is_read = true,
            }
        }
        Ok(false)
    }

    fn begin(&mut self, Request { context, id, message }: Request<Q>) {
        let deadline = context.deadline;
        if self.earliest.is_none_or(|earliest| deadline < earliest) {
            self.earliest = Some(deadline);
        }
        let future = Some((self.begin)(context, message));
        self.calls.push(Call { id, deadline, waker: None, future });
    }

    /// Drops the futures of the calls with such an id and deadline.
    fn give_up(&mut self, which: impl Fn(u64, Instant) -> bool) {
        for call in Pin::new(&mut self.calls).iter_pin_mut() {
            if which(call.id, call.deadline) {
                call.give_up();
            }
        }
    }

    /// Puts answers into frames, as far as there is room, and writes them.
    fn answer(&mut self, task: &mut Context<'_>) -> io::Result<Poll<()>> {
        let mut transport = Pin::new(&mut self.transport);
        while !self.answers.is_empty() {
            if transport.as_mut().poll_ready(task)?.is_pending() {
                return Ok(Poll::Pending);
            }
            if let Some(answer) = self.answers.pop_front() {
                transport.as_mut().start_send(answer)?;
            }
        }
        Ok(transport.poll_flush(task)?)
    }

    /// Gives up the calls whose deadline has passed: no caller waits for them.
    fn look_at_deadlines(&mut self, task: &mut Context<'_>) {
        while let Some(earliest) = self.earliest {
            if self.timer.as_ref().is_none_or(|(until, _)| *until > earliest) {
                self.timer = Some((earliest, Box::pin(tokio::time::sleep_until(earliest.into()))));
            }
            let Some((_, timer)) = &mut self.timer else { return };
            if timer.as_mut().poll(task).is_pending() {
                return;
            }
            self.timer = None;
            let now = tokio::time::Instant::now().into_std();
            self.give_up(|_, deadline| deadline <= now);
            let deadlines = Pin::new(&mut self.calls).iter_pin_mut().map(|call| call.deadline);
            self.earliest = deadlines.filter(|deadline| *deadline > now).min();
        }
        self.timer = None;
    }
}

pin_project! {
    /// A call that is served.
    struct Call<F> {
        id: u64,
        deadline: Instant,
        // To wake it with when it has been given up.
        waker: Option<Waker>,
        // `None` once it has been.
        #[pin]
        future: Option<F>,
    }
}

impl<F> Call<F> {
    /// Drops its future; it is woken once more, to be removed.
    fn give_up(self: Pin<&mut Self>) {
        let mut call = self.project();
        call.future.set(None);
        if let Some(waker) = call.waker.take() {
            waker.wake();
        }
    }
}

impl<A, F: Future<Output = Result<A, ServerError>>> Future for Call<F> {
    /// `None` if it was given up.
    type Output = Option<Response<A>>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.project();
        let Some(future) = call.future.as_pin_mut() else { return Poll::Ready(None) };
        if let Poll::Ready(message) = future.poll(task) {
            return Poll::Ready(Some(Response { request_id: *call.id, message }));
        }
        if !call.waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
            *call.waker = Some(task.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::SinkExt;
    use ipc_proto::label::Class;
    use ipc_proto::scanner::{
        Conversation, FRAME_BOUND, Judgement, Release, SCAN_BOUND, Scanner, ScannerRequest, ScannerResponse,
        Subject, Verdict,
    };
    use ipc_proto::{List, Name, Text};
    use manifest::Process;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;
    use tarpc::server::Serve;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use wire::codec::{Side, encode};

    const AT_ONCE: usize = 64;
    type Whole = Text<SCAN_BOUND>;
    type Transport<Q, A> = Messages<ClientMessage<Q>, Response<A>>;

    /// Counts how many of its calls run at once.
    #[derive(Clone, Default)]
    struct Slow {
        running: std::sync::Arc<std::sync::atomic::AtomicUsize>,
        most: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    }

    impl Scanner for Slow {
        async fn scan(self, _: tarpc::context::Context, subject: Subject, _: Whole) -> Verdict {
            Verdict {
                judgement: Judgement::Pass,
                score: 0,
                rules: List::default(),
                canary_leaked: false,
                class: Class::Public,
                redacted: None,
                threats: List::default(),
                spans: List::default(),
                held_secret: false,
                conversation: Conversation { turns: subject.conversation.turns, ..Conversation::default() },
            }
        }

        async fn hold_back(self, _: tarpc::context::Context, _: Whole, _: bool, _: Option<Name>) -> Release {
            use std::sync::atomic::Ordering::Relaxed;
            let running = self.running.fetch_add(1, Relaxed) + 1;
            self.most.fetch_max(running, Relaxed);
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Relaxed);
            Release { text: Text::clip(&"m".repeat(1200)), consumed: 0, canary_leaked: false, redactions: 0 }
        }
    }

    fn request(id: u64) -> Vec<u8> {
        let context = tarpc::context::current();
        let message = ScannerRequest::HoldBack { pending: Text::default(), last: false, canary: None };
        let message = ClientMessage::Request(tarpc::Request { context, id, message });
        let body = encode(&message, FRAME_BOUND).unwrap();
        [u32::try_from(body.len()).unwrap().to_le_bytes().as_slice(), &body].concat()
    }

    /// A connection: the server's transport, and the caller's bare socket.
    async fn connected() -> (Transport<ScannerRequest, ScannerResponse>, UnixStream) {
        let (near, mut far) = UnixStream::pair().unwrap();
        let server = wire::server(near, Process::Scanner, FRAME_BOUND);
        let (transport, hello) = future::join(server, wire::hello::exchange(&mut far, Process::Gate)).await;
        hello.unwrap();
        (transport.unwrap(), far)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() });
    }

    #[test]
    fn answers_wait_for_a_slow_reader_and_only_so_many_calls_run_at_once() {
        const CALLS: u64 = 5_000;
        run(async {
            let (transport, far) = connected().await;
            let handler = Slow::default();
            let server =
                serve_calls(transport, AT_ONCE, |context, ask| handler.clone().serve().serve(context, ask));
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
                let server = serve_calls(transport, AT_ONCE, |context, ask| {
                    Slow::default().serve().serve(context, ask)
                });
                let close = async {
                    let mut answer = [0; 1];
                    drop(far.read(&mut answer).await);
                    drop(far);
                };
                let (ended, ()) = future::join(server, close).await;
                let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::InvalidData;
                let refused = matches!(&ended, Err(cause) if broken(cause));
                assert_eq!(refused, !is_message, "{ended:?}");
            }
        });
    }

    type Numbers = (Transport<u32, u32>, Messages<Response<u32>, ClientMessage<u32>>);

    /// A server's transport and its caller's, of an interface that has numbers for requests and answers.
    fn numbers() -> Numbers {
        let (near, far) = UnixStream::pair().unwrap();
        let socket = |stream| wire::socket::Socket::new(stream).unwrap();
        (Messages::new(socket(near), 64, Side::Server), Messages::new(socket(far), 64, Side::Client))
    }

    fn asking(id: u64, message: u32, deadline: Duration) -> ClientMessage<u32> {
        let mut context = tarpc::context::current();
        context.deadline = Instant::now() + deadline;
        ClientMessage::Request(Request { context, id, message })
    }

    /// Counts the futures that are gone.
    struct Gone(Rc<Cell<u32>>);

    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn a_cancelled_or_late_call_is_dropped_and_the_others_go_on() {
        const LONG: Duration = Duration::from_secs(60);
        run(async {
            let (server, mut caller) = numbers();
            let gone = Rc::new(Cell::new(0));
            let served = serve_calls(server, AT_ONCE, |_, number: u32| {
                let endless = (number == 0).then(|| Gone(Rc::clone(&gone)));
                async move {
                    match endless {
                        Some(_gone) => future::pending().await,
                        None => Ok(number),
                    }
                }
            });
            let ask = async {
                for (id, number, deadline) in [(1, 0, LONG), (2, 0, Duration::from_millis(50)), (3, 7, LONG)]
                {
                    caller.send(asking(id, number, deadline)).await.unwrap();
                }
                let answer = caller.next().await.unwrap().unwrap();
                assert_eq!((answer.request_id, answer.message.unwrap()), (3, 7));
                let trace_context = tarpc::context::current().trace_context;
                caller.send(ClientMessage::Cancel { trace_context, request_id: 1 }).await.unwrap();
                while gone.get() < 2 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                caller.send(asking(4, 8, LONG)).await.unwrap();
                assert_eq!(caller.next().await.unwrap().unwrap().request_id, 4);
            };
            tokio::select! {
                ended = served => panic!("it ended before all was answered: {ended:?}"),
                () = ask => {}
            }
        });
    }

    #[test]
    fn a_caller_that_has_no_more_to_ask_is_still_given_its_answers() {
        run(async {
            let (server, mut caller) = numbers();
            let served = serve_calls(server, AT_ONCE, |_, number: u32| async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok(number)
            });
            let ask = async {
                caller.send(asking(1, 7, Duration::from_secs(60))).await.unwrap();
                caller.close().await.unwrap();
                caller.next().await.unwrap().unwrap()
            };
            let (ended, answer) = future::join(served, ask).await;
            ended.unwrap();
            assert_eq!(answer.message.unwrap(), 7);
        });
    }
}
