//! Candidates for a block: a few columns of each row, by which they are ordered before any of them is read whole. It
//! touches the open database and changes nothing; each statement names the scope's number.

use crate::filter::{Narrow, ms};
use crate::row::{class_code, kind_code, unsigned};
use crate::scope::Number;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Class;
use ipc_proto::memory::KindName;
use rusqlite::{Connection, Result, params};
use std::cmp::Reverse;
use std::collections::HashSet;

/// The worth of a point of importance beside age: a week.
const POINT_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// The columns that [`read`] reads, of the table `kept` under the name `e`.
const COLUMNS: &str = "e.n, e.id, e.project, e.class, e.created_ms, e.importance";

/// A row that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its place in the store.
    pub(super) n: i64,
    pub(super) id: [u8; 16],
    pub(super) project: Option<String>,
    /// True if it may never be shown.
    pub(super) is_secret: bool,
    /// When it was written, unix ms.
    pub(super) created_ms: u64,
    pub(super) importance: u8,
}

impl Candidate {
    /// Returns true if it may be shown in this project: secrets never are.
    pub(super) fn may_be_told_of(&self, project: Option<&str>) -> bool {
        let is_elsewhere =
            project.is_some_and(|own| self.project.as_ref().is_some_and(|theirs| theirs != own));
        !is_elsewhere && !self.is_secret
    }
}

fn read(columns: &rusqlite::Row<'_>) -> Result<Candidate> {
    Ok(Candidate {
        n: columns.get(0)?,
        id: columns.get(1)?,
        project: columns.get(2)?,
        is_secret: columns.get::<_, i64>(3)? >= class_code(Class::Secret),
        created_ms: unsigned(columns.get(4)?).unwrap_or_default(),
        importance: columns.get(5)?,
    })
}

/// Those of the rows that can be read: one that cannot hides no other.
fn readable(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    while let Some(columns) = rows.next()? {
        match read(columns) {
            Ok(one) => found.push(one),
            Err(error) => tracing::error!(%error, "a row was left out"),
        }
    }
    Ok(found)
}

/// The one at a place, unless it has expired or cannot be read.
pub(super) fn at(db: &Connection, number: Number, n: i64, now_ms: u64) -> Result<Option<Candidate>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM kept AS e
         WHERE e.scope = ?1 AND e.n = ?2 AND (e.expires_ms IS NULL OR e.expires_ms > ?3)"
    );
    let mut rows = db.prepare_cached(&sql)?;
    Ok(readable(rows.query(params![number.get(), n, ms(now_ms)])?)?.pop())
}

/// The newest that a condition lets through.
pub(super) fn newest(db: &Connection, mut narrow: Narrow, most: u16) -> Result<Vec<Candidate>> {
    let limit = narrow.parameter(i64::from(most));
    let mut rows = db.prepare_cached(&newest_sql(narrow.sql(), &limit))?;
    readable(rows.query(narrow.values())?)
}

/// The statement for the newest under a condition.
pub(super) fn newest_sql(condition: &str, limit: &str) -> String {
    format!("SELECT {COLUMNS} FROM kept AS e WHERE {condition} ORDER BY e.n DESC LIMIT {limit}")
}

/// The newest facts and notes that hold. There may be few of them among many others: each kind has a search of its own.
pub(super) fn lasting(db: &Connection, number: Number, now_ms: u64, most: u16) -> Result<Vec<Candidate>> {
    let mut rows = db.prepare_cached(&lasting_sql())?;
    let mut lasting = Vec::new();
    for kind in [KindName::Semantic, KindName::Note] {
        let given = params![number.get(), kind_code(kind), ms(now_ms), most];
        lasting.extend(readable(rows.query(given)?)?);
    }
    lasting.sort_unstable_by_key(|one| Reverse(one.n));
    lasting.truncate(most.into());
    Ok(lasting)
}

/// The statement for those of one kind. The state is no parameter here, so that the index of the rows that hold serves.
pub(super) fn lasting_sql() -> String {
    newest_sql(
        "e.scope = ?1 AND e.state = 0 AND e.kind = ?2 AND (e.expires_ms IS NULL OR e.expires_ms > ?3)",
        "?4",
    )
}

/// The order of preference: rows of the project first, then those found by the words, best first, then by age and
/// importance. Rows of other projects, secrets and excluded rows are not among them.
pub(super) fn preferred(
    found: Vec<Candidate>,
    newest: Vec<Candidate>,
    (project, without): (Option<&str>, &[MemoryId]),
) -> Vec<Candidate> {
    let led = found.len();
    let mut seen = HashSet::new();
    let mut all: Vec<(usize, Candidate)> = found.into_iter().chain(newest).enumerate().collect();
    all.retain(|(_, one)| {
        let is_left_out = without.iter().any(|id| id.bytes() == one.id);
        one.may_be_told_of(project) && !is_left_out && seen.insert(one.id)
    });
    all.sort_by_key(|(place, one)| {
        let own = project.is_some() && one.project.as_deref() == project;
        let weight = one.created_ms.saturating_add(POINT_MS * u64::from(one.importance));
        (!own, (*place).min(led), Reverse((weight, one.id)))
    });
    all.into_iter().map(|(_, one)| one).collect()
}
