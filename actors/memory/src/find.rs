//! Every way to read the store. It touches the open database and changes nothing; each statement names the scope's
//! number, and each search runs on the index of that scope alone.

use crate::query::Query;
use crate::row::{COLUMNS, decoded, listed};
use crate::scope::{self, Number};
use crate::store::{Store, StoreError, one};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Found, HITS, Hit, Question, Row, Scope, Why};
use ipc_proto::{Name, Text};
use rusqlite::{OptionalExtension, params};

/// Rows that have every wanted tag, whatever the case of its ASCII letters.
const TAGGED: &str = "NOT EXISTS (SELECT 1 FROM json_each(?2) AS wanted WHERE NOT EXISTS
    (SELECT 1 FROM json_each(e.tags) AS has WHERE has.value = wanted.value COLLATE NOCASE))";

/// Words of a snippet, as `finding` has them too.
const AROUND: u8 = 24;

/// A place in the store, what it is worth in thousandths, and why.
pub(crate) type Placed = (i64, i32, Why);

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

    /// Rows that answer a question best, best first; if there are none, those with a word that begins like one of its
    /// words. Without a word, the newest with the tags; with neither, none. `now_ms`: when it is asked.
    pub(crate) fn find(
        &self,
        scope: &Scope,
        question: &Question,
        now_ms: u64,
    ) -> Result<Vec<Found>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        let words = Query::of(&question.words);
        if words.is_empty() {
            return self.tagged(number, &scope.area, question);
        }
        let placed = self.ranked(number, question, now_ms)?;
        if placed.is_empty()
            && let Some(beginning) = words.beginning()
        {
            let placed = self.by_index(number, &beginning, question)?;
            return self.found(number, &scope.area, placed, |n, row| self.begun(number, &beginning, n, row));
        }
        let asked = finding::Question::of(&question.words, now_ms, self.library.borrow().lexicon());
        self.found(number, &scope.area, placed, |_, row| Ok(self.shown(&asked, row)))
    }

    fn tagged(&self, number: Number, area: &Area, question: &Question) -> Result<Vec<Found>, StoreError> {
        if question.tags.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = self.newest(number, area, &question.tags, question.limit, 0)?;
        rows.retain(|row| {
            question.since_ms.is_none_or(|since| row.created_ms >= since)
                && question.until_ms.is_none_or(|until| row.created_ms < until)
        });
        let hit = |row: Row| Hit { snippet: Text::clip(&row.entry.content), row, score: 0 };
        Ok(rows.into_iter().map(|row| Found { hit: hit(row), why: Why::default() }).collect())
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

    /// Places of the rows that have every tag.
    pub(crate) fn with_tags(&self, number: Number, tags: &[Name]) -> Result<Vec<i64>, StoreError> {
        let mut rows =
            self.db.prepare(&format!("SELECT e.n FROM entry AS e WHERE e.scope = ?1 AND {TAGGED}"))?;
        let rows = rows.query_map(params![number.get(), listed(tags)], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The best by the full-text index alone, by an expression made of quoted words.
    pub(crate) fn by_index(
        &self,
        number: Number,
        expression: &str,
        question: &Question,
    ) -> Result<Vec<Placed>, StoreError> {
        let words = number.words();
        // A lower rank of bm25 is a better one. Tags were chosen to find by: a word there counts twice.
        let mut best = self.db.prepare(&format!(
            "SELECT e.n, CAST(round(-1000 * bm25({words}, 1.0, 2.0)) AS INTEGER)
             FROM {words} CROSS JOIN entry AS e ON e.n = {words}.rowid AND e.scope = ?1
             WHERE {words} MATCH ?3 AND {TAGGED} AND e.created_ms >= ?4 AND e.created_ms < ?5
             ORDER BY bm25({words}, 1.0, 2.0), e.n DESC LIMIT ?6"
        ))?;
        let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let given = params![
            number.get(),
            listed(&question.tags),
            expression,
            question.since_ms.map_or(0, ms),
            question.until_ms.map_or(i64::MAX, ms),
            most(question.limit),
        ];
        let places = best.query_map(given, |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
        let placed = |(rank, place): (u32, rusqlite::Result<(i64, i64)>)| {
            place.map(|(n, score)| {
                let score = i32::try_from(score).unwrap_or(i32::MAX);
                (n, score, Why { by_words: Some(rank), own: score, ..Why::default() })
            })
        };
        Ok((1..).zip(places).map(placed).collect::<Result<_, _>>()?)
    }

    /// The rows at these places. Rows and snippets are read for these alone.
    fn found(
        &self,
        number: Number,
        area: &Area,
        placed: Vec<Placed>,
        snippet: impl Fn(i64, &Row) -> rusqlite::Result<Text<512>>,
    ) -> Result<Vec<Found>, StoreError> {
        let mut whole =
            self.db.prepare(&format!("SELECT {COLUMNS} FROM entry AS e WHERE e.scope = ?1 AND e.n = ?2"))?;
        let mut found = Vec::new();
        for (n, score, why) in placed {
            let read = whole.query_row(params![number.get(), n], |columns| Ok(decoded(columns, area)));
            let Some(row) = read.optional()?.transpose()? else { continue };
            let snippet = snippet(n, &row)?;
            found.push(Found { hit: Hit { row, snippet, score }, why });
        }
        Ok(found)
    }

    /// The words around those that were asked for; of a row that has none of them, how it begins.
    fn shown(&self, asked: &finding::Question, row: &Row) -> Text<512> {
        let library = self.library.borrow();
        let around = finding::snippet(&row.entry.content, asked, library.lexicon());
        Text::clip(around.as_deref().unwrap_or(&row.entry.content))
    }

    /// The words around one that begins as was asked for. The full-text index shows them itself: it alone knows which.
    fn begun(&self, number: Number, expression: &str, n: i64, row: &Row) -> rusqlite::Result<Text<512>> {
        let words = number.words();
        let shown = format!(
            "SELECT snippet({words}, 0, '[', ']', '…', {AROUND}) FROM {words}
             WHERE {words} MATCH ?1 AND {words}.rowid = ?2"
        );
        let around = self.db.query_row(&shown, params![expression, n], |columns| columns.get::<_, String>(0));
        Ok(Text::clip(around.optional()?.as_deref().unwrap_or(&row.entry.content)))
    }
}

/// At most so many rows fit an answer.
pub(crate) fn most(limit: u16) -> i64 {
    i64::from(limit).min(i64::try_from(HITS).unwrap_or(i64::MAX))
}
