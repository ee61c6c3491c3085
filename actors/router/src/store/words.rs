//! Words that were said into a turn under way: which of the messages they are, and which turn is to take them in.

use super::{Store, StoreFault, Tx};
use ipc_proto::ids::TurnId;
use rusqlite::params;

/// What a message was said into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) into: TurnId,
    /// It goes before what is not.
    pub(crate) urgent: bool,
}

impl Store {
    /// What this message was said into, if into anything.
    pub(crate) fn said_into(&self, seq: i64) -> Result<Option<Said>, StoreFault> {
        self.one("SELECT turn, urgent FROM words WHERE message = ?", [seq], |row| {
            Ok(Said { into: TurnId::from_bytes(row.get(0)?), urgent: row.get(1)? })
        })
    }

    /// The messages that this turn is to take in and that have their label, urgent ones first.
    pub(crate) fn words_for(&self, turn: TurnId) -> Result<Vec<(i64, bool)>, StoreFault> {
        let sql = "SELECT w.message, w.urgent FROM words w JOIN messages m ON m.seq = w.message
                   WHERE w.turn = ? AND m.state = 'queued' ORDER BY w.urgent DESC, w.message";
        self.all(sql, [turn.bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

impl Tx<'_> {
    /// A message was said into a turn.
    pub(crate) fn say_into(&self, seq: i64, said: Said) -> Result<(), StoreFault> {
        let row = params![seq, said.into.bytes(), said.urgent];
        self.run_one("words", "INSERT INTO words VALUES (?, ?, ?)", row)
    }
}
