//! The bytes of IMAP and SMTP after the login. A secret in what comes is masked by as many stars, since IMAP counts octets.

use crate::redact::Redactor;
use crate::secret_patterns::SecretPatterns;
use ::upstream::Bytewise;
use ipc_proto::Blob;
use ipc_proto::credproxy::{CHUNK, CredError, Incoming};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long bytes that may begin a secret are held back for those that follow. The server waits for its client after a line, so
/// they cannot be held for ever.
const HELD: Duration = Duration::from_millis(100);
/// Bytes of one read.
const READ: usize = 16 * 1024;

/// A line after its login. Dropping it closes the connection.
pub(crate) struct LineStream {
    reading: Mutex<Reading>,
    writer: Mutex<WriteHalf<Box<dyn Bytewise>>>,
}

struct Reading {
    reader: ReadHalf<Box<dyn Bytewise>>,
    redactor: Redactor,
    ready: Vec<u8>,
    ended: bool,
}

/// A part of what the server sent, and how many secrets were masked in it.
pub(crate) struct Came {
    /// The bytes, or the end.
    pub(crate) incoming: Incoming,
    /// Secrets in them.
    pub(crate) masked: u64,
}

impl LineStream {
    /// A line that begins with these bytes.
    pub(crate) fn new(stream: Box<dyn Bytewise>, first: &[u8], live: &SecretPatterns) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let (mut redactor, mut ready) = (Redactor::of_equal_length(), Vec::new());
        redactor.push(first, &[live], &mut ready);
        let reading = Reading { reader, redactor, ready, ended: false };
        Self { reading: Mutex::new(reading), writer: Mutex::new(writer) }
    }

    /// The next bytes, or that none came for so long.
    pub(crate) async fn next(&self, quiet: Duration, live: &SecretPatterns) -> Result<Came, CredError> {
        let mut reading = self.reading.lock().await;
        let before = reading.redactor.cut_out();
        let incoming = reading.next(quiet, live).await?;
        Ok(Came { incoming, masked: reading.redactor.cut_out() - before })
    }

    /// Sends bytes.
    pub(crate) async fn send(&self, bytes: &[u8], patience: Duration) -> Result<(), CredError> {
        let mut writer = self.writer.lock().await;
        let sent = async {
            writer.write_all(bytes).await?;
            writer.flush().await
        };
        match timeout(patience, sent).await {
            Ok(sent) => sent.map_err(|_| CredError::Upstream),
            Err(_) => Err(CredError::Stalled),
        }
    }
}

impl Reading {
    async fn next(&mut self, quiet: Duration, live: &SecretPatterns) -> Result<Incoming, CredError> {
        let Self { reader, redactor, ready, ended } = self;
        while ready.is_empty() && !*ended {
            let patience = if redactor.is_holding() { HELD } else { quiet };
            let mut bytes = Vec::with_capacity(READ);
            match timeout(patience, reader.read_buf(&mut bytes)).await {
                Err(_) if redactor.is_holding() => redactor.finish(&[live], ready),
                Err(_) => return Ok(Incoming::Quiet),
                Ok(Err(_)) => return Err(CredError::Upstream),
                Ok(Ok(0)) => {
                    redactor.finish(&[live], ready);
                    *ended = true;
                }
                Ok(Ok(_)) => redactor.push(&bytes, &[live], ready),
            }
        }
        if ready.is_empty() {
            return Ok(Incoming::Closed { code: None });
        }
        let length = ready.len().min(CHUNK);
        let bytes: Vec<u8> = ready.drain(..length).collect();
        // A chunk is never over the bound of the blob.
        Ok(Incoming::Bytes(Blob::new(bytes).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use tokio::io::duplex;
    use zeroize::Zeroizing;

    const QUIET: Duration = Duration::from_secs(5);

    fn patterns() -> SecretPatterns {
        SecretPatterns::new(&[Secret::new(Zeroizing::new(b"0123456789".to_vec())).unwrap()])
    }

    // Holds P4-42.
    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_secret_in_a_line_is_masked_and_counts_as_many_octets() {
        let (ours, mut theirs) = duplex(4096);
        let live = patterns();
        let line = LineStream::new(Box::new(ours), b"* OK\r\n", &live);
        let mut got = Vec::new();
        // The last line ends within what may be a secret, and the server waits for its client.
        for part in [&b"{23}\r\na 01234"[..], b"56789 b\r\nend 0123\r\n"] {
            theirs.write_all(part).await.unwrap();
        }
        while let Incoming::Bytes(bytes) = line.next(QUIET, &live).await.unwrap().incoming {
            got.extend(bytes.into_vec());
        }
        assert_eq!(String::from_utf8(got).unwrap(), "* OK\r\n{23}\r\na ********** b\r\nend 0123\r\n");
        assert_eq!(line.next(QUIET, &live).await.unwrap().incoming, Incoming::Quiet);
        line.send(b"a4 NOOP\r\n", QUIET).await.unwrap();
        drop(theirs);
        assert_eq!(line.next(QUIET, &live).await.unwrap().incoming, Incoming::Closed { code: None });
    }
}
