//! The ledger's database. It touches one file in the process's own folder. Every change is one transaction that is
//! durable when it returns; nothing but names, ids and numbers is ever written.

use super::calendar::{self, DAY_MS, HOUR_MS};
use super::scope::{Account, Scope, scopes};
use ipc_proto::model::{GroupBy, Per, Usage, UsageRow};
use ipc_proto::{List, Text};
use migration::Room;
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, params};
use std::path::Path;

/// The file in the process's own folder.
pub(crate) const FILE: &str = "ledger.db";
/// The steps of the schema: step n leads from version n to version n + 1.
const STEPS: &[&str] = &[include_str!("schema1.sql")];
/// Fewer different statements are prepared than are kept.
const ROOM: Room = Room { log_bytes: 1 << 20, statements: 32 };
/// Days that usage is stored: a year and a month, so that a month can be compared with the same of last year.
const KEPT_DAYS: u64 = 400;
/// Lines of a listing: the bound of one answer of the interface.
const LINES: usize = 256;

/// The reasons for which the ledger failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFault {
    /// The database's own word.
    #[error("the ledger: {0}")]
    Sql(#[from] rusqlite::Error),
    /// It was written by a later program, or could not be brought to this one's version.
    #[error("the ledger: {0}")]
    Migration(#[from] migration::MigrationFault),
}

/// The cost of an answer, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// By the tokens that are counted.
    pub(crate) micros: u64,
    /// By those that the provider said.
    pub(crate) claimed: u64,
}

impl Cost {
    /// A cost without another claim.
    pub(crate) const fn of(micros: u64) -> Self {
        Self { micros, claimed: micros }
    }
}

/// Money that is set aside, as it stands in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reserved {
    /// When.
    pub(crate) at_ms: u64,
    /// For an answer of which model.
    pub(crate) model: String,
    /// Whose.
    pub(crate) account: Account,
    /// Tokens that are likely read.
    pub(crate) input: u32,
    /// Tokens that are written at most.
    pub(crate) output: u32,
    /// How much.
    pub(crate) micros: u64,
}

/// The database.
pub(crate) struct Store {
    db: Connection,
}

/// A change that is under way. Dropped without its end, it never was.
pub(crate) struct Change<'a>(Transaction<'a>);

impl Store {
    /// Opens it, makes it or brings it up to date, and drops old usage. Reservations of an earlier process count as
    /// spent, whole, since their use is unknown; returns the number of answers and the sum.
    pub(crate) fn open(file: &Path, now_ms: u64) -> Result<(Self, u64, u64), LedgerFault> {
        let mut store = Self { db: migration::open(file, STEPS, ROOM)? };
        let left = store.leftovers()?;
        let (answers, micros) =
            left.iter().fold((0_u64, 0_u64), |(n, sum), (_, it)| (n + 1, sum.saturating_add(it.micros)));
        store.commit(|change| {
            for (id, it) in &left {
                change.unreserve(*id)?;
                let usage = Usage { input: it.input, output: it.output, estimated: true, ..Usage::default() };
                change.add(it, usage, Cost::of(it.micros))?;
            }
            change.forget_before(calendar::day(now_ms).saturating_sub(KEPT_DAYS))
        })?;
        Ok((store, answers, micros))
    }

    /// Does `work` as one change: all of it is durable when this returns, or nothing of it happened.
    pub(crate) fn commit<T>(
        &mut self,
        work: impl FnOnce(&Change<'_>) -> Result<T, LedgerFault>,
    ) -> Result<T, LedgerFault> {
        let change = Change(self.db.transaction()?);
        let done = work(&change)?;
        change.0.commit()?;
        Ok(done)
    }

    fn leftovers(&self) -> Result<Vec<(i64, Reserved)>, LedgerFault> {
        let sql = "SELECT id, at_ms, model, user, session, agent, key, input, output, micros FROM reserved ORDER BY id";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            let account = Account {
                user: row.get(3)?,
                session: row.get(4)?,
                agent: row.get(5)?,
                key: row.get(6)?,
                key_day: None,
            };
            let reserved = Reserved {
                at_ms: number(row, 1)?,
                model: row.get(2)?,
                account,
                input: row.get(7)?,
                output: row.get(8)?,
                micros: number(row, 9)?,
            };
            Ok((row.get(0)?, reserved))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    #[cfg(test)]
    pub(crate) const fn raw(&self) -> &Connection {
        &self.db
    }
}

impl Change<'_> {
    fn run(&self, sql: &str, params: impl Params) -> Result<(), LedgerFault> {
        self.0.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    /// Sets money aside; gives the number of the row.
    pub(crate) fn reserve(&self, reserved: &Reserved) -> Result<i64, LedgerFault> {
        let Reserved { at_ms, model, account, input, output, micros } = reserved;
        let sql = "INSERT INTO reserved (at_ms, model, user, session, agent, key, input, output, micros)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let Account { user, session, agent, key, .. } = account;
        self.run(
            sql,
            params![sql_number(*at_ms), model, user, session, agent, key, input, output, sql_number(*micros)],
        )?;
        Ok(self.0.last_insert_rowid())
    }

    /// Takes back a reservation.
    pub(crate) fn unreserve(&self, id: i64) -> Result<(), LedgerFault> {
        self.run("DELETE FROM reserved WHERE id = ?1", [id])
    }

    /// Counts an answer of that time, and its cost.
    pub(crate) fn add(&self, asked: &Reserved, usage: Usage, cost: Cost) -> Result<(), LedgerFault> {
        let Account { user, session, agent, key, key_day } = &asked.account;
        let sql = "INSERT INTO used (hour, model, user, session, agent, key, answers, input, output, cache_read, cache_write, micros,
                estimated, disbelieved, claimed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT DO UPDATE SET answers = answers + 1, input = input + ?7, output = output + ?8,
                cache_read = cache_read + ?9, cache_write = cache_write + ?10, micros = micros + ?11,
                estimated = estimated + ?12, disbelieved = disbelieved + ?13, claimed = claimed + ?14";
        let Usage { input, output, cache_read, cache_write, estimated, claimed, .. } = usage;
        let hour = sql_number(asked.at_ms / HOUR_MS);
        let (disbelieved, said) = (claimed.is_some(), sql_number(cost.claimed));
        let (micros, cost) = (cost.micros, sql_number(cost.micros));
        let model = &asked.model;
        self.run(
            sql,
            params![
                hour, model, user, session, agent, key, input, output, cache_read, cache_write, cost,
                estimated, disbelieved, said
            ],
        )?;
        // An answer that costs nothing leaves no trace in any sum but the one above.
        if micros == 0 {
            return Ok(());
        }
        let sql = "INSERT INTO spent (per, whose, period, micros, day, bound) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT DO UPDATE SET micros = micros + ?4, day = ?5, bound = CASE ?6 WHEN 0 THEN bound ELSE ?6 END";
        let day = sql_number(calendar::day(asked.at_ms));
        for Scope { per, whose, period } in scopes(&asked.account, asked.at_ms) {
            let bound = key_day.filter(|_| per == Per::Key).map_or(0, sql_number);
            self.run(sql, params![per.to_string(), whose, sql_number(period), cost, day, bound])?;
        }
        Ok(())
    }

    /// The amount spent of this sum.
    pub(crate) fn spent(&self, scope: &Scope) -> Result<u64, LedgerFault> {
        let sql = "SELECT micros FROM spent WHERE per = ?1 AND whose = ?2 AND period = ?3";
        let mut statement = self.0.prepare_cached(sql)?;
        let key = params![scope.per.to_string(), scope.whose, sql_number(scope.period)];
        Ok(statement.query_row(key, |row| number(row, 0)).optional()?.unwrap_or_default())
    }

    /// The owners of sums of this kind and time, the latest first, each with its amount and bound.
    pub(crate) fn sums(
        &self,
        per: Per,
        period: u64,
        most: usize,
    ) -> Result<Vec<(String, u64, u64)>, LedgerFault> {
        let sql = "SELECT whose, micros, bound FROM spent WHERE per = ?1 AND period = ?2
            ORDER BY day DESC, micros DESC LIMIT ?3";
        let mut statement = self.0.prepare_cached(sql)?;
        let key = params![per.to_string(), sql_number(period), i64::try_from(most).unwrap_or(i64::MAX)];
        let rows = statement.query_map(key, |row| Ok((row.get(0)?, number(row, 1)?, number(row, 2)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The usage since this hour began, summed.
    pub(crate) fn used(&self, by: GroupBy, since_ms: u64) -> Result<List<UsageRow, LINES>, LedgerFault> {
        let group = match by {
            GroupBy::Model => "model",
            GroupBy::Day => "hour / 24",
            GroupBy::Agent => "agent",
            GroupBy::Session => "session",
            GroupBy::Key => "key",
            GroupBy::User => "user",
        };
        let sql = format!(
            "SELECT CAST({group} AS TEXT), sum(answers), sum(input), sum(output), sum(cache_read), sum(cache_write),
                sum(micros) AS cost, sum(estimated), sum(disbelieved), sum(claimed) FROM used WHERE hour >= ?1 GROUP BY {group}
                ORDER BY cost DESC, sum(input) + sum(output) DESC LIMIT {LINES}"
        );
        let mut statement = self.0.prepare_cached(&sql)?;
        let rows = statement.query_map([sql_number(since_ms / HOUR_MS)], |row| {
            let name: String = row.get(0)?;
            Ok(UsageRow {
                group: Text::clip(&shown(by, name)),
                answers: number(row, 1)?,
                input: number(row, 2)?,
                output: number(row, 3)?,
                cache_read: number(row, 4)?,
                cache_write: number(row, 5)?,
                cost_micros: number(row, 6)?,
                estimated: number(row, 7)?,
                disbelieved: number(row, 8)?,
                claimed_micros: number(row, 9)?,
            })
        })?;
        Ok(List::clip(rows.collect::<Result<Vec<_>, _>>()?))
    }

    fn forget_before(&self, day: u64) -> Result<(), LedgerFault> {
        let hour = sql_number(day.saturating_mul(DAY_MS / HOUR_MS));
        self.run("DELETE FROM used WHERE hour < ?1", [hour])?;
        self.run("DELETE FROM spent WHERE day < ?1", [sql_number(day)])
    }
}

fn shown(by: GroupBy, name: String) -> String {
    match by {
        GroupBy::Day => name.parse().map(calendar::shown).unwrap_or(name),
        _ if name.is_empty() => "-".to_owned(),
        _ => name,
    }
}

/// SQLite has no unsigned numbers; a sum beyond them is as large as one can be.
fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or_default())
}
