//! Lines of JSON that a client writes to standard input, for the protocols that this command speaks: each has a bound, and one
//! that is too long does not affect those after it.

use std::io;
use tokio::io::AsyncRead;
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};

/// Bytes of one line of a client; a longer one is refused unread.
pub(crate) const LINE: usize = 8 << 20;

/// The lines of an input.
pub(crate) type Lines<R> = FramedRead<R, Split>;

/// A line over the bound; it is skipped to its end.
#[derive(Debug)]
pub(crate) struct TooLong;

/// The decoder of lines.
pub(crate) struct Split(AnyDelimiterCodec);

/// Reads the lines of `input`.
pub(crate) fn lines<R: AsyncRead>(input: R) -> Lines<R> {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), LINE);
    FramedRead::new(input, Split(codec))
}

impl Decoder for Split {
    type Item = Result<Bytes, TooLong>;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        decoded(self.0.decode(bytes))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        decoded(self.0.decode_eof(bytes))
    }
}

fn decoded(
    line: Result<Option<Bytes>, AnyDelimiterCodecError>,
) -> io::Result<Option<Result<Bytes, TooLong>>> {
    match line {
        Ok(line) => Ok(line.map(Ok)),
        Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => Ok(Some(Err(TooLong))),
        Err(AnyDelimiterCodecError::Io(error)) => Err(error),
    }
}
