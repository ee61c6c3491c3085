//! Forgetting rows. A tombstone stays as a row that no longer holds; a purge leaves nothing in the files but what the
//! record says of it, and takes every revision along, since an older one says much the same.

use crate::change::{self, IndexChange, Removal};
use crate::error::StoreError;
use crate::filter::ms;
use crate::find::is_gone;
use crate::migrate::STEPS;
use crate::query::Query;
use crate::row::{COLUMNS, decoded};
use crate::rows::one;
use crate::scope::{self, Number};
use crate::store::Store;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Forget, MOST_IDS, Row, Scope, State};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Bytes that are overwritten at once.
const BLOCK: usize = 64 * 1024;

/// Rows to forget.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// The first of them, as many as are forgotten at once.
    pub(crate) rows: Vec<Row>,
    /// How many there are in all.
    pub(crate) all: u32,
    /// The number of the ids asked for that were forgotten before.
    pub(crate) before: u32,
}

/// A condition on the table `kept` under the name `e`, in which `?1` is the scope.
struct Condition {
    sql: String,
    values: Vec<Value>,
}

impl Store {
    /// The rows of a scope to forget: those that hold, or with `purge` all that exist.
    pub(crate) fn chosen(&self, scope: &Scope, what: &Forget, purge: bool) -> Result<Chosen, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Chosen::default()) };
        if let Forget::Ids(ids) = what {
            return self.chosen_by_id(number, &scope.area, ids, purge);
        }
        let Condition { sql, mut values } = condition(&self.db, number, what, purge)?;
        let states = if purge { "" } else { " AND e.state IN (0, 3)" };
        let from = format!("FROM kept AS e WHERE e.scope = ?1{states} AND ({sql})");
        values.insert(0, Value::from(number.get()));
        let count = format!("SELECT count(*) {from}");
        let all = self.db.query_row(&count, params_from_iter(&values), |row| row.get(0))?;
        let mut first = self.db.prepare(&format!("SELECT {COLUMNS} {from} ORDER BY e.n LIMIT {MOST_IDS}"))?;
        let mut first = first.query(params_from_iter(&values))?;
        let mut rows = Vec::new();
        while let Some(columns) = first.next()? {
            rows.push(decoded(columns, &scope.area)?);
        }
        Ok(Chosen { rows, all, before: 0 })
    }

    fn chosen_by_id(
        &self,
        number: Number,
        area: &Area,
        ids: &[MemoryId],
        purge: bool,
    ) -> Result<Chosen, StoreError> {
        let mut chosen = Chosen::default();
        for id in ids {
            match one(&self.db, number, area, *id)? {
                Some((_, row)) if purge || may_be_removed(&row) => chosen.rows.push(row),
                Some((_, row)) if matches!(row.state, State::Removed { .. }) => chosen.before += 1,
                Some(_) => {}
                None if is_gone(&self.db, number, *id)? => chosen.before += 1,
                None => {}
            }
        }
        chosen.all = u32::try_from(chosen.rows.len()).unwrap_or(u32::MAX);
        Ok(chosen)
    }

    /// Adds to the rows to purge every revision of each, however many, the facts extracted from one, and every other
    /// row that one of them replaced; where rows before a time are purged, each row's own time counts. A newer row goes
    /// only if it says itself that it is the revision: another row's claim could be planted.
    pub(crate) fn with_revisions(
        &self,
        scope: &Scope,
        what: &Forget,
        chosen: &Chosen,
    ) -> Result<Vec<MemoryId>, StoreError> {
        let mut ids: Vec<MemoryId> = chosen.rows.iter().map(|row| row.entry.id).collect();
        let number = scope::find(&self.db, scope)?;
        let Some(number) = number.filter(|_| !matches!(what, Forget::Before(_))) else { return Ok(ids) };
        let older = self.superseded_ones(number)?;
        let mut newer = self.db.prepare_cached(
            "SELECT new.id FROM kept AS old JOIN kept AS new ON new.id = old.superseded_by
             WHERE old.scope = ?1 AND old.id = ?2 AND new.scope = old.scope AND new.revises = old.id",
        )?;
        let mut seen: HashSet<MemoryId> = ids.iter().copied().collect();
        let mut at = 0;
        while let Some(id) = ids.get(at).copied() {
            at += 1;
            let new = newer.query_row(params![number.get(), id.bytes()], |row| row.get(0)).optional()?;
            let next = older.get(&id).into_iter().flatten().copied().chain(new.map(MemoryId::from_bytes));
            let next: Vec<MemoryId> = next.chain(self.taken_from(number, id)?).collect();
            ids.extend(next.into_iter().filter(|id| seen.insert(*id)));
        }
        Ok(ids)
    }

    /// The facts that were extracted from a row and say a part of it. A fact that a person made their own is theirs.
    fn taken_from(&self, number: Number, id: MemoryId) -> Result<Vec<MemoryId>, StoreError> {
        let mut taken = self.db.prepare_cached(
            "SELECT id FROM kept WHERE scope = ?1 AND origin = ?2 AND NOT (kind = 2 AND state = 0)",
        )?;
        let taken = taken.query_map(params![number.get(), id.bytes()], |row| row.get(0))?;
        Ok(taken.map(|id| id.map(MemoryId::from_bytes)).collect::<Result<_, _>>()?)
    }

    /// The rows of a scope in whose place each row stands.
    fn superseded_ones(&self, number: Number) -> Result<HashMap<MemoryId, Vec<MemoryId>>, StoreError> {
        let mut rows = self.db.prepare_cached(
            "SELECT superseded_by, id FROM kept WHERE scope = ?1 AND state = 1 AND superseded_by IS NOT NULL",
        )?;
        let mut rows = rows.query([number.get()])?;
        let mut ones: HashMap<MemoryId, Vec<MemoryId>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let by = MemoryId::from_bytes(row.get(0)?);
            ones.entry(by).or_default().push(MemoryId::from_bytes(row.get(1)?));
        }
        Ok(ones)
    }

    /// Makes tombstones of those of these rows that hold.
    pub(crate) fn entomb(
        &mut self,
        scope: &Scope,
        ids: &[MemoryId],
        reason: &str,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.changed(|change, _, changes| {
            let Some(number) = scope::find(change, scope)? else { return Ok(()) };
            for id in ids {
                let Some((n, row)) = one(change, number, &scope.area, *id)? else { continue };
                if may_be_removed(&row) {
                    change::removed(change, number, n, reason, now_ms)?;
                    changes.push(IndexChange::gone(number, n, row, true));
                }
            }
            Ok(())
        })
    }

    /// Purges rows from the table, the index and both files. With the last rows of a session or a project, the
    /// session's data goes. Copies go first: after a crash between the two the rows are still there to be purged again.
    pub(crate) fn purge(
        &mut self,
        scope: &Scope,
        what: &Forget,
        ids: &[MemoryId],
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.writable()?;
        if !ids.is_empty() {
            self.copies_go();
        }
        self.changed(|change, _, changes| {
            let Some(number) = scope::find(change, scope)? else { return Ok(()) };
            for id in ids {
                let Some((n, row)) = one(change, number, &scope.area, *id)? else { continue };
                change::deleted(change, number, n)?;
                change::gone(change, number, *id, (Removal::Deleted, now_ms))?;
                changes.push(IndexChange::gone(number, n, row, true));
                kit::fault_point!("memory.purge.row");
            }
            forget_sessions(change, number, what)?;
            Ok(())
        })
    }

    /// Removes the copies of the database that migrations made, which hold purged rows as well. There is one of this version where
    /// a person went back to it.
    fn copies_go(&self) {
        let Some(path) = self.db.path().filter(|path| !path.is_empty()) else { return };
        for version in 1..=STEPS.len() {
            let copy = format!("{path}.v{version}");
            match overwritten(Path::new(&copy)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::error!(%copy, %error, "what was purged is still in a copy; remove it by hand");
                }
                _ => {}
            }
        }
    }
}

/// Returns whether a row holds, or waits to.
const fn may_be_removed(row: &Row) -> bool {
    matches!(row.state, State::Current | State::Proposed { .. })
}

/// Overwrites a file and removes it.
fn overwritten(path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let nothing = io::repeat(0).take(file.metadata()?.len());
    io::copy(&mut BufReader::with_capacity(BLOCK, nothing), &mut file)?;
    file.sync_all()?;
    fs::remove_file(path)
}

fn forget_sessions(db: &Connection, number: Number, what: &Forget) -> rusqlite::Result<()> {
    let sql = "DELETE FROM session AS s WHERE s.scope = ?1 AND {which}
        AND NOT EXISTS (SELECT 1 FROM kept AS e WHERE e.session = s.id AND e.scope = s.scope)";
    match what {
        Forget::Project(project) => {
            db.execute(&sql.replace("{which}", "s.project = ?2"), params![number.get(), project.as_str()])?;
        }
        Forget::Session(session) => {
            db.execute(&sql.replace("{which}", "s.id = ?2"), params![number.get(), session.bytes()])?;
        }
        Forget::Ids(_) | Forget::Before(_) | Forget::Topic(_) => {}
    }
    Ok(())
}

fn condition(db: &Connection, number: Number, what: &Forget, past: bool) -> Result<Condition, StoreError> {
    let one = |sql: &str, value: Value| Condition { sql: sql.to_owned(), values: vec![value] };
    Ok(match what {
        Forget::Ids(_) => Condition { sql: "false".to_owned(), values: Vec::new() },
        Forget::Project(project) => one("e.project = ?2", Value::from(project.to_string())),
        Forget::Session(session) => one("e.session = ?2", Value::from(session.bytes().to_vec())),
        Forget::Before(time) => one("e.created_ms < ?2", Value::from(ms(*time))),
        Forget::Topic(topic) => of_topic(db, number, topic, past)?,
    })
}

/// Rows that hold are found by the words' stems, as they are by any search; others, where they are wanted, by the words
/// as they stand. SQLite knows the two cases of ASCII letters alone, so that is looked at here.
fn of_topic(db: &Connection, number: Number, topic: &str, past: bool) -> Result<Condition, StoreError> {
    let asked = Query::whole(topic);
    let tagged = "EXISTS (SELECT 1 FROM json_each(e.tags) AS has WHERE has.value = ?2 COLLATE NOCASE)";
    let mut values = vec![Value::from(topic.trim().to_owned())];
    if asked.is_empty() {
        return Ok(Condition { sql: tagged.to_owned(), values });
    }
    let mut ended: Vec<i64> = Vec::new();
    let mut rows = db.prepare_cached(
        "SELECT n, content || ' ' || tags FROM kept WHERE scope = ?1 AND state <> 0 AND ?2",
    )?;
    let mut rows = rows.query(params![number.get(), past])?;
    while let Some(row) = rows.next()? {
        let text = row.get::<_, String>(1)?.to_lowercase();
        if asked.words().iter().all(|word| text.contains(word.as_str())) {
            ended.push(row.get(0)?);
        }
    }
    values.push(Value::from(asked.all()));
    values.push(Value::from(serde_json::Value::from(ended).to_string()));
    let words = number.words();
    let sql = format!(
        "{tagged} OR e.n IN (SELECT value FROM json_each(?4))
         OR e.state = 0 AND e.n IN (SELECT rowid FROM {words} WHERE {words} MATCH ?3)"
    );
    Ok(Condition { sql, values })
}
