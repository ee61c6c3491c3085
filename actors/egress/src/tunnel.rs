//! A connection whose bytes pass as they are: a tunnel of TLS, or a WebSocket.

use crate::greeting::Greeting;
use bytes::Bytes;
use ipc_proto::Blob;
use ipc_proto::dialer::Host;
use ipc_proto::egress::{EgressError, PIECE, Piece};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use upstream::Bytewise;

/// How long nothing may pass, and how long bytes may take to be taken.
const IDLE: Duration = Duration::from_secs(60);
/// How long one call waits for bytes.
const QUIET: Duration = Duration::from_secs(20);

/// The connection.
pub(crate) struct Tunnel {
    reader: Mutex<Reader>,
    writer: Mutex<Writer>,
    /// True once bytes may pass.
    open: watch::Sender<bool>,
    passed: Cell<Instant>,
}

struct Reader {
    stream: ReadHalf<Box<dyn Bytewise>>,
    /// Bytes that came and were not given out.
    left: Bytes,
}

struct Writer {
    stream: WriteHalf<Box<dyn Bytewise>>,
    /// The greeting of TLS, as long as it has not come whole.
    greeting: Option<Greeting>,
}

impl Tunnel {
    /// One of TLS to this host: nothing passes before a greeting that names it.
    pub(crate) fn secured(stream: Box<dyn Bytewise>, host: Host) -> Self {
        Self::new(stream, Bytes::new(), Some(Greeting::new(host)))
    }

    /// One behind an upgrade, from which these bytes have come.
    pub(crate) fn upgraded(stream: Box<dyn Bytewise>, left: Bytes) -> Self {
        Self::new(stream, left, None)
    }

    fn new(stream: Box<dyn Bytewise>, left: Bytes, greeting: Option<Greeting>) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: Mutex::new(Reader { stream: reader, left }),
            open: watch::Sender::new(greeting.is_none()),
            writer: Mutex::new(Writer { stream: writer, greeting }),
            passed: Cell::new(Instant::now()),
        }
    }

    /// Sends bytes; the last of them end this direction.
    pub(crate) async fn send(&self, piece: Piece) -> Result<(), EgressError> {
        let mut writer = self.writer.lock().await;
        let Writer { stream, greeting } = &mut *writer;
        let mut bytes = piece.bytes.into_vec();
        if let Some(waiting) = greeting {
            let Some(whole) = waiting.take(&bytes)? else {
                return if piece.last { Err(EgressError::OtherName) } else { Ok(()) };
            };
            bytes = whole;
            *greeting = None;
            self.open.send_replace(true);
        }
        let sent = async {
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            if piece.last { stream.shutdown().await } else { Ok(()) }
        };
        let sent = timeout(IDLE, sent).await.map_err(|_| EgressError::TimedOut)?;
        self.passed.set(Instant::now());
        sent.map_err(|_| EgressError::Upstream)
    }

    /// The bytes that came; none where none came for a while.
    pub(crate) async fn next(&self) -> Result<Piece, EgressError> {
        let came = timeout(QUIET, async {
            let mut open = self.open.subscribe();
            // The sender lives as long as this does.
            let _ = open.wait_for(|open| *open).await;
            self.reader.lock().await.next().await
        });
        match came.await {
            Ok(piece) => {
                self.passed.set(Instant::now());
                piece
            }
            Err(_) if self.passed.get().elapsed() >= IDLE => Err(EgressError::TimedOut),
            Err(_) => Ok(Piece::default()),
        }
    }
}

impl Reader {
    async fn next(&mut self) -> Result<Piece, EgressError> {
        if self.left.is_empty() {
            let mut bytes = vec![0; PIECE];
            let length = self.stream.read(&mut bytes).await.map_err(|_| EgressError::Upstream)?;
            bytes.truncate(length);
            return Ok(Piece { bytes: Blob::new(bytes).unwrap_or_default(), last: length == 0 });
        }
        let bytes = self.left.split_to(self.left.len().min(PIECE));
        Ok(Piece { bytes: Blob::new(bytes).unwrap_or_default(), last: false })
    }
}
