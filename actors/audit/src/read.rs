//! Reads the log: entries, those of a filter, proofs. One bundle is in memory at a time.

use crate::entry;
use crate::log::Log;
use crate::tile::{self, WIDTH};
use ipc_proto::audit::{AuditError, Consistency, Filter, Page, Proof, Record, Stats, TAIL};
use ipc_proto::{Blob, List, Name, Text};
use std::io;

/// Bytes of records in one answer: leaves room in the frame.
const ANSWER: usize = 200 * 1024;
/// Bundles that one query looks through: appends wait meanwhile.
const BUNDLES: usize = 16;

impl Log {
    /// The bytes of the bundle with this index; empty if retention removed it.
    pub(crate) fn bundle(&self, index: u64) -> io::Result<Vec<u8>> {
        if index == self.tiles.closed {
            return self.tail.read();
        }
        Ok(self.folder.read(&tile::bundle_path(index), tile::BUNDLE)?.unwrap_or_default())
    }

    /// Entries of the bundle that `from` is in, from there on, at most `max`; and where the next bundle or entry is.
    pub(crate) fn scan(&self, from: u64, max: usize) -> io::Result<(Vec<Record>, u64)> {
        let index = from / WIDTH;
        let bundle = self.bundle(index)?;
        let skip = usize::try_from(from % WIDTH).unwrap_or(0);
        let entries = tile::entries(&bundle).skip(skip).filter_map(|range| bundle.get(range));
        let records: Vec<Record> = entries.take(max).filter_map(|entry| entry::decode(entry).ok()).collect();
        let end = ((index + 1) * WIDTH).min(self.entries());
        let full = records.len() >= max;
        Ok((records, if full { from.saturating_add(max as u64).min(end) } else { end }))
    }

    /// Entries from `from` on, at most `max`, as many as fit one answer.
    pub(crate) fn read(&self, from: u64, max: usize) -> Result<List<Record, TAIL>, AuditError> {
        let mut records = Vec::new();
        let mut at = from;
        while at < self.entries() && records.len() < max && records.len() < TAIL {
            let (some, next) = self.scan(at, max - records.len()).map_err(unreadable)?;
            records.extend(some);
            at = next;
        }
        let fitting = fitting(&records);
        records.truncate(fitting);
        Ok(List::clip(records))
    }

    /// Entries from `from` on that `filter` admits; looks through a bounded part of the record.
    pub(crate) fn query(&self, from: u64, filter: &Filter) -> Result<Page, AuditError> {
        let (mut records, mut at) = (Vec::new(), from);
        for _ in 0..BUNDLES {
            if at >= self.entries() {
                break;
            }
            let (some, next) = self.scan(at, usize::MAX).map_err(unreadable)?;
            records.extend(some.into_iter().filter(|record| filter.admits(record)));
            at = next;
            let fits = fitting(&records).min(TAIL);
            if fits < records.len() {
                at = records.get(fits).map_or(at, |record| record.index);
                records.truncate(fits);
                break;
            }
        }
        let next = (at < self.entries()).then_some(at);
        Ok(Page { records: List::clip(records), next })
    }

    /// An entry, with proof that it is in the tree as it is now.
    pub(crate) fn prove(&self, index: u64) -> Result<Proof, AuditError> {
        let size = self.entries();
        if index >= size {
            return Err(AuditError::NoEntry);
        }
        let bundle = self.bundle(index / WIDTH).map_err(unreadable)?;
        let at = usize::try_from(index % WIDTH).unwrap_or(0);
        let entry =
            tile::entries(&bundle).nth(at).and_then(|range| bundle.get(range)).ok_or(AuditError::Sealed)?;
        let inclusion = self.tiles.inclusion(index, size).map_err(unreadable)?;
        Ok(Proof {
            index,
            entry: Blob::new(entry).map_err(|_| AuditError::Broken)?,
            inclusion: List::clip(inclusion),
            checkpoint: Text::clip(&self.checkpoint().map_err(unreadable)?),
            key: Text::clip(&self.keys.secret.public.text()),
        })
    }

    /// Proof that the tree of `from` entries is the beginning of that of now.
    pub(crate) fn consistency(&self, from: u64) -> Result<Consistency, AuditError> {
        let size = self.entries();
        if from == 0 || from > size {
            return Err(AuditError::NoEntry);
        }
        let proof = self.tiles.consistency(from, size).map_err(unreadable)?;
        let checkpoint = Text::clip(&self.checkpoint().map_err(unreadable)?);
        Ok(Consistency { from, proof: List::clip(proof), checkpoint })
    }

    /// The record in numbers.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            entries: self.entries(),
            signed: self.signed,
            origin: Name::clip(&self.keys.secret.public.name),
            counts: List::clip(self.counts.counts.iter().copied()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err asks for")]
fn unreadable(error: io::Error) -> AuditError {
    tracing::error!(%error, "the record cannot be read");
    AuditError::Broken
}

/// How many of these fit one answer, estimated generously; one always does.
fn fitting(records: &[Record]) -> usize {
    let mut bytes = 0;
    let fitting = records.iter().take_while(|record| {
        let label = record.event.label.as_ref().map_or(0, |label| label.sources.len() * 72);
        bytes += 600 + label;
        bytes <= ANSWER
    });
    fitting.count()
}
