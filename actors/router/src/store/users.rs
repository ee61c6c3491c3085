//! Users as rows. A configured user keeps its id as long as its name stands in the configuration; a user who was
//! added keeps theirs until they are removed, and their name then belongs to nobody.

use super::{Store, StoreFault, Tx, bounded, from_json, to_json, to_sql_ms};
use ipc_proto::config::UserRole;
use ipc_proto::ids::UserId;
use ipc_proto::{List, Name, Text};
use rusqlite::{Row, params};

/// Where a user comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The built-in owner.
    Host,
    /// `[[user]]`.
    Configured,
    /// `agentctl user add`.
    Added,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) name: Name,
    pub(crate) role: UserRole,
    pub(crate) uids: List<u32, 16>,
    pub(crate) identities: List<Text<256>, 16>,
    pub(crate) origin: Origin,
}

impl Store {
    /// Everybody who is known, and with `true` those who are gone instead.
    pub(crate) fn people(&self, gone: bool) -> Result<Vec<Person>, StoreFault> {
        let sql = "SELECT id, name, role, uids, identities, origin FROM users WHERE (gone_ms IS NOT NULL) = ?
                   ORDER BY name, gone_ms DESC";
        self.all(sql, [gone], person)
    }
}

impl Tx<'_> {
    /// Adds a user, or brings their row up to date and back to life.
    pub(crate) fn put_person(&self, person: &Person) -> Result<(), StoreFault> {
        let sql = "INSERT INTO users (id, name, role, uids, identities, origin) VALUES (?, ?, ?, ?, ?, ?)
                   ON CONFLICT (id) DO UPDATE SET role = excluded.role, uids = excluded.uids,
                   identities = excluded.identities, origin = excluded.origin, gone_ms = NULL";
        let row = params![
            person.id.bytes(),
            person.name.as_str(),
            to_json("role", &person.role)?,
            to_json("uids", &person.uids)?,
            to_json("identities", &person.identities)?,
            origin_name(person.origin),
        ];
        self.run_one("user", sql, row)
    }

    /// Marks a user as gone.
    pub(crate) fn mark_person_gone(&self, id: UserId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE users SET gone_ms = ? WHERE id = ? AND gone_ms IS NULL";
        self.run_one("user", sql, params![to_sql_ms(now_ms), id.bytes()])
    }
}

fn person(row: &Row<'_>) -> Result<Person, StoreFault> {
    let origin: String = row.get(5)?;
    Ok(Person {
        id: UserId::from_bytes(row.get(0)?),
        name: bounded("user name", Name::new(row.get::<_, String>(1)?))?,
        role: from_json("role", &row.get::<_, String>(2)?)?,
        uids: from_json("uids", &row.get::<_, String>(3)?)?,
        identities: from_json("identities", &row.get::<_, String>(4)?)?,
        origin: parse_origin(&origin).ok_or(StoreFault::Column("origin"))?,
    })
}

const fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Host => "host",
        Origin::Configured => "configured",
        Origin::Added => "added",
    }
}

fn parse_origin(name: &str) -> Option<Origin> {
    [Origin::Host, Origin::Configured, Origin::Added].into_iter().find(|it| origin_name(*it) == name)
}
