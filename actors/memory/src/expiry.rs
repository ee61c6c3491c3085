//! Removes expired rows, and the oldest where there is no room.

use crate::change::{self, IndexChange, Removal};
use crate::error::StoreError;
use crate::filter::ms;
use crate::limits::{DAY_MS, Limits, used};
use crate::row::{COLUMNS, decoded};
use crate::scope::{self, Number};
use crate::store::Store;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Entry, KindName, Row, Scope};
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, params, params_from_iter};

/// Rows that go in one transaction.
const AT_ONCE: i64 = 100;

/// Has the oldest episodic rows of an owner go, so that there is room for a new one.
pub(crate) fn oldest_go(
    change: &Transaction<'_>,
    limits: &Limits,
    scope: &Scope,
    entry: &Entry,
    changes: &mut Vec<IndexChange>,
) -> Result<(), StoreError> {
    if entry.detail.kind.name() != KindName::Episodic {
        return Ok(());
    }
    let here = scope::episodes_of_owner(change, scope)?;
    let over = here.saturating_add(1).saturating_sub(i64::from(limits.episodic));
    if over <= 0 {
        return Ok(());
    }
    let which = "e.kind = 1 AND e.state = 0 AND e.scope IN (SELECT n FROM scope WHERE owner = ?1)
                 ORDER BY e.n LIMIT ?2";
    tracing::info!(rows = over, "the oldest episodic rows went for a new one");
    for doomed in doomed(change, which, params![scope.owner.bytes(), over])? {
        doomed.remove(change, changes)?;
    }
    Ok(())
}

/// A row that is to go.
struct Doomed {
    number: Number,
    n: i64,
    /// The id of a fact that a model extracted from others' text and a person rejected.
    unwanted: Option<MemoryId>,
    /// None of one that cannot be read: it goes all the same.
    row: Option<Row>,
}

impl Doomed {
    /// Removes it; returns its scope if its entries in the index are not known.
    fn remove(
        self,
        change: &Transaction<'_>,
        changes: &mut Vec<IndexChange>,
    ) -> Result<Option<Number>, StoreError> {
        change::deleted(change, self.number, self.n)?;
        let Some(row) = self.row else { return Ok(Some(self.number)) };
        changes.push(IndexChange::gone(self.number, self.n, row, true));
        Ok(None)
    }
}

fn doomed(db: &Connection, which: &str, values: impl rusqlite::Params) -> Result<Vec<Doomed>, StoreError> {
    let unwanted = "iif(e.kind = 2 AND e.state = 2 AND e.origin IS NOT NULL, e.id, NULL) AS unwanted";
    let sql = format!("SELECT {COLUMNS}, e.scope, {unwanted} FROM kept AS e WHERE {which}");
    let mut rows = db.prepare_cached(&sql)?;
    let mut rows = rows.query(values)?;
    let mut doomed = Vec::new();
    while let Some(columns) = rows.next()? {
        let number = Number::stored(columns.get("scope")?);
        let scope = scope::whose(db, number)?;
        let unwanted = columns.get::<_, Option<_>>("unwanted")?.map(MemoryId::from_bytes);
        let row = decoded(columns, &scope.area).ok();
        doomed.push(Doomed { number, n: columns.get("n")?, unwanted, row });
    }
    Ok(doomed)
}

/// The owners whose rows are removed.
enum Owners {
    /// The owner with the most bytes.
    Largest,
    /// This owner.
    Of([u8; 16]),
    /// Any owner.
    Anybody,
}

impl Store {
    /// Removes expired rows.
    pub(crate) fn expire(&mut self, now_ms: u64) -> Result<(), StoreError> {
        self.now_ms = now_ms;
        while self.go("e.expires_ms <= ?2 ORDER BY e.expires_ms LIMIT ?1", vec![ms(now_ms).into()])? {}
        Ok(())
    }

    /// The same before a question, which is answered either way: on a full disk nothing can be removed, and no answer
    /// holds an expired row. Cheap where nothing has expired.
    pub(crate) fn expire_if_it_can(&mut self, now_ms: u64) {
        let expired = self.expire(now_ms);
        if let (Err(error), false) = (&expired, self.is_stuck) {
            tracing::error!(%error, "what has expired cannot be taken away; it is in no answer");
        }
        self.is_stuck = expired.is_err();
    }

    /// Removes expired rows and those past the retention. The time counts from when a row came here, or took its
    /// present state if that was later.
    pub(crate) fn lapse(&mut self, now_ms: u64) -> Result<(), StoreError> {
        self.expire(now_ms)?;
        if self.limits.retention_days > 0 {
            let kept = u64::from(self.limits.retention_days).saturating_mul(DAY_MS);
            let before = || vec![ms(now_ms.saturating_sub(kept)).into()];
            while self.go("e.state <> 0 AND max(e.state_ms, e.arrived_ms) < ?2 LIMIT ?1", before())? {}
            while self.go("e.kind = 3 AND e.state = 0 AND e.arrived_ms < ?2 LIMIT ?1", before())? {}
        }
        Ok(())
    }

    /// The same, and rows over an owner's share or over the size of the database: called at the start and before each
    /// write.
    pub(crate) fn tidy(&mut self, now_ms: u64) -> Result<(), StoreError> {
        self.lapse(now_ms)?;
        if self.damage.is_some() {
            return Ok(());
        }
        for owner in scope::owners_over(&self.db, self.limits.owner_bytes)? {
            while scope::bytes_of(&self.db, owner)? >= self.limits.owner_bytes
                && self.least_go(&Owners::Of(owner))?
            {}
        }
        // The owner with the most bytes makes room first, so that nobody loses rows to another's.
        while used(&self.db)? >= self.limits.bytes
            && (self.least_go(&Owners::Largest)? || self.least_go(&Owners::Anybody)?)
        {}
        Ok(())
    }

    /// Removes rows that no longer hold, or else the oldest observations; returns true if there were any.
    fn least_go(&mut self, whose: &Owners) -> Result<bool, StoreError> {
        let (theirs, values) = match whose {
            Owners::Of(owner) => {
                ("e.scope IN (SELECT n FROM scope WHERE owner = ?2)", vec![Value::from(owner.to_vec())])
            }
            Owners::Largest => (
                "e.scope IN (SELECT n FROM scope WHERE owner =
                     (SELECT owner FROM scope GROUP BY owner ORDER BY sum(bytes) DESC LIMIT 1))",
                Vec::new(),
            ),
            Owners::Anybody => ("true", Vec::new()),
        };
        let ended = format!("e.state <> 0 AND {theirs} ORDER BY max(e.state_ms, e.arrived_ms) LIMIT ?1");
        let first = format!("e.kind = 3 AND e.state = 0 AND {theirs} ORDER BY e.arrived_ms LIMIT ?1");
        Ok(self.go(&ended, values.clone())? || self.go(&first, values)?)
    }

    /// Takes some of these rows away, at most `?1`; whether there were any.
    fn go(&mut self, which: &str, mut values: Vec<Value>) -> Result<bool, StoreError> {
        if self.damage.is_some() {
            return Ok(false);
        }
        values.insert(0, AT_ONCE.into());
        let found = doomed(&self.db, which, params_from_iter(values))?;
        if found.is_empty() {
            return Ok(false);
        }
        tracing::info!(rows = found.len(), "rows went by their time or for want of room");
        let now_ms = self.now_ms;
        let unread = self.changed(|change, _, changes| {
            let mut unread = Vec::new();
            for doomed in found {
                // A person's rejection outlives the tombstone that it left: its id is that of the fact.
                if let Some(id) = doomed.unwanted {
                    change::gone(change, doomed.number, id, (Removal::Unwanted, now_ms))?;
                }
                unread.extend(doomed.remove(change, changes)?);
            }
            Ok(unread)
        })?;
        // The index entries of a row that cannot be read are not known: the index is built anew.
        let mut library = self.library.borrow_mut();
        unread.into_iter().for_each(|number| library.forget(number));
        Ok(true)
    }
}
