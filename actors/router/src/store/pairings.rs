//! Pairings, links and linked identities as rows. Of a code its hash is stored.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::channel::{Conversation, PairingInfo, PairingState};
use ipc_proto::ids::UserId;
use ipc_proto::{Name, Text};
use rusqlite::{Row, params};

/// A pairing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pairing {
    pub(crate) info: PairingInfo,
    /// The conversation that waits for the answer.
    pub(crate) conversation: Conversation,
}

const PAIRING: &str =
    "SELECT identity, channel, conversation, display, state, asked_ms, until_ms FROM pairings ";

impl Store {
    /// The pairing of an identity.
    pub(crate) fn pairing_of(&self, identity: &str) -> Result<Option<Pairing>, StoreFault> {
        self.one(&format!("{PAIRING} WHERE identity = ?"), [identity], pairing)
    }

    /// The pairing with this hash that waits.
    pub(crate) fn pairing_hashed(&self, hash: [u8; 32], now_ms: u64) -> Result<Option<Pairing>, StoreFault> {
        let sql = format!("{PAIRING} WHERE hash = ? AND state = '\"pending\"' AND until_ms > ?");
        self.one(&sql, params![hash, to_sql_ms(now_ms)], pairing)
    }

    /// Pairings of an account that wait, oldest first.
    pub(crate) fn pairings_pending(&self, channel: &str, now_ms: u64) -> Result<Vec<Pairing>, StoreFault> {
        let sql = format!(
            "{PAIRING} WHERE channel = ? AND state = '\"pending\"' AND until_ms > ? ORDER BY asked_ms LIMIT 256"
        );
        self.all(&sql, params![channel, to_sql_ms(now_ms)], pairing)
    }

    /// Pairings that were asked for after this time, newest first.
    pub(crate) fn pairings_since(&self, since_ms: u64) -> Result<Vec<Pairing>, StoreFault> {
        let sql = format!("{PAIRING} WHERE asked_ms > ? ORDER BY asked_ms DESC LIMIT 256");
        self.all(&sql, [to_sql_ms(since_ms)], pairing)
    }

    /// The user of a link's code.
    pub(crate) fn link(&self, hash: [u8; 32], now_ms: u64) -> Result<Option<UserId>, StoreFault> {
        let sql = "SELECT user FROM links WHERE hash = ? AND until_ms > ?";
        self.one(sql, params![hash, to_sql_ms(now_ms)], |row| Ok(UserId::from_bytes(row.get(0)?)))
    }

    /// Returns true if a link's code waits for somebody to send it.
    pub(crate) fn link_waits(&self, now_ms: u64) -> Result<bool, StoreFault> {
        let sql = "SELECT 1 FROM links WHERE until_ms > ? LIMIT 1";
        Ok(self.one(sql, [to_sql_ms(now_ms)], |_| Ok(()))?.is_some())
    }

    /// Identities that were added to users.
    pub(crate) fn linked(&self) -> Result<Vec<(Text<256>, UserId)>, StoreFault> {
        self.all("SELECT identity, user FROM identities ORDER BY identity", [], |row| {
            let identity = bounded("identity", Text::new(row.get::<_, String>(0)?))?;
            Ok((identity, UserId::from_bytes(row.get(1)?)))
        })
    }
}

impl Tx<'_> {
    /// Stores a pairing in place of an earlier one of the same identity.
    pub(crate) fn put_pairing(&self, pairing: &Pairing, hash: [u8; 32]) -> Result<(), StoreFault> {
        let info = &pairing.info;
        let row = params![
            info.identity.as_str(),
            info.channel.as_str(),
            to_json("conversation", &pairing.conversation)?,
            info.display.as_str(),
            hash,
            to_json("state", &info.state)?,
            to_sql_ms(info.asked_ms),
            to_sql_ms(info.until_ms),
        ];
        self.run_one("pairing", "INSERT OR REPLACE INTO pairings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    }

    /// Ends a pairing before its time. Its code is of no use any more.
    pub(crate) fn end_pairing(&self, identity: &str, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE pairings SET until_ms = ? WHERE identity = ?";
        self.run_one("pairing", sql, params![to_sql_ms(now_ms), identity])
    }

    /// Settles a pairing. Its code is of no use any more.
    pub(crate) fn settle_pairing(&self, identity: &str, state: PairingState) -> Result<(), StoreFault> {
        let sql = "UPDATE pairings SET state = ? WHERE identity = ?";
        self.run_one("pairing", sql, params![to_json("state", &state)?, identity])
    }

    /// Stores a link's code.
    pub(crate) fn put_link(&self, hash: [u8; 32], user: UserId, until_ms: u64) -> Result<(), StoreFault> {
        let row = params![hash, user.bytes(), to_sql_ms(until_ms)];
        self.run_one("link", "INSERT INTO links VALUES (?, ?, ?)", row)
    }

    /// Uses up a link's code.
    pub(crate) fn remove_link(&self, hash: [u8; 32]) -> Result<(), StoreFault> {
        self.run("DELETE FROM links WHERE hash = ?", [hash]).map(drop)
    }

    /// Adds an identity to a user.
    pub(crate) fn add_identity(&self, identity: &str, user: UserId) -> Result<(), StoreFault> {
        let sql = "INSERT INTO identities VALUES (?, ?) ON CONFLICT DO UPDATE SET user = excluded.user";
        self.run_one("identity", sql, params![identity, user.bytes()])
    }

    /// Takes an identity from its user.
    pub(crate) fn remove_identity(&self, identity: &str) -> Result<(), StoreFault> {
        self.run("DELETE FROM identities WHERE identity = ?", [identity]).map(drop)
    }

    /// Takes every added identity from a user.
    pub(crate) fn remove_identities(&self, user: UserId) -> Result<(), StoreFault> {
        self.run("DELETE FROM identities WHERE user = ?", [user.bytes()]).map(drop)
    }
}

fn pairing(row: &Row<'_>) -> Result<Pairing, StoreFault> {
    let info = PairingInfo {
        identity: bounded("identity", Text::new(row.get::<_, String>(0)?))?,
        channel: bounded("channel", Name::new(row.get::<_, String>(1)?))?,
        display: bounded("display", Text::new(row.get::<_, String>(3)?))?,
        state: from_json("state", &row.get::<_, String>(4)?)?,
        asked_ms: from_sql_ms(row.get(5)?),
        until_ms: from_sql_ms(row.get(6)?),
    };
    Ok(Pairing { info, conversation: from_json("conversation", &row.get::<_, String>(2)?)? })
}
