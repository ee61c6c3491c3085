//! Tests of the store, on real database files. Each test has its own folder; nothing outside it is touched.

mod capturing;
mod disk_full;
mod embedding;
mod forgetting;
mod isolation;
mod keeping;
mod migrating;
mod opening;
mod proposing;
mod ranking;
mod returning;
mod revising;
mod storing;
mod weighing;
mod working;

use crate::error::Admission;
use crate::screen::{Proposal, Scanned};
use crate::store::Store;
use ipc_proto::ids::{MemoryId, SessionId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, Detail, Entry, Filter, Forget, Hit, Kind, Observation, Question, Row, Scope, SessionRow,
    SessionStatus, Start,
};
use ipc_proto::{List, Name, Text};

pub(crate) use crate::offline::passed;

pub(crate) fn id(number: u8) -> MemoryId {
    MemoryId::from_bytes([number; 16])
}

pub(crate) fn entry(number: u8, content: &str) -> Entry {
    Entry {
        id: id(number),
        content: Text::new(content).unwrap(),
        tags: List::default(),
        label: Label::of(Trust::User, Class::Internal, "chat"),
        session: Some(SessionId::from_bytes([number; 16])),
        detail: Detail::default(),
    }
}

pub(crate) fn tagged(number: u8, content: &str, tags: &[&str]) -> Entry {
    Entry { tags: List::clip(tags.iter().map(|tag| Text::clip(tag))), ..entry(number, content) }
}

/// An observation of a project.
pub(crate) fn observed(number: u8, content: &str, title: &str) -> Entry {
    let seen = Observation { title: Text::clip(title), ..Observation::default() };
    let kind = Kind::Observation(Box::new(seen));
    let project = Some(Text::clip("/p"));
    Entry { detail: Detail { kind, project, ..Detail::default() }, ..entry(number, content) }
}

/// A session of a client, as an export tells of it.
pub(crate) fn session(number: u8, status: SessionStatus) -> SessionRow {
    SessionRow {
        id: SessionId::from_bytes([number; 16]),
        client: Name::clip("opencode"),
        name: Text::clip("ses_1"),
        project: Text::clip("/p"),
        started_ms: 5,
        ended_ms: (status == SessionStatus::Completed).then_some(9),
        status,
        observations: 7,
        summary: Some(id(9)),
        muted: true,
    }
}

/// The entry as the scanner lets it pass.
pub(crate) fn scanned(entry: Entry) -> Scanned {
    Proposal::of(entry).unwrap().judged(&passed()).unwrap()
}

/// The same in the place of another row.
pub(crate) fn revision(of: u8, entry: Entry, reason: &str) -> Scanned {
    Proposal::of(entry).unwrap().instead_of(id(of), reason).judged(&passed()).unwrap()
}

pub(crate) fn scope(owner: u8, area: Area) -> Scope {
    Scope { owner: UserId::from_bytes([owner; 16]), area }
}

pub(crate) fn user(owner: u8) -> Scope {
    scope(owner, Area::User)
}

pub(crate) fn question(words: &str, tags: &[Name], limit: u16) -> Question {
    let filter = Filter { tags: List::clip(tags.iter().cloned()), ..Filter::default() };
    Question { filter, ..Question::new(Text::clip(words), limit) }
}

/// The database of a folder.
pub(crate) fn opened(folder: &std::path::Path) -> Store {
    Store::open(folder, &folder.join("memory.db").display().to_string()).unwrap()
}

/// A store in a folder that goes when the test ends.
pub(crate) struct Held {
    pub(crate) store: Store,
    pub(crate) folder: tempfile::TempDir,
}

impl Held {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { store: opened(folder.path()), folder }
    }

    /// The same without waiting for the disk, where durability is not under test.
    pub(crate) fn quick() -> Self {
        let held = Self::new();
        held.store.db.pragma_update(None, "synchronous", "OFF").unwrap();
        held
    }

    pub(crate) fn write(&mut self, scope: &Scope, entry: Entry) -> Admission {
        self.store.insert(scope, &scanned(entry), 1).unwrap()
    }

    /// Rows, newest first.
    pub(crate) fn listed(&self, scope: &Scope, limit: u16, offset: u32) -> Vec<Row> {
        self.store.list(scope, &Filter::default(), limit, &Start::After(offset)).unwrap()
    }

    /// Leaves nothing of a row.
    pub(crate) fn purge(&mut self, scope: &Scope, id: MemoryId) {
        let what = Forget::Ids(List::clip([id]));
        let chosen = self.store.chosen(scope, &what, true).unwrap();
        let ids = self.store.with_revisions(scope, &what, &chosen).unwrap();
        self.store.purge(scope, &what, &ids, 5).unwrap();
    }

    /// Contents that a query finds, best first.
    pub(crate) fn found(&self, scope: &Scope, words: &str) -> Vec<String> {
        let hits = self.hits(scope, words, &[], 100);
        hits.into_iter().map(|hit| hit.row.entry.content.into_string()).collect()
    }

    /// The hits of a query.
    pub(crate) fn hits(&self, scope: &Scope, words: &str, tags: &[Name], limit: u16) -> Vec<Hit> {
        let found = self.store.find(scope, &question(words, tags, limit), 1).unwrap();
        found.into_iter().map(|found| found.hit).collect()
    }

    /// Closes the store as a kill would leave it, and opens it anew.
    pub(crate) fn reopened(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        Self { store: opened(folder.path()), folder }
    }
}

/// Returns whether tables and indexes agree in everything, content included.
pub(crate) fn holds_together(store: &Store) {
    let ok: String = store.db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(ok, "ok");
    let mut scopes = store.db.prepare("SELECT n, held FROM scope").unwrap();
    let scopes = scopes.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap();
    for scope in scopes {
        let (n, held) = scope.unwrap();
        let check = format!("INSERT INTO words_{n} (words_{n}, rank) VALUES ('integrity-check', 1)");
        store.db.execute(&check, []).unwrap();
        let rows = "SELECT count(*) FROM kept WHERE scope = ?1";
        assert_eq!(store.db.query_row(rows, [n], |row| row.get::<_, i64>(0)).unwrap(), held);
        let weighs = "SELECT bytes = coalesce((SELECT sum(256 + octet_length(e.head) + octet_length(e.body)
                + octet_length(e.tags) + octet_length(e.detail) + coalesce(octet_length(r.text), 0))
            FROM kept AS e LEFT JOIN raw AS r ON r.n = e.n WHERE e.scope = scope.n), 0) FROM scope WHERE n = ?1";
        assert!(
            store.db.query_row(weighs, [n], |row| row.get::<_, bool>(0)).unwrap(),
            "what rows take is miscounted"
        );
        let counts = "SELECT episodic = (SELECT count(*) FROM kept WHERE scope = ?1 AND kind = 1 AND state = 0)
            AND semantic = (SELECT count(*) FROM kept WHERE scope = ?1 AND kind = 2 AND state = 0) FROM scope WHERE n = ?1";
        assert!(
            store.db.query_row(counts, [n], |row| row.get::<_, bool>(0)).unwrap(),
            "rows of a kind are miscounted"
        );
    }
}
