//! Single rows by their id or place, read from the database.

use crate::error::StoreError;
use crate::row::{COLUMNS, decoded, key, kind_code};
use crate::scope::Number;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Entry, Row};
use rusqlite::{Connection, OptionalExtension, params};

/// Revisions that are followed from a row, in either direction.
pub(crate) const HOPS: usize = 256;

/// The row with this id in this scope, and its place.
pub(crate) fn one(
    db: &Connection,
    number: Number,
    area: &Area,
    id: MemoryId,
) -> Result<Option<(i64, Row)>, StoreError> {
    at(db, number, area, "e.id = ?2", id.bytes())
}

/// The row at a place of this scope.
pub(crate) fn placed(
    db: &Connection,
    number: Number,
    area: &Area,
    n: i64,
) -> Result<Option<Row>, StoreError> {
    Ok(at(db, number, area, "e.n = ?2", n)?.map(|(_, row)| row))
}

/// Nothing where one row cannot be read: it hides no other, and its own id says that it cannot be.
pub(crate) fn unless_of_a_row(read: Result<Option<Row>, StoreError>) -> Result<Option<Row>, StoreError> {
    match read {
        Err(error) if error.is_of_a_row() => {
            tracing::error!(%error, "a row was left out");
            Ok(None)
        }
        read => read,
    }
}

fn at(
    db: &Connection,
    number: Number,
    area: &Area,
    which: &str,
    value: impl rusqlite::ToSql,
) -> Result<Option<(i64, Row)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM kept AS e WHERE e.scope = ?1 AND {which}");
    let mut rows = db.prepare_cached(&sql)?;
    let mut rows = rows.query(params![number.get(), value])?;
    let Some(columns) = rows.next()? else { return Ok(None) };
    Ok(Some((columns.get("n")?, decoded(columns, area)?)))
}

/// The row that stands in the place of one, after every revision of it.
pub(crate) fn tip(db: &Connection, number: Number, id: MemoryId) -> rusqlite::Result<MemoryId> {
    let mut tip = id;
    let mut next = db.prepare_cached("SELECT superseded_by FROM kept WHERE scope = ?1 AND id = ?2")?;
    for _ in 0..HOPS {
        let by: Option<Option<[u8; 16]>> =
            next.query_row(params![number.get(), tip.bytes()], |row| row.get(0)).optional()?;
        match by.flatten() {
            Some(by) if MemoryId::from_bytes(by) != id => tip = MemoryId::from_bytes(by),
            _ => break,
        }
    }
    Ok(tip)
}

/// The row that one of the same key takes the place of.
pub(crate) fn same_key(
    db: &Connection,
    number: Number,
    area: &Area,
    entry: &Entry,
) -> Result<Option<(i64, Row)>, StoreError> {
    let Some(key) = key(entry) else { return Ok(None) };
    let n = db.query_row(
        "SELECT n FROM kept WHERE scope = ?1 AND kind = ?2 AND key = ?3 AND state = 0",
        params![number.get(), kind_code(entry.detail.kind.name()), key],
        |row| row.get::<_, i64>(0),
    );
    let Some(n) = n.optional()? else { return Ok(None) };
    Ok(placed(db, number, area, n)?.map(|row| (n, row)))
}
