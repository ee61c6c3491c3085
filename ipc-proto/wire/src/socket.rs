//! A Unix socket of which the event loop watches only what arrives.
//!
//! tokio's own socket is watched for room to write as well, and so its owner is woken once more for every frame
//! that the peer takes: a tenth of a call, measured. Here room is waited for only once a write has found none.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// A connected Unix socket.
#[derive(Debug)]
pub struct Socket {
    stream: AsyncFd<UnixStream>,
    /// The same socket by a second descriptor, since epoll watches a descriptor once; there while a write waits.
    room: Option<AsyncFd<OwnedFd>>,
}

impl Socket {
    /// The same connection, watched anew.
    ///
    /// # Errors
    /// The kernel's error on registration.
    pub fn new(stream: tokio::net::UnixStream) -> io::Result<Self> {
        Ok(Self { stream: watch(stream.into_std()?, Interest::READABLE)?, room: None })
    }
}

#[expect(deprecated, reason = "the successor is unsafe; both types given here uphold what that asks for")]
fn watch<T: AsRawFd>(descriptor: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(descriptor, interest)
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.stream.poll_read_ready(context))?;
            let room = buffer.initialize_unfilled();
            match ready.get_inner().read(room) {
                Ok(length) => {
                    if length > 0 && length < room.len() {
                        // It is empty now, and what comes next is told of anew: no need to ask it.
                        ready.clear_ready();
                    }
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let ready = match &self.room {
                Some(room) => Some(ready!(room.poll_write_ready(context))?),
                None => None,
            };
            match (self.stream.get_ref().write(bytes), ready) {
                (Err(error), Some(mut ready)) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready()
                }
                (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => {
                    let again = self.stream.as_fd().try_clone_to_owned()?;
                    self.room = Some(watch(again, Interest::WRITABLE)?);
                }
                (written, _) => {
                    self.room = None;
                    return Poll::Ready(written);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn pair() -> (Socket, Socket) {
        let (one, other) = tokio::net::UnixStream::pair().unwrap();
        (Socket::new(one).unwrap(), Socket::new(other).unwrap())
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn more_than_the_socket_holds_goes_out_and_then_its_room_is_not_watched() {
        run(async {
            let (mut one, mut other) = pair();
            let sent: Vec<u8> = (0..4_u32 << 20).map(|at| at.to_le_bytes()[1]).collect();
            let (mut came, mut piece) = (Vec::new(), vec![0; 50_000]);
            let write = one.write_all(&sent);
            let read = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                while came.len() < sent.len() {
                    let length = other.read(&mut piece).await.unwrap();
                    came.extend_from_slice(&piece[..length]);
                }
            };
            let (written, ()) = tokio::join!(write, read);
            written.unwrap();
            assert!(came == sent && one.room.is_none());
        });
    }

    #[test]
    fn an_end_is_seen_after_the_last_byte_and_a_write_to_nobody_fails() {
        run(async {
            let (mut one, mut other) = pair();
            one.write_all(b"last").await.unwrap();
            one.shutdown().await.unwrap();
            let mut all = Vec::new();
            other.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, b"last");
            drop(other);
            assert!(one.write_all(b"more").await.is_err());
        });
    }
}
