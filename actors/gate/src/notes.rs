//! The way to the record. How answers ended waits on it: nobody waits for that, so it waits a moment for an event that somebody
//! waits for and shares the flush of it: else the next decision would wait for a flush of its own behind it. It must never hold a
//! decision, whose effect may happen only once it is durable.

use futures::future::join_all;
use futures::poll;
use ipc_proto::audit::{Event, Receipt};
use kit::{NotRecorded, Recorder};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long one waits for company. A kill or a stop meanwhile loses how an answer ended, as it does before the event could be
/// sent; that it was begun is on the record.
const MOMENT: Duration = Duration::from_millis(2);
/// Of so many that wait none waits longer.
const MANY: usize = 64;

/// The way to the record, and the events that wait on it.
#[derive(Clone)]
pub(crate) struct Notes {
    recorder: Recorder,
    waiting: Arc<Mutex<Vec<Event>>>,
}

impl Notes {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, waiting: Arc::default() }
    }

    /// Puts an event on the record at once, with whatever waits.
    pub(crate) async fn record(&self, event: Event) -> Result<Receipt, NotRecorded> {
        self.send().await;
        self.recorder.record(event).await
    }

    /// Has an event be put on the record a moment later.
    pub(crate) fn add(&self, event: Event) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(event);
        let patience = match waiting.len() {
            1 => MOMENT,
            MANY => Duration::ZERO,
            _ => return,
        };
        let notes = self.clone();
        // Not a local task: a turn's search for a memory comes from an actor, which is none.
        tokio::spawn(async move {
            if !patience.is_zero() {
                tokio::time::sleep(patience).await;
            }
            notes.send().await;
        });
    }

    /// Sends what waits, before whatever the caller sends next; that it is durable is waited for by nobody.
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
        // They are on their way once this was polled; it goes on even where the caller is given up.
        if poll!(&mut sending).is_pending() {
            tokio::spawn(sending);
        }
    }
}
