//! The state of engines in sessions: one row a session, of the engine that answered last. It is never looked into here.

use super::{Store, StoreFault, Tx, bounded};
use ipc_proto::engine::{STATE, Token};
use ipc_proto::ids::SessionId;
use ipc_proto::{Blob, Name};
use rusqlite::params;

/// The stored state of an engine's session.
pub(crate) struct EngineState {
    pub(crate) token: Token,
    pub(crate) state: Blob<STATE>,
    /// The last message that it knows of.
    pub(crate) after: i64,
}

impl Store {
    /// The state of this engine in a session.
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
    /// Stores the state of an engine in a session, in place of the state that was stored before.
    pub(crate) fn store_engine_state(
        &self,
        session: SessionId,
        engine: &Name,
        kept: &EngineState,
    ) -> Result<(), StoreFault> {
        let row = params![session.bytes(), engine.as_str(), kept.token.as_str(), &*kept.state, kept.after];
        self.run_one("engine state", "INSERT OR REPLACE INTO engine_states VALUES (?, ?, ?, ?, ?)", row)
    }

    /// Removes the state of a session that has ended, or of which there is none.
    pub(crate) fn forget_engine_state(&self, session: SessionId) -> Result<(), StoreFault> {
        self.run("DELETE FROM engine_states WHERE session = ?", [session.bytes()]).map(drop)
    }
}
