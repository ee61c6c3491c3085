//! Accounts of messaging platforms as rows: cursors, pauses, groups, and the keys of everything that was accepted.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::Text;
use ipc_proto::channel::{CURSOR, Conversation, GroupInfo, GroupRule};
use ipc_proto::ids::UserId;
use rusqlite::params;

/// An account's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) cursor: Option<Text<CURSOR>>,
    pub(crate) paused: bool,
    pub(crate) admitted_ms: u64,
    pub(crate) sent_ms: u64,
}

/// The origin of a message that came by a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The message; none for a command or a pairing.
    pub(crate) message: Option<i64>,
    /// The identity of its sender.
    pub(crate) identity: Text<256>,
    pub(crate) conversation: Conversation,
    /// The platform's id of it.
    pub(crate) reply_to: Text<128>,
    /// The platform's id of the preview of its answer.
    pub(crate) preview: Option<Text<128>>,
}

/// The message itself, and the dead letter that it stands for: the answer goes to where that came from.
macro_rules! origins {
    () => {
        "(?1, (SELECT p.seq FROM messages m JOIN messages p ON p.id = m.predecessor AND p.state != 'accepted'
          WHERE m.seq = ?1))"
    };
}

impl Store {
    /// An account; one without a row is as it was at first.
    pub(crate) fn account(&self, channel: &str) -> Result<Account, StoreFault> {
        let sql = "SELECT cursor, paused, admitted_ms, sent_ms FROM channels WHERE name = ?";
        let found = self.one(sql, [channel], |row| {
            let cursor: Option<String> = row.get(0)?;
            Ok(Account {
                cursor: cursor.map(|cursor| bounded("cursor", Text::new(cursor))).transpose()?,
                paused: row.get(1)?,
                admitted_ms: from_sql_ms(row.get(2)?),
                sent_ms: from_sql_ms(row.get(3)?),
            })
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The arrival with this key by this channel.
    pub(crate) fn arrival_keyed(&self, channel: &str, key: &str) -> Result<Option<Arrival>, StoreFault> {
        let sql = "SELECT message, identity, conversation, reply_to, preview FROM inbound WHERE channel = ? AND key = ?";
        self.one(sql, [channel, key], arrival)
    }

    /// The origin of a message; none if no platform's.
    pub(crate) fn arrival_of(&self, seq: i64) -> Result<Option<Arrival>, StoreFault> {
        let sql = concat!(
            "SELECT message, identity, conversation, reply_to, preview FROM inbound WHERE message IN ",
            origins!(),
            " LIMIT 1"
        );
        self.one(sql, [seq], arrival)
    }

    /// The rule of a group that an operator admitted.
    pub(crate) fn group(&self, channel: &str, group: &str) -> Result<Option<GroupRule>, StoreFault> {
        let sql = "SELECT rule FROM groups WHERE channel = ? AND id = ?";
        self.one(sql, [channel, group], |row| from_json("rule", &row.get::<_, String>(0)?))
    }

    /// The groups of an account that operators admitted.
    pub(crate) fn groups(&self, channel: &str) -> Result<Vec<GroupInfo>, StoreFault> {
        let sql = "SELECT id, rule FROM groups WHERE channel = ? ORDER BY id LIMIT 64";
        self.all(sql, [channel], |row| {
            Ok(GroupInfo {
                group: bounded("group", Text::new(row.get::<_, String>(0)?))?,
                rule: from_json("rule", &row.get::<_, String>(1)?)?,
            })
        })
    }

    /// The id that a group had first which has this one now; none if it never had another.
    pub(crate) fn first_id(&self, channel: &str, id: &str) -> Result<Option<String>, StoreFault> {
        let sql = "SELECT first FROM moves WHERE channel = ? AND id = ?";
        self.one(sql, [channel, id], |row| Ok(row.get(0)?))
    }

    /// A direct conversation of this identity, or with this id, by which something came; and the identity of its sender.
    pub(crate) fn direct_conversation(
        &self,
        channel: &str,
        identity: &str,
        id: &str,
    ) -> Result<Option<(Text<256>, Conversation)>, StoreFault> {
        let sql = "SELECT identity, conversation FROM inbound
                   WHERE channel = ?1 AND (identity = ?2 OR json_extract(conversation, '$.id') = ?3)
                   AND json_extract(conversation, '$.kind') = 'direct'
                   ORDER BY json_extract(conversation, '$.thread') IS NOT NULL LIMIT 1";
        self.one(sql, [channel, identity, id], |row| {
            let identity = bounded("identity", Text::new(row.get::<_, String>(0)?))?;
            Ok((identity, from_json("conversation", &row.get::<_, String>(1)?)?))
        })
    }

    /// How often this user began the conversation `base` anew.
    pub(crate) fn renewals(&self, user: UserId, base: &str) -> Result<u32, StoreFault> {
        let sql = "SELECT number FROM renewals WHERE user = ? AND base = ?";
        Ok(self.one(sql, params![user.bytes(), base], |row| Ok(row.get(0)?))?.unwrap_or_default())
    }
}

impl Tx<'_> {
    /// Stores the cursor of an account.
    pub(crate) fn set_cursor(&self, channel: &str, cursor: &str) -> Result<(), StoreFault> {
        let sql =
            "INSERT INTO channels VALUES (?, ?, 0, 0, 0) ON CONFLICT DO UPDATE SET cursor = excluded.cursor";
        self.run_one("channel", sql, [channel, cursor])
    }

    /// Pauses an account, or resumes it.
    pub(crate) fn set_channel_paused(&self, channel: &str, paused: bool) -> Result<(), StoreFault> {
        let sql = "INSERT INTO channels VALUES (?, NULL, ?, 0, 0) ON CONFLICT DO UPDATE SET paused = excluded.paused";
        self.run_one("channel", sql, params![channel, paused])
    }

    /// Notes when a message was admitted.
    pub(crate) fn note_admitted(&self, channel: &str, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "INSERT INTO channels VALUES (?, NULL, 0, ?, 0)
                   ON CONFLICT DO UPDATE SET admitted_ms = excluded.admitted_ms";
        self.run_one("channel", sql, params![channel, to_sql_ms(now_ms)])
    }

    /// Notes when a piece was sent.
    pub(crate) fn note_sent(&self, channel: &str, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "INSERT INTO channels VALUES (?, NULL, 0, 0, ?)
                   ON CONFLICT DO UPDATE SET sent_ms = excluded.sent_ms";
        self.run_one("channel", sql, params![channel, to_sql_ms(now_ms)])
    }

    /// Stores the key of something that was accepted.
    pub(crate) fn add_arrival(&self, channel: &str, key: &str, arrival: &Arrival) -> Result<(), StoreFault> {
        let row = params![
            channel,
            key,
            arrival.message,
            arrival.identity.as_str(),
            to_json("conversation", &arrival.conversation)?,
            arrival.reply_to.as_str(),
            arrival.preview.as_deref(),
        ];
        self.run_one("inbound", "INSERT INTO inbound VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    }

    /// Stores the platform's id of the preview of a message's answer.
    pub(crate) fn set_preview(&self, seq: i64, id: &str) -> Result<(), StoreFault> {
        let sql = concat!("UPDATE inbound SET preview = ?2 WHERE message IN ", origins!());
        self.run_one("inbound", sql, params![seq, id])
    }

    /// Admits a group, or no longer.
    pub(crate) fn set_group(
        &self,
        channel: &str,
        group: &str,
        rule: Option<GroupRule>,
    ) -> Result<(), StoreFault> {
        match rule {
            Some(rule) => {
                let sql =
                    "INSERT INTO groups VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rule = excluded.rule";
                self.run_one("group", sql, params![channel, group, to_json("rule", &rule)?])
            }
            None => self.run("DELETE FROM groups WHERE channel = ? AND id = ?", [channel, group]).map(drop),
        }
    }

    /// A group has become another: its rule, its messages and what is to be sent there go on under the new id.
    pub(crate) fn move_group(
        &self,
        channel: &str,
        old: &Conversation,
        new: &Conversation,
        first: &str,
    ) -> Result<(), StoreFault> {
        let (from, to) = (old.id.as_str(), new.id.as_str());
        self.run_one("move", "INSERT INTO moves VALUES (?, ?, ?)", [channel, to, first])?;
        self.run("UPDATE OR REPLACE groups SET id = ?3 WHERE channel = ?1 AND id = ?2", [channel, from, to])?;
        let (old, new) = (to_json("conversation", old)?, to_json("conversation", new)?);
        let sql =
            "UPDATE inbound SET conversation = ?3, preview = NULL WHERE channel = ?1 AND conversation = ?2";
        self.run(sql, [channel, &old, &new])?;
        let sql = "UPDATE deliveries SET conversation = ?3, edits = NULL
                   WHERE channel = ?1 AND conversation = ?2 AND state != 'sending'";
        self.run(sql, [channel, &old, &new]).map(drop)
    }

    /// Begins the conversation `base` of a user anew.
    pub(crate) fn renew(&self, user: UserId, base: &str) -> Result<(), StoreFault> {
        let sql = "INSERT INTO renewals VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET number = number + 1";
        self.run_one("renewal", sql, params![user.bytes(), base])
    }
}

fn arrival(row: &rusqlite::Row<'_>) -> Result<Arrival, StoreFault> {
    let preview: Option<String> = row.get(4)?;
    Ok(Arrival {
        message: row.get(0)?,
        identity: bounded("identity", Text::new(row.get::<_, String>(1)?))?,
        conversation: from_json("conversation", &row.get::<_, String>(2)?)?,
        reply_to: bounded("reply_to", Text::new(row.get::<_, String>(3)?))?,
        preview: preview.map(|id| bounded("preview", Text::new(id))).transpose()?,
    })
}
