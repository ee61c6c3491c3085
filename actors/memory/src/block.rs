//! What is put before a model: chosen here out of one scope, laid out in [`layout`]. It reads the open database and
//! changes nothing. The same question to the same rows is the same block.

mod layout;
mod quote;
mod room;
#[cfg(test)]
mod tests;
mod told;

use crate::store::{Store, StoreError};
use ipc_proto::label::Class;
use ipc_proto::memory::{Block, BlockAsk, Filter, HITS, KindName, Question, Row, Scope, SessionRow};
use ipc_proto::{List, Text};
use layout::Wanted;
use std::collections::HashSet;

pub(crate) use layout::MARK;

/// Rows that are looked at of each kind of reason to look at them.
const LOOKED_AT: u16 = 100;
/// Rows that are found by the words.
const FOUND: u16 = 50;
/// Most rows of an index, and most of those in full: with sessions and decisions no more than a block names.
const INDEX: u16 = 100;
const FULL: u16 = 20;
/// Sessions that are told of.
const SESSIONS: u16 = 5;
/// The same for a conversation that is made smaller: fewer rows, more of each, half the tokens.
const LESS: (u16, u16, u16) = (20, 5, 3);
/// What a point of importance is worth beside age: a week.
const POINT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

impl Store {
    /// What is to be put before a model; empty where there is nothing to tell or what asks is muted.
    pub(crate) fn block(&self, scope: &Scope, ask: &BlockAsk, now_ms: u64) -> Result<Block, StoreError> {
        let project = ask.project.as_ref().map(Text::as_str);
        let session = ask.session.as_ref().map(|(client, name)| (client.as_str(), name.as_str()));
        if self.is_muted(scope, project, session)? {
            return Ok(Block { muted: true, ..nothing() });
        }
        let (index, full, sessions) = if ask.compacting {
            (ask.rows.min(LESS.0), LESS.1, LESS.2)
        } else {
            (ask.rows.min(INDEX), ask.full.min(FULL), SESSIONS)
        };
        let rows = self.candidates(scope, ask, now_ms)?;
        let sessions = self.met(scope, project, sessions)?;
        let wanted = Wanted {
            rows: &rows,
            sessions: &sessions,
            project,
            tokens: if ask.compacting { ask.tokens / 2 } else { ask.tokens },
            index: index.into(),
            full: full.into(),
            compacting: ask.compacting,
        };
        Ok(layout::lay(&wanted).map_or_else(nothing, |laid| Block {
            text: Text::clip(&laid.text),
            label: Some(laid.label),
            tokens: laid.tokens,
            discovery_tokens: laid.discovery_tokens,
            rows: List::clip(laid.rows),
            muted: false,
        }))
    }

    /// Rows to choose among, those that are preferred first.
    fn candidates(&self, scope: &Scope, ask: &BlockAsk, now_ms: u64) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        if !ask.words.trim().is_empty() {
            let question = Question::new(ask.words.clone(), FOUND);
            found.extend(self.find(scope, &question, now_ms)?.into_iter().map(|found| found.hit.row));
        }
        let lasting = List::clip([KindName::Semantic, KindName::Note]);
        let filters = [
            Filter { project: ask.project.clone(), ..Filter::default() },
            Filter { kinds: lasting, ..Filter::default() },
            Filter::default(),
        ];
        let mut newest = Vec::new();
        for filter in filters {
            newest.extend(self.list(scope, &filter, LOOKED_AT, 0)?);
        }
        Ok(preferred(found, newest, ask.project.as_ref().map(Text::as_str)))
    }

    /// The newest sessions of which there is something to tell, each with its summary.
    fn met(
        &self,
        scope: &Scope,
        project: Option<&str>,
        most: u16,
    ) -> Result<Vec<(SessionRow, Option<Row>)>, StoreError> {
        let mut sessions = self.sessions(scope, project, u16::try_from(HITS).unwrap_or(u16::MAX), 0)?;
        sessions.retain(|session| !session.muted && (session.observations > 0 || session.summary.is_some()));
        sessions.truncate(most.into());
        let mut met = Vec::new();
        for session in sessions {
            let summary = session.summary.map(|id| self.read(scope, id)).transpose()?.flatten();
            met.push((session, summary.filter(|row| row.entry.label.class < Class::Secret)));
        }
        Ok(met)
    }
}

fn nothing() -> Block {
    Block {
        text: Text::default(),
        label: None,
        tokens: 0,
        discovery_tokens: 0,
        rows: List::default(),
        muted: false,
    }
}

/// Rows in the order in which they are preferred: those of the project first, then those that were found by the words,
/// best first, then by age and importance. Rows of other projects and secrets are left out.
fn preferred(found: Vec<Row>, newest: Vec<Row>, project: Option<&str>) -> Vec<Row> {
    let led = found.len();
    let mut seen = HashSet::new();
    let mut rows: Vec<(usize, Row)> = found.into_iter().chain(newest).enumerate().collect();
    rows.retain(|(_, row)| {
        let theirs = row.entry.detail.project.as_ref();
        let elsewhere = project.is_some_and(|own| theirs.is_some_and(|theirs| theirs.as_str() != own));
        !elsewhere && row.entry.label.class < Class::Secret && seen.insert(row.entry.id)
    });
    rows.sort_by_key(|(place, row)| {
        let detail = &row.entry.detail;
        let own = project.is_some() && detail.project.as_ref().map(|project| project.as_str()) == project;
        let weight = row.created_ms.saturating_add(POINT_MS * u64::from(detail.importance.get()));
        (!own, (*place).min(led), std::cmp::Reverse((weight, row.entry.id)))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}
