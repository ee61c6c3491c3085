//! The indexes that are in memory, one a scope, each built from the scope's rows when it is first asked and kept in step
//! with them from then on. Together they are bounded: those asked longest ago go first, and a scope that alone is too
//! large has none. It reads the database and must never be asked for two scopes at once.

use crate::row::names;
use crate::scope::Number;
use finding::{Index, Lexicon, Turn};
use ipc_proto::memory::Entry;
use rusqlite::{Connection, params};
use std::sync::Arc;

/// What all indexes may weigh together, in four bytes each: with what is reserved ahead about 180 MiB of the 256 that the
/// process may have. It is enough for a million rows of fifteen words.
const MOST_WEIGHT: usize = 40_000_000;

/// The indexes in memory, the one asked last at the end.
#[derive(Debug)]
pub(crate) struct Library {
    lexicon: Arc<Lexicon>,
    indexes: Vec<(Number, Index)>,
    /// Scopes that were too large when they were last read; reading one again for every question would be slow.
    too_large: Vec<Number>,
    most: usize,
}

impl Library {
    /// Of no index yet.
    pub(crate) fn new() -> Self {
        Self {
            lexicon: Arc::new(Lexicon::new()),
            indexes: Vec::new(),
            too_large: Vec::new(),
            most: MOST_WEIGHT,
        }
    }

    /// What is known of words.
    pub(crate) fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// The index of a scope, built if it is not there; none if it would be too large.
    pub(crate) fn of(&mut self, db: &Connection, number: Number) -> rusqlite::Result<Option<&Index>> {
        if let Some(at) = self.indexes.iter().position(|(of, _)| *of == number) {
            let asked = self.indexes.remove(at);
            self.indexes.push(asked);
        } else if self.too_large.contains(&number) {
            return Ok(None);
        } else if let Some(index) = self.built(db, number)? {
            self.indexes.push((number, index));
            self.make_room();
        } else {
            self.too_large.push(number);
            return Ok(None);
        }
        Ok(self.indexes.last().map(|(_, index)| index))
    }

    fn built(&self, db: &Connection, number: Number) -> rusqlite::Result<Option<Index>> {
        let mut index = Index::new(Arc::clone(&self.lexicon));
        let mut rows = db.prepare(
            "SELECT e.n, e.session, e.created_ms, e.tags, e.content FROM entry AS e WHERE e.scope = ?1 ORDER BY e.n",
        )?;
        let mut rows = rows.query(params![number.get()])?;
        while let Some(row) = rows.next()? {
            let tags = names(row.get_ref(3)?.as_str()?).unwrap_or_default();
            let tags: Vec<&str> = tags.iter().map(|tag| tag.as_str()).collect();
            index.add(Turn {
                n: row.get(0)?,
                session: row.get(1)?,
                time_ms: u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
                tags: &tags,
                text: row.get_ref(4)?.as_str()?,
            });
            if index.weight() > self.most {
                return Ok(None);
            }
        }
        Ok(Some(index))
    }

    /// Tells of a row that was written.
    pub(crate) fn added(&mut self, number: Number, n: i64, entry: &Entry, time_ms: u64) {
        self.told(number, n, entry, time_ms, Index::add);
        self.make_room();
    }

    /// Tells of a row that was deleted.
    pub(crate) fn removed(&mut self, number: Number, n: i64, entry: &Entry, time_ms: u64) {
        self.too_large.retain(|of| *of != number);
        self.told(number, n, entry, time_ms, Index::remove);
    }

    fn told(
        &mut self,
        number: Number,
        n: i64,
        entry: &Entry,
        time_ms: u64,
        of: impl FnOnce(&mut Index, Turn<'_>),
    ) {
        let Some((_, index)) = self.indexes.iter_mut().find(|(of, _)| *of == number) else { return };
        let tags: Vec<&str> = entry.tags.iter().map(|tag| tag.as_str()).collect();
        let session = entry.session.map(ipc_proto::ids::SessionId::bytes);
        of(index, Turn { n, session, time_ms, tags: &tags, text: &entry.content });
    }

    /// Lets go of those asked longest ago while all weigh too much.
    fn make_room(&mut self) {
        while self.indexes.iter().map(|(_, index)| index.weight()).sum::<usize>() > self.most {
            self.indexes.remove(0);
        }
    }
}

#[cfg(test)]
impl Library {
    /// One that may weigh only so much.
    pub(crate) fn of_at_most(most: usize) -> Self {
        Self { most, ..Self::new() }
    }

    /// How many indexes are in memory.
    pub(crate) const fn held(&self) -> usize {
        self.indexes.len()
    }
}
