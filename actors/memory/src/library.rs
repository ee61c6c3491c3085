//! The indexes in memory, one a scope, each built from the scope's rows at the first question and updated from then on.
//! Together they are bounded: the least recently used goes first, and a scope that alone is too large has none. It
//! reads the database and must never be asked for two scopes at once.

use crate::change::IndexChange;
use crate::row::{names, searched};
use crate::scope::Number;
use finding::{Index, Lexicon, Signs, Turn};
use ipc_proto::memory::Kind;
use rusqlite::{Connection, params};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that all indexes may take together: with the room reserved ahead about 200 MiB of the 256 that the process may
/// have. It is enough for a million rows of fifty words.
const MOST_WEIGHT: usize = 180_000_000;
/// How long a question waits for an index that is being built; until it is whole, questions are answered without it.
/// Half of the time that a client's hook has.
const PATIENCE: Duration = Duration::from_secs(1);
/// Rows that are read between two looks at the clock.
const AT_ONCE: usize = 512;

/// The indexes in memory, the one asked last at the end.
#[derive(Debug)]
pub(crate) struct Library {
    lexicon: Arc<Lexicon>,
    indexes: Vec<CachedIndex>,
    /// Scopes that were too large when they were last read; reading one again for every question would be slow.
    too_large: Vec<Number>,
    most: usize,
    patience: Duration,
    /// The number of the embedder whose vectors are in them; 0 for none.
    embedder: i64,
}

/// An index, and of which scope. Rows of a session are each other's neighbours in it where they are talk: an observation and a
/// summary say all that they say themselves.
#[derive(Debug)]
struct CachedIndex {
    number: Number,
    index: Index,
    /// The place of the last row that was read, while there may be further ones.
    read_to: Option<i64>,
}

impl Library {
    /// A library without an index.
    pub(crate) fn new() -> Self {
        Self {
            lexicon: Arc::new(Lexicon::new()),
            indexes: Vec::new(),
            too_large: Vec::new(),
            most: MOST_WEIGHT,
            patience: PATIENCE,
            embedder: 0,
        }
    }

    /// One that builds an index whole, however long that takes.
    pub(crate) fn unhurried() -> Self {
        Self { patience: Duration::MAX, ..Self::new() }
    }

    /// The lexicon.
    pub(crate) fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// The index of a scope, built if it is not there; none if it would be too large, or is not whole yet.
    pub(crate) fn of(&mut self, db: &Connection, number: Number) -> rusqlite::Result<Option<&Index>> {
        if self.too_large.contains(&number) {
            return Ok(None);
        }
        let mut asked = match self.indexes.iter().position(|held| held.number == number) {
            Some(at) => self.indexes.remove(at),
            None => {
                CachedIndex { number, index: Index::new(Arc::clone(&self.lexicon)), read_to: Some(i64::MIN) }
            }
        };
        asked.read(db, self.embedder, self.most, self.patience)?;
        if asked.index.weight() > self.most {
            self.too_large.push(number);
            return Ok(None);
        }
        self.indexes.push(asked);
        self.make_room();
        Ok(self.indexes.last().filter(|held| held.read_to.is_none()).map(|held| &held.index))
    }

    /// The index of a scope, if it is here and whole. No row is read for it.
    pub(crate) fn at_hand(&self, number: Number) -> Option<&Index> {
        let held = self.indexes.iter().find(|held| held.number == number);
        held.filter(|held| held.read_to.is_none()).map(|held| &held.index)
    }

    /// Has all indexes be built anew, with the vectors of this embedder.
    pub(crate) fn take_vectors_of(&mut self, embedder: i64) {
        self.embedder = embedder;
        self.indexes.clear();
    }

    /// Adds the vector of a present row.
    pub(crate) fn means(&mut self, number: Number, n: i64, signs: &Signs) {
        if let Some(held) = self.indexes.iter_mut().find(|held| held.number == number) {
            held.index.mean(n, signs);
        }
        self.make_room();
    }

    /// Applies added and removed rows.
    pub(crate) fn apply(&mut self, changes: Vec<IndexChange>) {
        for change in
            changes.into_iter().filter(|change| !matches!(change.entry.detail.kind, Kind::Entity(_)))
        {
            if change.added {
                self.update(&change, Index::add);
            } else {
                self.too_large.retain(|of| *of != change.number);
                self.update(&change, Index::remove);
            }
        }
        self.make_room();
    }

    /// Forgets an index, which is then built anew when it is asked.
    pub(crate) fn forget(&mut self, number: Number) {
        self.indexes.retain(|held| held.number != number);
        self.too_large.retain(|of| *of != number);
    }

    fn update(&mut self, change: &IndexChange, of: impl FnOnce(&mut Index, Turn<'_>)) {
        let held = self.indexes.iter_mut().find(|held| held.number == change.number);
        // A row behind all that was read so far is read in its turn.
        let Some(held) = held.filter(|held| held.read_to.is_none_or(|to| change.n <= to)) else { return };
        let tags: Vec<&str> = change.entry.tags.iter().map(|tag| tag.as_str()).collect();
        let is_talk = !matches!(change.entry.detail.kind, Kind::Observation(_) | Kind::Summary(_));
        let session = change.entry.session.filter(|_| is_talk).map(ipc_proto::ids::SessionId::bytes);
        let text = searched(&change.entry);
        of(&mut held.index, Turn { n: change.n, session, time_ms: change.time_ms, tags: &tags, text: &text });
    }

    /// Drops the least recently used while all weigh too much.
    fn make_room(&mut self) {
        while self.indexes.iter().map(|held| held.index.weight()).sum::<usize>() > self.most {
            self.indexes.remove(0);
        }
    }
}

impl CachedIndex {
    /// Reads rows that were not read yet, until there are no more, it weighs too much or its time is over.
    fn read(
        &mut self,
        db: &Connection,
        embedder: i64,
        most: usize,
        patience: Duration,
    ) -> rusqlite::Result<()> {
        let Some(after) = self.read_to else { return Ok(()) };
        let began = Instant::now();
        let mut rows = db.prepare_cached(
            "SELECT e.n, iif(e.kind IN (3, 4), NULL, e.session), e.created_ms, e.tags, e.content, iif(e.embedder = ?3, e.signs, NULL)
             FROM entry AS e WHERE e.scope = ?1 AND e.n > ?2 AND e.kind <> 5 ORDER BY e.n",
        )?;
        let mut rows = rows.query(params![self.number.get(), after, embedder])?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            // One row that cannot be read hides no other.
            let n = row.get(0)?;
            if let Err(error) = self.add(n, row) {
                tracing::error!(%error, "a row is in no index");
            }
            self.read_to = Some(n);
            read += 1;
            if read % AT_ONCE == 0 && (began.elapsed() >= patience || self.index.weight() > most) {
                return Ok(());
            }
        }
        self.read_to = None;
        Ok(())
    }

    fn add(&mut self, n: i64, row: &rusqlite::Row<'_>) -> rusqlite::Result<()> {
        let tags = names(row.get_ref(3)?.as_str()?).unwrap_or_default();
        let tags: Vec<&str> = tags.iter().map(|tag| tag.as_str()).collect();
        self.index.add(Turn {
            n,
            session: row.get(1)?,
            time_ms: u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
            tags: &tags,
            text: row.get_ref(4)?.as_str()?,
        });
        if let Some(signs) = row.get_ref(5)?.as_blob_or_null()? {
            self.index.mean(n, &Signs::from_bytes(signs));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Library {
    /// One that reads as few rows at once as it can.
    pub(crate) fn hurried() -> Self {
        Self { patience: Duration::ZERO, ..Self::new() }
    }

    /// A library with this bound on its weight.
    pub(crate) fn of_at_most(most: usize) -> Self {
        Self { most, ..Self::new() }
    }

    /// Returns whether an index is not whole yet.
    pub(crate) fn growing(&self) -> bool {
        self.indexes.iter().any(|held| held.read_to.is_some())
    }

    /// How many indexes are in memory.
    pub(crate) const fn held(&self) -> usize {
        self.indexes.len()
    }
}
