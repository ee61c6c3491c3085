//! Rows that come to hold by a person's word: on the record before it is done.

use super::{Intake, event};
use crate::error::StoreError;
use crate::store::Store;
use crate::writer::{ask, change};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{MemoryError, Scope, State};

/// The way in which a row comes to hold.
type Holding = fn(&mut Store, &Scope, MemoryId, u64) -> Result<(), StoreError>;

impl Intake {
    /// Has a proposed fact hold as its owner's own word: of the very bytes that were proposed.
    pub(crate) async fn accept(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.clone().lasting(self.held(scope, id, true)).await
    }

    /// Has a row hold again that was removed.
    pub(crate) async fn unremove(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.clone().lasting(self.held(scope, id, false)).await
    }

    async fn held(self, scope: Scope, id: MemoryId, accepted: bool) -> Result<(), MemoryError> {
        let of = scope.clone();
        let row = ask(&self.writer, move |store, _| store.to_hold(&of, id, accepted)).await?;
        if row.state == State::Current {
            return Ok(());
        }
        let (why, hold): (_, Holding) =
            if accepted { ("accepted", Store::accept) } else { ("removal undone", Store::unremove) };
        self.record(event(Action::MemoryWritten, Result3::Success, &scope, &row.entry).because(why)).await?;
        kit::fault_point!("memory.hold.recorded");
        let of = scope.clone();
        let held = change(&self.writer, move |store, now_ms| hold(store, &of, id, now_ms)).await;
        if let Err(error) = held {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, &row.entry), error).await;
        }
        held
    }
}
