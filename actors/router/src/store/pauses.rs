//! Where nothing is started, as rows: everywhere, for one user, or in one session.

use super::{Store, StoreFault, Tx, bounded};
use ipc_proto::ids::{SessionId, UserId};
use ipc_proto::router::SessionName;
use rusqlite::params;

/// Where nothing is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    All,
    User(UserId),
    Session(SessionId),
}

impl Scope {
    /// Its columns.
    fn row(&self) -> (&'static str, Vec<u8>) {
        match self {
            Self::All => ("all", Vec::new()),
            Self::User(id) => ("user", id.bytes().to_vec()),
            Self::Session(id) => ("session", id.bytes().to_vec()),
        }
    }

    fn read(scope: &str, id: Vec<u8>) -> Option<Self> {
        let id = || <[u8; 16]>::try_from(id.as_slice()).ok();
        match scope {
            "all" => Some(Self::All),
            "user" => Some(Self::User(UserId::from_bytes(id()?))),
            "session" => Some(Self::Session(SessionId::from_bytes(id()?))),
            _ => None,
        }
    }
}

impl Store {
    /// Every pause that holds.
    pub(crate) fn pauses(&self) -> Result<Vec<Scope>, StoreFault> {
        self.all("SELECT scope, id FROM pauses", [], |row| {
            Scope::read(&row.get::<_, String>(0)?, row.get(1)?).ok_or(StoreFault::Column("pause"))
        })
    }

    /// Names of sessions that are paused each by itself, of one user or of all.
    pub(crate) fn paused_sessions(&self, user: Option<UserId>) -> Result<Vec<SessionName>, StoreFault> {
        let sql = "SELECT s.name FROM pauses p JOIN sessions s ON s.id = p.id
                   WHERE p.scope = 'session' AND s.ended_ms IS NULL AND (?1 IS NULL OR s.user = ?1)
                   ORDER BY s.name LIMIT 64";
        self.all(sql, params![user.map(UserId::bytes)], |row| {
            bounded("session name", SessionName::new(row.get::<_, String>(0)?))
        })
    }
}

impl Tx<'_> {
    /// Has nothing be started there.
    pub(crate) fn pause(&self, scope: Scope) -> Result<(), StoreFault> {
        let (scope, id) = scope.row();
        self.run("INSERT INTO pauses VALUES (?, ?) ON CONFLICT DO NOTHING", params![scope, id]).map(drop)
    }

    /// Takes that back.
    pub(crate) fn resume(&self, scope: Scope) -> Result<(), StoreFault> {
        let (scope, id) = scope.row();
        self.run("DELETE FROM pauses WHERE scope = ? AND id = ?", params![scope, id]).map(drop)
    }
}
