//! Choices below a question that a channel shows, as rows: buttons by their nonces, a code by its hash. They go with the
//! question.

use super::deliveries::to_sql_id;
use super::{Store, StoreFault, Tx, bounded, from_sql_id, to_json};
use ipc_proto::Text;
use ipc_proto::approval::Reply;
use ipc_proto::channel::{Conversation, DeliveryId};
use ipc_proto::ids::ApprovalId;
use rusqlite::params;

/// A choice below a delivery that is added with it.
pub(crate) struct NewChoice<'a> {
    pub(crate) delivery: DeliveryId,
    /// The nonce of a button, or the hash of a code.
    pub(crate) nonce: &'a [u8],
    pub(crate) channel: &'a str,
    pub(crate) conversation: &'a Conversation,
    pub(crate) identity: &'a str,
    pub(crate) approval: ApprovalId,
    pub(crate) hash: [u8; 32],
    pub(crate) reply: Reply,
}

/// A choice that can be taken.
pub(crate) struct Choice {
    pub(crate) delivery: DeliveryId,
    /// The one person who may take it.
    pub(crate) identity: Text<256>,
    pub(crate) approval: ApprovalId,
    /// SHA-256 of the action that was shown.
    pub(crate) hash: [u8; 32],
    pub(crate) reply: Reply,
}

impl Store {
    /// The choice with this nonce, or hash of a code, in a conversation.
    pub(crate) fn choice(
        &self,
        channel: &str,
        conversation: &Conversation,
        nonce: &[u8],
    ) -> Result<Option<Choice>, StoreFault> {
        let sql = "SELECT delivery, identity, approval, hash, reply FROM choices
                   WHERE nonce = ? AND channel = ? AND conversation = ?";
        self.one(sql, params![nonce, channel, to_json("conversation", conversation)?], |row| {
            Ok(Choice {
                delivery: from_sql_id(row.get(0)?),
                identity: bounded("identity", Text::new(row.get::<_, String>(1)?))?,
                approval: ApprovalId::from_bytes(row.get(2)?),
                hash: row.get(3)?,
                reply: parse(&row.get::<_, String>(4)?)?,
            })
        })
    }

    /// The buttons below a delivery.
    pub(crate) fn choice_buttons(&self, id: DeliveryId) -> Result<Vec<([u8; 16], Reply)>, StoreFault> {
        let sql = "SELECT nonce, reply FROM choices WHERE delivery = ? AND length(nonce) = 16
                   ORDER BY reply DESC LIMIT 8";
        self.all(sql, [to_sql_id(id)], |row| Ok((row.get(0)?, parse(&row.get::<_, String>(1)?)?)))
    }

    /// The platform's id of the message with the buttons of a delivery; none before it is known to be sent.
    pub(crate) fn last_message(&self, id: DeliveryId) -> Result<Option<String>, StoreFault> {
        let sql = "SELECT platform_id FROM pieces WHERE delivery = ? AND state = 'sent' AND number =
                   (SELECT planned - 1 FROM deliveries WHERE id = pieces.delivery)";
        Ok(self.one(sql, [to_sql_id(id)], |row| Ok(row.get::<_, Option<String>>(0)?))?.flatten())
    }
}

impl Tx<'_> {
    /// Adds a choice to its delivery.
    pub(crate) fn add_choice(&self, new: &NewChoice<'_>) -> Result<(), StoreFault> {
        let row = params![
            new.nonce,
            new.channel,
            to_json("conversation", new.conversation)?,
            to_sql_id(new.delivery),
            new.identity,
            new.approval.bytes(),
            new.hash,
            name(new.reply),
        ];
        self.run_one("choice", "INSERT INTO choices VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    }

    /// Leaves a delivery the choices that deny.
    pub(crate) fn leave_denying(&self, id: DeliveryId) -> Result<(), StoreFault> {
        let sql = "DELETE FROM choices WHERE delivery = ? AND length(nonce) = 16 AND reply != 'deny'";
        self.run(sql, [to_sql_id(id)])?;
        self.run("UPDATE choices SET reply = 'deny' WHERE delivery = ?", [to_sql_id(id)]).map(drop)
    }

    /// Takes the choices of questions away that wait no longer.
    pub(crate) fn forget_choices(&self) -> Result<(), StoreFault> {
        let sql = "DELETE FROM choices WHERE approval NOT IN
                   (SELECT id FROM approvals WHERE state IN ('pending', 'approved') AND state = 'pending')";
        self.run(sql, []).map(drop)
    }
}

const fn name(reply: Reply) -> &'static str {
    match reply {
        Reply::Once | Reply::Session => "once",
        Reply::Deny => "deny",
    }
}

fn parse(name: &str) -> Result<Reply, StoreFault> {
    match name {
        "once" => Ok(Reply::Once),
        "deny" => Ok(Reply::Deny),
        _ => Err(StoreFault::Column("reply")),
    }
}
