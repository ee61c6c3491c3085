//! The one codec: length-delimited bincode 1 with a limit, fixed integers, trailing bytes refused.
//!
//! bincode is no longer maintained (RUSTSEC-2025-0141). It is used in this file alone: its limits are set here,
//! and its replacement, measured at equal speed, would change this file and nothing else.

use crate::frames::{Inbox, Outbox};
use crate::socket::Socket;
use bincode::Options;
use futures::{Sink, Stream};
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;

/// The longest deadline that a request may carry, seconds. tarpc adds it to its clock and panics on overflow,
/// so it is looked at before it is decoded; the longest of any interface is 130 s.
const LONGEST_DEADLINE: u64 = 600;
/// Where a request's deadline stands: after the variant of the message.
const DEADLINE_AT: usize = 4;
/// A frame that was begun goes on by at least [`PACE`] bytes, or its rest, within this time; half a frame and then
/// silence, or a trickle, ends the connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that count as going on.
const PACE: usize = 64 * 1024;

/// The end of a connection: servers look at a request's deadline before decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends requests.
    Client,
    /// Receives requests.
    Server,
}

fn options(bound: usize) -> impl Options {
    bincode::DefaultOptions::new().with_fixint_encoding().with_limit(bound as u64).reject_trailing_bytes()
}

/// Decodes one frame.
///
/// # Errors
/// `InvalidData` for anything that is not exactly one value within its bounds.
pub fn decode<T: for<'de> serde::Deserialize<'de>>(frame: &[u8], bound: usize, side: Side) -> io::Result<T> {
    if side == Side::Server && !deadline_is_sane(frame) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "deadline out of range"));
    }
    options(bound).deserialize(frame).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a message"))
}

fn deadline_is_sane(frame: &[u8]) -> bool {
    let Some((variant, rest)) = frame.split_first_chunk::<DEADLINE_AT>() else { return false };
    if u32::from_le_bytes(*variant) != 0 {
        return true; // A cancellation carries none.
    }
    rest.first_chunk::<8>().is_some_and(|seconds| u64::from_le_bytes(*seconds) <= LONGEST_DEADLINE)
}

/// A value as bytes, as it stands in a frame.
///
/// # Errors
/// `InvalidInput` if it is over `bound`.
pub fn encode<T: serde::Serialize>(value: &T, bound: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(value, &mut bytes, bound)?;
    Ok(bytes)
}

/// Puts a value behind `bytes`, in one pass: with a limit of its own, bincode would first go through it to count.
fn put<T: serde::Serialize>(value: &T, bytes: &mut Vec<u8>, bound: usize) -> io::Result<()> {
    let options = bincode::DefaultOptions::new().with_fixint_encoding().with_no_limit();
    let room = Room { bytes, left: bound };
    options.serialize_into(room, value).map_err(|_| over_the_bound())
}

/// Takes so many bytes and no more.
struct Room<'a> {
    bytes: &'a mut Vec<u8>,
    left: usize,
}

impl io::Write for Room<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(over_the_bound)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn over_the_bound() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "over the bound")
}

/// A connection as a stream of `In` and a sink of `Out`; over a socket, or over what watches one.
pub struct Messages<In, Out, S = Socket> {
    stream: S,
    inbox: Inbox,
    outbox: Outbox,
    bound: usize,
    side: Side,
    stall: Stall,
    types: PhantomData<fn(Out) -> In>,
}

impl<In, Out, S> Messages<In, Out, S> {
    /// Frames of at most `bound` bytes over this stream.
    #[must_use]
    pub fn new(stream: S, bound: usize, side: Side) -> Self {
        let (inbox, outbox) = (Inbox::default(), Outbox::default());
        Self { stream, inbox, outbox, bound, side, stall: Stall::default(), types: PhantomData }
    }
}

/// How long a frame that was begun has stood still.
#[derive(Default)]
struct Stall {
    timer: Option<Pin<Box<Sleep>>>,
    /// Bytes that were there when the timer was set.
    had: usize,
}

impl Stall {
    /// Half a frame of `has` bytes waits for its rest: an error once it has stood still for too long.
    fn poll(&mut self, has: usize, context: &mut Context<'_>) -> Poll<io::Error> {
        if has == 0 || has >= self.had.saturating_add(PACE) {
            self.timer = None;
        }
        if has == 0 {
            return Poll::Pending;
        }
        let timer = self.timer.get_or_insert_with(|| {
            self.had = has;
            Box::pin(tokio::time::sleep(PATIENCE))
        });
        ready!(timer.as_mut().poll(context));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "half a frame, then nothing"))
    }
}

impl<In: for<'de> serde::Deserialize<'de>, Out, S: AsyncRead + Unpin> Stream for Messages<In, Out, S> {
    type Item = io::Result<In>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<In>>> {
        let me = &mut *self;
        loop {
            if let Some(frame) = me.inbox.frame(me.bound)? {
                me.stall.timer = None;
                return Poll::Ready(Some(decode(frame, me.bound, me.side)));
            }
            let more = me.inbox.poll_fill(&mut me.stream, context)?;
            match (more, me.inbox.waiting()) {
                (Poll::Ready(true), _) => {}
                (Poll::Ready(false), 0) => return Poll::Ready(None),
                (Poll::Ready(false), _) => {
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                (Poll::Pending, waiting) => {
                    return me.stall.poll(waiting, context).map(|late| Some(Err(late)));
                }
            }
        }
    }
}

impl<In, Out: serde::Serialize, S: AsyncWrite + Unpin> Sink<Out> for Messages<In, Out, S> {
    type Error = io::Error;
    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = &mut *self;
        if me.outbox.is_full() { me.outbox.poll_empty(&mut me.stream, context) } else { Poll::Ready(Ok(())) }
    }
    fn start_send(mut self: Pin<&mut Self>, item: Out) -> io::Result<()> {
        let bound = self.bound;
        self.outbox.put(|bytes| put(&item, bytes, bound))
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = &mut *self;
        me.outbox.poll_empty(&mut me.stream, context)
    }
    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = &mut *self;
        ready!(me.outbox.poll_empty(&mut me.stream, context))?;
        Pin::new(&mut me.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{SinkExt, StreamExt};
    use ipc_proto::Text;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_message_over_the_bound_is_not_sent_and_the_next_one_arrives() {
        run(async {
            let (near, far) = tokio::io::duplex(64);
            let mut out = Messages::<(), Vec<u8>, _>::new(near, 200, Side::Client);
            let mut into = Messages::<Vec<u8>, (), _>::new(far, 200, Side::Client);
            assert!(out.send(vec![0; 300]).await.is_err());
            let (sent, came) = tokio::join!(out.send(vec![7; 100]), into.next());
            sent.unwrap();
            assert_eq!(came.unwrap().unwrap(), [7; 100]);
        });
    }

    #[test]
    fn an_end_between_frames_is_an_end_and_one_within_a_frame_an_error() {
        run(async {
            for (bytes, fails) in [(&[][..], false), (&[4, 0, 0, 0, 7], true), (&[4, 0], true)] {
                let mut messages = Messages::<u32, (), _>::new(bytes, 64, Side::Client);
                let end = messages.next().await;
                assert_eq!(end.is_some_and(|end| end.is_err()), fails, "{bytes:?}");
            }
        });
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut bytes = encode(&7_u32, 64).unwrap();
        assert_eq!(decode::<u32>(&bytes, 64, Side::Client).unwrap(), 7);
        bytes.push(0);
        assert!(decode::<u32>(&bytes, 64, Side::Client).is_err());
    }

    // Holds B-04.
    #[test]
    fn a_deadline_that_overflows_the_clock_is_refused_before_it_is_decoded() {
        let context = tarpc::context::current();
        let message = tarpc::ClientMessage::Request(tarpc::Request { context, id: 1, message: 5_u8 });
        let mut bytes = encode(&message, 256).unwrap();
        assert!(decode::<tarpc::ClientMessage<u8>>(&bytes, 256, Side::Server).is_ok());
        bytes[DEADLINE_AT..DEADLINE_AT + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(decode::<tarpc::ClientMessage<u8>>(&bytes, 256, Side::Server).is_err());
    }

    fn paused(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(test);
    }

    // Holds B-03.
    #[test]
    fn half_a_frame_and_then_silence_or_a_trickle_ends_the_connection() {
        use tokio::io::AsyncWriteExt;
        paused(async {
            let (near, mut far) = tokio::io::duplex(1024);
            let mut messages = Messages::<u32, u32, _>::new(near, 1 << 20, Side::Client);
            let trickle = async {
                far.write_all(&1000_u32.to_le_bytes()).await.unwrap();
                for _ in 0..20 {
                    tokio::time::sleep(PATIENCE / 5).await;
                    drop(far.write_all(&[0]).await);
                }
                std::future::pending::<()>().await;
            };
            let ended = tokio::select! {
                ended = messages.next() => ended,
                () = trickle => None,
            };
            assert_eq!(ended.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }

    // Holds B-03.
    #[test]
    fn a_connection_with_no_frame_begun_may_be_silent_for_ever() {
        paused(async {
            let (near, far) = tokio::io::duplex(1024);
            let mut receiver = Messages::<u32, u32, _>::new(near, 1024, Side::Client);
            let mut sender = Messages::<u32, u32, _>::new(far, 1024, Side::Client);
            for number in 0..3 {
                let send = async {
                    tokio::time::sleep(PATIENCE * 100).await;
                    sender.send(number).await.unwrap();
                };
                let (received, ()) = tokio::join!(receiver.next(), send);
                assert_eq!(received.unwrap().unwrap(), number);
            }
        });
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_at_all_end_in_an_answer_or_an_error(bytes: Vec<u8>) {
            let _ = decode::<tarpc::ClientMessage<Text<32>>>(&bytes, 4096, Side::Server);
        }
    }
}
