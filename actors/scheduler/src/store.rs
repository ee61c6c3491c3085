//! The scheduler's database. It touches one file in the process's own folder; every change is durable when it returns.

use ipc_proto::ids::{JobId, MessageId, UserId};
use ipc_proto::label::Class;
use ipc_proto::router::{SessionName, Target};
use ipc_proto::scheduler::{FireInfo, FireState, JobState, Missed, PROMPT, When};
use ipc_proto::{Name, Text};
use migration::Room;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file in the process's own folder.
pub(crate) const FILE: &str = "schedule.db";
/// The steps of the schema: step n leads from version n to version n + 1.
const STEPS: &[&str] = &[include_str!("schema1.sql")];
const ROOM: Room = Room { log_bytes: 1 << 20, statements: 32 };
/// The columns of a job, in the order in which [`job`] takes them.
const JOB: &str =
    "id, user, user_name, name, terms, created_ms, state, why, last_ms, next_ms, failures, held_ms";
/// The columns of a fire, in the order in which [`fire`] takes them.
const FIRE: &str = "f.job, j.name, f.due_ms, f.at_ms, f.state, f.message, f.reason";

/// The reasons for which the database failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFault {
    /// The database's own word.
    #[error("the jobs: {0}")]
    Sql(#[from] rusqlite::Error),
    /// It was written by a later program, or could not be brought to this one's version.
    #[error("the jobs: {0}")]
    Migration(#[from] migration::MigrationFault),
    /// A value cannot be written.
    #[error("the jobs: a value cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// The terms of a job, which never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) when: When,
    pub(crate) zone: Text<64>,
    pub(crate) agent: Option<Name>,
    pub(crate) session: SessionName,
    pub(crate) to: Option<Target>,
    pub(crate) missed: Missed,
    pub(crate) asks: bool,
    pub(crate) tokens: u32,
    /// Its agent wrote the message, having read things of this class, and a person approved it; none if a person wrote it.
    #[serde(default)]
    pub(crate) proposed: Option<Class>,
}

/// A job without its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) user: UserId,
    pub(crate) user_name: Name,
    pub(crate) name: Name,
    pub(crate) terms: Terms,
    pub(crate) created_ms: u64,
    pub(crate) state: JobState,
    pub(crate) why: Text<256>,
    /// The last of its times that was dealt with.
    pub(crate) last_ms: u64,
    pub(crate) next_ms: Option<u64>,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// Failures hold it back until then.
    pub(crate) held_ms: u64,
}

/// The database.
pub(crate) struct Store(Connection);

impl Store {
    /// Opens it, makes it or brings it up to date.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreFault> {
        Ok(Self(migration::open(file, STEPS, ROOM)?))
    }

    /// Does `work` as one change: all of it is durable when this returns, or nothing of it happened.
    pub(crate) fn commit<T>(&self, work: impl FnOnce() -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        let change = self.0.unchecked_transaction()?;
        let done = work()?;
        change.commit()?;
        Ok(done)
    }

    fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreFault> {
        Ok(self.0.prepare_cached(sql)?.execute(params)?)
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreFault> {
        let mut statement = self.0.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds a job with its message.
    pub(crate) fn add(&self, job: &Job, prompt: &str) -> Result<(), StoreFault> {
        let sql = "INSERT INTO jobs (id, user, user_name, name, terms, prompt, created_ms, state, why, last_ms, next_ms,
            failures, held_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?10, 0, 0) ON CONFLICT (id) DO NOTHING";
        let row = params![
            job.id.bytes(),
            job.user.bytes(),
            job.user_name.as_str(),
            job.name.as_str(),
            serde_json::to_string(&job.terms)?,
            prompt,
            sql_ms(job.created_ms),
            word(job.state)?,
            sql_ms(job.last_ms),
            job.next_ms.map(sql_ms),
        ];
        self.run(sql, row).map(drop)
    }

    /// Stores the parts of a job that change.
    pub(crate) fn change(&self, job: &Job) -> Result<(), StoreFault> {
        let sql =
            "UPDATE jobs SET state = ?2, why = ?3, last_ms = ?4, next_ms = ?5, failures = ?6, held_ms = ?7
            WHERE id = ?1";
        let row = params![
            job.id.bytes(),
            word(job.state)?,
            job.why.as_str(),
            sql_ms(job.last_ms),
            job.next_ms.map(sql_ms),
            job.failures,
            sql_ms(job.held_ms),
        ];
        self.run(sql, row).map(drop)
    }

    /// Removes a job with its history.
    pub(crate) fn remove(&self, id: JobId) -> Result<(), StoreFault> {
        self.run("DELETE FROM fires WHERE job = ?1", [id.bytes()])?;
        self.run("DELETE FROM jobs WHERE id = ?1", [id.bytes()]).map(drop)
    }

    /// One job.
    pub(crate) fn job(&self, id: JobId) -> Result<Option<Job>, StoreFault> {
        let sql = format!("SELECT {JOB} FROM jobs WHERE id = ?1");
        Ok(self.0.prepare_cached(&sql)?.query_row([id.bytes()], job).optional()?)
    }

    /// A user's job of this name.
    pub(crate) fn job_named(&self, user: UserId, name: &str) -> Result<Option<Job>, StoreFault> {
        let sql = format!("SELECT {JOB} FROM jobs WHERE user = ?1 AND name = ?2");
        Ok(self.0.prepare_cached(&sql)?.query_row(params![user.bytes(), name], job).optional()?)
    }

    /// Jobs of one user or of all, those that fire next first.
    pub(crate) fn jobs(&self, user: Option<UserId>) -> Result<Vec<Job>, StoreFault> {
        let sql = format!(
            "SELECT {JOB} FROM jobs WHERE ?1 IS NULL OR user = ?1
            ORDER BY state != 'active', next_ms IS NULL, next_ms, name"
        );
        self.all(&sql, [user.map(UserId::bytes)], job)
    }

    /// Active jobs with a time that has come.
    pub(crate) fn due(&self, now_ms: u64) -> Result<Vec<Job>, StoreFault> {
        let sql = format!("SELECT {JOB} FROM jobs WHERE state = 'active' AND next_ms <= ?1 ORDER BY next_ms");
        self.all(&sql, [sql_ms(now_ms)], job)
    }

    /// The next time of any active job.
    pub(crate) fn next(&self) -> Result<Option<u64>, StoreFault> {
        let sql = "SELECT min(next_ms) FROM jobs WHERE state = 'active'";
        let next: Option<i64> = self.0.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(next.map(from_sql_ms))
    }

    /// The message of a job.
    pub(crate) fn prompt(&self, id: JobId) -> Result<Text<PROMPT>, StoreFault> {
        let sql = "SELECT prompt FROM jobs WHERE id = ?1";
        let prompt: Option<String> =
            self.0.prepare_cached(sql)?.query_row([id.bytes()], |row| row.get(0)).optional()?;
        Ok(Text::clip(&prompt.unwrap_or_default()))
    }

    /// Adds what became of a time, unless it is there.
    pub(crate) fn add_fire(
        &self,
        job: JobId,
        due_ms: u64,
        now_ms: u64,
        (state, reason): (FireState, &str),
    ) -> Result<(), StoreFault> {
        let sql = "INSERT INTO fires VALUES (?1, ?2, ?3, ?4, NULL, ?5) ON CONFLICT DO NOTHING";
        self.run(sql, params![job.bytes(), sql_ms(due_ms), sql_ms(now_ms), word(state)?, reason]).map(drop)
    }

    /// Stores what became of a time that is there.
    pub(crate) fn set_fire(
        &self,
        fire: &FireInfo,
        now_ms: u64,
        (state, reason): (FireState, &str),
    ) -> Result<(), StoreFault> {
        let sql = "UPDATE fires SET state = ?3, at_ms = ?4, message = ?5, reason = ?6 WHERE job = ?1 AND due_ms = ?2";
        let row = params![
            fire.job.bytes(),
            sql_ms(fire.due_ms),
            word(state)?,
            sql_ms(now_ms),
            fire.message.map(MessageId::bytes),
            reason
        ];
        self.run(sql, row).map(drop)
    }

    /// Times in this state, oldest first.
    pub(crate) fn fires_in(&self, state: FireState) -> Result<Vec<FireInfo>, StoreFault> {
        // The state stands in the text, so that its index is used.
        let sql = format!(
            "SELECT {FIRE} FROM fires f JOIN jobs j ON j.id = f.job WHERE f.state = '{}' ORDER BY f.due_ms",
            state.name()
        );
        self.all(&sql, [], fire)
    }

    /// Returns true if a message of a job is not over.
    pub(crate) fn is_busy(&self, job: JobId) -> Result<bool, StoreFault> {
        let sql = "SELECT EXISTS (SELECT 1 FROM fires WHERE job = ?1 AND state IN ('due', 'running'))";
        Ok(self.0.prepare_cached(sql)?.query_row([job.bytes()], |row| row.get(0))?)
    }

    /// The last times of one job, latest first.
    pub(crate) fn last_fires(&self, job: JobId, most: u32) -> Result<Vec<FireInfo>, StoreFault> {
        let sql = format!(
            "SELECT {FIRE} FROM fires f JOIN jobs j ON j.id = f.job WHERE f.job = ?1 ORDER BY f.due_ms DESC LIMIT ?2"
        );
        self.all(&sql, params![job.bytes(), most], fire)
    }

    /// The last times of all jobs of one user or of all, latest first.
    pub(crate) fn history(&self, user: Option<UserId>, most: u32) -> Result<Vec<FireInfo>, StoreFault> {
        let sql = format!(
            "SELECT {FIRE} FROM fires f JOIN jobs j ON j.id = f.job WHERE ?1 IS NULL OR j.user = ?1
            ORDER BY f.due_ms DESC LIMIT ?2"
        );
        self.all(&sql, params![user.map(UserId::bytes), most], fire)
    }

    /// Forgets times before this moment that are over.
    pub(crate) fn forget(&self, before_ms: u64) -> Result<(), StoreFault> {
        let sql = "DELETE FROM fires WHERE due_ms < ?1 AND state NOT IN ('due', 'running')";
        self.run(sql, [sql_ms(before_ms)]).map(drop)
    }
}

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let terms: String = row.get(4)?;
    Ok(Job {
        id: JobId::from_bytes(row.get(0)?),
        user: UserId::from_bytes(row.get(1)?),
        user_name: Name::clip(&row.get::<_, String>(2)?),
        name: Name::clip(&row.get::<_, String>(3)?),
        terms: serde_json::from_str(&terms).map_err(|fault| unreadable(4, fault))?,
        created_ms: from_sql_ms(row.get(5)?),
        state: named(row, 6)?,
        why: Text::clip(&row.get::<_, String>(7)?),
        last_ms: from_sql_ms(row.get(8)?),
        next_ms: row.get::<_, Option<i64>>(9)?.map(from_sql_ms),
        failures: row.get(10)?,
        held_ms: from_sql_ms(row.get(11)?),
    })
}

fn fire(row: &Row<'_>) -> rusqlite::Result<FireInfo> {
    Ok(FireInfo {
        job: JobId::from_bytes(row.get(0)?),
        name: Name::clip(&row.get::<_, String>(1)?),
        due_ms: from_sql_ms(row.get(2)?),
        at_ms: from_sql_ms(row.get(3)?),
        state: named(row, 4)?,
        message: row.get::<_, Option<[u8; 16]>>(5)?.map(MessageId::from_bytes),
        reason: Text::clip(&row.get::<_, String>(6)?),
    })
}

/// A value of an enumeration by its word.
fn named<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(word)).map_err(|fault| unreadable(column, fault))
}

/// The word of a value of an enumeration.
fn word<T: Serialize>(value: T) -> Result<String, StoreFault> {
    let value = serde_json::to_value(value)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

fn unreadable(column: usize, fault: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(fault))
}

fn sql_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn from_sql_ms(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default()
}
