//! Reads a damaged database, as far as it can be read. Tables of this connection alone, in memory, have the names of
//! the database's own: they hold, or lead to, the rows that can be read whole, so that no question meets a damaged
//! page. Nothing of it is ever written to a file.

use crate::error::StoreError;
use crate::row::{COLUMNS, decoded};
use crate::scope::Number;
use crate::store::{Damage, Store};
use ipc_proto::memory::Area;
use rusqlite::types::Value;
use rusqlite::{Connection, Result, Row, params, params_from_iter};
use std::collections::BTreeMap;

/// The readable rows, with the columns that are asked for most; their texts are read where they stand.
const KEPT: &str = "
    CREATE TEMP TABLE sound (n INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id BLOB NOT NULL, state INTEGER NOT NULL);
    CREATE INDEX temp.sound_by_id ON sound (scope, id);
    CREATE INDEX temp.sound_by_scope ON sound (scope, state, n);
    CREATE TEMP VIEW kept AS SELECT s.n, s.scope, s.id, s.state, e.head, e.body, e.content, e.tags, e.trust, e.class,
            e.sources, e.session, e.created_ms, e.kind, e.type, e.key, e.files, e.project, e.importance, e.expires_ms, e.tokens,
            e.discovery, e.plain, e.compared, e.detail, e.revises, e.superseded_by, e.state_ms, e.reason, e.embedder, e.signs
        FROM temp.sound AS s CROSS JOIN main.kept AS e ON e.n = s.n;
    CREATE TEMP VIEW entry AS SELECT * FROM temp.kept WHERE state = 0;
    CREATE TEMP TABLE lease (task, n, until_ms);";
/// The columns of a row besides those that are decoded.
const BESIDES: &str = "e.scope, length(e.head), length(e.files), substr(e.signs, -1)";
/// Places that are tried one by one between those that are read in order.
const TRIED: i64 = 5_000_000;

/// A table that is small enough to be copied.
struct Small {
    name: &'static str,
    /// Its columns; the first of them order its rows.
    columns: &'static [&'static str],
    ordered_by: usize,
}

const SCOPES: Small =
    Small { name: "scope", columns: &["n", "owner", "area", "agent", "held"], ordered_by: 1 };
const MUTED: Small = Small { name: "muted", columns: &["scope", "client", "name"], ordered_by: 3 };
const OTHERS: [Small; 3] = [
    Small {
        name: "session",
        columns: &[
            "n", "scope", "id", "client", "name", "project", "started_ms", "ended_ms", "status", "summary",
        ],
        ordered_by: 1,
    },
    Small { name: "embedder", columns: &["n", "name", "length"], ordered_by: 1 },
    Small { name: "used", columns: &["n", "times", "last_ms"], ordered_by: 1 },
];

/// Puts the readable parts in the place of the database's own tables. A table whose schema cannot be read has none:
/// each question then reports the error.
pub(crate) fn salvaged(db: &Connection, why: String) -> Damage {
    let mut damage = Damage { why, mutes_lost: true, ..Damage::default() };
    let done = shadowed(db).and_then(|mutes_lost| {
        damage.mutes_lost = mutes_lost;
        damage.unread = unread(db)?;
        Ok(())
    });
    if let Err(error) = done {
        tracing::error!(%error, "little or nothing of the damaged database can be read");
    }
    damage
}

fn shadowed(db: &Connection) -> Result<bool> {
    sound(db, TRIED)?;
    for small in &OTHERS {
        // A table that is not there, or of which nothing is left, is an empty one.
        drop(copied(db, small));
    }
    let mutes_lost = !copied(db, &MUTED).unwrap_or(false);
    if !copied(db, &SCOPES)? && !owners_of_the_index(db)? {
        // The owner of rows must not be guessed: an owner who cannot be found in the file gets that answer.
        db.execute_batch("DROP TABLE temp.scope")?;
    }
    Ok(mutes_lost)
}

/// Finds the rows that can be read: in their order from both ends, and then at the first places between, one by one.
fn sound(db: &Connection, tried: i64) -> Result<()> {
    db.execute_batch(KEPT)?;
    let mut keep = db.prepare("INSERT OR IGNORE INTO temp.sound VALUES (?1, ?2, ?3, ?4)")?;
    let mut take = |row: &Row<'_>| {
        // Its last columns may be on a page of their own, and their bytes are arbitrary then.
        decoded(row, &Area::User).map_err(|_| rusqlite::Error::InvalidQuery)?;
        let [scope, id, state] = [row.get::<_, Value>("scope")?, row.get("id")?, row.get("state")?];
        let n: i64 = row.get("n")?;
        keep.execute(params![n, scope, id, state])?;
        Ok::<i64, rusqlite::Error>(n)
    };
    let whole = format!("SELECT {COLUMNS}, {BESIDES} FROM main.kept AS e NOT INDEXED");
    let (up, is_whole) = walked(db, &format!("{whole} ORDER BY e.n"), &mut take)?;
    if is_whole {
        return Ok(());
    }
    let (down, _) = walked(db, &format!("{whole} ORDER BY e.n DESC"), &mut take)?;
    let from = up.map_or(0, |n| n.saturating_add(1));
    let to = down.unwrap_or_else(|| indexed(db).0.saturating_add(1)).min(from.saturating_add(tried));
    let mut one = db.prepare(&format!("{whole} WHERE e.n = ?1"))?;
    for n in from..to {
        // Each that fails is one more that cannot be read.
        drop(one.query_row([n], &mut take));
    }
    Ok(())
}

/// Takes the rows of a statement up to the first that cannot be read; gives the last and whether it was all of them.
fn walked<T>(
    db: &Connection,
    sql: &str,
    take: &mut impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<(Option<T>, bool)> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut last = None;
    loop {
        match rows.next() {
            // One that is not as the schema says is none.
            Ok(Some(row)) => last = take(row).ok().or(last),
            Ok(None) => return Ok((last, true)),
            Err(_) => return Ok((last, false)),
        }
    }
}

/// The highest place and how many rows each scope has, as an index knows them.
fn indexed(db: &Connection) -> (i64, BTreeMap<i64, u32>) {
    let (mut highest, mut counts) = (0, BTreeMap::new());
    let known = "SELECT n, scope FROM main.kept INDEXED BY kept_by_scope ORDER BY scope, state, n";
    drop(walked(db, known, &mut |row: &Row<'_>| {
        highest = i64::max(highest, row.get(0)?);
        *counts.entry(row.get(1)?).or_default() += 1;
        Ok(())
    }));
    (highest, counts)
}

/// Copies the readable rows of a table; returns true if these are all.
fn copied(db: &Connection, small: &Small) -> Result<bool> {
    let Small { name, columns, ordered_by } = small;
    let key = columns.get(..*ordered_by).unwrap_or(*columns);
    let all = columns.join(", ");
    db.execute_batch(&format!("CREATE TEMP TABLE {name} ({all}, PRIMARY KEY ({}))", key.join(", ")))?;
    let mut take = putting(db, small)?;
    for direction in ["", " DESC"] {
        let order: Vec<String> = key.iter().map(|column| format!("{column}{direction}")).collect();
        let rows = format!("SELECT {all} FROM main.{name} ORDER BY {}", order.join(", "));
        if walked(db, &rows, &mut take)?.1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts rows into the copy of a table.
fn putting(db: &Connection, small: &Small) -> Result<impl FnMut(&Row<'_>) -> Result<usize>> {
    let Small { name, columns, .. } = small;
    let places = vec!["?"; columns.len()].join(", ");
    let mut put = db.prepare(&format!("INSERT OR IGNORE INTO temp.{name} VALUES ({places})"))?;
    let columns = columns.len();
    Ok(move |row: &Row<'_>| {
        let values: Vec<Value> = (0..columns).map(|at| row.get(at)).collect::<Result<_>>()?;
        put.execute(params_from_iter(values))
    })
}

/// Takes the owners of scopes from their index, which holds all of them; whether it could be read whole.
fn owners_of_the_index(db: &Connection) -> Result<bool> {
    let rows = "SELECT n, owner, area, agent, 0 FROM main.scope INDEXED BY sqlite_autoindex_scope_1
        ORDER BY owner, area, agent";
    Ok(walked(db, rows, &mut putting(db, &SCOPES)?)?.1)
}

/// How many rows of each scope there were, and are not found any more.
fn unread(db: &Connection) -> Result<BTreeMap<Number, u32>> {
    let mut there = indexed(db).1;
    let mut scopes = db.prepare("SELECT n, held FROM scope")?;
    let mut scopes = scopes.query([])?;
    while let Ok(Some(row)) = scopes.next() {
        let held: u32 = row.get(1)?;
        let known: &mut u32 = there.entry(row.get(0)?).or_default();
        *known = held.max(*known);
    }
    let mut found = db.prepare("SELECT count(*) FROM temp.sound WHERE scope = ?1")?;
    let mut unread = BTreeMap::new();
    for (scope, known) in there {
        let read: u32 = found.query_row([scope], |row| row.get(0))?;
        unread.insert(Number::stored(scope), known.saturating_sub(read));
    }
    Ok(unread)
}

impl Store {
    /// The value read, or the default where damage stands in the way: for values that a question can be answered
    /// without.
    pub(crate) fn unless_damaged<T: Default>(
        &self,
        read: std::result::Result<T, StoreError>,
    ) -> std::result::Result<T, StoreError> {
        match read {
            Err(StoreError::Database(_)) if self.damage.is_some() => Ok(T::default()),
            read => read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::FILE;
    use crate::tests::{Held, entry, user};

    /// Rows that are found in a database of ten, each on a page of its own, where those of `damaged` are.
    fn found(damaged: &[u8], tried: i64) -> Vec<i64> {
        let mut held = Held::quick();
        for number in 1..=10 {
            held.write(&user(1), entry(number, &format!("row {number:02}:{}", "x".repeat(3000))));
        }
        let Held { mut store, folder } = held;
        store.emptied_log();
        drop(store);
        let path = folder.path().join(FILE);
        let mut file = std::fs::read(&path).unwrap();
        for page in file.chunks_mut(4096) {
            let holds = |number: &u8| {
                let begins = format!("row {number:02}:x");
                page.windows(begins.len()).any(|bytes| bytes == begins.as_bytes())
            };
            if damaged.iter().any(holds) {
                page.fill(0x5a);
            }
        }
        std::fs::write(&path, &file).unwrap();
        let db = Connection::open(&path).unwrap();
        sound(&db, tried).unwrap();
        let mut rows = db.prepare("SELECT n FROM temp.sound ORDER BY n").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_>>().unwrap()
    }

    // Holds B-125.
    #[test]
    fn rows_between_damaged_pages_are_tried_one_by_one_with_a_bound() {
        for (damaged, tried, rows) in [
            (&[3, 8][..], TRIED, &[1, 2, 4, 5, 6, 7, 9, 10][..]),
            (&[3, 8], 3, &[1, 2, 4, 5, 9, 10]),
            (&[3, 8], 0, &[1, 2, 9, 10]),
            // Where no end of the table can be read, an index knows how far it goes.
            (&[1, 5, 10], TRIED, &[2, 3, 4, 6, 7, 8, 9]),
            (&[1, 5, 10], 4, &[2, 3]),
        ] {
            assert_eq!(found(damaged, tried), rows, "{damaged:?}, {tried} tried");
        }
    }
}
