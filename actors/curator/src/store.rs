//! The queue's database. It touches one file in the process's own folder; every change is durable when it returns. No
//! text of a memory is ever written: a job of memory's is named by its row or session.

use crate::order::Candidate;
use crate::work::resource_of;
use ipc_proto::curator::{JobInfo, JobState, JobView, Priority};
use ipc_proto::ids::{JobId, UserId};
use ipc_proto::model::ModelName;
use ipc_proto::{List, Text};
use migration::Room;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The file in the process's own folder.
pub(crate) const FILE: &str = "jobs.db";
/// The steps of the schema: step n leads from version n to version n + 1.
const STEPS: &[&str] = &[include_str!("schema1.sql")];
const ROOM: Room = Room { log_bytes: 1 << 20, statements: 32 };
/// Most jobs that wait.
const WAITING: u32 = 1000;
/// Most jobs that are kept after they were given up, and as many that were answered.
const KEPT: u32 = 50;
/// How long they are kept, ms: 14 days.
const KEPT_MS: u64 = 14 * 86_400_000;
const DAY_MS: u64 = 86_400_000;
/// The columns of a job, in the order in which [`read`] takes them.
const COLUMNS: &str = "id, kind, state, priority, owner, area, about, created_ms, due_ms, attempts, reason, model, wants, \
    prompt, answer, seq";

/// The same without texts, which are long and which no listing shows.
const BRIEF: &str = "id, kind, state, priority, owner, area, about, created_ms, due_ms, attempts, reason, model, wants, \
    '', '', seq";

/// The reasons for which the queue failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFault {
    /// The database's own word.
    #[error("the queue: {0}")]
    Sql(#[from] rusqlite::Error),
    /// It was written by a later program, or could not be brought to this one's version.
    #[error("the queue: {0}")]
    Migration(#[from] migration::MigrationFault),
    /// As many jobs wait as may.
    #[error("the queue is full")]
    Full,
}

/// A job as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// As it is shown.
    pub(crate) view: JobView,
    /// Its number: they count upward as they come.
    pub(crate) seq: i64,
}

/// The database.
pub(crate) struct Store {
    db: Connection,
}

impl Store {
    /// Opens it, makes it or brings it up to date. Jobs that an earlier process had under way wait again.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreFault> {
        let store = Self { db: migration::open(file, STEPS, ROOM)? };
        store.run("UPDATE job SET state = 'waiting' WHERE state = 'running'", [])?;
        Ok(store)
    }

    fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreFault> {
        Ok(self.db.prepare_cached(sql)?.execute(params)?)
    }

    fn number(&self, sql: &str, params: impl Params) -> Result<u64, StoreFault> {
        let found: Option<i64> =
            self.db.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?;
        Ok(u64::try_from(found.unwrap_or_default()).unwrap_or_default())
    }

    /// Puts a job in, unless it is there.
    pub(crate) fn add(&self, job: &JobView) -> Result<(), StoreFault> {
        let info = &job.info;
        if self.count(JobState::Waiting)? >= WAITING && self.get(info.id)?.is_none() {
            return Err(StoreFault::Full);
        }
        let sql = "INSERT INTO job (id, kind, state, priority, owner, area, about, created_ms, due_ms, changed_ms, attempts,
                reason, model, wants, prompt, answer)
            VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?7, ?7, 0, '', ?8, ?9, ?10, '') ON CONFLICT DO NOTHING";
        let area = serde_json::to_string(&info.area).unwrap_or_default();
        let model = info.model.as_ref().map_or("", |model| model.as_str());
        self.run(
            sql,
            params![
                info.id.bytes(),
                word(info.kind),
                level(info.priority),
                info.owner.bytes(),
                area,
                info.about.as_str(),
                sql_number(info.created_ms),
                model,
                word(job.wants),
                job.prompt.as_str()
            ],
        )?;
        Ok(())
    }

    /// One job.
    pub(crate) fn get(&self, id: JobId) -> Result<Option<Job>, StoreFault> {
        let sql = format!("SELECT {COLUMNS} FROM job WHERE id = ?1");
        Ok(self.db.prepare_cached(&sql)?.query_row([id.bytes()], read).optional()?)
    }

    /// Jobs in this state, without their texts: those that wait in the order in which they came, others the newest first.
    pub(crate) fn list(&self, state: JobState) -> Result<Vec<Job>, StoreFault> {
        let order = if state == JobState::Waiting { "seq" } else { "changed_ms DESC, seq DESC" };
        let sql = format!("SELECT {BRIEF} FROM job WHERE state = ?1 ORDER BY {order}");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([word(state)], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Those under way.
    pub(crate) fn running(&self) -> Result<Vec<JobId>, StoreFault> {
        let mut statement = self.db.prepare_cached("SELECT id FROM job WHERE state = 'running'")?;
        let ids = statement.query_map([], |row| row.get(0).map(JobId::from_bytes))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// How many there are in this state.
    pub(crate) fn count(&self, state: JobState) -> Result<u32, StoreFault> {
        let count = self.number("SELECT count(*) FROM job WHERE state = ?1", [word(state)])?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Takes a job up: this counts as one more try until it is known how it ended.
    pub(crate) fn claim(&self, id: JobId, now_ms: u64) -> Result<(), StoreFault> {
        let sql = "UPDATE job SET state = 'running', changed_ms = ?2, attempts = attempts + 1 WHERE id = ?1";
        self.run(sql, params![id.bytes(), sql_number(now_ms)])?;
        Ok(())
    }

    /// Has a job wait until then; `counts` if the try that was taken up is to count.
    pub(crate) fn again(&self, id: JobId, due_ms: u64, counts: bool, reason: &str) -> Result<(), StoreFault> {
        let sql =
            "UPDATE job SET state = 'waiting', due_ms = ?2, attempts = max(attempts - ?3, 0), reason = ?4
            WHERE id = ?1 AND state = 'running'";
        self.run(sql, params![id.bytes(), sql_number(due_ms), i64::from(!counts), reason])?;
        Ok(())
    }

    /// Gives a job up.
    pub(crate) fn give_up(&self, id: JobId, now_ms: u64, reason: &str) -> Result<(), StoreFault> {
        let sql = "UPDATE job SET state = 'dead', changed_ms = ?2, reason = ?3 WHERE id = ?1";
        self.run(sql, params![id.bytes(), sql_number(now_ms), reason])?;
        Ok(())
    }

    /// Stores the answer to a prompt, and its fault.
    pub(crate) fn answered(
        &self,
        id: JobId,
        now_ms: u64,
        answer: &str,
        wrong: &str,
    ) -> Result<(), StoreFault> {
        let sql = "UPDATE job SET state = 'done', changed_ms = ?2, reason = ?4, answer = ?3 WHERE id = ?1";
        self.run(sql, params![id.bytes(), sql_number(now_ms), answer, wrong])?;
        Ok(())
    }

    /// Forgets a job.
    pub(crate) fn remove(&self, id: JobId) -> Result<(), StoreFault> {
        self.run("DELETE FROM job WHERE id = ?1", [id.bytes()])?;
        Ok(())
    }

    /// Puts a job that was given up into the queue again, as if it were new.
    pub(crate) fn requeue(&self, id: JobId, now_ms: u64) -> Result<(), StoreFault> {
        let sql =
            "UPDATE job SET state = 'waiting', attempts = 0, due_ms = ?2, created_ms = ?2, changed_ms = ?2
            WHERE id = ?1 AND state = 'dead'";
        self.run(sql, params![id.bytes(), sql_number(now_ms)])?;
        Ok(())
    }

    /// Writes the columns of a job that can change, with these values.
    pub(crate) fn change(&self, job: &JobView) -> Result<(), StoreFault> {
        let sql = "UPDATE job SET priority = ?2, model = ?3, prompt = ?4 WHERE id = ?1";
        let model = job.info.model.as_ref().map_or("", |model| model.as_str());
        self.run(sql, params![job.info.id.bytes(), level(job.info.priority), model, job.prompt.as_str()])?;
        Ok(())
    }

    /// Returns whether nothing is to be begun.
    pub(crate) fn paused(&self) -> Result<bool, StoreFault> {
        Ok(self.number("SELECT count(*) FROM pause", [])? > 0)
    }

    /// Has nothing be begun, or lets it go on.
    pub(crate) fn pause(&self, paused: bool, now_ms: u64) -> Result<(), StoreFault> {
        if !paused {
            self.run("DELETE FROM pause", [])?;
        } else if !self.paused()? {
            self.run("INSERT INTO pause (since_ms) VALUES (?1)", [sql_number(now_ms)])?;
        }
        Ok(())
    }

    /// Counts tokens of this day.
    pub(crate) fn spend(&self, now_ms: u64, tokens: u64) -> Result<(), StoreFault> {
        let sql =
            "INSERT INTO used (day, tokens) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET tokens = tokens + ?2";
        self.run(sql, params![sql_number(now_ms / DAY_MS), sql_number(tokens)])?;
        Ok(())
    }

    /// Tokens of this day.
    pub(crate) fn spent(&self, now_ms: u64) -> Result<u64, StoreFault> {
        self.number("SELECT tokens FROM used WHERE day = ?1", [sql_number(now_ms / DAY_MS)])
    }

    /// Jobs that were given up or answered and are too old or too many.
    pub(crate) fn old(&self, now_ms: u64) -> Result<Vec<Job>, StoreFault> {
        let oldest = sql_number(now_ms.saturating_sub(KEPT_MS));
        let mut old = Vec::new();
        for state in ["dead", "done"] {
            let sql = format!(
                "SELECT {BRIEF} FROM job WHERE state = ?1 AND (changed_ms < ?2 OR seq NOT IN
                (SELECT seq FROM job WHERE state = ?1 ORDER BY changed_ms DESC, seq DESC LIMIT ?3))"
            );
            let mut statement = self.db.prepare_cached(&sql)?;
            for job in statement.query_map(params![state, oldest, KEPT], read)? {
                old.push(job?);
            }
        }
        Ok(old)
    }

    /// Forgets the tokens of former days.
    pub(crate) fn forget_days(&self, now_ms: u64) -> Result<(), StoreFault> {
        self.run("DELETE FROM used WHERE day < ?1", [sql_number((now_ms / DAY_MS).saturating_sub(1))])?;
        Ok(())
    }
}

impl Job {
    /// As the order of jobs sees it; `model` is the configured one.
    pub(crate) fn candidate(&self, model: Option<&str>) -> Candidate {
        let info = &self.view.info;
        Candidate {
            seq: self.seq,
            priority: info.priority,
            created_ms: info.created_ms,
            due_ms: info.due_ms,
            resource: resource_of(info.model.as_ref().map(|model| model.as_str()).or(model)),
            scope: format!("{}{:?}", info.owner, info.area),
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Job> {
    let model: String = row.get(11)?;
    let info = JobInfo {
        id: JobId::from_bytes(row.get(0)?),
        kind: enum_value(row, 1)?,
        state: enum_value(row, 2)?,
        priority: priority(row.get(3)?),
        owner: UserId::from_bytes(row.get(4)?),
        area: parsed(&row.get::<_, String>(5)?, 5)?,
        about: Text::clip(&row.get::<_, String>(6)?),
        model: (!model.is_empty()).then(|| ModelName::clip(&model)),
        attempts: row.get(9)?,
        created_ms: unsigned(row.get(7)?),
        due_ms: unsigned(row.get(8)?),
        reason: Text::clip(&row.get::<_, String>(10)?),
    };
    let view = JobView {
        info,
        wants: enum_value(row, 12)?,
        prompt: Text::clip(&row.get::<_, String>(13)?),
        answer: Text::clip(&row.get::<_, String>(14)?),
    };
    Ok(Job { view, seq: row.get(15)? })
}

/// The first of these, as a list of the interface.
pub(crate) fn listed<const N: usize>(jobs: impl IntoIterator<Item = Job>) -> List<JobInfo, N> {
    List::clip(jobs.into_iter().map(|job| job.view.info))
}

/// The word of an enum, as the interface writes it.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn enum_value<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parsed(&format!("\"{}\"", row.get::<_, String>(column)?), column)
}

fn parsed<T: DeserializeOwned>(json: &str, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(json)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

const fn level(priority: Priority) -> i64 {
    match priority {
        Priority::High => 0,
        Priority::Normal => 1,
        Priority::Low => 2,
    }
}

const fn priority(level: i64) -> Priority {
    match level {
        0 => Priority::High,
        1 => Priority::Normal,
        _ => Priority::Low,
    }
}

/// SQLite has no unsigned numbers.
fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::new_job;
    use ipc_proto::curator::JobKind;
    use ipc_proto::memory::Area;

    fn job(n: u8, now_ms: u64) -> JobView {
        let whose = (UserId::from_bytes([1; 16]), Area::User);
        new_job(JobId::from_bytes([n; 16]), JobKind::Compress, Priority::Normal, whose, "row", now_ms)
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join(FILE)).unwrap();
        (folder, store)
    }

    // Holds P7-12.
    #[test]
    fn the_same_job_twice_is_one_and_comes_back_as_it_was_put_in() {
        let (_folder, store) = store();
        let one = job(1, 7);
        store.add(&one).unwrap();
        store.add(&one).unwrap();
        assert_eq!(store.count(JobState::Waiting).unwrap(), 1);
        assert_eq!(store.get(one.info.id).unwrap().unwrap().view, one);
    }

    // Holds P7-12.
    #[test]
    fn what_a_former_life_had_under_way_waits_again_and_its_try_counts() {
        let (folder, store) = store();
        let one = job(1, 7);
        store.add(&one).unwrap();
        store.claim(one.info.id, 8).unwrap();
        store.pause(true, 8).unwrap();
        drop(store);
        let store = Store::open(&folder.path().join(FILE)).unwrap();
        let found = store.get(one.info.id).unwrap().unwrap().view.info;
        assert_eq!((found.state, found.attempts), (JobState::Waiting, 1));
        assert!(store.paused().unwrap(), "a pause outlives the process");
    }

    // Holds B-110.
    #[test]
    fn of_the_dead_the_newest_fifty_of_fourteen_days_are_kept() {
        let (_folder, store) = store();
        for n in 1..=60 {
            store.add(&job(n, 7)).unwrap();
            store.give_up(JobId::from_bytes([n; 16]), u64::from(n), "why").unwrap();
        }
        let old = |now_ms| -> Vec<u8> {
            let mut old: Vec<u8> =
                store.old(now_ms).unwrap().iter().map(|job| job.view.info.id.bytes()[0]).collect();
            old.sort_unstable();
            old
        };
        assert_eq!(old(100), (1..=10).collect::<Vec<_>>());
        assert_eq!(old(KEPT_MS + 60), (1..=59).collect::<Vec<_>>());
    }

    #[test]
    fn a_try_that_was_no_failure_is_not_counted() {
        let (_folder, store) = store();
        let one = job(1, 7);
        store.add(&one).unwrap();
        for (counts, attempts) in [(false, 0), (true, 1), (false, 1), (true, 2)] {
            store.claim(one.info.id, 8).unwrap();
            store.again(one.info.id, 9, counts, "why").unwrap();
            assert_eq!(store.get(one.info.id).unwrap().unwrap().view.info.attempts, attempts);
        }
    }

    // Holds B-109.
    #[test]
    fn a_full_queue_takes_no_new_job_and_knows_those_it_has() {
        let (_folder, store) = store();
        for n in 0..WAITING {
            let mut one = job(1, 7);
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&n.to_le_bytes());
            one.info.id = JobId::from_bytes(bytes);
            store.add(&one).unwrap();
        }
        assert!(matches!(store.add(&job(255, 7)), Err(StoreFault::Full)));
        store.add(&job(0, 7)).unwrap();
    }
}
