//! The bytes of a file of a message, as they come.

use ipc_proto::channel::FILE_PIECE;
use kit::Pull;

/// The bytes of a file, as they come.
pub enum Source {
    /// The body of a reply.
    Body(Pull),
    /// Something that is taken out of the body of a reply.
    Decoded(Pull, Box<dyn Decode>),
    /// Bytes that are at hand.
    Bytes(Vec<u8>),
}

/// A way to take the bytes of a file out of the body of a reply.
pub trait Decode {
    /// The bytes of the file in the next part of the body, which may be its last; none if it holds no file, or not a whole one.
    fn push(&mut self, part: &[u8], last: bool) -> Option<Vec<u8>>;
}

impl Source {
    /// The next bytes, and true if they are the last; none if there are no more although there should be.
    pub(crate) async fn next(&mut self) -> Option<(Vec<u8>, bool)> {
        match self {
            Self::Body(pull) => {
                let chunk = pull.next().await.ok()?.ok()?;
                Some((chunk.bytes.into_vec(), chunk.last))
            }
            Self::Decoded(pull, decode) => {
                let chunk = pull.next().await.ok()?.ok()?;
                Some((decode.push(&chunk.bytes, chunk.last)?, chunk.last))
            }
            Self::Bytes(bytes) => {
                let rest = bytes.split_off(bytes.len().min(FILE_PIECE));
                let piece = std::mem::replace(bytes, rest);
                Some((piece, bytes.is_empty()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_at_hand_come_in_pieces_and_the_last_is_said() {
        let bytes: Vec<u8> = (0..=250).cycle().take(FILE_PIECE * 2 + 1).collect();
        let (mut source, mut read) = (Source::Bytes(bytes.clone()), Vec::new());
        while let Some((piece, last)) = source.next().await {
            assert!(piece.len() <= FILE_PIECE);
            read.extend(piece);
            if last {
                break;
            }
        }
        assert_eq!(read, bytes);
        assert_eq!(Source::Bytes(Vec::new()).next().await, Some((Vec::new(), true)));
    }
}
