//! Appends on their way from the edges to the writer, which is woken by the first and takes them together. It opens
//! nothing.

use ipc_proto::Name;
use ipc_proto::audit::{AuditError, Event, Receipt, Serial};
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;

/// The channel on which an append is answered.
pub(crate) type Reply = oneshot::Sender<Result<Receipt, AuditError>>;

/// An append that was asked for.
pub(crate) struct Append {
    pub(crate) witness: Name,
    pub(crate) serial: Serial,
    pub(crate) event: Event,
    pub(crate) reply: Reply,
}

/// Appends that the writer has not taken yet: the first one wakes it, and it takes them all.
#[derive(Default)]
pub(crate) struct Intake(Mutex<Vec<Append>>);

impl Intake {
    /// Puts one in; whether the writer is to be told.
    pub(crate) fn put(&self, append: Append) -> bool {
        let mut appends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        appends.push(append);
        appends.len() == 1
    }

    /// Takes all of them.
    pub(crate) fn take(&self) -> Vec<Append> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
