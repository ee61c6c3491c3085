//! Single steps of a change, each within its transaction: a row and its place in its scope's index come and go
//! together. It knows no rule of who may change a row; the caller has decided that.

use crate::error::StoreError;
use crate::filter::ms;
use crate::row::{class_code, detail_of, files, head, key, kind_code, listed, trust_code, type_code};
use crate::scope::{self, Number};
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::Label;
use ipc_proto::memory::{Entry, Kind, Row};
use rusqlite::{Transaction, named_params, params};

/// Ids remembered in one scope for one reason.
const GONE_KEPT: i64 = 1000;

/// The updates for an index in memory once a change is done.
#[derive(Debug)]
pub(crate) struct IndexChange {
    pub(crate) number: Number,
    pub(crate) n: i64,
    pub(crate) entry: Entry,
    pub(crate) time_ms: u64,
    /// True if the row was added rather than removed.
    pub(crate) added: bool,
    /// Text of it must leave the log as well.
    pub(crate) purges: bool,
}

impl IndexChange {
    /// A row that was added.
    pub(crate) const fn new(number: Number, n: i64, entry: Entry, time_ms: u64) -> Self {
        Self { number, n, entry, time_ms, added: true, purges: false }
    }

    /// A row that no longer holds.
    pub(crate) fn gone(number: Number, n: i64, row: Row, purges: bool) -> Self {
        Self { number, n, entry: row.entry, time_ms: row.created_ms, added: false, purges }
    }
}

/// Writes a row that holds, of when it was written and of when it comes here; gives its place.
pub(crate) fn put(
    change: &Transaction<'_>,
    number: Number,
    entry: &Entry,
    revises: Option<MemoryId>,
    (created_ms, arrived_ms): (u64, u64),
) -> Result<i64, StoreError> {
    let detail = &entry.detail;
    let seen = if let Kind::Observation(seen) = &detail.kind { Some(seen) } else { None };
    let mut insert = change.prepare_cached(
        "INSERT INTO kept (scope, id, head, body, tags, trust, class, sources, session, created_ms, kind, type, key,
             files, project, importance, expires_ms, tokens, discovery, plain, detail, revises, origin, arrived_ms)
         VALUES (:scope, :id, :head, :body, :tags, :trust, :class, :sources, :session, :created, :kind, :type, :key,
             :files, :project, :importance, :expires, :tokens, :discovery, :plain, :detail, :revises, :origin, :arrived)",
    )?;
    insert.execute(named_params! {
        ":scope": number.get(),
        ":id": entry.id.bytes(),
        ":head": head(entry),
        ":body": entry.content.as_str(),
        ":tags": listed(&entry.tags),
        ":trust": trust_code(entry.label.trust),
        ":class": class_code(entry.label.class),
        ":sources": listed(&entry.label.sources),
        ":session": entry.session.map(SessionId::bytes),
        ":created": ms(created_ms),
        ":kind": kind_code(detail.kind.name()),
        ":type": seen.map(|seen| type_code(seen.r#type)),
        ":key": key(entry),
        ":files": files(entry),
        ":project": detail.project.as_ref().map(|project| project.as_str()),
        ":importance": detail.importance.get(),
        ":expires": detail.expires_ms.map(ms),
        ":tokens": entry.tokens(),
        ":discovery": seen.map_or(0, |seen| seen.discovery_tokens),
        ":plain": seen.is_some_and(|seen| seen.plain),
        ":detail": detail_of(detail)?,
        ":revises": revises.map(MemoryId::bytes),
        ":origin": detail.source.row.map(MemoryId::bytes),
        ":arrived": ms(arrived_ms),
    })?;
    let n = change.last_insert_rowid();
    indexed(change, number, n)?;
    scope::count(change, number, 1)?;
    Ok(n)
}

fn indexed(change: &Transaction<'_>, number: Number, n: i64) -> rusqlite::Result<()> {
    let words = number.words();
    let index = format!(
        "INSERT INTO {words} (rowid, content, tags) SELECT n, content, tags FROM kept WHERE scope = ?1 AND n = ?2"
    );
    change.prepare_cached(&index)?.execute(params![number.get(), n])?;
    Ok(())
}

/// Has a row that was written wait for a person's word.
pub(crate) fn proposed(
    change: &Transaction<'_>,
    number: Number,
    n: i64,
    now_ms: u64,
) -> rusqlite::Result<()> {
    unindexed(change, number, n)?;
    change.execute(
        "UPDATE kept SET state = 3, state_ms = ?3 WHERE scope = ?1 AND n = ?2",
        params![number.get(), n, ms(now_ms)],
    )?;
    Ok(())
}

/// Has a row hold that did not, with this label.
pub(crate) fn held(change: &Transaction<'_>, number: Number, n: i64, label: &Label) -> rusqlite::Result<()> {
    change.execute(
        "UPDATE kept SET state = 0, state_ms = NULL, reason = '', trust = ?3, class = ?4, sources = ?5
         WHERE scope = ?1 AND n = ?2",
        params![number.get(), n, trust_code(label.trust), class_code(label.class), listed(&label.sources)],
    )?;
    indexed(change, number, n)
}

/// Stores the source text of a row: the given one, or else that of the row before it.
pub(crate) fn put_raw(
    change: &Transaction<'_>,
    n: i64,
    raw: Option<&str>,
    before: Option<i64>,
) -> rusqlite::Result<()> {
    if let Some(raw) = raw {
        change.execute("INSERT INTO raw (n, text) VALUES (?1, ?2)", params![n, raw])?;
    } else if let Some(before) = before {
        change.execute("UPDATE raw SET n = ?1 WHERE n = ?2", params![n, before])?;
    }
    Ok(())
}

/// Puts a newer row in the place of one that holds.
pub(crate) fn superseded(
    change: &Transaction<'_>,
    number: Number,
    n: i64,
    by: MemoryId,
    reason: &str,
    now_ms: u64,
) -> rusqlite::Result<()> {
    unindexed(change, number, n)?;
    change.execute(
        "UPDATE kept SET state = 1, superseded_by = ?3, state_ms = ?4, reason = ?5 WHERE scope = ?1 AND n = ?2",
        params![number.get(), n, by.bytes(), ms(now_ms), reason],
    )?;
    Ok(())
}

/// Makes a tombstone of a row that holds; its source text goes.
pub(crate) fn removed(
    change: &Transaction<'_>,
    number: Number,
    n: i64,
    reason: &str,
    now_ms: u64,
) -> rusqlite::Result<()> {
    unindexed(change, number, n)?;
    change.execute("DELETE FROM raw WHERE n = ?1", [n])?;
    change.execute(
        "UPDATE kept SET state = 2, state_ms = ?3, reason = ?4 WHERE scope = ?1 AND n = ?2",
        params![number.get(), n, ms(now_ms), reason],
    )?;
    Ok(())
}

/// Takes a row away whole, whatever its state.
pub(crate) fn deleted(change: &Transaction<'_>, number: Number, n: i64) -> rusqlite::Result<()> {
    unindexed(change, number, n)?;
    change.execute("DELETE FROM raw WHERE n = ?1", [n])?;
    change.execute("DELETE FROM lease WHERE n = ?1 AND task <> 1", [n])?;
    change.execute("DELETE FROM kept WHERE scope = ?1 AND n = ?2", params![number.get(), n])?;
    scope::count(change, number, -1)
}

/// Why an id is remembered whose row is not here any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// A person had it deleted for good.
    Deleted,
    /// A model proposed it and a person did not want it.
    Unwanted,
}

/// Remembers for a while that a row must not come back. Expired rows may. The list of each reason has its own bound:
/// models' proposals push out no deletion by a person.
pub(crate) fn gone(
    change: &Transaction<'_>,
    number: Number,
    id: MemoryId,
    (why, now_ms): (Removal, u64),
) -> rusqlite::Result<()> {
    let unwanted = why == Removal::Unwanted;
    change.execute(
        "INSERT OR IGNORE INTO gone (scope, id, gone_ms, unwanted) VALUES (?1, ?2, ?3, ?4)",
        params![number.get(), id.bytes(), ms(now_ms), unwanted],
    )?;
    change.execute(
        "DELETE FROM gone WHERE scope = ?1 AND unwanted = ?2
         AND n <= (SELECT n FROM gone WHERE scope = ?1 AND unwanted = ?2 ORDER BY n DESC LIMIT 1 OFFSET ?3)",
        params![number.get(), unwanted, GONE_KEPT],
    )?;
    Ok(())
}

/// The index is updated first: it needs the very text that it was given. A row that does not hold is in no index.
fn unindexed(change: &Transaction<'_>, number: Number, n: i64) -> rusqlite::Result<()> {
    let words = number.words();
    let index = format!(
        "INSERT INTO {words} ({words}, rowid, content, tags)
         SELECT 'delete', n, content, tags FROM entry WHERE scope = ?1 AND n = ?2"
    );
    change.prepare_cached(&index)?.execute(params![number.get(), n])?;
    Ok(())
}
