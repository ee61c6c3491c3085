//! The reads of the store. It touches the open database and changes nothing; each statement names the scope's number,
//! and each search runs on the index of that scope alone.

use crate::error::{Admission, StoreError};
use crate::filter::{self, Narrow};
use crate::query::Query;
use crate::row::{COLUMNS, decoded, head};
use crate::rows::{one, placed, unless_of_a_row};
use crate::scope::{self, Number};
use crate::store::Store;
use ipc_proto::Text;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{
    Area, Filter, Found, HITS, Hit, Manner, Question, Raw, Row, Scope, Start, StateName, Why,
};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashSet;

/// Words of a snippet, as `finding` has them too.
const AROUND: u8 = 24;

/// Rows, and how many more there are among them that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) rows: Vec<Row>,
    left_out: i64,
    /// The place of the last, whether or not it can be read.
    last: Option<i64>,
}

/// A place in the store, its score in thousandths, and the reasons.
pub(crate) type Placed = (i64, i32, Why);

impl Store {
    /// One row, whatever became of it.
    pub(crate) fn read(&self, scope: &Scope, id: MemoryId) -> Result<Option<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(None) };
        Ok(self.one(number, scope, id)?.map(|(_, row)| row))
    }

    /// The same with its place.
    pub(crate) fn one(
        &self,
        number: Number,
        scope: &Scope,
        id: MemoryId,
    ) -> Result<Option<(i64, Row)>, StoreError> {
        Ok(one(&self.db, number, &scope.area, id)?.filter(|(_, row)| self.is_in_time(row)))
    }

    fn is_in_time(&self, row: &Row) -> bool {
        row.entry.detail.expires_ms.is_none_or(|expires| expires > self.now_ms)
    }

    /// Rows by their ids, in the order of the ids; those that are not here are left out, and those that cannot be read where
    /// others can.
    pub(crate) fn read_all(&self, scope: &Scope, ids: &[MemoryId]) -> Result<Vec<Row>, StoreError> {
        let (mut rows, mut unread) = (Vec::new(), None);
        for id in ids {
            match self.read(scope, *id) {
                Ok(row) => rows.extend(row),
                Err(error) if error.is_of_a_row() => unread = Some(error),
                Err(error) => return Err(error),
            }
        }
        match unread {
            Some(error) if rows.is_empty() => Err(error),
            _ => Ok(rows),
        }
    }

    /// Returns whether a row of this id was deleted, or not wanted, lately.
    pub(crate) fn is_deleted(&self, scope: &Scope, id: MemoryId) -> Result<bool, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(false) };
        Ok(is_gone(&self.db, number, id)?)
    }

    /// The text that a row was made from; nothing if it was made from nothing.
    pub(crate) fn raw(&self, scope: &Scope, id: MemoryId) -> Result<Raw, StoreError> {
        let number = scope::find(&self.db, scope)?.ok_or(StoreError::NotFound)?;
        let (n, row) = self.one(number, scope, id)?.ok_or(StoreError::NotFound)?;
        let text: Option<String> =
            self.db.query_row("SELECT text FROM raw WHERE n = ?1", [n], |row| row.get(0)).optional()?;
        Ok(Raw { text: Text::clip(&text.unwrap_or_default()), label: row.entry.label })
    }

    /// Rows, newest first.
    pub(crate) fn list(
        &self,
        scope: &Scope,
        filter: &Filter,
        limit: u16,
        start: &Start,
    ) -> Result<Vec<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        let mut narrow = Narrow::of(number, filter, self.now_ms);
        match start {
            Start::After(passed) => {
                let (limit, from) = (narrow.parameter(most(limit)), narrow.parameter(i64::from(*passed)));
                let order = format!("ORDER BY e.n DESC LIMIT {limit} OFFSET {from}");
                Ok(self.rows(&scope.area, &narrow, &order)?.rows)
            }
            Start::Behind(ids) => {
                if !ids.is_empty() {
                    let place = "SELECT n FROM kept WHERE scope = ?1 AND id = ?2";
                    let furthest = self.furthest(number, place, ids.iter().map(|id| id.bytes()))?;
                    narrow.and("e.n < ?", furthest.ok_or(StoreError::NotFound)?);
                }
                self.newest(&scope.area, &narrow, limit)
            }
        }
    }

    /// The place of the oldest of those that are here of these ids, whatever became of them; `place` asks for that of one.
    pub(crate) fn furthest(
        &self,
        number: Number,
        place: &str,
        ids: impl Iterator<Item = [u8; 16]>,
    ) -> Result<Option<i64>, StoreError> {
        let mut place = self.db.prepare_cached(place)?;
        let mut furthest = None;
        for id in ids {
            let n = place.query_row(params![number.get(), id], |row| row.get::<_, i64>(0));
            let n = n.optional()?;
            furthest = [furthest, n].into_iter().flatten().min();
        }
        Ok(furthest)
    }

    /// Rows that answer a question best, best first; if there are none, those with a word that begins like one of its
    /// words. Without a word, the newest with the tags; with neither, none. `now_ms`: when it is asked.
    pub(crate) fn find(
        &self,
        scope: &Scope,
        question: &Question,
        now_ms: u64,
    ) -> Result<Vec<Found>, StoreError> {
        let most = u16::try_from(HITS).unwrap_or(u16::MAX);
        if question.limit > most {
            return self.find(scope, &Question { limit: most, ..question.clone() }, now_ms);
        }
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        let words = Query::of(&question.words);
        if words.is_empty() {
            return self.without_words(number, &scope.area, question);
        }
        if question.filter.state != StateName::Current {
            return self.of_the_past(number, &scope.area, question, &words);
        }
        let placed = self.with_sessions(number, question, self.ranked(number, question, now_ms)?, now_ms)?;
        if placed.is_empty()
            && !by_vector_alone(question)
            && let Some(beginning) = words.beginning()
        {
            let placed = self.unless_damaged(self.by_index_weighed(number, &beginning, question, now_ms))?;
            return self.found(number, &scope.area, placed, |n, row| self.begun(number, &beginning, n, row));
        }
        let asked = finding::Question::of(&question.words, now_ms, self.library.borrow().lexicon());
        self.found(number, &scope.area, placed, |_, row| Ok(self.shown(&asked, row)))
    }

    /// The places of the rows that answer a question with words to rows that hold, as [`Store::find`] orders them. No row
    /// is read for it.
    pub(crate) fn answering(
        &self,
        number: Number,
        question: &Question,
        now_ms: u64,
    ) -> Result<Vec<i64>, StoreError> {
        let words = Query::of(&question.words);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let mut placed = self.ranked(number, question, now_ms)?;
        if placed.is_empty()
            && !by_vector_alone(question)
            && let Some(beginning) = words.beginning()
        {
            placed = self.unless_damaged(self.by_index(number, &beginning, question))?;
        }
        Ok(placed.into_iter().map(|(n, _, _)| n).collect())
    }

    fn without_words(
        &self,
        number: Number,
        area: &Area,
        question: &Question,
    ) -> Result<Vec<Found>, StoreError> {
        if !filter::asks(&question.filter) {
            return Ok(Vec::new());
        }
        let rows = self.newest(area, &Narrow::of(number, &question.filter, self.now_ms), question.limit)?;
        Ok(rows.into_iter().map(unranked).collect())
    }

    /// Rows that no longer hold are in no index: those with every one of the words are found, the newest first. SQLite knows
    /// the two cases of ASCII letters alone, so that is looked at here.
    fn of_the_past(
        &self,
        number: Number,
        area: &Area,
        question: &Question,
        words: &Query,
    ) -> Result<Vec<Found>, StoreError> {
        let narrow = Narrow::of(number, &question.filter, self.now_ms);
        let texts = format!(
            "SELECT e.n, e.content || ' ' || e.tags FROM kept AS e WHERE {} ORDER BY e.n DESC",
            narrow.sql()
        );
        let mut texts = self.db.prepare(&texts)?;
        let mut texts = texts.query(narrow.values())?;
        let mut found = Vec::new();
        while found.len() < usize::from(question.limit)
            && let Some(columns) = texts.next()?
        {
            // One row that cannot be read hides no other.
            let Ok(text) = columns.get::<_, String>(1) else { continue };
            let text = text.to_lowercase();
            if words.words().iter().all(|word| text.contains(word.as_str())) {
                let row = unless_of_a_row(placed(&self.db, number, area, columns.get(0)?))?;
                found.extend(row.map(unranked));
            }
        }
        Ok(found)
    }

    /// As many of the newest as are asked for, as long as there are any: a list that is shorter is the end of all of them,
    /// also where rows among them cannot be read.
    pub(crate) fn newest(&self, area: &Area, narrow: &Narrow, limit: u16) -> Result<Vec<Row>, StoreError> {
        let (mut wanted, mut behind) = (most(limit), None);
        let mut found = Vec::new();
        while wanted > 0 {
            let mut page = narrow.clone();
            if let Some(last) = behind {
                page.and("e.n < ?", last);
            }
            let order = format!("ORDER BY e.n DESC LIMIT {}", page.parameter(wanted));
            let Looked { rows, left_out, last } = self.rows(area, &page, &order)?;
            found.extend(rows);
            (wanted, behind) = (left_out, last);
        }
        Ok(found)
    }

    /// Rows that a condition lets through, in an order.
    pub(crate) fn rows(&self, area: &Area, narrow: &Narrow, order: &str) -> Result<Looked, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM kept AS e WHERE {} {order}", narrow.sql());
        let mut rows = self.db.prepare(&sql)?;
        let mut rows = rows.query(narrow.values())?;
        let mut looked = Looked::default();
        while let Some(columns) = rows.next()? {
            looked.last = Some(columns.get("n")?);
            // One row that cannot be read hides no other; its own id says that it cannot be.
            match decoded(columns, area) {
                Ok(row) => looked.rows.push(row),
                Err(error) => {
                    tracing::error!(%error, "a row was left out");
                    looked.left_out += 1;
                }
            }
        }
        Ok(looked)
    }

    /// Places of the rows that a filter lets through.
    pub(crate) fn places(&self, number: Number, filter: &Filter) -> Result<HashSet<i64>, StoreError> {
        let narrow = Narrow::of(number, filter, self.now_ms);
        let mut rows = self.db.prepare(&format!("SELECT e.n FROM kept AS e WHERE {}", narrow.sql()))?;
        let rows = rows.query_map(narrow.values(), |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The best by the full-text index alone, by an expression made of quoted words.
    pub(crate) fn by_index(
        &self,
        number: Number,
        expression: &str,
        question: &Question,
    ) -> Result<Vec<Placed>, StoreError> {
        let scored = self.scored_by_index(number, expression, question)?;
        Ok((1..).zip(scored).map(|(rank, (n, score))| placed_by_index(rank, n, score)).collect())
    }

    /// The same with each score in thousandths, not rounded: where few rows are, all of it is a fraction of one.
    pub(crate) fn scored_by_index(
        &self,
        number: Number,
        expression: &str,
        question: &Question,
    ) -> Result<Vec<(i64, f64)>, StoreError> {
        let words = number.words();
        let mut narrow = Narrow::of(number, &question.filter, self.now_ms);
        let (expression, limit) =
            (narrow.parameter(expression.to_owned()), narrow.parameter(most(question.limit)));
        // A lower rank of bm25 is a better one. Tags were chosen to find by: a word there counts twice.
        let mut best = self.db.prepare(&format!(
            "SELECT e.n, -1000.0 * bm25({words}, 1.0, 2.0)
             FROM {words} CROSS JOIN kept AS e ON e.n = {words}.rowid
             WHERE {words} MATCH {expression} AND {} ORDER BY bm25({words}, 1.0, 2.0), e.n DESC LIMIT {limit}",
            narrow.sql()
        ))?;
        let places = best.query_map(narrow.values(), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(places.collect::<Result<_, _>>()?)
    }

    /// The rows at these places. Rows and snippets are read for these alone.
    fn found(
        &self,
        number: Number,
        area: &Area,
        places: Vec<Placed>,
        snippet: impl Fn(i64, &Row) -> rusqlite::Result<Text<512>>,
    ) -> Result<Vec<Found>, StoreError> {
        let mut found = Vec::new();
        for (n, score, why) in places {
            let row = unless_of_a_row(placed(&self.db, number, area, n))?;
            let Some(row) = row.filter(|row| self.is_in_time(row)) else { continue };
            let snippet = snippet(n, &row)?;
            found.push(Found { hit: Hit { row, snippet, score }, why });
        }
        Ok(found)
    }

    /// The words around those that were asked for; of a row that has none of them, how it begins.
    fn shown(&self, asked: &finding::Question, row: &Row) -> Text<512> {
        let library = self.library.borrow();
        let around = finding::snippet(&row.entry.content, asked, library.lexicon())
            .or_else(|| finding::snippet(&head(&row.entry), asked, library.lexicon()));
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

/// Returns whether only an embedder's vectors are to answer: no word takes their place then.
fn by_vector_alone(question: &Question) -> bool {
    question.manner == Manner::Meaning && question.vector.is_some()
}

/// A row that the full-text index found, by its rank there and its score in thousandths.
pub(crate) fn placed_by_index(rank: u32, n: i64, score: f64) -> Placed {
    let score = whole(score);
    (n, score, Why { by_words: Some(rank), own: score, ..Why::default() })
}

/// A score in thousandths, as it is given.
pub(crate) fn whole(score: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates, and NaN is 0")]
    let whole = score.round() as i32;
    whole
}

/// A row that stands where it does by its age alone.
fn unranked(row: Row) -> Found {
    let hit = Hit { snippet: Text::clip(&row.entry.content), row, score: 0 };
    Found { hit, why: Why::default() }
}

/// The most rows in an answer.
pub(crate) fn most(limit: u16) -> i64 {
    i64::from(limit).min(i64::try_from(HITS).unwrap_or(i64::MAX))
}

/// The reason for which no row of an owner can have this id: another row has it, in any of their areas, or was lately
/// purged or rejected. Ids are unique for each owner: one owner can neither learn of another's ids nor be blocked by
/// them.
pub(crate) fn taken_by(db: &Connection, scope: &Scope, id: MemoryId) -> rusqlite::Result<Option<Admission>> {
    let has = |table: &str| {
        let any = format!(
            "SELECT 1 FROM scope AS s JOIN {table} AS e ON e.scope = s.n WHERE s.owner = ?1 AND e.id = ?2"
        );
        db.prepare_cached(&any)?.exists(params![scope.owner.bytes(), id.bytes()])
    };
    Ok(if has("kept")? { Some(Admission::Taken) } else { has("gone")?.then_some(Admission::Purged) })
}

/// Returns whether a row of this id was deleted, or not wanted, lately.
pub(crate) fn is_gone(db: &Connection, number: Number, id: MemoryId) -> rusqlite::Result<bool> {
    let gone = "SELECT 1 FROM gone WHERE scope = ?1 AND id = ?2";
    let found = db.query_row(gone, params![number.get(), id.bytes()], |_| Ok(())).optional()?;
    Ok(found.is_some())
}
