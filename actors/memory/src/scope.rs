//! The number that stands for a scope in every statement, and the full-text index of its own that each scope has.
//! One index for all would let word counts of one owner move the ranking of another; a scope must never be named
//! by text in a statement, only by its number.

use crate::error::{Admission, StoreError};
use ipc_proto::Name;
use ipc_proto::ids::UserId;
use ipc_proto::memory::{Area, Scope};
use rusqlite::{Connection, OptionalExtension, Result, Transaction, params};

/// Areas of one owner. Each has tables of its own, and every one is read at each start.
const MOST_AREAS: i64 = 256;

/// A scope that has been written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(i64);

impl Number {
    /// The number itself, for a parameter.
    pub(crate) const fn get(self) -> i64 {
        self.0
    }

    /// The scope that a column of the database names.
    pub(crate) const fn stored(number: i64) -> Self {
        Self(number)
    }

    /// The name of its index.
    pub(crate) fn words(self) -> String {
        format!("words_{}", self.0)
    }
}

/// The number of a scope, if anything was ever written to it.
pub(crate) fn find(db: &Connection, scope: &Scope) -> Result<Option<Number>> {
    let (area, agent) = coded(&scope.area);
    let mut number =
        db.prepare_cached("SELECT n FROM scope WHERE owner = ?1 AND area = ?2 AND agent = ?3")?;
    let given = params![scope.owner.bytes(), area, agent];
    number.query_row(given, |row| row.get(0).map(Number)).optional()
}

/// The scope of a number.
pub(crate) fn whose(db: &Connection, number: Number) -> Result<Scope> {
    db.query_row("SELECT owner, area, agent FROM scope WHERE n = ?1", [number.get()], |row| {
        let area = match row.get(1)? {
            0_i64 => Area::User,
            1 => Area::Agent(Name::clip(row.get_ref(2)?.as_str()?)),
            _ => Area::Global,
        };
        Ok(Scope { owner: UserId::from_bytes(row.get(0)?), area })
    })
}

/// The number of a scope, which gets its index if it is new.
pub(crate) fn find_or_make(
    change: &Transaction<'_>,
    scope: &Scope,
) -> std::result::Result<Number, StoreError> {
    if let Some(number) = find(change, scope)? {
        return Ok(number);
    }
    let areas = "SELECT count(*) FROM scope WHERE owner = ?1";
    let areas: i64 = change.query_row(areas, params![scope.owner.bytes()], |row| row.get(0))?;
    if areas >= MOST_AREAS {
        return Err(StoreError::NotAdmitted(Admission::Full));
    }
    let (area, agent) = coded(&scope.area);
    change.execute(
        "INSERT INTO scope (owner, area, agent) VALUES (?1, ?2, ?3)",
        params![scope.owner.bytes(), area, agent],
    )?;
    let number = Number(change.last_insert_rowid());
    make_index(change, number)?;
    Ok(number)
}

/// The index reads the rows it points at through a view, so that it cannot show another scope's even if it erred.
/// `secure-delete`: a deleted word is gone from the index, not only marked.
fn make_index(change: &Transaction<'_>, number: Number) -> Result<()> {
    let (n, words) = (number.get(), number.words());
    change.execute_batch(&format!(
        "CREATE VIEW rows_{n} AS SELECT n, content, tags FROM entry WHERE scope = {n};
         CREATE VIRTUAL TABLE {words} USING fts5 (
             content, tags, content = 'rows_{n}', content_rowid = 'n', tokenize = 'porter unicode61'
         );
         INSERT INTO {words} ({words}, rank) VALUES ('secure-delete', 1);"
    ))
}

/// Rows that one owner has, in all scopes, whatever became of them.
pub(crate) fn held_by_owner(db: &Connection, scope: &Scope) -> Result<i64> {
    of_owner(db, scope, "held")
}

/// Episodic rows of one owner that hold, in all scopes.
pub(crate) fn episodes_of_owner(db: &Connection, scope: &Scope) -> Result<i64> {
    of_owner(db, scope, "episodic")
}

/// Semantic rows of one owner that hold, in all scopes.
pub(crate) fn facts_of_owner(db: &Connection, scope: &Scope) -> Result<i64> {
    of_owner(db, scope, "semantic")
}

fn of_owner(db: &Connection, scope: &Scope, column: &str) -> Result<i64> {
    let sum = format!("SELECT coalesce(sum({column}), 0) FROM scope WHERE owner = ?1");
    db.prepare_cached(&sum)?.query_row(params![scope.owner.bytes()], |row| row.get(0))
}

/// Bytes that the rows of one owner take, in all scopes, as they are counted.
pub(crate) fn bytes_of_owner(db: &Connection, scope: &Scope) -> Result<u64> {
    bytes_of(db, scope.owner.bytes())
}

/// The same by the owner as the database names them.
pub(crate) fn bytes_of(db: &Connection, owner: [u8; 16]) -> Result<u64> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM scope WHERE owner = ?1";
    let sum: i64 = db.prepare_cached(sum)?.query_row(params![owner], |row| row.get(0))?;
    Ok(u64::try_from(sum).unwrap_or_default())
}

/// Owners whose rows take this many bytes or more.
pub(crate) fn owners_over(db: &Connection, bytes: u64) -> Result<Vec<[u8; 16]>> {
    let mut owners = db.prepare_cached("SELECT owner FROM scope GROUP BY owner HAVING sum(bytes) >= ?1")?;
    let owners = owners.query_map([i64::try_from(bytes).unwrap_or(i64::MAX)], |row| row.get(0))?;
    owners.collect()
}

/// Counts a row that came or went.
pub(crate) fn count(change: &Transaction<'_>, number: Number, by: i64) -> Result<()> {
    let mut held = change.prepare_cached("UPDATE scope SET held = held + ?2 WHERE n = ?1")?;
    held.execute(params![number.get(), by])?;
    Ok(())
}

/// An area as it is kept; the numbers are part of the schema.
fn coded(area: &Area) -> (i64, &str) {
    match area {
        Area::User => (0, ""),
        Area::Agent(name) => (1, name),
        Area::Global => (2, ""),
    }
}
