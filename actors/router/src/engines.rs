//! The state of an engine in a session, stored from one of its turns to the next. It goes to the gate, for a turn of the very session that
//! it came from, and to nobody else: this binds the engine's own session to the host's.

use crate::state::RouterState;
use crate::store::EngineState;
use ipc_proto::engine::{STATE, SavedState, Token};
use ipc_proto::ids::TurnId;
use ipc_proto::router::RouterError;
use ipc_proto::{Blob, Name};

impl RouterState {
    /// The state of this engine in the session of a turn, and how many messages of the conversation it has missed.
    pub(crate) fn engine_state(
        &mut self,
        turn: TurnId,
        engine: &Name,
    ) -> Result<Option<SavedState>, RouterError> {
        let head = self.under_way(turn)?;
        let Some(saved) = self.store.engine_state(head.session, engine)? else { return Ok(None) };
        let missed = self.messages_since(&head, saved.after)?;
        Ok(Some(SavedState { token: saved.token, state: saved.state, missed }))
    }

    /// Stores the state after a turn. An empty state removes the stored one.
    pub(crate) fn store_engine_state(
        &mut self,
        turn: TurnId,
        engine: &Name,
        token: Token,
        state: Blob<STATE>,
    ) -> Result<(), RouterError> {
        let head = self.under_way(turn)?;
        let saved = EngineState { token, state, after: head.seq };
        self.store.commit(|tx| {
            if saved.state.is_empty() {
                return tx.forget_engine_state(head.session);
            }
            tx.store_engine_state(head.session, engine, &saved)
        })?;
        kit::fault_point!("router.engine.kept");
        Ok(())
    }
}
