//! Workspaces as rows: user, kind, and the one durable label of each, which never falls.

use super::{Store, StoreFault, Tx, bounded, from_json, from_sql_ms, to_json, to_sql_ms};
use ipc_proto::Name;
use ipc_proto::ids::{UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{SessionName, WorkspaceInfo};
use rusqlite::{Row, params};

/// Removed workspaces that are read at once.
pub(crate) const REMOVALS_AT_ONCE: u32 = 16;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) id: WorkspaceId,
    pub(crate) user: UserId,
    /// A directory of the user's own, rather than a folder of the host.
    pub(crate) attached: bool,
    pub(crate) label: Label,
    pub(crate) gone: bool,
}

impl Store {
    /// The workspace of this id, forgotten or not.
    pub(crate) fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreFault> {
        let sql = "SELECT id, user, attached, label, gone_ms FROM workspaces WHERE id = ?";
        self.one(sql, [id.bytes()], workspace)
    }

    /// Returns true if a session that has not ended works in it.
    pub(crate) fn workspace_in_use(&self, id: WorkspaceId) -> Result<bool, StoreFault> {
        let sql = "SELECT 1 FROM sessions WHERE workspace = ? AND ended_ms IS NULL LIMIT 1";
        Ok(self.one(sql, [id.bytes()], |_| Ok(()))?.is_some())
    }

    /// Workspaces that are not forgotten, of one user or of all, last used first, each with the session that
    /// used it last.
    pub(crate) fn workspaces(&self, user: Option<UserId>) -> Result<Vec<WorkspaceInfo>, StoreFault> {
        let sql = "SELECT w.id, s.name, u.name, w.attached, w.label, max(s.used_ms)
                   FROM workspaces w JOIN counted s ON s.workspace = w.id JOIN users u ON u.id = w.user
                   WHERE w.gone_ms IS NULL AND (?1 IS NULL OR w.user = ?1)
                   GROUP BY w.id ORDER BY max(s.used_ms) DESC LIMIT 256";
        self.all(sql, params![user.map(UserId::bytes)], |row| {
            Ok(WorkspaceInfo {
                id: WorkspaceId::from_bytes(row.get(0)?),
                session: bounded("session name", SessionName::new(row.get::<_, String>(1)?))?,
                user: bounded("user name", Name::new(row.get::<_, String>(2)?))?,
                attached: row.get(3)?,
                label: from_json("label", &row.get::<_, String>(4)?)?,
            })
        })
    }

    /// The next few workspaces of the host's own that were forgotten, in the order of their ids.
    pub(crate) fn removed_workspaces(
        &self,
        after: Option<WorkspaceId>,
    ) -> Result<Vec<WorkspaceId>, StoreFault> {
        let sql =
            "SELECT id FROM workspaces WHERE id > coalesce(?, x'') AND gone_ms IS NOT NULL AND NOT attached
                   ORDER BY id LIMIT ?";
        self.all(sql, params![after.map(WorkspaceId::bytes), REMOVALS_AT_ONCE], |row| {
            Ok(WorkspaceId::from_bytes(row.get(0)?))
        })
    }
}

impl Tx<'_> {
    pub(crate) fn add_workspace(&self, workspace: &Workspace) -> Result<(), StoreFault> {
        let row = params![
            workspace.id.bytes(),
            workspace.user.bytes(),
            workspace.attached,
            to_json("label", &workspace.label)?,
        ];
        self.run_one("workspace", "INSERT INTO workspaces VALUES (?, ?, ?, ?, NULL)", row)
    }

    /// Joins `label` to the workspace's own.
    pub(crate) fn raise_workspace(&self, id: WorkspaceId, label: &Label) -> Result<(), StoreFault> {
        let have: String = self.value("SELECT label FROM workspaces WHERE id = ?", [id.bytes()])?;
        let have: Label = from_json("label", &have)?;
        if label.within(&have) {
            return Ok(());
        }
        let row = params![to_json("label", &have.join(label))?, id.bytes()];
        self.run_one("workspace", "UPDATE workspaces SET label = ? WHERE id = ?", row)
    }

    /// Forgets a workspace; its label stays, should the same directory be attached again.
    pub(crate) fn forget_workspace(&self, id: WorkspaceId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE workspaces SET gone_ms = ? WHERE id = ? AND gone_ms IS NULL";
        self.run_one("workspace", sql, params![to_sql_ms(now_ms), id.bytes()])
    }

    /// Takes up again a workspace that was forgotten.
    pub(crate) fn recall_workspace(&self, id: WorkspaceId) -> Result<(), StoreFault> {
        self.run_one("workspace", "UPDATE workspaces SET gone_ms = NULL WHERE id = ?", [id.bytes()])
    }
}

fn workspace(row: &Row<'_>) -> Result<Workspace, StoreFault> {
    Ok(Workspace {
        id: WorkspaceId::from_bytes(row.get(0)?),
        user: UserId::from_bytes(row.get(1)?),
        attached: row.get(2)?,
        label: from_json("label", &row.get::<_, String>(3)?)?,
        gone: row.get::<_, Option<i64>>(4)?.map(from_sql_ms).is_some(),
    })
}
