//! The steps of a turn and how it ended. A step is written once under its number and never changed; a turn ends
//! once.

use super::{Store, StoreFault, Tx, from_json, to_json, to_sql_ms};
use ipc_proto::ids::CallId;
use ipc_proto::label::Label;
use ipc_proto::router::{Finished, Step};
use rusqlite::params;
use std::collections::HashMap;

/// A stored step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredStep {
    pub(crate) step: Step,
    /// The session's label at that step.
    pub(crate) label: Label,
}

impl Store {
    /// Every step of a message's turn, in order.
    pub(crate) fn steps(&self, seq: i64) -> Result<Vec<StoredStep>, StoreFault> {
        let sql = "SELECT step, label FROM steps WHERE message = ? ORDER BY number";
        self.all(sql, [seq], |row| {
            Ok(StoredStep {
                step: from_json("step", &row.get::<_, String>(0)?)?,
                label: from_json("label", &row.get::<_, String>(1)?)?,
            })
        })
    }

    /// How many steps a message's turn has.
    pub(crate) fn step_count(&self, seq: i64) -> Result<u32, StoreFault> {
        let sql = "SELECT count(*) FROM steps WHERE message = ?";
        Ok(self.one(sql, [seq], |row| Ok(row.get(0)?))?.unwrap_or(0))
    }

    /// One step of a message's turn.
    pub(crate) fn step(&self, seq: i64, number: u32) -> Result<Option<Step>, StoreFault> {
        let sql = "SELECT step FROM steps WHERE message = ? AND number = ?";
        self.one(sql, params![seq, number], |row| from_json("step", &row.get::<_, String>(0)?))
    }

    /// The attempt in which each call of a message's turn was released last.
    pub(crate) fn call_attempts(&self, seq: i64) -> Result<HashMap<CallId, u32>, StoreFault> {
        let rows = self.all("SELECT id, attempt FROM calls WHERE message = ?", [seq], |row| {
            Ok((CallId::from_bytes(row.get(0)?), row.get(1)?))
        })?;
        Ok(rows.into_iter().collect())
    }

    /// Where a call was decided on first: its message and the number of the step.
    pub(crate) fn call(&self, call: CallId) -> Result<Option<(i64, u32)>, StoreFault> {
        let sql = "SELECT message, number FROM calls WHERE id = ?";
        self.one(sql, [call.bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// How a message's turn ended.
    pub(crate) fn finished(&self, seq: i64) -> Result<Option<Finished>, StoreFault> {
        let sql = "SELECT finished FROM outbox WHERE message = ?";
        self.one(sql, [seq], |row| from_json("finished", &row.get::<_, String>(0)?))
    }
}

impl Tx<'_> {
    /// Stores the next step of a message's turn, made in its attempt `attempt`.
    pub(crate) fn store_step(
        &self,
        seq: i64,
        number: u32,
        attempt: u32,
        kept: &StoredStep,
    ) -> Result<(), StoreFault> {
        let row = params![seq, number, to_json("step", &kept.step)?, to_json("label", &kept.label)?];
        self.run_one("step", "INSERT INTO steps VALUES (?, ?, ?, ?)", row)?;
        match &kept.step {
            Step::Reply { calls, .. } => calls.iter().try_for_each(|released| {
                // A call's id is the gate's, so it comes once; should it come again, where it was first stands.
                let sql = "INSERT INTO calls VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
                self.run(sql, params![released.call.id.bytes(), seq, number, attempt]).map(drop)
            }),
            Step::Decided { call, .. } => {
                let sql = "UPDATE calls SET attempt = ? WHERE id = ? AND message = ?";
                self.run(sql, params![attempt, call.bytes(), seq]).map(drop)
            }
            Step::Plan { .. } | Step::Result { .. } | Step::Recalled { .. } | Step::Steered { .. } => Ok(()),
        }
    }

    /// Puts the end of a message's turn into the outbox.
    pub(crate) fn insert_outbox(&self, seq: i64, finished: &Finished, now_ms: u64) -> Result<(), StoreFault> {
        let row = params![seq, to_json("finished", finished)?, to_sql_ms(now_ms)];
        self.run_one("outbox row", "INSERT INTO outbox VALUES (?, ?, ?, NULL)", row)
    }

    /// Marks an answer as given out.
    pub(crate) fn mark_delivered(&self, seq: i64, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE outbox SET delivered_ms = ? WHERE message = ?";
        self.run_one("outbox row", sql, params![to_sql_ms(now_ms), seq])
    }
}
