//! The vectors that an embedder made of rows: memory itself never asks a model. It stores the vectors of the configured
//! embedder; rows without one wait for curator, and those of another embedder are replaced as new ones come. A row that
//! no longer holds has none.

use crate::error::StoreError;
use crate::filter::ms;
use crate::row::{COLUMNS, decoded, searched};
use crate::scope::{self, Number};
use crate::store::{Embedder, Store};
use crate::work::{Offer, task_code};
use finding::{Index, Limits, Ranked, Signs};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Row, Scope, Task, TaskName, Vector, Work};
use ipc_proto::{Name, Text};
use rusqlite::{OptionalExtension, params};

/// Numbers that an embedder made of a text, scaled to length 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meaning(Vec<f32>);

impl Meaning {
    /// None if there are no numbers, if one is none, or if all are 0.
    fn of(floats: &[u8]) -> Option<Self> {
        let (parts, rest) = floats.as_chunks();
        let values: Vec<f32> = parts.iter().map(|part| f32::from_le_bytes(*part)).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let sound = rest.is_empty() && length.is_normal();
        sound.then(|| Self(values.iter().map(|value| value / length).collect()))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// From -1 to 1.
    fn likeness(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(one, other)| one * other).sum()
    }
}

impl Store {
    /// Has the vectors of this embedder be kept from now on, or those that are there be left alone.
    pub(crate) fn keep_vectors_of(&mut self, embedder: Option<Name>) -> Result<(), StoreError> {
        self.embedder = match embedder {
            Some(name) => Some(self.numbered(name)?),
            None => None,
        };
        let number = self.embedder.as_ref().map_or(0, |embedder| embedder.number);
        self.library.borrow_mut().take_vectors_of(number);
        Ok(())
    }

    /// One that was another before gets a new number, so that all vectors but its own are of a lesser one.
    fn numbered(&self, name: Name) -> Result<Embedder, StoreError> {
        let last = "SELECT n, name FROM embedder ORDER BY n DESC LIMIT 1";
        let last = self.db.query_row(last, [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
        if let Some((number, _)) = last.optional()?.filter(|(_, last)| *last == name.as_str()) {
            return Ok(Embedder { number, name });
        }
        self.writable()?;
        self.db.execute("INSERT INTO embedder (name) VALUES (?1)", [name.as_str()])?;
        Ok(Embedder { number: self.db.last_insert_rowid(), name })
    }

    /// Rows without a vector of the embedder whose are kept, those first that have none at all.
    pub(crate) fn to_embed(&self, most: usize, now_ms: u64) -> Result<Offer, StoreError> {
        let Some(embedder) = &self.embedder else { return Ok(Offer::default()) };
        let sql = format!(
            "SELECT {COLUMNS}, e.scope FROM kept AS e WHERE e.state = 0 AND e.embedder < ?1 AND NOT EXISTS
             (SELECT 1 FROM lease WHERE lease.task = ?2 AND lease.n = e.n AND lease.until_ms > ?3)
             ORDER BY e.embedder, e.n LIMIT ?4"
        );
        let mut rows = self.db.prepare_cached(&sql)?;
        let mut rows = rows.query(params![
            embedder.number,
            task_code(TaskName::Embed),
            ms(now_ms),
            i64::try_from(most).unwrap_or(i64::MAX)
        ])?;
        let mut offer = Offer::default();
        while let Some(columns) = rows.next()? {
            let scope = scope::whose(&self.db, Number::stored(columns.get("scope")?))?;
            let n = columns.get("n")?;
            let Ok(Row { entry, .. }) = decoded(columns, &scope.area) else {
                offer.unreadable.push(n);
                continue;
            };
            let text = Text::clip(&searched(&entry));
            let task = Task::Embed { id: entry.id, text, label: entry.label };
            offer.work.push((n, Work { scope, task }));
        }
        Ok(offer)
    }

    /// Keeps a vector of a row. Of a row that does not hold any more none is kept.
    pub(crate) fn embedded(
        &mut self,
        scope: &Scope,
        id: MemoryId,
        vector: &Vector,
    ) -> Result<(), StoreError> {
        let meaning = self.meaning(vector)?;
        let embedder = self.embedder.clone().ok_or(StoreError::OtherEmbedder)?;
        let signs = Signs::of(&meaning.0);
        let kept = self.changed(|change, _, _| {
            let Some(number) = scope::find(change, scope)? else { return Ok(None) };
            let row = "SELECT n FROM kept WHERE scope = ?1 AND id = ?2 AND state = 0";
            let n: Option<i64> =
                change.query_row(row, params![number.get(), id.bytes()], |row| row.get(0)).optional()?;
            let Some(n) = n else { return Ok(None) };
            let length = i64::try_from(meaning.0.len()).unwrap_or(i64::MAX);
            let known = "UPDATE embedder SET length = ?2 WHERE n = ?1 AND length IS NULL";
            change.execute(known, params![embedder.number, length])?;
            change.execute(
                "INSERT OR REPLACE INTO vector (n, floats) VALUES (?1, ?2)",
                params![n, meaning.bytes()],
            )?;
            kit::fault_point!("memory.embed.vector");
            change.execute(
                "UPDATE kept SET embedder = ?2, signs = ?3 WHERE n = ?1",
                params![n, embedder.number, signs.bytes()],
            )?;
            change.execute(
                "DELETE FROM lease WHERE task = ?1 AND n = ?2",
                params![task_code(TaskName::Embed), n],
            )?;
            Ok(Some((number, n)))
        })?;
        if let Some((number, n)) = kept {
            self.library.borrow_mut().means(number, n, &signs);
        }
        Ok(())
    }

    /// The numbers of a vector, if it is of the embedder whose are kept, and as long as all of them.
    pub(crate) fn meaning(&self, vector: &Vector) -> Result<Meaning, StoreError> {
        let embedder = self.embedder.as_ref().filter(|embedder| embedder.name == vector.by);
        let embedder = embedder.ok_or(StoreError::OtherEmbedder)?;
        let meaning = Meaning::of(&vector.values).ok_or(StoreError::OtherEmbedder)?;
        let length = "SELECT length FROM embedder WHERE n = ?1";
        let length: Option<i64> = self.db.query_row(length, [embedder.number], |row| row.get(0))?;
        if length.is_some_and(|length| usize::try_from(length) != Ok(meaning.0.len())) {
            return Err(StoreError::OtherEmbedder);
        }
        Ok(meaning)
    }

    /// The rows that are likest to a meaning, likest first; of equals the newest. Those with the nearest codes are compared
    /// by their vectors.
    pub(crate) fn by_vector(
        &self,
        (number, index): (Number, &Index),
        asked: &Meaning,
        compared: &Limits<'_>,
        most: usize,
    ) -> Result<Vec<Ranked>, StoreError> {
        let mut floats = self.db.prepare_cached(
            "SELECT v.floats FROM entry AS e JOIN vector AS v ON v.n = e.n WHERE e.scope = ?1 AND e.n = ?2",
        )?;
        let mut ranked = Vec::new();
        for n in index.by_meaning(&Signs::of(&asked.0), compared) {
            let given = params![number.get(), n];
            let meaning = floats.query_row(given, |row| Ok(Meaning::of(row.get_ref(0)?.as_blob()?)));
            let meaning = self.unless_damaged(meaning.optional().map_err(StoreError::from))?;
            let likeness = meaning.flatten().map(|meaning| meaning.likeness(asked));
            ranked.extend(likeness.filter(|likeness| *likeness > 0.0).map(|likeness| (n, likeness)));
        }
        ranked.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
        ranked.truncate(most);
        Ok(ranked)
    }

    /// The embedder whose vectors are stored.
    pub(crate) fn embedder_name(&self) -> Option<Name> {
        self.embedder.as_ref().map(|embedder| embedder.name.clone())
    }

    /// How many rows of a scope have a vector of it.
    pub(crate) fn embedded_rows(&self, number: Number) -> Result<u32, StoreError> {
        let Some(embedder) = &self.embedder else { return Ok(0) };
        let sql = "SELECT count(*) FROM kept WHERE scope = ?1 AND state = 0 AND embedder = ?2";
        Ok(self.db.query_row(sql, params![number.get(), embedder.number], |row| row.get(0))?)
    }

    /// Has every vector of a scope be made again.
    pub(crate) fn embed_again(&mut self, number: Number) -> Result<(), StoreError> {
        self.changed(|change, _, _| {
            let all = "DELETE FROM vector WHERE n IN (SELECT n FROM kept WHERE scope = ?1 AND embedder <> 0)";
            change.execute(all, [number.get()])?;
            let none = "UPDATE kept SET embedder = 0, signs = NULL WHERE scope = ?1 AND embedder <> 0";
            change.execute(none, [number.get()])?;
            Ok(())
        })
    }
}
