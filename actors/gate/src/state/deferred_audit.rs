//! The way to the record. Nobody waits for the events of ended answers, so they wait a moment and share the flush of the next
//! event that somebody waits for; else the next decision would wait for a flush of its own. A decision is never held back: its
//! effect may happen only once it is durable.

use futures::future::join_all;
use futures::poll;
use ipc_proto::audit::{Event, Receipt};
use kit::{NotRecorded, Recorder};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest that an event waits for others. If the process is killed meanwhile, the end of an answer is lost, as it is before
/// the event could be sent; its beginning is on the record.
const DELAY: Duration = Duration::from_millis(2);

/// Events that are sent at once, without a further wait.
const BATCH: usize = 64;

/// The way to the record, and the deferred events.
#[derive(Clone)]
pub(crate) struct DeferredAudit {
    recorder: Recorder,
    waiting: Arc<Mutex<Vec<Event>>>,
}

impl DeferredAudit {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, waiting: Arc::default() }
    }

    /// Records an event at once, after the deferred ones.
    pub(crate) async fn record(&self, event: Event) -> Result<Receipt, NotRecorded> {
        self.send().await;
        self.recorder.record(event).await
    }

    /// Records an event a moment later.
    pub(crate) fn defer(&self, event: Event) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(event);
        let delay = match waiting.len() {
            1 => DELAY,
            BATCH => Duration::ZERO,
            _ => return,
        };
        let deferred = self.clone();
        // Not a local task: a turn's search of memory comes from an actor, which has no local set.
        tokio::spawn(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            deferred.send().await;
        });
    }

    /// Sends the deferred events before the caller's own. Nobody waits for them to be durable.
    async fn send(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if waiting.is_empty() {
            return;
        }
        let recorder = self.recorder.clone();
        let mut sending = Box::pin(async move {
            let all = waiting.into_iter().map(|event| recorder.record(event));
            if join_all(all).await.iter().any(Result::is_err) {
                tracing::error!("how an answer ended could not be recorded");
            }
        });
        // One poll sends them; the rest goes on even if the caller is dropped.
        if poll!(&mut sending).is_pending() {
            tokio::spawn(sending);
        }
    }
}
