//! The standard output of a server's program: lines of JSON within a bound. Anything else ends the server.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of a line.
const LINE: usize = 4 << 20;

/// The first part of a stream that is no line of JSON, in words.
#[derive(Clone, Default)]
pub(super) struct Junk(Arc<OnceLock<&'static str>>);

impl Junk {
    /// The fault in words.
    pub(super) fn found(&self) -> Option<&'static str> {
        self.0.get().copied()
    }
}

/// Passes a stream on for as long as it is lines of JSON.
pub(super) struct Lines<R> {
    from: R,
    junk: Junk,
    /// Bytes of the line so far.
    length: usize,
}

impl<R> Lines<R> {
    pub(super) const fn new(from: R, junk: Junk) -> Self {
        Self { from, junk, length: 0 }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for byte in bytes {
            match byte {
                b'\n' => self.length = 0,
                b'\r' | b' ' | b'\t' if self.length == 0 => {}
                b'{' | b'[' if self.length == 0 => self.length = 1,
                _ if self.length == 0 => return Err("it wrote a line that is no JSON"),
                _ if self.length >= LINE => return Err("it wrote a line over 4 MiB"),
                _ => self.length += 1,
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.from).poll_read(context, into);
        if let Poll::Ready(Ok(())) = read {
            let fresh = into.filled().get(before..).unwrap_or_default().to_vec();
            if let Err(fault) = self.check(&fresh) {
                // Nothing of what is no JSON is passed on.
                into.set_filled(before);
                let _ = self.junk.0.set(fault);
                return Poll::Ready(Err(io::Error::other(fault)));
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn passes(bytes: &[u8]) -> bool {
        let mut read = Vec::new();
        Lines::new(bytes, Junk::default()).read_to_end(&mut read).await.is_ok()
    }

    #[tokio::test]
    async fn lines_that_are_no_json_or_too_long_end_the_stream() {
        for (bytes, does) in [
            (&b"{\"a\":1}\n\n  {}\r\n[]\n"[..], true),
            (b"", true),
            (b"hello\n", false),
            (b"{\"a\":\n1}\n", false),
            (b"{}\nINFO started\n", false),
            (&[b'{'; LINE], true),
            (&[b'{'; LINE + 1], false),
        ] {
            assert_eq!(passes(bytes).await, does, "{} bytes", bytes.len());
        }
    }
}
