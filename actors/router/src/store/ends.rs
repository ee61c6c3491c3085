//! Ends that this process has decided on, kept before anything is done about them: a message that was stopped, taken
//! back or given up does not go on after a death in between. The row goes in the change that ends the message.

use super::{Store, StoreFault, Tx, from_json, to_json};
use ipc_proto::Text;
use ipc_proto::router::End;
use rusqlite::params;

/// How a message is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) seq: i64,
    pub(crate) end: End,
    /// Why, in the host's words.
    pub(crate) note: String,
}

impl Store {
    /// Every end that is decided on and not done.
    pub(crate) fn decided_ends(&self) -> Result<Vec<Decided>, StoreFault> {
        self.all("SELECT message, how, note FROM ends ORDER BY message", [], |row| {
            Ok(Decided {
                seq: row.get(0)?,
                end: from_json("end", &row.get::<_, String>(1)?)?,
                note: row.get(2)?,
            })
        })
    }
}

impl Tx<'_> {
    /// Decides how a message ends; one decision stands.
    pub(crate) fn decide_end(&self, seq: i64, end: &End, note: &str) -> Result<(), StoreFault> {
        let note = Text::<256>::clip(note);
        let row = params![seq, to_json("end", end)?, note.as_str()];
        self.run("INSERT INTO ends VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row).map(drop)
    }

    /// It is done.
    pub(crate) fn end_is_done(&self, seq: i64) -> Result<(), StoreFault> {
        self.run("DELETE FROM ends WHERE message = ?", [seq]).map(drop)
    }
}
