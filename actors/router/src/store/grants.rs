//! Grants as rows: what a person has allowed for the rest of one session. A grant holds while its session has not
//! ended and nobody has taken it back.

use super::{Store, StoreFault, Tx, bounded, from_sql_ms, to_sql_ms};
use ipc_proto::Name;
use ipc_proto::approval::Grant;
use ipc_proto::ids::{ApprovalId, SessionId, UserId};
use rusqlite::{Row, params};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT g.id, g.session, g.tool, g.scope, g.given_by, g.given_ms FROM grants g ",
            "JOIN sessions s ON s.id = g.session ",
            $rest
        )
    };
}

impl Store {
    /// The grants that hold, of one user or of all, newest first.
    pub(crate) fn grants(&self, user: Option<UserId>) -> Result<Vec<Grant>, StoreFault> {
        let sql = select!(
            "WHERE g.revoked_ms IS NULL AND s.ended_ms IS NULL AND (?1 IS NULL OR s.user = ?1)
             ORDER BY g.given_ms DESC LIMIT 256"
        );
        self.all(sql, params![user.map(UserId::bytes)], grant)
    }

    /// The grants that hold in this session.
    pub(crate) fn grants_in(&self, session: SessionId) -> Result<Vec<Grant>, StoreFault> {
        let sql = select!(
            "WHERE g.session = ? AND g.revoked_ms IS NULL AND s.ended_ms IS NULL ORDER BY g.given_ms"
        );
        self.all(sql, [session.bytes()], grant)
    }

    /// The user of a grant, the grant, and true if it was revoked.
    pub(crate) fn granted(&self, id: ApprovalId) -> Result<Option<(UserId, Grant, bool)>, StoreFault> {
        let sql = "SELECT g.id, g.session, g.tool, g.scope, g.given_by, g.given_ms, s.user, g.revoked_ms
                   FROM grants g JOIN sessions s ON s.id = g.session WHERE g.id = ?";
        self.one(sql, [id.bytes()], |row| {
            let revoked: Option<i64> = row.get(7)?;
            Ok((UserId::from_bytes(row.get(6)?), grant(row)?, revoked.is_some()))
        })
    }
}

impl Tx<'_> {
    /// Keeps a grant; of the same scope in the same session there is one, the newest.
    pub(crate) fn grant(&self, grant: &Grant) -> Result<(), StoreFault> {
        let same = "UPDATE grants SET revoked_ms = ? WHERE session = ? AND scope = ? AND revoked_ms IS NULL";
        self.run(same, params![to_sql_ms(grant.given_ms), grant.session.bytes(), grant.scope])?;
        let row = params![
            grant.id.bytes(),
            grant.session.bytes(),
            grant.tool.as_str(),
            grant.scope,
            grant.given_by.as_str(),
            to_sql_ms(grant.given_ms),
        ];
        self.run_one("grant", "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
    }

    /// Takes a grant back; one that was taken back already stays so.
    pub(crate) fn revoke(&self, id: ApprovalId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE grants SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL";
        self.run(sql, params![to_sql_ms(now_ms), id.bytes()]).map(drop)
    }
}

fn grant(row: &Row<'_>) -> Result<Grant, StoreFault> {
    Ok(Grant {
        id: ApprovalId::from_bytes(row.get(0)?),
        session: SessionId::from_bytes(row.get(1)?),
        tool: bounded("tool", Name::new(row.get::<_, String>(2)?))?,
        scope: row.get(3)?,
        given_by: bounded("user name", Name::new(row.get::<_, String>(4)?))?,
        given_ms: from_sql_ms(row.get(5)?),
    })
}
