//! The log: it appends entries durably, keeps the tree, and signs checkpoints. Only the entries are durable; a tile, a
//! checkpoint or a count that is lost is made again from them.

use crate::ahead::Ahead;
use crate::batch::Batch;
use crate::counts::{self, Closed, Counts};
use crate::digest;
use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::keys::{KeyFault, Keys};
use crate::note::{self, Checkpoint};
use crate::serials::Serials;
use crate::tail::Tail;
use crate::tile::{self, WIDTH};
use crate::tiles::Tiles;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3, Serial};
use std::io;

/// The checkpoint's file.
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// Entries after which the note of the counts is written again. A start after a kill counts as many, in some
/// milliseconds.
const COUNT_NOTE: u64 = 8192;

/// The open log.
pub(crate) struct Log {
    pub(crate) folder: Folder,
    pub(crate) keys: Keys,
    pub(crate) tiles: Tiles,
    pub(crate) tail: Tail,
    pub(crate) serials: Serials,
    pub(crate) counts: Counts,
    /// Entries that the note of the counts covers.
    pub(crate) noted: u64,
    /// Days whose digest is due.
    pub(crate) days: Vec<Closed>,
    /// Entries that the checkpoint on disk covers.
    pub(crate) signed: u64,
    /// Audit's own witness count.
    pub(crate) own: Serial,
    /// The bundle after the one that grows, if it is begun.
    pub(crate) ahead: Option<Ahead>,
    /// Full bundles whose length may not be durable yet.
    pub(crate) ended: Vec<u64>,
    /// Partial tiles that this life wrote for the checkpoint on disk.
    pub(crate) partials: Vec<String>,
}

impl Log {
    /// Entries that are durable.
    pub(crate) fn entries(&self) -> u64 {
        self.tiles.size()
    }

    /// The index of an entry that is there already.
    pub(crate) fn known(&self, witness: &Name, serial: Serial, event: &Event) -> Option<u64> {
        self.serials.index(witness, serial, event)
    }

    /// Makes a batch durable, bundle by bundle. Entries that could not be made durable leave no trace.
    pub(crate) fn commit(&mut self, mut batch: Batch) -> io::Result<()> {
        while !batch.is_empty() {
            let room = self.room()?;
            let some = batch.split(room);
            self.tail.append(some.bytes())?;
            self.keep(&some);
        }
        Ok(())
    }

    /// How many entries the growing bundle has room for; one that is full is closed, and another begun.
    pub(crate) fn room(&mut self) -> io::Result<usize> {
        self.close()?;
        Ok(usize::try_from(WIDTH).unwrap_or(0).saturating_sub(self.tiles.leaves().len()))
    }

    /// Adds the batch, which has become durable, as the next entries of the growing bundle.
    pub(crate) fn keep(&mut self, batch: &Batch) {
        for record in batch.records() {
            self.tiles.push(record.hash);
            self.serials.keep(record);
            self.days.extend(self.counts.add(record));
        }
    }

    /// Puts audit's own event on the record: durable when this returns. Nothing else may be on its way.
    pub(crate) fn append_own(&mut self, event: Event) -> io::Result<()> {
        self.own.number += 1;
        let mut batch = Batch::default();
        let witness = Name::clip(manifest::Process::Audit.name());
        batch.add(self.entries(), kit::now_ms(), witness, self.own, event).map_err(io::Error::other)?;
        self.commit(batch)
    }

    /// Closes the bundle that is full: its tile first, then its name. The tile is made durable before the entries go
    /// that it could be made again from, and not before: it would take two flushes of each bundle.
    fn close(&mut self) -> io::Result<()> {
        if !self.tiles.is_full() {
            return Ok(());
        }
        let index = self.tiles.closed;
        let (from, to) = (tile::tail_path(index), tile::bundle_path(index));
        if self.tail.end()? {
            self.ended.push(index);
        }
        self.tiles.write_full()?;
        if !self.folder.has(&to) {
            std::fs::rename(self.folder.at(&from), self.folder.at(&to))?;
        }
        self.tail = match self.ahead.take().and_then(|ahead| ahead.ready(index + 1)) {
            Some(tail) => tail,
            None => Tail::begin(&self.folder, index + 1)?,
        };
        self.tiles.close();
        Ok(())
    }

    /// Signs the tree as it is, unless it has been, with all that readers of a checkpoint look for.
    pub(crate) fn sign(&mut self) -> io::Result<()> {
        self.close()?;
        let size = self.entries();
        if size != self.signed || !self.folder.has(CHECKPOINT) {
            // A bundle that is signed has its length for good.
            while let Some(index) = self.ended.pop() {
                let flushed = self.folder.flush(&tile::bundle_path(index));
                flushed.inspect_err(|_| self.ended.push(index))?;
            }
            self.write_partials()?;
            let note = self.checkpoint()?;
            self.folder.write(CHECKPOINT, note.as_bytes(), true)?;
            self.drop_partials(self.signed)?;
            self.signed = size;
        }
        if size - self.noted >= COUNT_NOTE || !self.folder.has(counts::FILE) {
            self.note_counts()?;
        }
        while let Some(day) = self.days.first() {
            let root = self.tiles.root(day.size)?;
            let (file, note) = digest::of(day, &root, &self.keys.secret);
            self.folder.write(&file, note.as_bytes(), true)?;
            self.days.remove(0);
        }
        Ok(())
    }

    /// Writes the note of the counts: without it a start counts every entry again.
    pub(crate) fn note_counts(&mut self) -> io::Result<()> {
        if self.counts.size != self.noted || !self.folder.has(counts::FILE) {
            self.folder.write(counts::FILE, self.counts.note(&self.keys.secret).as_bytes(), true)?;
            self.noted = self.counts.size;
        }
        Ok(())
    }

    /// The signed note of the tree as it is.
    pub(crate) fn checkpoint(&self) -> io::Result<String> {
        let (size, secret) = (self.entries(), &self.keys.secret);
        let root = self.tiles.root(size)?;
        let checkpoint = Checkpoint { origin: secret.public.name.clone(), size, root };
        Ok(note::sign(&checkpoint.text(), &[secret]))
    }

    fn write_partials(&mut self) -> io::Result<()> {
        let edge = self.tiles.edge.iter().enumerate().filter(|(_, hashes)| !hashes.is_empty());
        let mut partials = Vec::new();
        for (level, hashes) in edge {
            let path = tile::path(level, self.tiles.closed >> (8 * level));
            let path = tile::partial_path(&path, hashes.len());
            // A partial tile that the last checkpoint has too is not written again: those of the upper levels change
            // rarely, and replacing a file costs more than its content.
            if !self.partials.contains(&path) {
                self.folder.write(&path, &tile::encode(hashes), false)?;
            }
            partials.push(path);
        }
        self.partials = partials;
        let width = self.tiles.leaves().len();
        if width == 0 {
            return Ok(());
        }
        let path = tile::bundle_path(self.tiles.closed);
        self.folder.write(&tile::partial_path(&path, width), &self.tail.read()?, false)
    }

    /// Removes partial tiles that neither this checkpoint nor the one before, of `before` entries, needs.
    fn drop_partials(&self, before: u64) -> io::Result<()> {
        let size = self.entries();
        for level in 0..self.tiles.edge.len() {
            let span = 8 * level;
            for index in ((before / WIDTH) >> span)..=(self.tiles.closed >> span) {
                let widths =
                    [before, size].map(|size| size >> span).map(|hashes| (hashes / WIDTH, hashes % WIDTH));
                let kept =
                    widths.iter().filter(|(tile, _)| *tile == index && index == self.tiles.closed >> span);
                let kept: Vec<String> = kept.map(|(_, width)| width.to_string()).collect();
                self.folder.keep_only(&tile::partial_folder(&tile::path(level, index)), &kept)?;
                if level == 0 {
                    self.folder.keep_only(&tile::partial_folder(&tile::bundle_path(index)), &kept)?;
                }
            }
        }
        Ok(())
    }

    /// Signs with a new key from here on: the note that binds it to the old one, then the record, then the key.
    pub(crate) fn rotate(&mut self) -> Result<String, KeyFault> {
        let note = self.keys.prepare(&self.folder)?;
        self.finish_rotation(hash::of(note.as_bytes()), true)?;
        Ok(note)
    }

    /// Brings a rotation to its end that is prepared.
    pub(crate) fn finish_rotation(&mut self, note: Hash, record: bool) -> Result<(), KeyFault> {
        let failed = |cause| KeyFault::File { file: "the record of the rotation", cause };
        if record {
            let mut event = Event::new(Action::KeyRotated, Result3::Success);
            event.hash = Some(note);
            self.append_own(event).map_err(failed)?;
        }
        self.keys.install(&self.folder)?;
        self.sign().map_err(failed)
    }
}

/// At a stop, unsigned entries are signed: the last chance is when the writer is dropped. A killed process leaves them
/// to the next start.
impl Drop for Log {
    fn drop(&mut self) {
        if let Err(error) = self.sign().and_then(|()| self.note_counts()) {
            tracing::error!(%error, "no checkpoint at the stop; the next start signs one");
        }
        let next = tile::tail_path(self.tiles.closed + 1);
        if let Err(error) = self.tail.end().and_then(|_| self.folder.remove(&next)) {
            tracing::warn!(%error, "room that was set aside stays; the next start gives it back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use std::path::Path;

    fn opened(folder: &Path) -> Log {
        open::open(folder).unwrap().whole().unwrap()
    }

    fn append(log: &mut Log, count: u64) {
        let mut batch = Batch::default();
        let life = log.entries();
        for number in 1..=count {
            let event = Event::new(Action::TurnStarted, Result3::Success);
            batch.add(log.entries(), 1, Name::clip("router"), Serial { life, number }, event).unwrap();
        }
        log.commit(batch).unwrap();
    }

    // Holds P6-01.
    #[test]
    fn what_was_appended_is_there_after_reopening_and_verifies() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        append(&mut log, 300);
        append(&mut log, 300);
        let root = log.tiles.root(600).unwrap();
        drop(log);
        let reopened = opened(folder.path());
        assert_eq!(
            (reopened.entries(), reopened.tiles.root(600).unwrap(), reopened.signed),
            (600, root, 600)
        );
        let indices: Vec<u64> = reopened.read(250, 20).unwrap().iter().map(|record| record.index).collect();
        assert_eq!(indices, (250..270).collect::<Vec<_>>());
        assert!(reopened.read(600, 5).unwrap().is_empty());
        let findings = crate::check::run(folder.path(), None, None).unwrap();
        assert_eq!((findings.entries, findings.faults.number, findings.head), (600, 0, root));
    }

    // Holds P6-08.
    #[test]
    fn a_torn_write_is_cut_off_at_the_start_and_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        append(&mut log, 3);
        log.sign().unwrap();
        let tail = folder.path().join(tile::tail_path(0));
        let signed = std::fs::read(&tail).unwrap().len();
        append(&mut log, 2);
        let whole = std::fs::read(&tail).unwrap();
        // As a kill leaves it: without the checkpoint of the stop.
        std::mem::forget(log);
        let kept: Vec<(std::path::PathBuf, Vec<u8>)> = ["checkpoint", "counts"]
            .map(|file| (folder.path().join(file), std::fs::read(folder.path().join(file)).unwrap()))
            .into();
        for length in signed..=whole.len() {
            std::fs::write(&tail, &whole[..length]).unwrap();
            for (file, bytes) in &kept {
                std::fs::write(file, bytes).unwrap();
            }
            let entries = tile::entries(&whole[..length]).count() as u64;
            let end = tile::entries(&whole[..length]).last().unwrap().end;
            // A zero after the last is room.
            let torn = whole[end..length].iter().any(|byte| *byte != 0);
            let log = opened(folder.path());
            assert_eq!(log.entries(), entries + u64::from(torn), "{length} bytes");
            if torn {
                let last = log.read(entries, 1).unwrap().into_vec().remove(0);
                assert_eq!(last.event.action, Action::RecordRepaired);
            }
            drop(log);
            assert_eq!(
                crate::check::run(folder.path(), None, None).unwrap().faults.number,
                0,
                "{length} bytes"
            );
        }
    }

    // Holds P6-14.
    #[test]
    fn the_same_serial_is_one_entry_also_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        append(&mut opened(folder.path()), 3);
        let log = opened(folder.path());
        let serial = Serial { life: 0, number: 2 };
        let event = Event::new(Action::TurnStarted, Result3::Success);
        assert_eq!(log.known(&Name::clip("router"), serial, &event), Some(1));
        assert_eq!(log.known(&Name::clip("gate"), serial, &event), None);
    }

    // Holds P6-15.
    #[test]
    fn a_key_is_followed_by_another_and_a_reader_of_the_old_one_trusts_both() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        append(&mut log, 3);
        let old = log.keys.secret.public.text();
        for _ in 0..2 {
            log.rotate().unwrap();
            append(&mut log, 3);
        }
        drop(log);
        let new = std::fs::read_to_string(folder.path().join("key.pub")).unwrap();
        assert_ne!(old, new.trim_end());
        for key in [old, new] {
            let findings = crate::check::run(folder.path(), Some(&key), None).unwrap();
            assert_eq!((findings.faults.listed, findings.vouched), (vec![], 11));
        }
    }

    // Holds P6-15.
    #[test]
    fn a_rotation_that_a_kill_interrupted_is_brought_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        append(&mut log, 3);
        let note = log.keys.prepare(&log.folder).unwrap();
        std::mem::forget(log);
        let log = opened(folder.path());
        assert!(note.contains(&log.keys.secret.public.text()));
        assert!(log.read(0, 9).unwrap().iter().any(|record| record.event.action == Action::KeyRotated));
        drop(log);
        assert_eq!(crate::check::run(folder.path(), None, None).unwrap().faults.listed, vec![]);
    }

    // Holds P6-24.
    #[test]
    fn counts_that_are_lost_are_made_again_from_the_entries() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        append(&mut log, 700);
        let counts = log.counts.clone();
        drop(log);
        std::fs::remove_file(folder.path().join(counts::FILE)).unwrap();
        assert_eq!(opened(folder.path()).counts, counts);
    }

    // Holds B-146.
    #[test]
    fn memory_of_the_tree_does_not_grow_with_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = opened(folder.path());
        for _ in 0..20 {
            append(&mut log, 500);
        }
        assert!(log.tiles.edge.iter().map(Vec::len).sum::<usize>() <= 2 * 256);
    }
}
