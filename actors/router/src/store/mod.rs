//! The queue database: users, keys, sessions, workspaces, inbox, transcript, outbox, approvals and grants. It touches one file in the
//! process's own folder. Every change is one transaction that is durable when it returns; nothing is written
//! outside one, and no error or log line holds what a row says.

mod approvals;
mod channels;
mod choices;
mod dead_letters;
mod delegations;
mod deliveries;
mod ends;
mod engines;
mod files;
mod fires;
mod grants;
mod keys;
mod messages;
mod pairings;
mod parts;
mod pauses;
mod sessions;
mod steering;
mod transcript;
mod usage;
mod users;
mod workspaces;

pub(crate) use approvals::{Asked, Settled, Waiting, name as approval_state};
pub(crate) use channels::Arrival;
pub(crate) use choices::{Choice, NewChoice};
pub(crate) use delegations::StoredDelegation;
pub(crate) use deliveries::{Delivery, NewDelivery, PieceHead, from_sql_id};
pub(crate) use ends::Decided;
pub(crate) use engines::EngineState;
pub(crate) use fires::StoredFire;
pub(crate) use keys::Key;
pub(crate) use messages::{Head, NewMessage, Transition};
pub(crate) use pairings::Pairing;
pub(crate) use pauses::Scope;
pub(crate) use sessions::Session;
pub(crate) use steering::SteeringTarget;
pub(crate) use transcript::StoredStep;
pub(crate) use usage::{DAY_MS, Spent};
pub(crate) use users::{Origin, Person};
pub(crate) use workspaces::{REMOVALS_AT_ONCE, Workspace};

use ipc_proto::channel::ChannelError;
use ipc_proto::router::{MessageState, RouterError};
use migration::Room;
use rusqlite::{Connection, Params, Row};
use serde::{Serialize, de::DeserializeOwned};
use std::path::Path;

/// The steps from version n to version n + 1.
pub(crate) const STEPS: &[&str] = &[include_str!("schema1.sql")];

/// Fewer different statements are prepared than are kept. The log's length is what SQLite lets it grow to before it puts it
/// into the database; tests, which open hundreds of databases, spare themselves that.
const ROOM: Room = Room { log_bytes: if cfg!(test) { 64 << 10 } else { 4 << 20 }, statements: 96 };

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFault {
    /// An error of the database.
    #[error("the queue database: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A column is not what this program wrote.
    #[error("the queue database: {0} cannot be read or written")]
    Column(&'static str),
    /// It was written by a later program, or could not be brought to this one's version.
    #[error("the queue database: {0}")]
    Migration(#[from] migration::MigrationFault),
    /// The message is not in a state that this may follow.
    #[error("a message cannot become {0:?} from where it is")]
    NotAllowed(MessageState),
    /// The row is not there.
    #[error("the queue database: no such {0}")]
    Missing(&'static str),
}

impl From<StoreFault> for ChannelError {
    fn from(fault: StoreFault) -> Self {
        tracing::error!(%fault, "not stored");
        Self::NotDurable
    }
}

impl From<StoreFault> for RouterError {
    fn from(fault: StoreFault) -> Self {
        tracing::error!(%fault, "not stored");
        Self::NotDurable
    }
}

/// The queue database.
pub(crate) struct Store {
    db: Connection,
    /// True while a batch of changes is under way, which becomes durable as one.
    batch: bool,
}

/// A change that is under way. Dropped without its end, it never was. Its first and last statement are kept prepared as
/// the others are, which the library's own transaction does not do.
pub(crate) struct Tx<'a>(&'a Connection, Extent);

/// The extent of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It is durable by itself.
    Whole,
    /// It is a part of a batch, and can be taken back without the rest of it.
    Part,
    /// It is over.
    Over,
}

impl<'a> Tx<'a> {
    fn begin(db: &'a Connection, extent: Extent) -> Result<Self, StoreFault> {
        db.prepare_cached(if extent == Extent::Whole { "BEGIN" } else { "SAVEPOINT part" })?.execute([])?;
        Ok(Self(db, extent))
    }

    fn commit(mut self) -> Result<(), StoreFault> {
        self.0.prepare_cached(if self.1 == Extent::Whole { "COMMIT" } else { "RELEASE part" })?.execute([])?;
        self.1 = Extent::Over;
        Ok(())
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        let back = match self.1 {
            Extent::Over => return,
            Extent::Whole => "ROLLBACK",
            Extent::Part => "ROLLBACK TO part; RELEASE part",
        };
        // After what the database itself has taken back there is nothing left to take back.
        if !self.0.is_autocommit()
            && let Err(fault) = self.0.execute_batch(back)
        {
            tracing::error!(%fault, "a change could not be taken back");
        }
    }
}

impl Store {
    /// Opens it, and makes it or brings it up to date.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreFault> {
        Ok(Self { db: migration::open(file, STEPS, ROOM)?, batch: false })
    }

    /// Does `work` as one change: all of it is durable when this returns, or nothing of it happened.
    pub(crate) fn commit<T>(
        &mut self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        let tx = Tx::begin(&self.db, if self.batch { Extent::Part } else { Extent::Whole })?;
        let done = work(&tx)?;
        between_statements();
        tx.commit()?;
        between_statements();
        Ok(done)
    }

    /// Begins a batch: every change up to its end becomes durable with it, or never was.
    pub(crate) fn begin_batch(&mut self) -> Result<(), StoreFault> {
        self.db.prepare_cached("BEGIN")?.execute([])?;
        self.batch = true;
        Ok(())
    }

    /// Ends a batch; all of it is durable when this returns.
    pub(crate) fn commit_batch(&mut self) -> Result<(), StoreFault> {
        self.batch = false;
        between_statements();
        let committed = self.db.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        if let Err(fault) = committed {
            self.abort_batch();
            return Err(fault.into());
        }
        between_statements();
        Ok(())
    }

    /// Takes a batch back.
    pub(crate) fn abort_batch(&mut self) {
        self.batch = false;
        if !self.db.is_autocommit()
            && let Err(fault) = self.db.execute_batch("ROLLBACK")
        {
            tracing::error!(%fault, "a batch could not be taken back");
        }
    }

    /// Every row of a query.
    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreFault>,
    ) -> Result<Vec<T>, StoreFault> {
        self.db.prepare_cached(sql)?.query_and_then(params, read)?.collect()
    }

    /// The first row of a query, if there is one.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreFault>,
    ) -> Result<Option<T>, StoreFault> {
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        rows.next()?.map(read).transpose()
    }

    #[cfg(test)]
    pub(crate) fn raw(&self) -> &Connection {
        &self.db
    }
}

impl Tx<'_> {
    /// Runs one statement; gives how many rows it changed.
    fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreFault> {
        between_statements();
        Ok(self.0.prepare_cached(sql)?.execute(params)?)
    }

    /// Runs one statement that must change exactly one row.
    fn run_one(&self, what: &'static str, sql: &str, params: impl Params) -> Result<(), StoreFault> {
        if self.run(sql, params)? == 1 { Ok(()) } else { Err(StoreFault::Missing(what)) }
    }

    /// One value of a query that has exactly one row.
    fn value<T: rusqlite::types::FromSql>(&self, sql: &str, params: impl Params) -> Result<T, StoreFault> {
        Ok(self.0.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
    }
}

/// A value as it stands in a column.
fn to_json(what: &'static str, value: &impl Serialize) -> Result<String, StoreFault> {
    serde_json::to_string(value).map_err(|_| StoreFault::Column(what))
}

/// A value from a column. The error of serde_json may quote the column, so it is left out.
fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreFault> {
    serde_json::from_str(text).map_err(|_| StoreFault::Column(what))
}

/// A bounded value from a column.
fn bounded<T, E>(what: &'static str, value: Result<T, E>) -> Result<T, StoreFault> {
    value.map_err(|_| StoreFault::Column(what))
}

/// Unix ms as SQLite has them.
fn to_sql_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn from_sql_ms(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// Where the crash tests look at the files.
#[cfg(not(test))]
const fn between_statements() {}

#[cfg(test)]
fn between_statements() {
    BETWEEN.with_borrow_mut(|hook| {
        if let Some(hook) = hook {
            hook();
        }
    });
}

#[cfg(test)]
thread_local! {
    /// Called before every statement of a change, before its commit and after it.
    pub(crate) static BETWEEN: std::cell::RefCell<Option<Box<dyn FnMut()>>> = const { std::cell::RefCell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(store: &Store, sql: &str) -> String {
        let mut statement = store.raw().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn frequent_queries_use_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("queue.db")).unwrap();
        for (sql, index) in [
            ("SELECT seq FROM messages WHERE state IN ('queued', 'running') ORDER BY seq", "messages_live"),
            (
                "SELECT seq FROM messages WHERE session = x'00' AND state != 'accepted' AND seq < 9",
                "messages_session",
            ),
            ("SELECT seq FROM messages WHERE id = x'00' AND state != 'accepted'", "messages_id"),
            ("SELECT seq FROM messages WHERE id = x'00' AND state = 'accepted'", "messages_fresh"),
            ("SELECT seq FROM messages WHERE turn = x'00' AND state != 'accepted'", "messages_turn"),
            (
                "SELECT seq FROM messages WHERE user = x'00' AND channel = 'c' AND key = 'k' AND state = 'accepted'",
                "messages_fresh (state=? AND user=? AND channel=? AND key=?)",
            ),
            (
                "SELECT seq FROM messages WHERE user = x'00' AND channel = 'c' AND key = 'k' AND state != 'accepted'",
                "messages_key",
            ),
            ("SELECT min(ends_ms) FROM approvals WHERE state IN ('pending', 'approved')", "approvals_open"),
            ("SELECT count(*) FROM approvals WHERE turn = x'00' AND state = 'pending'", "approvals_turn"),
            ("SELECT count(*) FROM messages WHERE state IN ('failed', 'quarantined')", "messages_dead"),
            ("SELECT message FROM words WHERE turn = x'00'", "words_turn"),
            ("SELECT reply_to FROM inbound WHERE message IN (1, 2)", "inbound_message"),
            (
                "SELECT id FROM deliveries WHERE channel = 'c' AND state IN ('ready', 'sending')",
                "deliveries_open (channel=?)",
            ),
            ("SELECT id FROM deliveries WHERE message = 9", "deliveries_message"),
        ] {
            let plan = plan(&store, sql);
            assert!(plan.contains(index) && !plan.contains("SCAN"), "{plan}");
        }
    }

    #[test]
    fn a_change_that_fails_half_way_never_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("queue.db")).unwrap();
        let user = Person {
            id: ipc_proto::ids::UserId::random(),
            name: ipc_proto::Name::clip("ann"),
            role: ipc_proto::config::UserRole::User,
            uids: ipc_proto::List::default(),
            identities: ipc_proto::List::default(),
            origin: Origin::Added,
        };
        let failed = store.commit(|tx| {
            tx.put_person(&user)?;
            tx.mark_delivered(1, 1)
        });
        assert!(matches!(failed, Err(StoreFault::Missing("outbox row"))));
        assert!(store.people(false).unwrap().is_empty());
    }

    #[test]
    fn a_commit_is_written_ahead_in_full_before_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("queue.db")).unwrap();
        let pragma =
            |name| store.raw().pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
        let text = |text: &str| rusqlite::types::Value::Text(text.into());
        assert_eq!(pragma("journal_mode").unwrap(), text("wal"));
        assert_eq!(pragma("locking_mode").unwrap(), text("exclusive"));
        assert_eq!(pragma("synchronous").unwrap(), rusqlite::types::Value::Integer(2));
        assert_eq!(pragma("temp_store").unwrap(), rusqlite::types::Value::Integer(2));
        assert!(!folder.path().join("queue.db-shm").exists(), "no memory is shared");
    }
}
