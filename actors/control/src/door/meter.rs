//! A metered connection: a large frame is read only if its uid has room for it, a frame that was begun must make
//! progress, and an answer must be read. Otherwise the connection ends; no other connection is affected.
//!
//! It looks at the length before each frame and at nothing else of what passes.

use super::shares::{Lease, Shares};
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Frames up to this many bytes need no room of their own.
pub(crate) const SMALL: usize = 64 * 1024;
/// Bytes of the length before each frame.
const HEAD: usize = 4;

/// How long each end of a connection may stand still in the middle of something; it goes on when 64 KiB, or the
/// rest, have passed.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// For the rest of a frame.
    pub(crate) incoming: Duration,
    /// For an answer to be taken.
    pub(crate) outgoing: Duration,
}

/// The share of its uid's room that a connection uses.
pub(crate) struct Account {
    room: Rc<Shares>,
    uid: u32,
    /// True if the uid is a user's: others have no room at all.
    pub(crate) known: Cell<bool>,
    /// Room of answers that are on their way out.
    leaving: RefCell<Vec<Lease>>,
}

impl Account {
    pub(crate) fn new(room: Rc<Shares>, uid: u32) -> Rc<Self> {
        Rc::new(Self { room, uid, known: Cell::new(false), leaving: RefCell::default() })
    }

    /// Room for something of this size. What is small needs none and is given an empty share.
    pub(crate) fn room(&self, bytes: usize) -> Option<Lease> {
        let bytes = if bytes > SMALL { bytes } else { 0 };
        (bytes == 0 || self.known.get()).then(|| self.room.lease(self.uid, bytes)).flatten()
    }

    /// Keeps the room of an answer until it has left.
    pub(crate) fn answered(&self, lease: Option<Lease>) {
        self.leaving.borrow_mut().extend(lease);
    }
}

/// A stream under watch.
pub(crate) struct Metered<S> {
    stream: S,
    account: Rc<Account>,
    incoming: Incoming,
    reading: Stall,
    writing: Stall,
    /// Room of what is being written.
    written: Option<Lease>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, account: Rc<Account>, patience: Patience) -> Self {
        Self {
            stream,
            account,
            incoming: Incoming::default(),
            reading: Stall::new(patience.incoming),
            writing: Stall::new(patience.outgoing),
            written: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = &mut *self;
        let before = buffer.filled().len();
        match Pin::new(&mut me.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let fresh = buffer.filled().get(before..).unwrap_or_default();
                if me.incoming.pass(fresh, &me.account)? || !me.incoming.is_begun() {
                    me.reading.rest();
                } else {
                    me.reading.moved(fresh.len());
                }
                Poll::Ready(Ok(()))
            }
            Poll::Pending if me.incoming.is_begun() => me.reading.poll(context),
            other => other,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let me = &mut *self;
        // The codec gives all that it holds at once: that is what waits in memory.
        if me.written.is_none() {
            me.written = Some(me.account.room(bytes.len()).ok_or_else(full)?);
        }
        match Pin::new(&mut me.stream).poll_write(context, bytes) {
            Poll::Pending => me.writing.poll(context),
            Poll::Ready(Ok(written)) => {
                me.writing.moved(written);
                Poll::Ready(Ok(written))
            }
            failed => failed,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // The codec flushes once it holds nothing any more.
        self.written = None;
        self.writing.rest();
        self.account.leaving.borrow_mut().clear();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, "no room for a large frame of this uid")
}

/// How far the frame that is coming in has come.
#[derive(Default)]
struct Incoming {
    head: [u8; HEAD],
    of_head: usize,
    left: usize,
    lease: Option<Lease>,
}

impl Incoming {
    /// A frame was begun and has not ended.
    const fn is_begun(&self) -> bool {
        self.of_head > 0 || self.left > 0
    }

    /// Counts received bytes; returns true if a frame ended with them.
    fn pass(&mut self, mut bytes: &[u8], account: &Account) -> io::Result<bool> {
        let mut ended = false;
        while let Some((first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let of_body = self.left.min(bytes.len());
                self.left -= of_body;
                bytes = bytes.get(of_body..).unwrap_or_default();
            } else {
                if let Some(slot) = self.head.get_mut(self.of_head) {
                    *slot = *first;
                }
                self.of_head += 1;
                bytes = rest;
                if self.of_head < HEAD {
                    continue;
                }
                self.of_head = 0;
                self.left = usize::try_from(u32::from_le_bytes(self.head)).unwrap_or(usize::MAX);
                self.lease = Some(account.room(self.left).ok_or_else(full)?);
            }
            if self.left == 0 {
                self.lease = None;
                ended = true;
            }
        }
        Ok(ended)
    }
}

/// How long something has stood still.
struct Stall {
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    moved: usize,
}

impl Stall {
    const fn new(patience: Duration) -> Self {
        Self { patience, timer: None, moved: 0 }
    }

    /// Nothing is waited for.
    fn rest(&mut self) {
        self.timer = None;
        self.moved = 0;
    }

    /// It went on a little; a trickle is not enough.
    fn moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes);
        if self.moved >= SMALL {
            self.rest();
        }
    }

    /// It waits: an error once that has been too long.
    fn poll<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let patience = self.patience;
        let timer =
            self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    const SHORT: Patience =
        Patience { incoming: Duration::from_millis(60), outgoing: Duration::from_millis(60) };

    fn account(room: usize, known: bool) -> Rc<Account> {
        let account = Account::new(Shares::new(0, room, room), 7);
        account.known.set(known);
        account
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    fn watched(room: usize, known: bool) -> (Metered<UnixStream>, UnixStream, Rc<Account>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let account = account(room, known);
        (Metered::new(ours, Rc::clone(&account), SHORT), theirs, account)
    }

    fn head(length: usize) -> [u8; HEAD] {
        u32::try_from(length).unwrap().to_le_bytes()
    }

    // Holds B-165.
    #[test]
    fn a_large_frame_beyond_the_room_ends_the_connection_at_its_head() {
        for (room, known, length) in
            [(1 << 20, false, SMALL + 1), (1 << 20, true, (1 << 20) + 1), (1 << 20, true, u32::MAX as usize)]
        {
            run(async {
                let (mut ours, mut theirs, _account) = watched(room, known);
                theirs.write_all(&head(length)).await.unwrap();
                let error = ours.read_u32().await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{length} {known}");
            });
        }
    }

    #[test]
    fn small_frames_of_nobody_and_large_ones_within_the_room_come_in_whole() {
        for (known, length) in [(false, SMALL), (false, 0), (true, 1 << 20)] {
            run(async {
                let (mut ours, mut theirs, account) = watched(1 << 20, known);
                let frame = [head(length).as_slice(), &vec![1; length]].concat();
                let send = async { theirs.write_all(&frame).await.unwrap() };
                let mut got = vec![0; frame.len()];
                let (_, read) = tokio::join!(send, ours.read_exact(&mut got));
                read.unwrap();
                assert!(got == frame && account.room(1 << 20).is_some() == known);
            });
        }
    }

    // Holds B-166.
    #[test]
    fn a_stalled_frame_ends_the_connection_and_silence_does_not() {
        run(async {
            let (mut ours, mut theirs, _account) = watched(1 << 20, true);
            theirs.write_all(&[head(3).as_slice(), b"abc"].concat()).await.unwrap();
            let mut frame = [0; 7];
            ours.read_exact(&mut frame).await.unwrap();
            let idle = tokio::time::timeout(SHORT.incoming * 3, ours.read_u8()).await;
            assert!(idle.is_err(), "an idle connection stays");
            for begun in [[head(9).as_slice(), b"a"].concat(), vec![9]] {
                let (mut ours, mut theirs, _account) = watched(1 << 20, true);
                theirs.write_all(&begun).await.unwrap();
                let mut all = Vec::new();
                let error = ours.read_to_end(&mut all).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            }
        });
    }

    #[test]
    fn a_trickle_is_not_going_on() {
        run(async {
            let (mut ours, mut theirs, _account) = watched(1 << 20, true);
            theirs.write_all(&head(10_000)).await.unwrap();
            let trickle = async {
                while theirs.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let mut all = Vec::new();
            let error = tokio::select! {
                read = ours.read_to_end(&mut all) => read.unwrap_err(),
                () = trickle => panic!("the reader is gone"),
            };
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn an_unread_answer_ends_the_connection_and_holds_its_room_until_then() {
        run(async {
            let (mut ours, theirs, account) = watched(4 << 20, true);
            let answer = vec![0; 3 << 20];
            account.answered(account.room(1 << 20));
            let error = ours.write_all(&answer).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(account.room(1 << 20).is_none(), "answer and reply are still there");
            drop((ours, theirs));
            assert!(account.room(3 << 20).is_some());
            let (mut ours, mut theirs, account) = watched(1 << 20, true);
            account.answered(account.room(1 << 20));
            ours.write_all(b"hello").await.unwrap();
            ours.flush().await.unwrap();
            assert!(account.room(1 << 20).is_some(), "flushed");
            assert_eq!(theirs.read_u8().await.unwrap(), b'h');
        });
    }

    proptest! {
        #[test]
        fn frames_are_told_apart_however_their_bytes_come(lengths in prop::collection::vec(0_usize..90_000, 1..8), cuts in prop::collection::vec(1_usize..70_000, 1..60)) {
            let account = account(1 << 20, true);
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| [head(*length).to_vec(), vec![0xff; *length]].concat()).collect();
            let (mut incoming, mut rest, mut cuts) = (Incoming::default(), bytes.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, more) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                incoming.pass(piece, &account).unwrap();
                rest = more;
            }
            prop_assert!(!incoming.is_begun() && incoming.lease.is_none());
            prop_assert!(account.room(1 << 20).is_some(), "all room was given back");
        }
    }
}
