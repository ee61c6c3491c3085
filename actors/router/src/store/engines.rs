//! What engines need to go on with sessions: one row a session, of the engine that answered last. Nobody here looks into it.

use super::{Store, StoreFault, Tx, bounded};
use ipc_proto::engine::{STATE, Token};
use ipc_proto::ids::SessionId;
use ipc_proto::{Blob, Name};
use rusqlite::params;

/// What is kept of an engine's session.
pub(crate) struct EngineState {
    pub(crate) token: Token,
    pub(crate) state: Blob<STATE>,
    /// The last message that it knows of.
    pub(crate) after: i64,
}

impl Store {
    /// What this engine needs to go on with a session.
    pub(crate) fn engine_state(
        &self,
        session: SessionId,
        engine: &Name,
    ) -> Result<Option<EngineState>, StoreFault> {
        let sql = "SELECT token, state, after FROM engine_states WHERE session = ? AND engine = ?";
        self.one(sql, params![session.bytes(), engine.as_str()], |row| {
            Ok(EngineState {
                token: bounded("engine token", Token::new(row.get::<_, String>(0)?))?,
                state: bounded("engine state", Blob::new(row.get::<_, Vec<u8>>(1)?))?,
                after: row.get(2)?,
            })
        })
    }
}

impl Tx<'_> {
    /// Keeps what an engine needs, in place of what was kept of the session before.
    pub(crate) fn keep_engine_state(
        &self,
        session: SessionId,
        engine: &Name,
        kept: &EngineState,
    ) -> Result<(), StoreFault> {
        let row = params![session.bytes(), engine.as_str(), kept.token.as_str(), &*kept.state, kept.after];
        self.run_one("engine state", "INSERT OR REPLACE INTO engine_states VALUES (?, ?, ?, ?, ?)", row)
    }

    /// Forgets it: the session has ended, or nothing can be kept of it.
    pub(crate) fn forget_engine_state(&self, session: SessionId) -> Result<(), StoreFault> {
        self.run("DELETE FROM engine_states WHERE session = ?", [session.bytes()]).map(drop)
    }
}
