//! A store without a host, for benches: the code that serves writes it. It has no scanner; its content is made up, and
//! no host ever reads it.

use crate::error::Admission;
use crate::library::Library;
use crate::offline::passed;
use crate::screen::{Proposal, Scanned};
use crate::store::Store;
use crate::write;
use ipc_proto::Text;
use ipc_proto::ids::{MemoryId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Entry, Question, Scope};
use rusqlite::{Connection, params};
use std::io;
use std::path::Path;

/// When the first row is of, unix ms.
const BEGIN: u64 = 1_790_000_000_000;
/// Rows that are put into the store in one change where many are.
const AT_ONCE: usize = 500;

/// The store of one user.
pub struct FilledStore {
    store: Store,
    scope: Scope,
    rows: u64,
}

impl FilledStore {
    /// Begins one in a folder, with these texts in it and its indexes in memory.
    ///
    /// # Errors
    /// It cannot be opened or written.
    pub fn filled(folder: &Path, texts: &[String]) -> io::Result<Self> {
        let store = Store::open(folder, "the bench's database").map_err(io::Error::other)?;
        store.library.replace(Library::unhurried());
        let scope = Scope { owner: UserId::from_bytes([0; 16]), area: Area::User };
        let mut kept = Self { store, scope, rows: 0 };
        for some in texts.chunks(AT_ONCE) {
            kept.put(some)?;
        }
        let question = Question::new(Text::clip("a first question"), 10);
        kept.store.find(&kept.scope, &question, BEGIN).map_err(io::Error::other)?;
        Ok(kept)
    }

    /// Keeps a row more, as any other is kept: durable, and found, when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.put(&[text])
    }

    fn put(&mut self, texts: &[impl AsRef<str>]) -> io::Result<()> {
        let scanned = texts.iter().map(|text| self.scanned(text.as_ref())).collect::<io::Result<Vec<_>>>()?;
        let (scope, at) = (&self.scope, BEGIN + self.rows);
        let each = self.store.changed(|change, limits, changes| {
            let one = |scanned| write::inserted(change, limits, scope, scanned, at, changes);
            scanned.iter().map(one).collect::<Result<Vec<_>, _>>()
        });
        match each.map_err(io::Error::other)?.iter().find(|admission| **admission != Admission::New) {
            Some(refused) => Err(io::Error::other(format!("{refused:?}"))),
            None => Ok(()),
        }
    }

    fn scanned(&mut self, text: &str) -> io::Result<Scanned> {
        self.rows += 1;
        let id = MemoryId::from_bytes(u128::from(self.rows).to_be_bytes());
        let label = Label::of(Trust::User, Class::Internal, "bench");
        let proposal = Proposal::of(Entry::new(id, Text::clip(text), label))
            .map_err(|unfit| io::Error::other(format!("{unfit:?}")))?;
        proposal.judged(&passed()).map_err(|unfit| io::Error::other(format!("{unfit:?}")))
    }
}

/// A database with a row a text and no index, as durable as the store: it measures a bare commit.
pub struct Bare(Connection);

impl Bare {
    /// Begins one in a folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let made = Connection::open(folder.join("bare.db")).and_then(|db| {
            db.execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x TEXT) STRICT",
            )?;
            Ok(Self(db))
        });
        made.map_err(io::Error::other)
    }

    /// Adds a row, in a commit of its own.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, text: &str) -> io::Result<()> {
        self.0.execute("INSERT INTO t VALUES (?1)", params![text]).map(drop).map_err(io::Error::other)
    }
}
