//! The recorder puts events on the record, each with its own count, so that a gap is seen and a repeat is one.

use crate::link::Link;
use ipc_proto::Fault;
use ipc_proto::audit::{AuditClient, AuditError, Event, Receipt, Serial, method};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An event could not be put on the record. Its effect must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRecorded {
    /// Audit is not available.
    #[error("audit is not there: {0}")]
    Down(#[from] Fault),
    /// Audit could not record it.
    #[error("{0}")]
    Refused(#[from] AuditError),
}

/// Puts events on the record.
#[derive(Clone)]
pub struct Recorder {
    audit: Link<AuditClient>,
    life: u64,
    number: Arc<AtomicU64>,
}

impl Recorder {
    pub(crate) fn new(audit: Link<AuditClient>) -> Self {
        let life = getrandom::u64().unwrap_or_else(|_| crate::now_ms());
        Self { audit, life, number: Arc::default() }
    }

    /// Puts `event` on the record: durable when this returns.
    ///
    /// # Errors
    /// [`NotRecorded`]: no effect may follow.
    pub async fn record(&self, event: Event) -> Result<Receipt, NotRecorded> {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let serial = Serial { life: self.life, number };
        let receipt = self
            .audit
            .call(&method::append, |audit, context| {
                let event = event.clone();
                async move { audit.append(context, serial, event).await }
            })
            .await?;
        Ok(receipt?)
    }
}
