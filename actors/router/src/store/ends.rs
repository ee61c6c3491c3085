//! Ends that are decided, stored before anything else is done about them: a message that was stopped, recalled or given up does not go on
//! after a crash in between, and an answer is not cancelled. The row goes in the change that ends the message.

use super::{Store, StoreFault, Tx, from_json, to_json};
use ipc_proto::Text;
use ipc_proto::router::{End, Finished};
use rusqlite::params;
use serde::Deserialize;

/// How a message is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) seq: i64,
    pub(crate) end: End,
    /// The reason, in the host's words.
    pub(crate) note: String,
}

/// The content of a row.
#[derive(Deserialize)]
#[serde(untagged)]
enum How {
    /// An end that this process decided.
    Own(End),
    /// An answer of the gate.
    Answer(Box<Finished>),
}

impl Store {
    /// Every end of this process's own that is decided on and not done.
    pub(crate) fn decided_ends(&self) -> Result<Vec<Decided>, StoreFault> {
        let own = self.decided()?.into_iter().filter_map(|(seq, how, note)| match how {
            How::Own(end) => Some(Decided { seq, end, note }),
            How::Answer(_) => None,
        });
        Ok(own.collect())
    }

    /// Every end that the gate decided and that is not done.
    pub(crate) fn decided_answers(&self) -> Result<Vec<(i64, Finished, String)>, StoreFault> {
        let answers = self.decided()?.into_iter().filter_map(|(seq, how, note)| match how {
            How::Own(_) => None,
            How::Answer(finished) => Some((seq, *finished, note)),
        });
        Ok(answers.collect())
    }

    fn decided(&self) -> Result<Vec<(i64, How, String)>, StoreFault> {
        self.all("SELECT message, how, note FROM ends ORDER BY message", [], |row| {
            Ok((row.get(0)?, from_json("end", &row.get::<_, String>(1)?)?, row.get(2)?))
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

    /// Decides that a message ends as the gate says; one decision stands.
    pub(crate) fn decide_answer(&self, seq: i64, finished: &Finished, note: &str) -> Result<(), StoreFault> {
        let note = Text::<256>::clip(note);
        let row = params![seq, to_json("end", finished)?, note.as_str()];
        self.run("INSERT INTO ends VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row).map(drop)
    }

    /// It is done.
    pub(crate) fn end_is_done(&self, seq: i64) -> Result<(), StoreFault> {
        self.run("DELETE FROM ends WHERE message = ?", [seq]).map(drop)
    }
}
