//! What an engine knows of a session, kept from one of its turns to the next. It goes to the gate, for a turn of the very
//! session that it came from, and to nobody else: that is what binds an engine's own name of a session to ours.

use crate::desk::Desk;
use crate::store::{EngineState, Head, StoreFault};
use ipc_proto::engine::{STATE, SavedState, Token};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{RouterError, Task};
use ipc_proto::{Blob, Name};

impl Desk {
    /// What this engine has to go on with in the session of a turn, and how much of the conversation it has not seen.
    pub(crate) fn engine_state(
        &mut self,
        turn: TurnId,
        engine: &Name,
    ) -> Result<Option<SavedState>, RouterError> {
        let head = self.under_way(turn)?;
        let Some(kept) = self.store.engine_state(head.session, engine)? else { return Ok(None) };
        let missed = self.told_since(&head, kept.after)?;
        Ok(Some(SavedState { token: kept.token, state: kept.state, missed }))
    }

    /// Keeps what it has after a turn; nothing lets go of what was kept.
    pub(crate) fn keep_engine_state(
        &mut self,
        turn: TurnId,
        engine: &Name,
        token: Token,
        state: Blob<STATE>,
    ) -> Result<(), RouterError> {
        let head = self.under_way(turn)?;
        let kept = EngineState { token, state, after: head.seq };
        self.store.commit(|tx| {
            if kept.state.is_empty() {
                return tx.forget_engine_state(head.session);
            }
            tx.keep_engine_state(head.session, engine, &kept)
        })?;
        kit::fault_point!("router.engine.kept");
        Ok(())
    }

    /// Returns whether a message's turn is run in a jail with a loopback of its own: by an engine, or by a program of a person's.
    pub(crate) fn is_jailed_apart(&self, head: &Head) -> Result<bool, StoreFault> {
        let agent = self.store.session(head.session)?.agent;
        Ok(self.runs(head.seq)? || self.engine_of(head, &agent)?.is_some())
    }

    /// The engine that answers a message with this agent, if it is one that is to be answered.
    pub(crate) fn engine_of(&self, head: &Head, agent: &str) -> Result<Option<Name>, StoreFault> {
        let engine = self.config.agents.get(agent).and_then(|agent| agent.engine.as_ref());
        match engine {
            Some(engine) if self.store.said_without_media(head.seq)?.1 == Task::Chat => {
                Ok(Some(engine.name.clone()))
            }
            _ => Ok(None),
        }
    }
}
