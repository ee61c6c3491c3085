//! Steering messages, and the turn that is to take each in.

use super::{Store, StoreFault, Tx};
use ipc_proto::ids::TurnId;
use rusqlite::params;

/// The turn that a message steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SteeringTarget {
    pub(crate) into: TurnId,
    /// True if it goes before messages that are not urgent.
    pub(crate) urgent: bool,
}

impl Store {
    /// The turn that this message steers, if it steers one.
    pub(crate) fn steering_target(&self, seq: i64) -> Result<Option<SteeringTarget>, StoreFault> {
        self.one("SELECT turn, urgent FROM words WHERE message = ?", [seq], |row| {
            Ok(SteeringTarget { into: TurnId::from_bytes(row.get(0)?), urgent: row.get(1)? })
        })
    }

    /// The messages that this turn is to take in and that have their label, urgent ones first.
    pub(crate) fn steering_for(&self, turn: TurnId) -> Result<Vec<(i64, bool)>, StoreFault> {
        let sql = "SELECT w.message, w.urgent FROM words w JOIN messages m ON m.seq = w.message
                   WHERE w.turn = ? AND m.state = 'queued' ORDER BY w.urgent DESC, w.message";
        self.all(sql, [turn.bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

impl Tx<'_> {
    /// Sets the turn that a message steers.
    pub(crate) fn set_steering_target(&self, seq: i64, target: SteeringTarget) -> Result<(), StoreFault> {
        let row = params![seq, target.into.bytes(), target.urgent];
        self.run_one("words", "INSERT INTO words VALUES (?, ?, ?)", row)
    }
}
