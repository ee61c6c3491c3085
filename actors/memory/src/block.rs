//! The block of memory that is put before a model: chosen here out of one scope, laid out in [`layout`]. It reads the
//! open database and changes nothing. The same question to the same rows is the same block.

mod candidate;
mod layout;
mod part;
mod quote;
mod render;
mod room;
#[cfg(test)]
mod tests;

use crate::error::StoreError;
use crate::filter::Narrow;
use crate::row::searched;
use crate::rows::{placed, unless_of_a_row};
use crate::scope::{self, Number};
use crate::sessions;
use crate::store::Store;
use candidate::Candidate;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Class;
use ipc_proto::memory::{
    Area, BLOCK_TOKENS, Block, BlockAsk, Filter, HITS, Part, Question, Row, Scope, SessionRow, Start,
};
use ipc_proto::{List, Text};
use layout::BlockRequest;

pub(crate) use layout::MARK;

/// Rows that are looked at of each kind of reason to look at them.
const LOOKED_AT: u16 = 100;
/// Rows that are found by the words, and how many are looked through for them.
const FOUND: u16 = 50;
const RANKED: u16 = 500;
/// Most rows of an index, and most of those in full: with sessions and decisions no more than a block names.
const INDEX: u16 = 100;
const FULL: u16 = 20;
/// Sessions that a block shows.
const SESSIONS: u16 = 5;
/// The same for a conversation that is made smaller: fewer rows, more of each, half the tokens.
const LESS: (u16, u16, u16) = (20, 5, 3);

impl Store {
    /// The block to put before a model; empty where there is nothing to show or the asking session is muted.
    pub(crate) fn block(&self, scope: &Scope, ask: &BlockAsk, now_ms: u64) -> Result<Block, StoreError> {
        let project = ask.project.as_ref().map(Text::as_str);
        let session = ask.session.as_ref().map(|(client, name)| (client.as_str(), name.as_str()));
        if self.is_muted(scope, project, session)? {
            return Ok(Block { muted: true, ..Block::default() });
        }
        let rows = ask.rows.map_or(INDEX, |rows| rows.min(INDEX));
        let (index, full, sessions) = if ask.compacting {
            (rows.min(LESS.0), LESS.1, LESS.2)
        } else {
            (rows, ask.full.min(FULL), SESSIONS)
        };
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Block::default()) };
        let candidates = self.candidates(number, ask, now_ms)?;
        // Decisions are shown apart there, and may be any of them.
        let most = if ask.compacting { usize::MAX } else { index.max(full).into() };
        let rows = match ask.only {
            true => self.fitting(number, &scope.area, &candidates, (ask, now_ms), most)?,
            false => self.whole(number, &scope.area, &candidates, most, |_| true)?,
        };
        let sessions = if ask.only || ask.without.sessions { 0 } else { sessions };
        let sessions = self.met(scope, (project, &ask.without.rows), sessions)?;
        let tokens = ask.tokens.unwrap_or(BLOCK_TOKENS);
        let wanted = BlockRequest {
            rows: &rows,
            sessions: &sessions,
            project,
            tokens: if ask.compacting { tokens / 2 } else { tokens },
            index: index.into(),
            full: full.into(),
            first: ask.only,
            compacting: ask.compacting,
        };
        Ok(layout::lay(&wanted).map(into_block).unwrap_or_default())
    }

    /// The places of the rows to choose among, those that are preferred first. No row is read whole for it.
    fn candidates(&self, number: Number, ask: &BlockAsk, now_ms: u64) -> Result<Vec<Candidate>, StoreError> {
        let project = ask.project.as_ref().map(Text::as_str);
        let found = self.by_words(number, ask, now_ms)?;
        if ask.only {
            return Ok(candidate::preferred(found, Vec::new(), (project, &ask.without.rows)));
        }
        let mut newest = candidate::lasting(&self.db, number, self.now_ms, LOOKED_AT)?;
        let of_project = Filter { project: ask.project.clone(), ..Filter::default() };
        for filter in [of_project, Filter::default()] {
            newest.extend(candidate::newest(&self.db, Narrow::of(number, &filter, self.now_ms), LOOKED_AT)?);
        }
        Ok(candidate::preferred(found, newest, (project, &ask.without.rows)))
    }

    /// The rows that the words find, best first, and that may be shown: rows of other projects may be many and better.
    fn by_words(&self, number: Number, ask: &BlockAsk, now_ms: u64) -> Result<Vec<Candidate>, StoreError> {
        let mut found = Vec::new();
        if ask.words.trim().is_empty() {
            return Ok(found);
        }
        let project = ask.project.as_ref().map(Text::as_str);
        for n in self.answering(number, &Question::new(ask.words.clone(), RANKED), now_ms)? {
            if found.len() >= usize::from(FOUND) {
                break;
            }
            let one = candidate::at(&self.db, number, n, self.now_ms)?;
            found.extend(one.filter(|one| one.may_be_told_of(project)));
        }
        Ok(found)
    }

    /// The candidates that fit the words, up to a bound.
    fn fitting(
        &self,
        number: Number,
        area: &Area,
        candidates: &[Candidate],
        (ask, now_ms): (&BlockAsk, u64),
        most: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let library = self.library.borrow();
        let asked = finding::Question::of(&ask.words, now_ms, library.lexicon());
        self.whole(number, area, candidates, most, |row| {
            let tags: Vec<&str> = row.entry.tags.iter().map(|tag| tag.as_str()).collect();
            let text = format!("{}\n{}", tags.join(" "), searched(&row.entry));
            asked.fits(&text, library.lexicon())
        })
    }

    /// The first of them that can be read and are wanted, up to a bound.
    fn whole(
        &self,
        number: Number,
        area: &Area,
        candidates: &[Candidate],
        most: usize,
        wanted: impl Fn(&Row) -> bool,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        for candidate in candidates {
            if rows.len() >= most {
                break;
            }
            rows.extend(unless_of_a_row(placed(&self.db, number, area, candidate.n))?.filter(&wanted));
        }
        Ok(rows)
    }

    /// The newest sessions of which there is something to tell, each with its summary unless that is left out.
    fn met(
        &self,
        scope: &Scope,
        (project, without): (Option<&str>, &[MemoryId]),
        most: u16,
    ) -> Result<Vec<(SessionRow, Option<Row>)>, StoreError> {
        let mut met = Vec::new();
        let among = u16::try_from(HITS).unwrap_or(u16::MAX);
        let mut looked_at = 0;
        while met.len() < most.into() && looked_at < among {
            let at_once = most.min(among - looked_at);
            let sessions = self.sessions(scope, project, at_once, &Start::After(looked_at.into()))?;
            if sessions.is_empty() {
                break;
            }
            looked_at += at_once;
            for session in sessions {
                if session.muted || (session.observations == 0 && session.summary.is_none()) {
                    continue;
                }
                let summary = session.summary.map_or(Ok(None), |id| self.read(scope, id));
                let summary = unless_of_a_row(summary)?
                    .filter(|row| row.entry.label.class < Class::Secret && !without.contains(&row.entry.id));
                // A session from elsewhere has a name that a stranger chose: it is shown under its summary's label
                // alone.
                if summary.is_some() || sessions::is_own(scope, &session) {
                    met.push((session, summary));
                }
            }
        }
        met.truncate(most.into());
        Ok(met)
    }
}

fn into_block(laid: layout::Laid) -> Block {
    let end = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let parts = laid.spans.into_iter().map(|(row, at)| Part { row, at: end(at.start)..end(at.end) });
    Block {
        text: Text::clip(&laid.text),
        label: Some(laid.label),
        tokens: laid.tokens,
        discovery_tokens: laid.discovery_tokens,
        rows: List::clip(laid.rows),
        parts: List::clip(parts),
        ..Block::default()
    }
}
