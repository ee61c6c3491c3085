//! The usage of each user's turns as rows, one a day (UTC).

use super::{Store, StoreFault, Tx};
use ipc_proto::ids::UserId;
use ipc_proto::model::Usage;
use rusqlite::params;

/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The usage of one user on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Turns that asked a model.
    pub(crate) answers: u64,
    /// Tokens read.
    pub(crate) input: u64,
    /// Tokens written.
    pub(crate) output: u64,
    /// Their cost, millionths of a US dollar.
    pub(crate) cost_micros: u64,
}

impl Store {
    /// The usage of a user on this day since 1970.
    pub(crate) fn spent(&self, user: UserId, day: u64) -> Result<Spent, StoreFault> {
        let sql = "SELECT answers, input, output, cost_micros FROM usage WHERE user = ? AND day = ?";
        let found = self.one(sql, params![user.bytes(), number(day)], |row| {
            let count =
                |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or_default());
            Ok(Spent { answers: count(0)?, input: count(1)?, output: count(2)?, cost_micros: count(3)? })
        })?;
        Ok(found.unwrap_or_default())
    }
}

impl Tx<'_> {
    /// Counts the usage of a turn that ended on this day since 1970; one that asked no model counts nothing.
    pub(crate) fn count_usage(&self, user: UserId, day: u64, usage: &Usage) -> Result<(), StoreFault> {
        if usage.input == 0 && usage.output == 0 {
            return Ok(());
        }
        let row = params![user.bytes(), number(day), usage.input, usage.output, number(usage.cost_micros)];
        let sql =
            "INSERT INTO usage VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET answers = answers + 1,
                   input = input + excluded.input, output = output + excluded.output,
                   cost_micros = cost_micros + excluded.cost_micros";
        self.run_one("usage", sql, row)
    }
}

fn number(count: u64) -> i64 {
    // Sums of years stay far below what a column holds.
    i64::try_from(count).unwrap_or(i64::MAX).min(1 << 50)
}
