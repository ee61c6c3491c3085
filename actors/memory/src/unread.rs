//! Looks for rows that cannot be read, a few at a time, so that another caller meanwhile waits for one step and not for
//! all of them. It reads the open database and changes nothing.

use crate::error::StoreError;
use crate::filter::ms;
use crate::row::{COLUMNS, decoded};
use crate::scope::{self, Number};
use crate::store::Store;
use crate::writer::{Job, ask};
use ipc_proto::List;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, MemoryError, Scope, Unread};
use ractor::ActorRef;
use rusqlite::params;

/// Rows that are looked at in one step.
const STEP: i64 = 500;

/// The result of one step, and the state and place behind which the next one goes on; none if it was the last.
type Step = (Unread, Option<(i64, i64)>);
/// Before every row.
pub(crate) const FIRST: (i64, i64) = (0, i64::MIN);
/// The last of the states, as they are kept.
const LAST_STATE: i64 = 3;

/// Rows of a scope that cannot be read. In a sound database either each is tried, or none. Rows that are written
/// meanwhile are tried as well.
pub(crate) async fn unread(writer: &ActorRef<Job>, scope: Scope, each: bool) -> Result<Unread, MemoryError> {
    let (mut found, mut behind) = (Unread::default(), Some(FIRST));
    while let Some(after) = behind {
        let of = scope.clone();
        let (some, next) = ask(writer, move |store, _| store.unread(&of, each, after)).await?;
        found.damaged |= some.damaged;
        found.rows = found.rows.saturating_add(some.rows);
        found.first = List::clip(found.first.iter().chain(&some.first).copied());
        behind = next;
    }
    Ok(found)
}

impl Store {
    /// One step.
    pub(crate) fn unread(&self, scope: &Scope, each: bool, after: (i64, i64)) -> Result<Step, StoreError> {
        let number = scope::find(&self.db, scope)?;
        match (&self.damage, number) {
            (Some(damage), number) => {
                let rows = number.and_then(|number| damage.unread.get(&number).copied()).unwrap_or_default();
                Ok((Unread { damaged: true, rows, ..Unread::default() }, None))
            }
            (None, Some(number)) if each => self.looked_through(number, &scope.area, after),
            (None, _) => Ok((Unread::default(), None)),
        }
    }

    /// Rows of one state that a sound database gives and that are not as this program writes them.
    fn looked_through(
        &self,
        number: Number,
        area: &Area,
        (state, after): (i64, i64),
    ) -> Result<Step, StoreError> {
        let mut rows = self.db.prepare_cached(&step_sql())?;
        let mut rows = rows.query(params![number.get(), state, after, ms(self.now_ms), STEP])?;
        let (mut seen, mut last, mut first) = (0, after, Vec::new());
        let mut count = 0_u32;
        while let Some(columns) = rows.next()? {
            (seen, last) = (seen + 1, columns.get("n")?);
            if columns.get("in_time")? && decoded(columns, area).is_err() {
                count = count.saturating_add(1);
                first.extend(columns.get("id").map(MemoryId::from_bytes));
            }
        }
        let next = if seen == STEP { (state, last) } else { (state + 1, FIRST.1) };
        let found = Unread { damaged: false, rows: count, first: List::clip(first) };
        Ok((found, Some(next).filter(|(state, _)| *state <= LAST_STATE)))
    }
}

/// The statement of one step.
fn step_sql() -> String {
    let in_time = "e.expires_ms IS NULL OR e.expires_ms > ?4";
    format!(
        "SELECT {COLUMNS}, ({in_time}) AS in_time FROM kept AS e
         WHERE e.scope = ?1 AND e.state = ?2 AND e.n > ?3 ORDER BY e.n LIMIT ?5"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Held, entry, user};
    use crate::writer::Writer;
    use std::cell::RefCell;
    use tokio::task::LocalSet;

    #[test]
    fn a_check_of_all_rows_goes_by_steps_and_skips_none() {
        let mut held = Held::quick();
        for number in 1..=250 {
            held.write(&user(1), entry(number, "the tide"));
        }
        // As many again as fill a step and a row, all of them not to be understood, and two that no longer hold.
        let more = "INSERT INTO kept (scope, id, body, tags, trust, class, sources, created_ms, state, state_ms)
            SELECT scope, randomblob(16), body, tags, trust, class, 'no list', created_ms, state, state_ms FROM kept";
        held.store.db.execute(more, []).unwrap();
        held.store.db.execute(&format!("{more} WHERE n <= 251"), []).unwrap();
        held.store.db.execute("UPDATE kept SET state = 2, state_ms = 1 WHERE n IN (251, 260)", []).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let Held { store, folder: _folder } = held;
        let found = LocalSet::new().block_on(&runtime, async {
            let (writer, _) = ractor::Actor::spawn(None, Writer, store).await.unwrap();
            let order = RefCell::new(Vec::new());
            let all = async {
                let found = unread(&writer, user(1), true).await.unwrap();
                order.borrow_mut().push("all");
                found
            };
            let one = async {
                ask(&writer, |store, _| Ok(store.stats(&user(1))?.removed)).await.unwrap();
                order.borrow_mut().push("one");
            };
            let (found, ()) = tokio::join!(all, one);
            assert_eq!(order.into_inner(), ["one", "all"]);
            found
        });
        assert_eq!((found.damaged, found.rows), (false, 501));
    }

    #[test]
    fn a_step_reads_no_row_but_those_that_it_looks_at() {
        let mut held = Held::quick();
        held.write(&user(1), entry(1, "the tide"));
        let mut plan = held.store.db.prepare(&format!("EXPLAIN QUERY PLAN {}", step_sql())).unwrap();
        let plan = plan.query_map([1; 5], |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = plan.map(Result::unwrap).collect();
        assert_eq!(plan, ["SEARCH e USING INDEX kept_by_scope (scope=? AND state=? AND n>?)"]);
    }
}
