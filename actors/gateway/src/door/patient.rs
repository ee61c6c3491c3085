//! A connection with a deadline for its client: one that takes nothing for a minute is ended, so that it holds no place and no answer
//! for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a client may take nothing of what waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection with an end to its patience.
pub(super) struct Patient<S> {
    stream: S,
    /// Runs while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self { stream, waits: None }
    }

    /// The outcome of a write, or an error if it has waited too long.
    fn patiently<T>(&mut self, context: &mut Context<'_>, write: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if write.is_ready() {
            self.waits = None;
            return write;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patiently(context, write)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.patiently(context, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = Pin::new(&mut self.stream).poll_flush(context);
        self.patiently(context, flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown = Pin::new(&mut self.stream).poll_shutdown(context);
        self.patiently(context, shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::task::{Wake, Waker};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    struct Nobody;
    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    // Holds B-157.
    #[test]
    fn a_write_without_progress_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(8);
            let mut near = Patient::new(near);
            near.write_all(b"12345678").await.unwrap();
            let waker = Waker::from(Arc::new(Nobody));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut near).poll_write(&mut context, b"9").is_pending());
            assert!(near.waits.is_some());
            far.read_exact(&mut [0; 8]).await.unwrap();
            near.write_all(b"9").await.unwrap();
            assert!(near.waits.is_none());
            // As after a minute of standing still.
            near.write_all(b"1234567").await.unwrap();
            near.waits = Some(Box::pin(tokio::time::sleep(Duration::ZERO)));
            tokio::time::sleep(Duration::from_millis(2)).await;
            let ended = near.write_all(b"8").await.unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        });
    }
}
