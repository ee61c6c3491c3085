//! The work that waits for curator, and its results. A piece of work is held back from others until its lease is over;
//! a result that comes a second time, or for a row that no longer holds, changes nothing.

use crate::change::{self, IndexChange};
use crate::error::{Admission, StoreError};
use crate::filter::ms;
use crate::row::{COLUMNS, decoded, searched};
use crate::rows::one;
use crate::scope::{self, Number};
use crate::screen::Scanned;
use crate::sessions;
use crate::store::Store;
use crate::write::inserted;
use finding::Vector;
use ipc_proto::List;
use ipc_proto::Text;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::Label;
use ipc_proto::memory::{Entry, Kind, LISTED, Row, Scope, State, Task, TaskName, Work};
use rusqlite::{OptionalExtension, Transaction, params};

/// Likeness below which nothing is compared, in thousandths.
const ALIKE: u16 = 700;
/// Rows that one is compared with, the newest before it; and those of them that are given along.
const COMPARED: i64 = 200;
const LIKE: usize = 5;
/// Rows that are looked at for one answer.
const LOOKED_AT: usize = 64;

/// A task as its lease is kept; the numbers are part of the schema.
pub(crate) const fn task_code(task: TaskName) -> i64 {
    match task {
        TaskName::Compress => 0,
        TaskName::Summarise => 1,
        TaskName::Resolve => 2,
        TaskName::Embed => 3,
    }
}

/// Work of one kind, each with its place, and the places of rows that cannot be read and so cannot be worked on.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    pub(crate) work: Vec<(i64, Work)>,
    pub(crate) unreadable: Vec<i64>,
}

/// The time until which work on an unreadable row is held back: for good, or until it is asked for again.
pub(crate) const ASIDE: i64 = i64::MAX;

/// Rows with their places and scopes, and the places of those that cannot be read.
type Unleased = (Vec<(i64, Scope, Row)>, Vec<i64>);

impl Store {
    /// Work of these kinds, of each the oldest first and of all of them in turn, each leased until `until_ms`: much of one kind
    /// keeps no other back.
    pub(crate) fn waiting(
        &mut self,
        tasks: &[TaskName],
        limit: usize,
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Vec<Work>, StoreError> {
        self.writable()?;
        let (mut offers, mut aside) = (Vec::new(), Vec::new());
        for task in tasks {
            let more = match task {
                TaskName::Compress => self.to_compress(limit, now_ms)?,
                TaskName::Summarise => {
                    self.to_summarise(limit, now_ms, tasks.contains(&TaskName::Compress))?
                }
                TaskName::Resolve => self.next_to_compare(limit, now_ms)?,
                TaskName::Embed => self.to_embed(limit, now_ms)?,
            };
            aside.extend(more.unreadable.into_iter().map(|n| (*task, n)));
            offers.push((task_code(*task), more.work.into_iter()));
        }
        let mut found = Vec::new();
        let mut left = true;
        while left && found.len() < limit {
            left = false;
            for (task, offer) in &mut offers {
                if let Some((n, work)) = offer.next().filter(|_| found.len() < limit) {
                    found.push((*task, n, work));
                    left = true;
                }
            }
        }
        if found.is_empty() && aside.is_empty() {
            return Ok(Vec::new());
        }
        self.changed(|change, _, _| {
            change.execute("DELETE FROM lease WHERE until_ms <= ?1", [ms(now_ms)])?;
            let mut lease = change.prepare_cached("INSERT OR REPLACE INTO lease VALUES (?1, ?2, ?3)")?;
            for (task, n, _) in &found {
                lease.execute(params![task, n, ms(until_ms)])?;
            }
            for (task, n) in &aside {
                lease.execute(params![task_code(*task), n, ASIDE])?;
            }
            Ok(())
        })?;
        for (task, n) in aside {
            tracing::error!(
                n,
                ?task,
                "a row cannot be read; its background work is set aside, the rest goes on"
            );
        }
        Ok(found.into_iter().map(|(_, _, work)| work).collect())
    }

    fn to_compress(&self, most: usize, now_ms: u64) -> Result<Offer, StoreError> {
        let (rows, unreadable) = self.unleased("e.plain = 1", TaskName::Compress, most, now_ms)?;
        let mut raw = self.db.prepare_cached("SELECT text FROM raw WHERE n = ?1")?;
        let mut work = Vec::new();
        for (n, scope, row) in rows {
            let text: Option<String> = raw.query_row([n], |row| row.get(0)).optional()?;
            let raw = Text::clip(&text.unwrap_or_default());
            work.push((n, Work { scope, task: Task::Compress { row: Box::new(row), raw } }));
        }
        Ok(Offer { work, unreadable })
    }

    /// Rows of a kind of work that are not leased, and the places of those that cannot be read.
    fn unleased(
        &self,
        which: &str,
        task: TaskName,
        most: usize,
        now_ms: u64,
    ) -> Result<Unleased, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, e.scope FROM kept AS e WHERE e.kind = 3 AND e.state = 0 AND {which} AND NOT EXISTS
             (SELECT 1 FROM lease WHERE lease.task = ?1 AND lease.n = e.n AND lease.until_ms > ?2)
             ORDER BY e.n LIMIT ?3"
        );
        let mut rows = self.db.prepare_cached(&sql)?;
        let mut rows = rows.query(params![task_code(task), ms(now_ms), few(most)])?;
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        while let Some(columns) = rows.next()? {
            let n = columns.get("n")?;
            let scope = scope::whose(&self.db, Number::stored(columns.get("scope")?))?;
            match decoded(columns, &scope.area) {
                Ok(row) => found.push((n, scope, row)),
                Err(_) => unreadable.push(n),
            }
        }
        Ok((found, unreadable))
    }

    /// Sessions that ended. While their observations are still being compressed they wait for that.
    fn to_summarise(&self, most: usize, now_ms: u64, compressing: bool) -> Result<Offer, StoreError> {
        let mut sessions = self.db.prepare_cached(
            "SELECT s.n, s.scope, s.id FROM session AS s WHERE s.summary = 1 AND NOT EXISTS
                 (SELECT 1 FROM lease WHERE lease.task = 1 AND lease.n = s.n AND lease.until_ms > ?1)
             AND NOT (?2 AND EXISTS (SELECT 1 FROM entry AS e WHERE e.session = s.id AND e.scope = s.scope
                 AND e.plain = 1))
             ORDER BY s.n LIMIT ?3",
        )?;
        let sessions = sessions.query_map(params![ms(now_ms), compressing, few(most)], |row| {
            Ok((row.get(0)?, Number::stored(row.get(1)?), SessionId::from_bytes(row.get(2)?)))
        })?;
        let mut work = Vec::new();
        for found in sessions {
            let (n, number, session): (i64, Number, SessionId) = found?;
            let scope = scope::whose(&self.db, number)?;
            let rows = List::clip(self.of_session(number, &scope, session)?);
            work.push((n, Work { scope, task: Task::Summarise { session, rows } }));
        }
        Ok(Offer { work, ..Offer::default() })
    }

    /// The newest observations of a session that can be read, oldest first.
    fn of_session(&self, number: Number, scope: &Scope, session: SessionId) -> Result<Vec<Row>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM entry AS e WHERE e.scope = ?1 AND e.session = ?2 AND e.kind = 3
             ORDER BY e.n DESC LIMIT {LISTED}"
        );
        let mut rows = self.db.prepare_cached(&sql)?;
        let mut rows = rows.query(params![number.get(), session.bytes()])?;
        let mut found = Vec::new();
        while let Some(columns) = rows.next()? {
            found.extend(decoded(columns, &scope.area).ok());
        }
        found.reverse();
        Ok(found)
    }

    /// Observations with others that are like them. One that is like no other is done with at once.
    fn next_to_compare(&mut self, most: usize, now_ms: u64) -> Result<Offer, StoreError> {
        let (rows, unreadable) = self.unleased(
            "e.compared = 0 AND e.plain <> 1",
            TaskName::Resolve,
            if most == 0 { 0 } else { LOOKED_AT },
            now_ms,
        )?;
        let (mut work, mut distinct) = (Vec::new(), Vec::new());
        for (n, scope, row) in rows {
            if work.len() == most {
                break;
            }
            let like = self.like(n, &scope, &row)?;
            if like.is_empty() {
                distinct.push(n);
            } else {
                let task = Task::Resolve { row: Box::new(row), like: List::clip(like) };
                work.push((n, Work { scope, task }));
            }
        }
        if !distinct.is_empty() {
            self.changed(|change, _, _| {
                let mut mark = change.prepare_cached("UPDATE kept SET compared = 1 WHERE n = ?1")?;
                for n in distinct {
                    mark.execute([n])?;
                }
                Ok(())
            })?;
        }
        Ok(Offer { work, unreadable })
    }

    /// Older observations of the same type and project that are like one, the likest first.
    fn like(&self, n: i64, scope: &Scope, row: &Row) -> Result<Vec<(Row, u16)>, StoreError> {
        let library = self.library.borrow();
        let vector = |row: &Row| Vector::of(&searched(&row.entry), library.lexicon());
        let own = vector(row);
        let sql = format!(
            "SELECT {COLUMNS} FROM entry AS e JOIN entry AS this ON this.n = ?1 WHERE e.kind = 3
             AND e.scope = this.scope AND e.type = this.type AND e.project IS this.project AND e.n < this.n
             ORDER BY e.n DESC LIMIT ?2"
        );
        let mut rows = self.db.prepare_cached(&sql)?;
        let mut rows = rows.query(params![n, COMPARED])?;
        let mut like = Vec::new();
        while let Some(columns) = rows.next()? {
            let Ok(other) = decoded(columns, &scope.area) else { continue };
            let thousandths = (vector(&other).likeness(&own) * 1000.0).clamp(0.0, 1000.0).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is from 0 to 1000"
            )]
            let thousandths = thousandths as u16;
            if thousandths >= ALIKE {
                like.push((other, thousandths));
            }
        }
        like.sort_by_key(|(row, likeness)| std::cmp::Reverse((*likeness, row.created_ms)));
        like.truncate(LIKE);
        Ok(like)
    }

    /// Leaves an observation as it was captured.
    pub(crate) fn left_plain(&mut self, scope: &Scope, id: MemoryId) -> Result<(), StoreError> {
        self.marked(scope, id, "UPDATE kept SET plain = 2 WHERE scope = ?1 AND id = ?2 AND plain = 1")
    }

    /// An observation says something that no other says.
    pub(crate) fn distinct(&mut self, scope: &Scope, id: MemoryId) -> Result<(), StoreError> {
        self.marked(scope, id, "UPDATE kept SET compared = 1 WHERE scope = ?1 AND id = ?2")
    }

    fn marked(&mut self, scope: &Scope, id: MemoryId, how: &str) -> Result<(), StoreError> {
        self.changed(|change, _, _| {
            if let Some(number) = scope::find(change, scope)? {
                change.execute(how, params![number.get(), id.bytes()])?;
            }
            Ok(())
        })
    }

    /// The row that a settled piece of work was made of, still as it was when it was given out.
    pub(crate) fn captured(&self, scope: &Scope, id: MemoryId) -> Result<Option<Row>, StoreError> {
        let Some(row) = self.read(scope, id)? else { return Ok(None) };
        let observed = matches!(row.entry.detail.kind, Kind::Observation(_));
        Ok(Some(row).filter(|row| observed && row.state == State::Current))
    }

    /// A summary as it may be kept: of its session's project, and with the labels of all that it is made of.
    pub(crate) fn summary(
        &self,
        scope: &Scope,
        session: SessionId,
        mut entry: Entry,
    ) -> Result<Entry, StoreError> {
        let number = scope::find(&self.db, scope)?.ok_or(StoreError::NotFound)?;
        let label = self.label_of(number, scope, session)?.ok_or(StoreError::NotFound)?;
        if !matches!(entry.detail.kind, Kind::Summary(_)) {
            return Err(StoreError::NotAdmitted(Admission::Taken));
        }
        entry.label = entry.label.join(&label);
        entry.session = Some(session);
        entry.detail.project = sessions::project_of(&self.db, number, session)?;
        Ok(entry)
    }

    /// The label of all that a session's summary is made of; none if there is nothing of it.
    fn label_of(
        &self,
        number: Number,
        scope: &Scope,
        session: SessionId,
    ) -> Result<Option<Label>, StoreError> {
        let rows = self.of_session(number, scope, session)?;
        let labels = rows.into_iter().map(|row| row.entry.label);
        Ok(labels.reduce(|all, label| all.join(&label)))
    }

    /// Keeps the summary of a session, or that there is none to be made.
    pub(crate) fn summarised(
        &mut self,
        scope: &Scope,
        session: SessionId,
        scanned: Option<&Scanned>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.changed(|change, limits, changes| {
            let Some(number) = scope::find(change, scope)? else { return Ok(()) };
            if let Some(scanned) = scanned {
                let admission = inserted(change, limits, scope, scanned, now_ms, changes)?;
                if !matches!(admission, Admission::New | Admission::Already) {
                    return Err(StoreError::NotAdmitted(admission));
                }
            }
            change.execute(
                "UPDATE session SET summary = 2 WHERE scope = ?1 AND id = ?2",
                params![number.get(), session.bytes()],
            )?;
            Ok(())
        })
    }

    /// Replaces one row by another, both being there already. A row never replaces one that is trusted more.
    pub(crate) fn supersede(
        &mut self,
        scope: &Scope,
        (old, new): (MemoryId, MemoryId),
        reason: &str,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.changed(|change, _, changes| {
            let Some(number) = scope::find(change, scope)? else { return Ok(()) };
            let both = current(change, number, scope, old)?.zip(current(change, number, scope, new)?);
            if let Some(((n, row), (_, other))) = both
                && old != new
                && other.entry.label.trust <= row.entry.label.trust
            {
                change::superseded(change, number, n, new, reason, now_ms)?;
                changes.push(IndexChange::gone(number, n, row, false));
            }
            for id in [old, new] {
                change.execute(
                    "UPDATE kept SET compared = 1 WHERE scope = ?1 AND id = ?2",
                    params![number.get(), id.bytes()],
                )?;
            }
            Ok(())
        })
    }
}

fn current(
    change: &Transaction<'_>,
    number: Number,
    scope: &Scope,
    id: MemoryId,
) -> Result<Option<(i64, Row)>, StoreError> {
    Ok(one(change, number, &scope.area, id)?.filter(|(_, row)| row.state == State::Current))
}

/// A small number for a parameter.
fn few(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
