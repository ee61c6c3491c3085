//! The bytes of a connection on their way: those that have come and are no whole frame yet, and those that are to
//! go. A frame is four bytes of length and so many bytes; one over the bound is refused by its head.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of the length before each frame.
pub(crate) const HEAD: usize = 4;
/// Bytes of a buffer that has just been made, and of one that has nothing to hold.
const USUAL: usize = 16 * 1024;
/// Bytes that may wait to go before more are taken.
const ENOUGH: usize = 16 * 1024;

/// Received bytes.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// The start of the received bytes that were not given out yet ...
    start: usize,
    /// ... to here.
    end: usize,
}

impl Inbox {
    /// The next whole frame, if it is there; it is given out once.
    pub(crate) fn frame(&mut self, bound: usize) -> io::Result<Option<&[u8]>> {
        let come = self.bytes.get(self.start..self.end).unwrap_or_default();
        let Some((head, rest)) = come.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > bound {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "frame over its bound"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.start + HEAD;
        self.start = from + length;
        Ok(self.bytes.get(from..self.start))
    }

    /// Reads once; `false` at the end of the stream.
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let mut room = ReadBuf::new(self.room());
        ready!(Pin::new(stream).poll_read(context, &mut room))?;
        let length = room.filled().len();
        self.end += length;
        Poll::Ready(Ok(length > 0))
    }

    /// Bytes that have come of frames that were not given out.
    pub(crate) const fn waiting(&self) -> usize {
        self.end - self.start
    }

    /// Where the next bytes go. Room is made as bytes come, not as they are announced: it at most doubles.
    fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == 0 && self.bytes.len() > USUAL {
            self.bytes = Vec::new();
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(USUAL.max(self.end * 2), 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }
}

/// Bytes to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// The number of bytes that were sent.
    gone: usize,
}

impl Outbox {
    /// Puts a frame behind those that wait; `write` writes it. If that fails, nothing was put.
    pub(crate) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let start = self.bytes.len();
        self.bytes.extend([0; HEAD]);
        let written = write(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - start - HEAD);
        match (written, length, self.bytes.get_mut(start..start + HEAD)) {
            (Ok(()), Ok(length), Some(head)) => {
                head.copy_from_slice(&length.to_le_bytes());
                Ok(())
            }
            (written, _, _) => {
                self.bytes.truncate(start);
                written.and(Err(io::Error::new(io::ErrorKind::InvalidInput, "over the bound")))
            }
        }
    }

    /// Returns whether more should go before another frame is put.
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes.len() - self.gone >= ENOUGH
    }

    /// Writes until nothing waits.
    pub(crate) fn poll_empty<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(waiting) = self.bytes.get(self.gone..).filter(|waiting| !waiting.is_empty()) {
            let length = ready!(Pin::new(&mut *stream).poll_write(context, waiting))?;
            if length == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.gone += length;
        }
        self.gone = 0;
        self.bytes.clear();
        self.bytes.shrink_to(2 * USUAL);
        Pin::new(stream).poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes these bytes in pieces of this size and gives the frames they make.
    fn frames(mut bytes: &[u8], piece: usize, bound: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut inbox, mut frames) = (Inbox::default(), Vec::new());
        let mut context = Context::from_waker(std::task::Waker::noop());
        loop {
            while let Some(frame) = inbox.frame(bound)? {
                frames.push(frame.to_vec());
            }
            let mut now = &bytes[..bytes.len().min(piece)];
            let offered = now.len();
            let Poll::Ready(more) = inbox.poll_fill(&mut now, &mut context) else { panic!("a slice waits") };
            bytes = &bytes[offered - now.len()..];
            if !more? {
                return Ok(frames);
            }
        }
    }

    // Holds B-02.
    #[test]
    fn an_oversize_frame_is_refused_by_its_head() {
        assert!(frames(&101_u32.to_le_bytes(), 4, 100).is_err());
        assert!(frames(&100_u32.to_le_bytes(), 4, 100).unwrap().is_empty());
        assert!(frames(&[0, 0], 2, 100).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_written_leaves_the_outbox_as_it_was() {
        let mut outbox = Outbox::default();
        outbox
            .put(|bytes| {
                bytes.extend([7; 3]);
                Ok(())
            })
            .unwrap();
        let refused = outbox.put(|bytes| {
            bytes.extend([8; 3]);
            Err(io::ErrorKind::InvalidInput.into())
        });
        assert!(refused.is_err());
        assert_eq!(outbox.bytes, [3, 0, 0, 0, 7, 7, 7]);
    }

    #[test]
    fn a_buffer_that_a_large_frame_has_filled_is_given_back() {
        let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
        let mut context = Context::from_waker(std::task::Waker::noop());
        outbox
            .put(|bytes| {
                bytes.resize(bytes.len() + (1 << 20), 7);
                Ok(())
            })
            .unwrap();
        assert!(outbox.is_full());
        let mut stream = Vec::new();
        assert!(outbox.poll_empty(&mut stream, &mut context).is_ready());
        let mut rest = stream.as_slice();
        while !rest.is_empty() {
            assert!(inbox.poll_fill(&mut rest, &mut context).is_ready());
        }
        assert_eq!(inbox.frame(1 << 20).unwrap().map(<[u8]>::len), Some(1 << 20));
        inbox.room();
        assert!(inbox.bytes.capacity() <= 2 * USUAL && outbox.bytes.capacity() <= 2 * USUAL);
    }

    proptest::proptest! {
        #[test]
        fn frames_come_out_as_they_were_put_in_however_the_stream_was_cut(
            sizes in proptest::collection::vec(0..5_000_usize, 0..12),
            piece in 1..9_000_usize,
        ) {
            let mut outbox = Outbox::default();
            let sent: Vec<Vec<u8>> = sizes.iter().map(|size| vec![size.to_le_bytes()[0]; *size]).collect();
            for frame in &sent {
                outbox
                    .put(|bytes| {
                        bytes.extend(frame);
                        Ok(())
                    })
                    .unwrap();
            }
            proptest::prop_assert_eq!(frames(&outbox.bytes, piece, 5_000).unwrap(), sent);
        }

        #[test]
        fn any_bytes_at_all_make_frames_or_an_error(bytes: Vec<u8>, piece in 1..64_usize) {
            drop(frames(&bytes, piece, 64));
        }
    }
}
