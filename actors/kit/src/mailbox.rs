//! The mailbox of an actor inside a process, as operators see it: messages that wait, and the kind of the one it works on.

use manifest::command::{Worker, label};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Counts of one actor. Its handle counts what is sent, and the actor what it works on.
#[derive(Debug)]
pub struct Mailbox {
    name: &'static str,
    waiting: AtomicU64,
    handled: AtomicU64,
    task: Mutex<Option<(&'static str, Instant)>>,
}

/// A message that an actor works on, until this is dropped.
#[derive(Debug)]
pub struct Working<'a>(&'a Mailbox);

impl Mailbox {
    /// An empty one of the actor of this name, at most 24 bytes of which are shown.
    #[must_use]
    pub fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            name,
            waiting: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            task: Mutex::new(None),
        })
    }

    /// A message was sent.
    pub fn sent(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// The actor has received a message of this kind.
    #[must_use]
    pub fn begin(&self, task: &'static str) -> Working<'_> {
        // A message that was not counted as sent takes nothing away from an empty mailbox.
        let less = |waiting: u64| waiting.checked_sub(1);
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        *self.task() = Some((task, Instant::now()));
        Working(self)
    }

    /// Its figures now.
    #[must_use]
    pub fn worker(&self) -> Worker {
        let task = *self.task();
        let since = task.map_or(0, |(_, since)| since.elapsed().as_millis());
        Worker {
            name: label(self.name),
            mailbox: self.waiting.load(Ordering::Relaxed),
            handled: self.handled.load(Ordering::Relaxed),
            task: label(task.map_or("", |(task, _)| task)),
            since_ms: u64::try_from(since).unwrap_or(u64::MAX),
        }
    }

    fn task(&self) -> MutexGuard<'_, Option<(&'static str, Instant)>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.handled.fetch_add(1, Ordering::Relaxed);
        *self.0.task() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::label_text;

    #[test]
    fn a_mailbox_shows_what_waits_and_what_is_worked_on() {
        let mailbox = Mailbox::new("queue");
        mailbox.sent();
        mailbox.sent();
        let working = mailbox.begin("submit");
        let now = mailbox.worker();
        assert_eq!((label_text(now.name), now.mailbox, now.handled), ("queue".to_owned(), 1, 0));
        assert_eq!(label_text(now.task), "submit");
        drop(working);
        for _ in 0..3 {
            drop(mailbox.begin("tick"));
        }
        let now = mailbox.worker();
        assert_eq!((now.mailbox, now.handled, label_text(now.task).as_str()), (0, 4, ""));
    }
}
