//! The history of a row, and the rows around it. It reads the open database and changes nothing.

use crate::error::StoreError;
use crate::filter::Narrow;
use crate::rows::HOPS;
use crate::scope::{self, Number};
use crate::store::Store;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Filter, HITS, Row, Scope, State};
use std::collections::HashSet;

/// Rows of a timeline on either side of its anchor.
const BESIDE: u16 = 49;

impl Store {
    /// Every revision of a row, oldest first; of more than fit an answer the newest.
    pub(crate) fn history(&self, scope: &Scope, id: MemoryId) -> Result<Vec<Row>, StoreError> {
        let number = scope::find(&self.db, scope)?.ok_or(StoreError::NotFound)?;
        let asked = self.one(number, scope, id)?.ok_or(StoreError::NotFound)?.1;
        let mut seen = HashSet::from([id]);
        let mut rows = self.walked(number, scope, asked.revises, &mut seen, |row| row.revises)?;
        rows.reverse();
        let next = |row: &Row| if let State::Superseded { by, .. } = row.state { Some(by) } else { None };
        let after = next(&asked);
        rows.push(asked);
        rows.extend(self.walked(number, scope, after, &mut seen, next)?);
        Ok(rows.split_off(rows.len().saturating_sub(HITS)))
    }

    /// From one row to the next until there is none, or one comes again.
    fn walked(
        &self,
        number: Number,
        scope: &Scope,
        mut to: Option<MemoryId>,
        seen: &mut HashSet<MemoryId>,
        next: impl Fn(&Row) -> Option<MemoryId>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        while let Some(id) = to.filter(|id| rows.len() < HOPS && seen.insert(*id)) {
            let Some((_, row)) = self.one(number, scope, id)? else { break };
            to = next(&row);
            rows.push(row);
        }
        Ok(rows)
    }

    /// Rows around an anchor in the order of time, the anchor among them; around the newest without one.
    pub(crate) fn timeline(
        &self,
        scope: &Scope,
        anchor: Option<MemoryId>,
        filter: &Filter,
        (before, after): (u16, u16),
    ) -> Result<Vec<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else {
            return if anchor.is_some() { Err(StoreError::NotFound) } else { Ok(Vec::new()) };
        };
        let anchor = match anchor {
            // A row that waits for a person's decision has no neighbours.
            Some(id) => self
                .one(number, scope, id)?
                .filter(|(_, row)| !matches!(row.state, State::Proposed { .. }))
                .ok_or(StoreError::NotFound)?,
            None => match self.newest_of(number, scope, filter)? {
                Some(newest) => newest,
                None => return Ok(Vec::new()),
            },
        };
        let beside = |condition: &str, order: &str, most: u16| {
            let mut narrow = Narrow::of(number, filter, self.now_ms);
            narrow.and(condition, anchor.0);
            let limit = narrow.parameter(i64::from(most.min(BESIDE)));
            let looked = self.rows(&scope.area, &narrow, &format!("ORDER BY e.n {order} LIMIT {limit}"))?;
            Ok::<_, StoreError>(looked.rows)
        };
        let mut rows = beside("e.n < ?", "DESC", before)?;
        rows.reverse();
        let later = beside("e.n > ?", "ASC", after)?;
        rows.push(anchor.1);
        rows.extend(later);
        Ok(rows)
    }

    fn newest_of(
        &self,
        number: Number,
        scope: &Scope,
        filter: &Filter,
    ) -> Result<Option<(i64, Row)>, StoreError> {
        let newest = self.newest(&scope.area, &Narrow::of(number, filter, self.now_ms), 1)?;
        newest.first().map_or(Ok(None), |row| self.one(number, scope, row.entry.id))
    }
}
