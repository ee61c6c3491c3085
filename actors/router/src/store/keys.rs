//! Keys of the API as rows. A key that was revoked stays for the listing until its place is needed.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::Name;
use ipc_proto::api::KeyScope;
use ipc_proto::ids::{KeyId, UserId};
use rusqlite::{Row, params};

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: KeyId,
    pub(crate) name: Name,
    pub(crate) user: UserId,
    /// SHA-256 of what its client presents.
    pub(crate) hash: [u8; 32],
    pub(crate) scope: KeyScope,
    pub(crate) created_ms: u64,
    pub(crate) used_ms: u64,
    pub(crate) revoked_ms: Option<u64>,
}

impl Store {
    /// Every key, newest first.
    pub(crate) fn keys(&self) -> Result<Vec<Key>, StoreFault> {
        let sql = "SELECT id, name, user, hash, scope, created_ms, used_ms, revoked_ms FROM keys
                   ORDER BY created_ms DESC, name";
        self.all(sql, [], key)
    }
}

impl Tx<'_> {
    /// Keeps a key.
    pub(crate) fn add_key(&self, key: &Key) -> Result<(), StoreFault> {
        let row = params![
            key.id.bytes(),
            key.name.as_str(),
            key.user.bytes(),
            key.hash,
            to_json("scope", &key.scope)?,
            to_sql_ms(key.created_ms),
            to_sql_ms(key.used_ms),
        ];
        self.run_one("key", "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
    }

    /// Notes that a key was used.
    pub(crate) fn use_key(&self, id: KeyId, used_ms: u64) -> Result<(), StoreFault> {
        let row = params![to_sql_ms(used_ms), id.bytes()];
        self.run("UPDATE keys SET used_ms = ? WHERE id = ?", row).map(drop)
    }

    /// Revokes a key; one that was revoked already stays as it is.
    pub(crate) fn revoke_key(&self, id: KeyId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE keys SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL";
        self.run(sql, params![to_sql_ms(now_ms), id.bytes()]).map(drop)
    }

    /// Forgets a key that was revoked, for its place.
    pub(crate) fn forget_key(&self, id: KeyId) -> Result<(), StoreFault> {
        let sql = "DELETE FROM keys WHERE id = ? AND revoked_ms IS NOT NULL";
        self.run_one("key", sql, [id.bytes()])
    }
}

fn key(row: &Row<'_>) -> Result<Key, StoreFault> {
    let revoked: Option<i64> = row.get(7)?;
    Ok(Key {
        id: KeyId::from_bytes(row.get(0)?),
        name: bounded("key name", Name::new(row.get::<_, String>(1)?))?,
        user: UserId::from_bytes(row.get(2)?),
        hash: row.get(3)?,
        scope: from_json("scope", &row.get::<_, String>(4)?)?,
        created_ms: from_sql_ms(row.get(5)?),
        used_ms: from_sql_ms(row.get(6)?),
        revoked_ms: revoked.map(from_sql_ms),
    })
}
