//! Messages of jobs: the terms of their turns, and the conversations that their answers are sent to.

use super::{Store, StoreFault, Tx, bounded, from_json, to_json};
use ipc_proto::Name;
use ipc_proto::channel::Conversation;
use ipc_proto::router::Unattended;
use rusqlite::params;

/// The part of a message that only a job's has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredFire {
    pub(crate) unattended: Unattended,
    /// The account, as `PLATFORM:NAME`, and the conversation of the answer.
    pub(crate) to: Option<(Name, Conversation)>,
}

impl Store {
    /// The part of a message that only a job's has; none if it is no job's.
    pub(crate) fn fire_of(&self, seq: i64) -> Result<Option<StoredFire>, StoreFault> {
        let sql = "SELECT unattended, channel, conversation FROM fires WHERE message = ?";
        self.one(sql, [seq], |row| {
            let (channel, conversation): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
            let to = match (channel, conversation) {
                (Some(channel), Some(conversation)) => {
                    Some((bounded("channel", Name::new(channel))?, from_json("conversation", &conversation)?))
                }
                _ => None,
            };
            Ok(StoredFire { unattended: from_json("unattended", &row.get::<_, String>(0)?)?, to })
        })
    }
}

impl Tx<'_> {
    /// Stores the part of a message that only a job's has.
    pub(crate) fn store_fire(&self, seq: i64, fire: &StoredFire) -> Result<(), StoreFault> {
        let channel = fire.to.as_ref().map(|(channel, _)| channel.as_str());
        let conversation =
            fire.to.as_ref().map(|(_, conversation)| to_json("conversation", conversation)).transpose()?;
        let row = params![seq, to_json("unattended", &fire.unattended)?, channel, conversation];
        self.run_one("fires", "INSERT INTO fires VALUES (?, ?, ?, ?)", row)
    }
}
