//! Retention: a bundle whose entries are all past their time is removed. Its hashes stay, so that the tree still
//! verifies. The removal is on the record before it is done, and that entry stays for ever.

use crate::counts::DAY;
use crate::entry;
use crate::hash;
use crate::log::Log;
use crate::tile::{self, TILE, WIDTH};
use ipc_proto::audit::{Action, Category, Event, Record, Result3, Severity};
use ipc_proto::config::RetentionDays;
use std::io;

/// Bundles looked at in one step: appends wait meanwhile.
const STEP: u64 = 8;
/// How many days an entry is kept; `None` for ever.
fn days(kept: &RetentionDays, event: &Event) -> Option<u64> {
    let days = match event.action.severity(event.result) {
        Severity::Debug => kept.debug,
        Severity::Info => kept.info,
        Severity::Warning => kept.warning,
        Severity::Error => kept.error,
        Severity::Critical => return None,
    };
    let least = match event.action.category() {
        Category::Auth => kept.auth,
        Category::Config => kept.config,
        Category::Tool | Category::Memory | Category::Label | Category::Channel | Category::Sandbox => 0,
    };
    Some(days.max(least).into())
}

fn is_past(kept: &RetentionDays, record: &Record, now_ms: u64) -> bool {
    days(kept, &record.event).is_some_and(|days| now_ms.saturating_sub(record.time_ms) >= days * DAY)
}

/// A bundle that may go.
struct Past {
    index: u64,
    bytes: u64,
    root: hash::Hash,
}

/// Where retention is in the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    kept: RetentionDays,
    cursor: u64,
}

impl Retention {
    /// At the first entry.
    pub(crate) const fn new(kept: RetentionDays) -> Self {
        Self { kept, cursor: 0 }
    }

    /// Begins with the first entry again.
    pub(crate) const fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Looks at the next bundles and seals those that are past their time; whether there are more to look at.
    pub(crate) fn step(&mut self, log: &mut Log, now_ms: u64) -> io::Result<bool> {
        let end = (log.signed / WIDTH).min(self.cursor + STEP);
        let mut past = Vec::new();
        for index in self.cursor..end {
            match look(&self.kept, log, index, now_ms)? {
                Age::Young => {
                    seal(log, &past)?;
                    return Ok(false);
                }
                Age::Due(bundle) => past.push(bundle),
                Age::Retained => {
                    seal(log, &past)?;
                    past.clear();
                }
            }
        }
        seal(log, &past)?;
        let more = end > self.cursor;
        self.cursor = end;
        Ok(more)
    }
}

enum Age {
    /// Nothing from here on can be past its time.
    Young,
    /// It stays, or is gone already.
    Retained,
    Due(Past),
}

fn look(kept: &RetentionDays, log: &Log, index: u64, now_ms: u64) -> io::Result<Age> {
    let Some(bundle) = log.folder.read(&tile::bundle_path(index), tile::BUNDLE)? else {
        return Ok(Age::Retained);
    };
    let entries: Vec<&[u8]> = tile::entries(&bundle).filter_map(|range| bundle.get(range)).collect();
    let records: Vec<Record> = entries.iter().filter_map(|entry| entry::decode(entry).ok()).collect();
    let first = records.first().map_or(0, |record| record.time_ms);
    // No severity is kept for less long than this one.
    if now_ms.saturating_sub(first) < u64::from(kept.debug) * DAY {
        return Ok(Age::Young);
    }
    let whole = records.len() as u64 == WIDTH && records.iter().all(|record| is_past(kept, record, now_ms));
    let tile = log.folder.read(&tile::path(0, index), TILE as u64)?.and_then(|tile| tile::decode(&tile, 256));
    // A bundle that does not fit its hashes is evidence, and stays.
    let fitting = tile.filter(|tile| whole && tile.iter().eq(records.iter().map(|record| &record.hash)));
    Ok(fitting.map_or(Age::Retained, |tile| {
        Age::Due(Past { index, bytes: bundle.len() as u64, root: hash::root(&tile) })
    }))
}

/// The subject of the record of a removal: the first and the last entry.
pub(crate) fn subject(first_bundle: u64, last_bundle: u64) -> String {
    format!("{}-{}", first_bundle * WIDTH, (last_bundle + 1) * WIDTH - 1)
}

/// The hash of the record of a removal: over the roots of the tiles whose entries go.
pub(crate) fn hash(roots: &[hash::Hash]) -> hash::Hash {
    hash::of(&roots.concat())
}

/// Removes bundles that follow each other, once it is on the record.
fn seal(log: &mut Log, past: &[Past]) -> io::Result<()> {
    let (Some(first), Some(last)) = (past.first(), past.last()) else { return Ok(()) };
    let roots: Vec<hash::Hash> = past.iter().map(|bundle| bundle.root).collect();
    let mut event = Event::new(Action::RecordSealed, Result3::Success)
        .about(&subject(first.index, last.index))
        .because("past their retention");
    event.hash = Some(hash(&roots));
    event.bytes = past.iter().map(|bundle| bundle.bytes).sum();
    log.append_own(event)?;
    log.sign()?;
    // From here on nothing can be counted or hashed again from them.
    log.note_counts()?;
    past.iter().try_for_each(|bundle| log.folder.settle(&tile::path(0, bundle.index)))?;
    past.iter().try_for_each(|bundle| log.folder.remove(&tile::bundle_path(bundle.index)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::config::Audit;

    // Holds B-148.
    #[test]
    fn an_entry_is_kept_by_what_it_is_and_how_much_it_matters() {
        for (action, result, kept) in [
            (Action::TurnStarted, Result3::Success, Some(7)),
            (Action::ToolEnded, Result3::Success, Some(30)),
            (Action::ToolDecided, Result3::Blocked, Some(90)),
            (Action::ModelEnded, Result3::Error, Some(365)),
            (Action::UserAdded, Result3::Success, Some(365)),
            (Action::OperatorCommand, Result3::Success, Some(365)),
            (Action::CanaryLeaked, Result3::Blocked, None),
            (Action::RecordSealed, Result3::Success, None),
        ] {
            let event = Event::new(action, result);
            assert_eq!(days(&Audit::DEFAULT.retention_days, &event), kept, "{action:?}");
        }
    }
}
