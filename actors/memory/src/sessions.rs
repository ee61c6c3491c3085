//! Sessions of clients, as their hooks report them, and the muted ones. It touches the open database; each statement
//! names the scope's number.

use crate::error::{Admission, StoreError};
use crate::filter::ms;
use crate::find::most;
use crate::row::unsigned;
use crate::scope::{self, Number};
use crate::store::Store;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{
    Capture, CaptureEvent, MemoryError, Muted, OWN_CLIENT, Over, Project, Refusal, SESSIONS, Scope,
    SessionRow, SessionStatus, Start,
};
use ipc_proto::{Name, Text};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// Observations that a session has at least before it is summed up.
const WORTH_SUMMING_UP: i64 = 2;
/// Mutes that one scope may have.
const MUTES: i64 = 1000;

/// Sessions of a scope, the newest first.
pub(crate) const NEWEST: &str =
    "SELECT s.id, s.client, s.name, s.project, s.started_ms, s.ended_ms, s.status,
         (SELECT count(*) FROM entry AS e WHERE e.session = s.id AND e.scope = s.scope AND e.kind = 3),
         (SELECT e.id FROM entry AS e WHERE e.session = s.id AND e.scope = s.scope AND e.kind = 4),
         EXISTS (SELECT 1 FROM muted AS m WHERE m.scope = s.scope
             AND (m.client = '' AND m.name = s.project OR m.client = s.client AND m.name = s.name))
     FROM session AS s WHERE s.scope = ?1 AND (?2 IS NULL OR s.project = ?2) AND s.n < ?4
     ORDER BY s.n DESC LIMIT ?3 OFFSET ?5";

/// Checks that sessions may be those of this client: one that claims to be this host itself speaks for another program.
pub(crate) fn may_be(client: &Name) -> Result<(), MemoryError> {
    if client.as_str() == OWN_CLIENT { Err(MemoryError::Refused(Refusal::OwnClient)) } else { Ok(()) }
}

/// How many sessions of one scope are known, the newest.
fn most_known() -> i64 {
    i64::try_from(SESSIONS).unwrap_or(i64::MAX)
}

/// The id of a client's session in a scope: the derived id is the same each time, and another owner's is another.
pub(crate) fn id(scope: &Scope, capture: &Capture) -> SessionId {
    named(scope, [&capture.client, &capture.project, &capture.session])
}

/// Returns true if a client reported the session here; one that was imported has another id.
pub(crate) fn is_own(scope: &Scope, session: &SessionRow) -> bool {
    session.id == named(scope, [&session.client, &session.project, &session.name])
}

fn named(scope: &Scope, [client, project, name]: [&str; 3]) -> SessionId {
    SessionId::from_bytes(derived(scope, &["session", client, project, name]))
}

/// 16 bytes that stand for these words within a scope.
pub(crate) fn derived(scope: &Scope, words: &[&str]) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(scope.owner.bytes());
    let area = match &scope.area {
        ipc_proto::memory::Area::User => "user",
        ipc_proto::memory::Area::Agent(name) => name.as_str(),
        ipc_proto::memory::Area::Global => "",
    };
    for word in [area].iter().chain(words) {
        hash.update(u64::try_from(word.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(word.as_bytes());
    }
    let hash: [u8; 32] = hash.finalize().into();
    let mut first = [0; 16];
    first.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    first
}

/// Takes down that something happened in a session.
pub(crate) fn touched(
    change: &Transaction<'_>,
    number: Number,
    session: SessionId,
    capture: &Capture,
    now_ms: u64,
) -> Result<(), StoreError> {
    let status = match capture.event {
        CaptureEvent::Idle => 1,
        CaptureEvent::Ended => 2,
        _ => 0_i64,
    };
    let ended = (status == 2).then(|| ms(now_ms));
    let known = change
        .prepare_cached("SELECT 1 FROM session WHERE scope = ?1 AND id = ?2")?
        .exists(params![number.get(), session.bytes()])?;
    change.execute(
        "INSERT INTO session (scope, id, client, name, project, started_ms, ended_ms, status)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (scope, id) DO UPDATE SET status = ?8, ended_ms = ?7",
        params![
            number.get(),
            session.bytes(),
            capture.client.as_str(),
            capture.session.as_str(),
            capture.project.as_str(),
            ms(now_ms),
            ended,
            status
        ],
    )?;
    if !known {
        change.execute(
            "DELETE FROM session WHERE scope = ?1
             AND n <= (SELECT n FROM session WHERE scope = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)",
            params![number.get(), most_known()],
        )?;
    }
    if status == 2 {
        change.execute(
            "UPDATE session SET summary = 1 WHERE scope = ?1 AND id = ?2 AND summary = 0 AND ?3 <=
                 (SELECT count(*) FROM entry WHERE session = ?2 AND scope = ?1 AND kind = 3)",
            params![number.get(), session.bytes(), WORTH_SUMMING_UP],
        )?;
    }
    Ok(())
}

impl Store {
    /// Returns whether nothing of a session is to be taken down or given to it.
    pub(crate) fn is_muted(
        &self,
        scope: &Scope,
        project: Option<&str>,
        session: Option<(&str, &str)>,
    ) -> Result<bool, StoreError> {
        // If the list of mutes is lost, everything is muted.
        if self.damage.as_ref().is_some_and(|damage| damage.mutes_lost) {
            return Ok(true);
        }
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(false) };
        let (client, name) = session.unwrap_or(("", ""));
        let mut muted = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM muted WHERE scope = ?1 AND client = '' AND name = ?2)
                 OR EXISTS (SELECT 1 FROM muted WHERE scope = ?1 AND client <> '' AND client = ?3 AND name = ?4)",
        )?;
        // No project has the empty name.
        Ok(muted
            .query_row(params![number.get(), project.unwrap_or_default(), client, name], |row| row.get(0))?)
    }

    /// Returns whether a session is known already.
    pub(crate) fn knows(&self, scope: &Scope, session: SessionId) -> Result<bool, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(false) };
        let mut known = self.db.prepare_cached("SELECT 1 FROM session WHERE scope = ?1 AND id = ?2")?;
        Ok(known.exists(params![number.get(), session.bytes()])?)
    }

    /// Mutes a session or a project, or no longer does.
    pub(crate) fn mute(&mut self, scope: &Scope, what: &Muted, mute: bool) -> Result<(), StoreError> {
        let (client, name) = match what {
            Muted::Session(client, name) => (client.as_str(), name.as_str()),
            Muted::Project(project) => ("", project.as_str()),
        };
        self.changed(|change, _, _| {
            let number = scope::find_or_make(change, scope)?;
            let others = "SELECT count(*) FROM muted WHERE scope = ?1 AND NOT (client = ?2 AND name = ?3)";
            let given = params![number.get(), client, name];
            if mute && change.query_row(others, given, |row| row.get::<_, i64>(0))? >= MUTES {
                return Err(StoreError::NotAdmitted(Admission::Full));
            }
            let sql = if mute {
                "INSERT OR IGNORE INTO muted (scope, client, name) VALUES (?1, ?2, ?3)"
            } else {
                "DELETE FROM muted WHERE scope = ?1 AND client = ?2 AND name = ?3"
            };
            change.execute(sql, params![number.get(), client, name])?;
            Ok(())
        })
    }

    /// Projects that are muted.
    pub(crate) fn muted_projects(&self, number: Number) -> Result<Vec<Project>, StoreError> {
        let mut muted =
            self.db.prepare("SELECT name FROM muted WHERE scope = ?1 AND client = '' ORDER BY name")?;
        let muted = muted.query_map([number.get()], |row| Ok(Text::clip(&text(row, 0)?)))?;
        Ok(muted.collect::<Result<_, _>>()?)
    }

    /// Restores a session that was reported elsewhere; returns true if it was. Its counts are those of this store, and
    /// one that has ended gets no summary. A session that is not `mine` changes no present one.
    pub(crate) fn restore_session(
        &mut self,
        scope: &Scope,
        session: &SessionRow,
        (over, mine, dry_run): (Over, bool, bool),
    ) -> Result<bool, StoreError> {
        self.changed_or_tried(dry_run, |change, _, _| put_back(change, scope, session, (over, mine)))
    }

    /// Sessions, newest first.
    pub(crate) fn sessions(
        &self,
        scope: &Scope,
        project: Option<&str>,
        limit: u16,
        start: &Start<SessionId>,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Vec::new()) };
        let (before, offset) = match start {
            Start::After(passed) => (i64::MAX, *passed),
            Start::Behind(ids) if ids.is_empty() => (i64::MAX, 0),
            Start::Behind(ids) => {
                let ids = ids.iter().map(|id| id.bytes());
                let place = "SELECT n FROM session WHERE scope = ?1 AND id = ?2";
                (self.furthest(number, place, ids)?.ok_or(StoreError::NotFound)?, 0)
            }
        };
        let mut sessions = self.db.prepare_cached(NEWEST)?;
        let limit = most(limit);
        let sessions = sessions.query_map(params![number.get(), project, limit, before, offset], session)?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }
}

/// If two copies of one session differ, a merge keeps the one in which it is over.
fn put_back(
    change: &Transaction<'_>,
    scope: &Scope,
    session: &SessionRow,
    (over, mine): (Over, bool),
) -> Result<bool, StoreError> {
    let number = scope::find_or_make(change, scope)?;
    let status = match session.status {
        SessionStatus::Active => 0,
        SessionStatus::Idle => 1,
        SessionStatus::Completed => 2_i64,
    };
    let here = "SELECT status FROM session WHERE scope = ?1 AND id = ?2";
    let given = params![number.get(), session.id.bytes()];
    let here: Option<i64> = change.query_row(here, given, |row| row.get(0)).optional()?;
    match (here, over) {
        (Some(_), Over::Skip) => return Ok(false),
        (Some(here), Over::Merge) if status < 2 || here == 2 => return Ok(false),
        (Some(_), _) if !mine => return Err(StoreError::NotAdmitted(Admission::LessTrusted)),
        (Some(_), _) => {}
        (None, _) => {
            let known = "SELECT count(*) FROM session WHERE scope = ?1";
            if change.query_row(known, [number.get()], |row| row.get::<_, i64>(0))? >= most_known() {
                return Err(StoreError::NotAdmitted(Admission::Full));
            }
        }
    }
    change.execute(
        "INSERT INTO session (scope, id, client, name, project, started_ms, ended_ms, status, summary)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, iif(?8 = 2, 2, 0))
         ON CONFLICT (scope, id) DO UPDATE SET client = ?3, name = ?4, project = ?5, started_ms = ?6, ended_ms = ?7,
             status = ?8",
        params![
            number.get(),
            session.id.bytes(),
            session.client.as_str(),
            session.name.as_str(),
            session.project.as_str(),
            ms(session.started_ms),
            session.ended_ms.map(ms),
            status
        ],
    )?;
    Ok(true)
}

fn session(columns: &rusqlite::Row<'_>) -> rusqlite::Result<SessionRow> {
    let time = |at: usize| columns.get::<_, Option<i64>>(at).map(|time| time.and_then(unsigned));
    Ok(SessionRow {
        id: SessionId::from_bytes(columns.get(0)?),
        client: Name::clip(&text(columns, 1)?),
        name: Text::clip(&text(columns, 2)?),
        project: Text::clip(&text(columns, 3)?),
        started_ms: time(4)?.unwrap_or_default(),
        ended_ms: time(5)?,
        status: match columns.get::<_, i64>(6)? {
            0 => SessionStatus::Active,
            1 => SessionStatus::Idle,
            _ => SessionStatus::Completed,
        },
        observations: columns.get(7)?,
        summary: columns.get::<_, Option<[u8; 16]>>(8)?.map(MemoryId::from_bytes),
        muted: columns.get(9)?,
    })
}

/// A name as far as it is text: one that is none hides no other.
fn text<'a>(columns: &'a rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Cow<'a, str>> {
    Ok(String::from_utf8_lossy(columns.get_ref(at)?.as_bytes()?))
}

/// The project of a session.
pub(crate) fn project_of(
    db: &Connection,
    number: Number,
    session: SessionId,
) -> rusqlite::Result<Option<Project>> {
    let project = "SELECT project FROM session WHERE scope = ?1 AND id = ?2";
    let given = params![number.get(), session.bytes()];
    db.query_row(project, given, |row| Ok(Text::clip(&text(row, 0)?))).optional()
}
