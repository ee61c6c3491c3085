//! Sessions as rows. A session keeps its user, agent and workspace; its label only rises.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::Name;
use ipc_proto::ids::{SessionId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{SessionInfo, SessionName};
use ipc_proto::scanner::Conversation;
use rusqlite::{Row, params};

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) user: UserId,
    pub(crate) user_name: Name,
    pub(crate) name: SessionName,
    pub(crate) agent: Name,
    pub(crate) workspace: WorkspaceId,
    pub(crate) label: Label,
    pub(crate) messages: u32,
    pub(crate) created_ms: u64,
    pub(crate) used_ms: u64,
    pub(crate) ended: bool,
}

impl Session {
    /// As it is listed.
    pub(crate) fn info(self) -> SessionInfo {
        SessionInfo {
            id: self.id,
            name: self.name,
            user: self.user_name,
            agent: self.agent,
            status: Name::clip(if self.ended { "ended" } else { "active" }),
            label: self.label,
            workspace: self.workspace,
            messages: self.messages,
            created_ms: self.created_ms,
            used_ms: self.used_ms,
        }
    }
}

/// The part of a session that the acceptance of a message needs.
pub(crate) struct Known {
    pub(crate) id: SessionId,
    pub(crate) agent: Name,
    pub(crate) workspace: WorkspaceId,
    pub(crate) ended: bool,
}

macro_rules! select {
    ($from:literal, $rest:literal) => {
        concat!(
            "SELECT s.id, s.user, u.name, s.name, s.agent, s.workspace, s.label, s.messages, s.created_ms, ",
            "s.used_ms, s.ended_ms FROM ",
            $from,
            " s JOIN users u ON u.id = s.user ",
            $rest
        )
    };
}

impl Store {
    /// The session of this id; messages that the scanner has not looked at yet are not counted in it.
    pub(crate) fn session(&self, id: SessionId) -> Result<Session, StoreFault> {
        let found = self.one(select!("sessions", "WHERE s.id = ?"), [id.bytes()], session)?;
        found.ok_or(StoreFault::Missing("session"))
    }

    /// This user's session of this name.
    pub(crate) fn session_named(&self, user: UserId, name: &str) -> Result<Option<Session>, StoreFault> {
        self.one(select!("counted", "WHERE s.user = ? AND s.name = ?"), params![user.bytes(), name], session)
    }

    /// The same for a message that is to go there.
    pub(crate) fn session_known(&self, user: UserId, name: &str) -> Result<Option<Known>, StoreFault> {
        let sql = "SELECT id, agent, workspace, ended_ms FROM sessions WHERE user = ? AND name = ?";
        self.one(sql, params![user.bytes(), name], |row| {
            Ok(Known {
                id: SessionId::from_bytes(row.get(0)?),
                agent: bounded("agent name", Name::new(row.get::<_, String>(1)?))?,
                workspace: WorkspaceId::from_bytes(row.get(2)?),
                ended: row.get::<_, Option<i64>>(3)?.is_some(),
            })
        })
    }

    /// Everybody's sessions of this name, at most 16.
    pub(crate) fn sessions_named(&self, name: &str) -> Result<Vec<Session>, StoreFault> {
        self.all(select!("counted", "WHERE s.name = ? ORDER BY s.used_ms DESC LIMIT 16"), [name], session)
    }

    /// Sessions of one user or of all, last used first.
    pub(crate) fn sessions(&self, user: Option<UserId>, most: u32) -> Result<Vec<Session>, StoreFault> {
        let sql = select!(
            "counted",
            "WHERE ?1 IS NULL OR s.user = ?1 ORDER BY s.used_ms DESC, s.created_ms DESC LIMIT ?2"
        );
        self.all(sql, params![user.map(UserId::bytes), most], session)
    }

    /// The scanner's counters of the conversation of a session.
    pub(crate) fn conversation(&self, id: SessionId) -> Result<Conversation, StoreFault> {
        let sql = "SELECT conversation FROM sessions WHERE id = ?";
        let found = self.one(sql, [id.bytes()], |row| {
            let counted: Option<String> = row.get(0)?;
            counted.map(|counted| from_json("conversation", &counted)).transpose()
        })?;
        Ok(found.ok_or(StoreFault::Missing("session"))?.unwrap_or_default())
    }
}

impl Tx<'_> {
    pub(crate) fn add_session(&self, session: &Session) -> Result<(), StoreFault> {
        let row = params![
            session.id.bytes(),
            session.user.bytes(),
            session.name.as_str(),
            session.agent.as_str(),
            session.workspace.bytes(),
            to_json("label", &session.label)?,
            to_sql_ms(session.created_ms),
        ];
        let sql = "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?7, NULL, NULL)";
        self.run_one("session", sql, row)
    }

    /// Counts one more message in it.
    pub(crate) fn use_session(&self, id: SessionId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE sessions SET messages = messages + 1, used_ms = max(used_ms, ?) WHERE id = ?";
        self.run_one("session", sql, params![to_sql_ms(now_ms), id.bytes()])
    }

    /// Joins `label` to the session's own.
    pub(crate) fn raise_session(&self, id: SessionId, label: &Label) -> Result<(), StoreFault> {
        let have: String = self.value("SELECT label FROM sessions WHERE id = ?", [id.bytes()])?;
        let have: Label = from_json("label", &have)?;
        if label.within(&have) {
            return Ok(());
        }
        let row = params![to_json("label", &have.join(label))?, id.bytes()];
        self.run_one("session", "UPDATE sessions SET label = ? WHERE id = ?", row)
    }

    /// Keeps what the scanner counts of its conversation.
    pub(crate) fn store_conversation(&self, id: SessionId, counted: &Conversation) -> Result<(), StoreFault> {
        let row = params![to_json("conversation", counted)?, id.bytes()];
        self.run_one("session", "UPDATE sessions SET conversation = ? WHERE id = ?", row)
    }

    pub(crate) fn close_session(&self, id: SessionId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE sessions SET ended_ms = ? WHERE id = ? AND ended_ms IS NULL";
        self.run_one("session", sql, params![to_sql_ms(now_ms), id.bytes()])
    }
}

fn session(row: &Row<'_>) -> Result<Session, StoreFault> {
    Ok(Session {
        id: SessionId::from_bytes(row.get(0)?),
        user: UserId::from_bytes(row.get(1)?),
        user_name: bounded("user name", Name::new(row.get::<_, String>(2)?))?,
        name: bounded("session name", SessionName::new(row.get::<_, String>(3)?))?,
        agent: bounded("agent name", Name::new(row.get::<_, String>(4)?))?,
        workspace: WorkspaceId::from_bytes(row.get(5)?),
        label: from_json("label", &row.get::<_, String>(6)?)?,
        messages: row.get(7)?,
        created_ms: from_sql_ms(row.get(8)?),
        used_ms: from_sql_ms(row.get(9)?),
        ended: row.get::<_, Option<i64>>(10)?.is_some(),
    })
}
