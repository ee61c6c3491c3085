//! Every way to read the store. It touches the open database and changes nothing; each statement names the scope's
//! number, and each search runs on the index of that scope alone.

use crate::query::Query;
use crate::row::{COLUMNS, decoded, listed};
use crate::scope::{self, Number};
use crate::store::{Store, StoreError, one};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, HITS, Hit, Row, Scope};
use ipc_proto::{Name, Text};
use rusqlite::{OptionalExtension, params};

/// Rows that have every wanted tag, whatever the case of its ASCII letters.
const TAGGED: &str = "NOT EXISTS (SELECT 1 FROM json_each(?2) AS wanted WHERE NOT EXISTS
    (SELECT 1 FROM json_each(e.tags) AS has WHERE has.value = wanted.value COLLATE NOCASE))";

/// Words of a snippet.
const AROUND: u8 = 24;

impl Store {
    /// One row.
    pub(crate) fn read(&self, scope: &Scope, id: MemoryId) -> Result<Option<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(None) };
        Ok(one(&self.db, number, &scope.area, id)?.map(|(_, row)| row))
    }

    /// Rows, newest first.
    pub(crate) fn list(&self, scope: &Scope, limit: u16, offset: u32) -> Result<Vec<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        self.newest(number, &scope.area, &[], limit, offset)
    }

    /// Rows that have every tag and any of the words, best first; if none has a word, those with a word that begins
    /// like one. Without a word, the newest with the tags; with neither, none.
    pub(crate) fn query(
        &self,
        scope: &Scope,
        words: &str,
        tags: &[Name],
        limit: u16,
    ) -> Result<Vec<Hit>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        let query = Query::of(words);
        if query.is_empty() {
            return self.tagged(number, &scope.area, tags, limit);
        }
        for expression in [Some(query.any()), query.beginning()].into_iter().flatten() {
            let hits = self.matching(number, &scope.area, &expression, tags, limit)?;
            if !hits.is_empty() {
                return Ok(hits);
            }
        }
        Ok(Vec::new())
    }

    fn tagged(&self, number: Number, area: &Area, tags: &[Name], limit: u16) -> Result<Vec<Hit>, StoreError> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.newest(number, area, tags, limit, 0)?;
        let hit = |row: Row| Hit { snippet: Text::clip(&row.entry.content), row, score: 0 };
        Ok(rows.into_iter().map(hit).collect())
    }

    fn newest(
        &self,
        number: Number,
        area: &Area,
        tags: &[Name],
        limit: u16,
        offset: u32,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = self.db.prepare(&format!(
            "SELECT {COLUMNS} FROM entry AS e WHERE e.scope = ?1 AND {TAGGED} ORDER BY e.n DESC LIMIT ?3 OFFSET ?4"
        ))?;
        let mut rows = rows.query(params![number.get(), listed(tags), most(limit), offset])?;
        let mut found = Vec::new();
        while let Some(columns) = rows.next()? {
            found.push(decoded(columns, area)?);
        }
        Ok(found)
    }

    fn matching(
        &self,
        number: Number,
        area: &Area,
        expression: &str,
        tags: &[Name],
        limit: u16,
    ) -> Result<Vec<Hit>, StoreError> {
        let mut hits = Vec::new();
        for (n, score) in self.best(number, expression, tags, limit)? {
            hits.extend(self.hit(number, area, expression, n, score)?);
        }
        Ok(hits)
    }

    /// Places and scores of the best rows. Rows and snippets are read for these alone.
    fn best(
        &self,
        number: Number,
        expression: &str,
        tags: &[Name],
        limit: u16,
    ) -> Result<Vec<(i64, i32)>, StoreError> {
        let words = number.words();
        // A lower rank of bm25 is a better one. Tags were chosen to find by: a word there counts twice.
        let mut best = self.db.prepare(&format!(
            "SELECT e.n, CAST(round(-1000 * bm25({words}, 1.0, 2.0)) AS INTEGER)
             FROM {words} CROSS JOIN entry AS e ON e.n = {words}.rowid AND e.scope = ?1
             WHERE {words} MATCH ?3 AND {TAGGED}
             ORDER BY bm25({words}, 1.0, 2.0), e.n DESC LIMIT ?4"
        ))?;
        let given = params![number.get(), listed(tags), expression, most(limit)];
        let places = best.query_map(given, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
        let score = |score: i64| i32::try_from(score).unwrap_or(i32::MAX);
        Ok(places.map(|place| place.map(|(n, bm25)| (n, score(bm25)))).collect::<Result<_, _>>()?)
    }

    fn hit(
        &self,
        number: Number,
        area: &Area,
        expression: &str,
        n: i64,
        score: i32,
    ) -> Result<Option<Hit>, StoreError> {
        let words = number.words();
        let mut row = self.db.prepare(&format!(
            "SELECT {COLUMNS}, snippet({words}, 0, '[', ']', '…', {AROUND}) AS snippet
             FROM {words} CROSS JOIN entry AS e ON e.n = {words}.rowid AND e.scope = ?1
             WHERE {words} MATCH ?2 AND {words}.rowid = ?3"
        ))?;
        let hit = row.query_row(params![number.get(), expression, n], |columns| {
            let snippet: String = columns.get("snippet")?;
            Ok(decoded(columns, area).map(|row| Hit { row, snippet: Text::clip(&snippet), score }))
        });
        hit.optional()?.transpose()
    }
}

/// At most so many rows fit an answer.
fn most(limit: u16) -> i64 {
    i64::from(limit).min(i64::try_from(HITS).unwrap_or(i64::MAX))
}
