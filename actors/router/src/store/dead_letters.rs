//! Dead letters, and messages that stand in their place. A dead letter has at most one successor.

use super::{Store, StoreFault, Tx};
use ipc_proto::ids::{MessageId, UserId};
use rusqlite::params;

/// The message that this one replaces, and the message that replaces it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) predecessor: Option<MessageId>,
    pub(crate) successor: Option<MessageId>,
}

impl Store {
    /// The links of a message.
    pub(crate) fn links(&self, seq: i64) -> Result<Links, StoreFault> {
        let sql = "SELECT predecessor, successor FROM messages WHERE seq = ?";
        let found = self.one(sql, [seq], |row| {
            let id = |bytes: Option<[u8; 16]>| bytes.map(MessageId::from_bytes);
            Ok(Links { predecessor: id(row.get(0)?), successor: id(row.get(1)?) })
        })?;
        found.ok_or(StoreFault::Missing("message"))
    }

    /// How many dead letters there are, of one user or of all.
    pub(crate) fn dead_letters(&self, user: Option<UserId>) -> Result<u32, StoreFault> {
        let sql = "SELECT count(*) FROM messages
                   WHERE state IN ('failed', 'quarantined') AND (?1 IS NULL OR user = ?1)";
        Ok(self.one(sql, params![user.map(UserId::bytes)], |row| Ok(row.get(0)?))?.unwrap_or(0))
    }
}

impl Tx<'_> {
    /// Has a dead letter, at `seq`, give up its key for the message in its place.
    pub(crate) fn give_up_key(&self, seq: i64, id: MessageId) -> Result<(), StoreFault> {
        let key = format!("replaced/{id}");
        self.run_one("dead letter", "UPDATE messages SET key = ? WHERE seq = ?", params![key, seq])
    }

    /// Ties a dead letter, at `old`, and the message in its place, at `new`, to each other.
    pub(crate) fn link(
        &self,
        (old, dead): (i64, MessageId),
        (new, fresh): (i64, MessageId),
    ) -> Result<(), StoreFault> {
        let once = "UPDATE messages SET successor = ? WHERE seq = ? AND successor IS NULL";
        self.run_one("dead letter", once, params![fresh.bytes(), old])?;
        self.run_one(
            "message",
            "UPDATE messages SET predecessor = ? WHERE seq = ?",
            params![dead.bytes(), new],
        )
    }
}
