//! Work that is flushed while appends go on: entries, the length of a full bundle, and the next bundle, which gets its
//! room before it is needed. It touches the log's files and nothing else.

use crate::log::Log;
use crate::tail::Tail;
use crate::tile;
use kit::{Flush, Flushed, Flusher};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A file and the part of it to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The entries that were written last.
    Entries,
    /// The length of this full bundle.
    Ended(u64),
    /// This bundle, begun ahead, or its folder.
    Ahead(u64),
}

/// The flushes that are under way.
#[derive(Debug)]
pub(crate) struct Background {
    flusher: Flusher,
    begun: u64,
    under_way: Vec<(u64, Work)>,
    /// The bundle that was begun ahead last, or could not be.
    ahead: u64,
}

impl Background {
    /// With `roomy`, bundles are begun ahead.
    pub(crate) const fn new(flusher: Flusher, roomy: bool) -> Self {
        let ahead = if roomy { 0 } else { u64::MAX };
        Self { flusher, begun: 0, under_way: Vec::new(), ahead }
    }

    /// Begins a flush.
    pub(crate) fn begin(&mut self, file: BorrowedFd<'_>, work: Work) -> io::Result<()> {
        self.begun += 1;
        let how = if work == Work::Entries { Flush::Data } else { Flush::All };
        self.flusher.begin(file, how, self.begun)?;
        self.under_way.push((self.begun, work));
        Ok(())
    }

    /// One that is over; with `wait` the next that will be.
    pub(crate) fn next(&mut self, wait: bool) -> io::Result<Option<(Work, io::Result<()>)>> {
        if self.under_way.is_empty() {
            return Ok(None);
        }
        let over: Option<Flushed> = self.flusher.next(wait)?;
        Ok(over.and_then(|(number, result)| {
            let at = self.under_way.iter().position(|(its, _)| *its == number)?;
            Some((self.under_way.swap_remove(at).1, result))
        }))
    }

    fn has(&self, work: Work) -> bool {
        self.under_way.iter().any(|(_, its)| *its == work)
    }
}

/// The bundle after the one that grows.
#[derive(Debug)]
pub(crate) struct Ahead {
    index: u64,
    /// Flushes that it waits for. One that failed never ends: then the bundle is begun anew when it is needed.
    waits: u8,
    tail: Tail,
}

impl Ahead {
    /// The bundle, if it is this one and durable.
    pub(crate) fn ready(self, index: u64) -> Option<Tail> {
        (self.index == index && self.waits == 0).then_some(self.tail)
    }
}

impl Log {
    /// Starts the flushes that can be done ahead. A flush that fails here is done when it is needed.
    pub(crate) fn look_ahead(&mut self, background: &mut Background) {
        for index in &self.ended {
            let work = Work::Ended(*index);
            if !background.has(work)
                && let Ok(file) = File::open(self.folder.at(&tile::bundle_path(*index)))
            {
                drop(background.begin(file.as_fd(), work));
            }
        }
        let index = self.tiles.closed + 1;
        if background.ahead < index {
            background.ahead = index;
            if let Err(error) = self.begin_ahead(index, background) {
                tracing::debug!(%error, "no room could be set aside");
            }
        }
    }

    fn begin_ahead(&mut self, index: u64, background: &mut Background) -> io::Result<()> {
        let (tail, folder) = Tail::ahead(&self.folder, index)?;
        let mut begin = |file| background.begin(file, Work::Ahead(index)).is_ok();
        let waits = if begin(tail.file()) && begin(folder.as_fd()) { 2 } else { u8::MAX };
        self.ahead = Some(Ahead { index, waits, tail });
        Ok(())
    }

    /// Settles a finished flush, other than one of entries.
    pub(crate) fn flushed(&mut self, work: Work, result: &io::Result<()>) {
        match work {
            Work::Entries => {}
            Work::Ended(index) if result.is_ok() => self.ended.retain(|its| *its != index),
            Work::Ahead(index) if result.is_ok() => {
                if let Some(ahead) = self.ahead.as_mut().filter(|ahead| ahead.index == index) {
                    ahead.waits = ahead.waits.saturating_sub(1);
                }
            }
            Work::Ended(_) | Work::Ahead(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::open;
    use ipc_proto::Name;
    use ipc_proto::audit::{Action, Event, Result3, Serial};
    use std::fs;
    use std::path::Path;

    fn opened(folder: &Path) -> Log {
        open::open(folder).unwrap().whole().unwrap()
    }

    fn batch(log: &Log, entries: u64) -> Batch {
        let mut batch = Batch::default();
        for number in 0..entries {
            let event = Event::new(Action::TurnStarted, Result3::Success);
            let serial = Serial { life: log.entries(), number };
            batch.add(log.entries(), 1, Name::clip("router"), serial, event).unwrap();
        }
        batch
    }

    /// A log with this many entries and room for more, as a kill leaves it; the checkpoint covers the first 100.
    fn killed(folder: &Path, entries: u64) {
        let mut background = Background::new(Flusher::new().unwrap().0, true);
        let mut log = opened(folder);
        log.tail.make_room().unwrap();
        log.commit(batch(&log, 100)).unwrap();
        log.sign().unwrap();
        for _ in 0..(entries - 100) / 100 {
            log.commit(batch(&log, 100)).unwrap();
            log.look_ahead(&mut background);
            while let Some((work, result)) = background.next(true).unwrap() {
                log.flushed(work, &result);
            }
        }
        std::mem::forget(log);
    }

    fn holds(folder: &Path, entries: u64) {
        let log = opened(folder);
        assert_eq!(log.entries(), entries);
        drop(log);
        let found = crate::check::run(folder, None, None).unwrap();
        assert_eq!((found.faults.listed, found.vouched), (vec![], entries));
    }

    fn length(folder: &Path, file: &str) -> Option<u64> {
        fs::metadata(folder.join(file)).ok().map(|about| about.len())
    }

    #[test]
    fn a_bundle_has_room_ahead_and_none_once_full_or_closed() {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), 700);
        let [full, grows, next] = ["tile/entries/001", "tile/entries/002.tail", "tile/entries/003.tail"]
            .map(|file| length(folder.path(), file).unwrap());
        assert!(full < grows && grows == next, "{full} {grows} {next}");
        let found = crate::check::run(folder.path(), None, None).unwrap();
        assert_eq!((found.entries, found.faults.listed), (700, vec![]));
        holds(folder.path(), 700);
        assert!(length(folder.path(), "tile/entries/002.tail").unwrap() < full);
        assert_eq!(length(folder.path(), "tile/entries/003.tail"), None);
    }

    // Holds P6-11.
    #[test]
    fn a_full_bundle_damaged_by_a_power_cut_is_recovered() {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), 700);
        let at = |file: &str| folder.path().join(file);
        for index in ["000", "001"] {
            let full = at(&format!("tile/entries/{index}"));
            let bytes = fs::read(&full).unwrap();
            fs::write(&full, [bytes.as_slice(), &[0; 9000]].concat()).unwrap();
        }
        fs::rename(at("tile/entries/000"), at("tile/entries/000.tail")).unwrap();
        holds(folder.path(), 700);
        // The same where the checkpoint, which is of all of them by now, reached the disk before their names.
        for index in ["000", "001"] {
            let full = at(&format!("tile/entries/{index}"));
            fs::rename(full, at(&format!("tile/entries/{index}.tail"))).unwrap();
        }
        holds(folder.path(), 700);
    }

    // Holds P6-10.
    #[test]
    fn what_a_torn_write_left_behind_a_hole_never_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), 300);
        let grows = folder.path().join("tile/entries/001.tail");
        let mut bytes = fs::read(&grows).unwrap();
        let ends: Vec<usize> = tile::entries(&bytes).map(|range| range.end).collect();
        // The last but one was not written, the last was.
        bytes[ends[41]..ends[42]].fill(0);
        fs::write(&grows, bytes).unwrap();
        let log = opened(folder.path());
        let newest = log.read(298, 9).unwrap().into_vec();
        let actions: Vec<Action> = newest.iter().map(|record| record.event.action).collect();
        assert_eq!(actions, [Action::RecordRepaired]);
        drop(log);
        holds(folder.path(), 299);
    }

    #[test]
    fn entries_that_were_written_and_never_flushed_are_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), 300);
        let mut log = opened(folder.path());
        log.tail.make_room().unwrap();
        log.tail.write(batch(&log, 7).bytes()).unwrap();
        std::mem::forget(log);
        holds(folder.path(), 307);
        let mut log = opened(folder.path());
        let unsure = batch(&log, 7);
        log.tail.write(unsure.bytes()).unwrap();
        log.tail.settle(unsure.bytes().len(), false);
        log.commit(batch(&log, 2)).unwrap();
        std::mem::forget(log);
        holds(folder.path(), 309);
    }
}
