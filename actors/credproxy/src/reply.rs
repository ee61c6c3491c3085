//! A reply that is coming in: pulled piece by piece, every live secret cut out, bounded in length and in waiting.

use crate::pool::Lease;
use crate::redact::Redactor;
use crate::secret_patterns::SecretPatterns;
use crate::upstream::Limits;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use ipc_proto::Blob;
use ipc_proto::credproxy::{CHUNK, Chunk, CredError};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, timeout_at};

/// The connection that a reply comes over.
pub(crate) enum Held {
    /// One that may serve the next request.
    Pooled(Lease),
    /// One that ends with the reply.
    Own {
        /// Closed when it is dropped.
        _connection: ::upstream::Connection,
    },
}

/// The reply to one request.
pub(crate) struct Reply {
    body: Incoming,
    redactor: Redactor,
    /// Bytes that may go out.
    ready: Vec<u8>,
    /// The secrets that were live when the request was sent: one removed since is still cut out.
    then: Arc<SecretPatterns>,
    /// Those that are live now.
    live: watch::Receiver<Arc<SecretPatterns>>,
    taken: u64,
    ended: bool,
    /// True if the body broke off before its end; reported once the bytes before that are given out.
    broken: bool,
    limits: Limits,
    /// Given back when the body has ended; dropped before, it closes the connection.
    held: Option<Held>,
    // Dropped with the reply: another may come in.
    _slot: OwnedSemaphorePermit,
}

impl Reply {
    /// The reply with this body.
    pub(crate) fn new(
        body: Incoming,
        held: Held,
        live: watch::Receiver<Arc<SecretPatterns>>,
        slot: OwnedSemaphorePermit,
        limits: Limits,
    ) -> Self {
        let then = Arc::clone(&live.borrow());
        Self {
            body,
            redactor: Redactor::default(),
            ready: Vec::new(),
            then,
            live,
            taken: 0,
            ended: false,
            broken: false,
            limits,
            held: Some(held),
            _slot: slot,
        }
    }

    /// The bytes that have come already, maybe none.
    pub(crate) async fn at_once(&mut self) -> Chunk {
        self.hear_more(CHUNK).await;
        self.give(CHUNK)
    }

    /// The next piece, of at most `credit` bytes and at least one unless it is the last, or what came was held back
    /// until the time was over.
    pub(crate) async fn next(&mut self, credit: u32) -> Result<Chunk, CredError> {
        let credit = usize::try_from(credit).unwrap_or(CHUNK).clamp(1, CHUNK);
        let before = self.taken;
        let deadline = Instant::now() + self.limits.stall;
        while self.ready.is_empty() && !self.ended {
            if self.broken {
                return Err(CredError::Upstream);
            }
            match timeout_at(deadline, self.body.frame()).await {
                Ok(frame) => self.hear(frame),
                Err(_) if self.taken > before => break,
                Err(_) => return Err(CredError::Stalled),
            }
        }
        self.hear_more(credit).await;
        Ok(self.give(credit))
    }

    /// Takes the further pieces that have come. An upstream sends each word by itself: a caller that pulled them one by one
    /// and was late once would never catch up.
    async fn hear_more(&mut self, credit: usize) {
        while self.ready.len() < credit && !self.ended && !self.broken {
            // The connection is read in a task of its own, which has its turn at the yield.
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = tokio::task::yield_now() => return,
            };
            self.hear(frame);
        }
    }

    /// How many secrets were cut out so far.
    pub(crate) fn cut_out(&self) -> u64 {
        self.redactor.cut_out()
    }

    fn hear(&mut self, frame: Option<hyper::Result<Frame<Bytes>>>) {
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => self.take(&data),
            // Trailers.
            Some(Ok(Err(_))) => {}
            Some(Err(_)) => self.broken = true,
            None => self.end(),
        }
    }

    fn take(&mut self, data: &[u8]) {
        self.taken = self.taken.saturating_add(data.len() as u64);
        if self.taken > self.limits.body {
            self.broken = true;
            return;
        }
        let live = Arc::clone(&self.live.borrow());
        self.redactor.push(data, &sets(&self.then, &live), &mut self.ready);
        if self.body.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        let live = Arc::clone(&self.live.borrow());
        self.redactor.finish(&sets(&self.then, &live), &mut self.ready);
        self.ended = true;
        if let Some(Held::Pooled(lease)) = self.held.take() {
            lease.give_back();
        }
    }

    fn give(&mut self, credit: usize) -> Chunk {
        let length = credit.min(self.ready.len());
        let bytes: Vec<u8> = self.ready.drain(..length).collect();
        // `credit` is never over the bound of the blob.
        Chunk { bytes: Blob::new(bytes).unwrap_or_default(), last: self.ended && self.ready.is_empty() }
    }
}

fn sets<'a>(then: &'a Arc<SecretPatterns>, live: &'a Arc<SecretPatterns>) -> Vec<&'a SecretPatterns> {
    if Arc::ptr_eq(then, live) { vec![then] } else { vec![then, live] }
}
