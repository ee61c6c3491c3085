//! Tasks that turns handed out: which turn did, and the bounds of the turn that works on each.

use super::{Store, StoreFault, Tx, from_json, to_json};
use ipc_proto::ids::TurnId;
use ipc_proto::label::Label;
use ipc_proto::router::Terms;
use rusqlite::params;

/// The part of a message that only a task has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredDelegation {
    /// The turn that handed it out.
    pub(crate) parent: TurnId,
    /// The message at the top of the tree.
    pub(crate) root: i64,
    /// The label of the task.
    pub(crate) label: Label,
    pub(crate) terms: Terms,
}

impl Store {
    /// The part of a message that only a task has; none if it is no task.
    pub(crate) fn delegation_of(&self, seq: i64) -> Result<Option<StoredDelegation>, StoreFault> {
        let sql = "SELECT parent, root, label, terms FROM delegations WHERE message = ?";
        self.one(sql, [seq], |row| {
            Ok(StoredDelegation {
                parent: TurnId::from_bytes(row.get(0)?),
                root: row.get(1)?,
                label: from_json("label", &row.get::<_, String>(2)?)?,
                terms: from_json("terms", &row.get::<_, String>(3)?)?,
            })
        })
    }

    /// The messages of the tasks that a turn handed out, in their order.
    pub(crate) fn tasks_of(&self, parent: TurnId) -> Result<Vec<i64>, StoreFault> {
        let sql = "SELECT message FROM delegations WHERE parent = ? ORDER BY message";
        self.all(sql, [parent.bytes()], |row| Ok(row.get(0)?))
    }
}

impl Tx<'_> {
    /// Stores the part of a message that only a task has.
    pub(crate) fn store_delegation(&self, seq: i64, task: &StoredDelegation) -> Result<(), StoreFault> {
        let (label, terms) = (to_json("label", &task.label)?, to_json("terms", &task.terms)?);
        let row = params![seq, task.parent.bytes(), task.root, label, terms];
        self.run_one("delegations", "INSERT INTO delegations VALUES (?, ?, ?, ?, ?)", row)
    }
}
