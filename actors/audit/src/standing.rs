//! The state of the record, and its report to agentd: a host whose record takes no entries is degraded, since nothing
//! has an effect in it. It touches no file.

use crate::hash::{self, Hash};
use kit::Supervisor;
use manifest::Process;
use manifest::command::{Frame, Kind, RecordState};
use tokio::sync::watch;

/// The outcome of the last write, or the state in which the record was found.
#[derive(Clone, Debug)]
pub(crate) struct Standing(watch::Sender<RecordState>);

impl Standing {
    pub(crate) fn new(state: RecordState) -> Self {
        Self(watch::Sender::new(state))
    }

    /// Entries are durable.
    pub(crate) fn whole(&self) {
        self.set(RecordState::Whole);
    }

    /// Entries could not be made durable.
    pub(crate) fn unwritable(&self) {
        self.set(RecordState::Unwritable);
    }

    pub(crate) fn is_unwritable(&self) -> bool {
        *self.0.borrow() == RecordState::Unwritable
    }

    pub(crate) fn is_foreign(&self) -> bool {
        *self.0.borrow() == RecordState::Foreign
    }

    fn set(&self, state: RecordState) {
        self.0.send_if_modified(|now| std::mem::replace(now, state) != state);
    }

    /// Tells agentd, and which log it is: now, and whenever it changes.
    pub(crate) async fn report(self, agentd: Supervisor, log: Option<Hash>) {
        let [a, b, c, d] = log.map_or([0; 4], hash::words);
        let frame =
            |state: &RecordState| Frame::new(Kind::Record, Process::Audit).with(&[*state as u64, a, b, c, d]);
        agentd.keep_reported(self.0.subscribe(), frame).await;
    }
}
