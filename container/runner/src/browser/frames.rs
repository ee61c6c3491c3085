//! Messages on the pipe: JSON, each ended by a zero byte. One over the bound is read to its end and kept in its beginning alone.

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a message: a picture of 5 MB in base64, and room.
const BOUND: usize = 8 << 20;
/// Bytes that are kept of a longer one, which say what it answers.
const KEPT: usize = 256;
const PIECE: usize = 64 * 1024;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// All of it.
    Whole(Vec<u8>),
    /// The beginning of one over the bound.
    Cut(Vec<u8>),
}

/// Cuts a stream into messages.
pub(super) struct Frames<R> {
    from: R,
    bound: usize,
    /// Bytes that were read and are in no message yet.
    read: Vec<u8>,
    /// Bytes of `read` that have been looked at.
    seen: usize,
    /// The message under way is over the bound.
    cut: bool,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, bound: BOUND, read: Vec::new(), seen: 0, cut: false }
    }

    /// The next message; `None` when the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.taken() {
                return Some(message);
            }
            if self.read.len() > self.bound {
                self.cut = true;
                self.read.truncate(KEPT);
            }
            self.seen = self.read.len();
            let from = self.read.len();
            self.read.resize(from + PIECE, 0);
            let count = self.from.read(self.read.get_mut(from..)?).await.unwrap_or(0);
            self.read.truncate(from + count);
            if count == 0 {
                return None;
            }
        }
    }

    /// A message that has been read to its end.
    fn taken(&mut self) -> Option<Message> {
        let at = self.read.get(self.seen..)?.iter().position(|byte| *byte == 0)? + self.seen;
        let rest = self.read.split_off(at + 1);
        let mut message = std::mem::replace(&mut self.read, rest);
        message.pop();
        self.seen = 0;
        if std::mem::take(&mut self.cut) || message.len() > self.bound {
            message.truncate(KEPT);
            return Some(Message::Cut(message));
        }
        Some(Message::Whole(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    async fn all(bytes: &[u8], bound: usize, piece: usize) -> Vec<Message> {
        let (mut into, from) = tokio::io::duplex(piece);
        let bytes = bytes.to_vec();
        let write = async move { drop(into.write_all(&bytes).await) };
        let read = async {
            let mut frames = Frames { bound, ..Frames::new(from) };
            let mut all = Vec::new();
            while let Some(message) = frames.next().await {
                all.push(message);
            }
            all
        };
        tokio::join!(write, read).1
    }

    #[tokio::test]
    async fn messages_are_cut_at_zero_bytes_and_bounded() {
        let mut bytes = b"{}\0{\"a\":1}\0".to_vec();
        bytes.extend([b'x'; 5000]);
        bytes.extend(b"\0{\"b\":2}\0unfinished");
        for piece in [1, 7, 1024, 1 << 16] {
            let said = all(&bytes, 1000, piece).await;
            let whole = |text: &str| Message::Whole(text.as_bytes().to_vec());
            let expected =
                [whole("{}"), whole("{\"a\":1}"), Message::Cut(vec![b'x'; KEPT]), whole("{\"b\":2}")];
            assert_eq!(said, expected, "in pieces of {piece}");
        }
    }
}
