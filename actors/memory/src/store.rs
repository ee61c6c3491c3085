//! The open database: its connection, its indexes in memory, and the one way to change it. A change is one transaction or
//! none, and no statement is without a scope.

use crate::change::IndexChange;
use crate::error::StoreError;
use crate::library::Library;
use crate::limits::Limits;
use crate::scope::{self, Number};
use crate::uses::Uses;
use ipc_proto::Name;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Row, Scope, State};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The open database.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) db: Connection,
    /// Borrowed by one search or one change at a time: the store has one thread.
    pub(crate) library: RefCell<Library>,
    /// The rows that were read since the last change.
    pub(crate) uses: RefCell<Uses>,
    pub(crate) limits: Limits,
    /// The damage that makes the store read-only.
    pub(crate) damage: Option<Damage>,
    /// The embedder whose vectors are stored.
    pub(crate) embedder: Option<Embedder>,
    /// The time of the question, unix ms: no answer holds rows that have expired by then.
    pub(crate) now_ms: u64,
    /// Expired rows could not be removed at the last try.
    pub(crate) is_stuck: bool,
    /// Bytes that the log had when it was emptied; 0 once it has them again.
    pub(crate) log_had: u64,
    /// Changes since then, none of which purged anything.
    pub(crate) since_emptied: u8,
}

/// The embedder whose vectors are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Embedder {
    /// The number by which rows name it; greater than that of every one before.
    pub(crate) number: i64,
    /// Its name in the configuration.
    pub(crate) name: Name,
}

/// The reason for which a database is only read, and its missing parts.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// The damage that was found, and its place.
    pub(crate) why: String,
    /// Rows that cannot be read.
    pub(crate) unread: BTreeMap<Number, u32>,
    /// The list of mutes is lost.
    pub(crate) mutes_lost: bool,
}

impl Damage {
    /// Rows that cannot be read, of all scopes.
    pub(crate) fn rows(&self) -> u32 {
        self.unread.values().copied().fold(0, u32::saturating_add)
    }
}

impl Store {
    /// That changes are taken at all.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        if self.damage.is_some() { Err(StoreError::ReadOnly) } else { Ok(()) }
    }

    /// One change, in one transaction; the indexes in memory are updated once it is done.
    pub(crate) fn changed<T>(
        &mut self,
        of: impl FnOnce(&Transaction<'_>, &Limits, &mut Vec<IndexChange>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.writable()?;
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.uses.borrow().put(&change)?;
        let mut changes = Vec::new();
        let done = of(&change, &self.limits, &mut changes)?;
        kit::fault_point!("memory.change.open");
        change.commit()?;
        self.uses.borrow_mut().clear();
        let purges = changes.iter().any(|change| change.purges);
        self.library.borrow_mut().apply(changes);
        if purges {
            kit::fault_point!("memory.change.purged");
            self.emptied_log();
        } else {
            self.refilled_log();
        }
        Ok(done)
    }

    /// Counts these rows as read whole.
    pub(crate) fn were_read(&self, scope: &Scope, rows: &[Row]) -> Result<(), StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(()) };
        let mut uses = self.uses.borrow_mut();
        for row in rows.iter().filter(|row| row.state == State::Current) {
            uses.add(number, row.entry.id, self.now_ms);
        }
        Ok(())
    }

    /// Notes that the content of this row was captured again.
    pub(crate) fn came_again(&self, scope: &Scope, id: MemoryId) -> Result<(), StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(()) };
        self.uses.borrow_mut().add(number, id, self.now_ms);
        Ok(())
    }
}
