//! The record as a file: appended to, made durable, read again. A torn last write is cut off at opening, and said;
//! anything else that does not hold leaves the record closed to appending.

use crate::line::{self, Body, GENESIS, Hash, LineFault};
use ipc_proto::Name;
use ipc_proto::audit::{Record, Report, Serial};
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The record's file in the audit folder.
pub(crate) const FILE: &str = "record.jsonl";
/// Serials remembered per witness: a repeat comes at once or not at all.
const REMEMBERED: usize = 512;
/// One offset is kept for each so many entries.
const STRIDE: u64 = 256;

/// The open record.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    /// Entries in it.
    pub(crate) entries: u64,
    head: Hash,
    /// Bytes of it that are durable and hold.
    length: u64,
    offsets: Vec<u64>,
    recent: HashMap<Name, VecDeque<(Serial, u64)>>,
    /// It did not hold at opening.
    pub(crate) broken: bool,
}

/// Entries that are on their way to the disk.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    text: String,
    added: Vec<(Name, Serial, u64, u64)>,
    head: Option<Hash>,
}

impl Log {
    /// Opens the record of this folder, or begins one.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let mut log = Self {
            file,
            entries: 0,
            head: GENESIS,
            length: 0,
            offsets: Vec::new(),
            recent: HashMap::new(),
            broken: false,
        };
        log.recover()?;
        Ok(log)
    }

    /// Reads what is there. Only a last line without its break can be torn; it never was acknowledged.
    fn recover(&mut self) -> io::Result<()> {
        let mut reader = BufReader::new(self.file.try_clone()?);
        reader.seek(SeekFrom::Start(0))?;
        let mut text = String::new();
        loop {
            text.clear();
            if reader.read_line(&mut text)? == 0 {
                return Ok(());
            }
            let Some(line) = text.strip_suffix('\n') else {
                tracing::warn!(index = self.entries, bytes = text.len(), "a torn last write was cut off");
                self.file.set_len(self.length)?;
                return self.file.sync_data();
            };
            match line::read(&self.head, self.entries, line) {
                Ok((body, hash)) => self.keep(&body.witness, body.serial, text.len() as u64, hash),
                Err(fault) => {
                    tracing::error!(index = self.entries, %fault, "the record does not hold; nothing is appended");
                    self.broken = true;
                    return Ok(());
                }
            }
        }
    }

    fn keep(&mut self, witness: &Name, serial: Serial, bytes: u64, hash: Hash) {
        if self.entries.is_multiple_of(STRIDE) {
            self.offsets.push(self.length);
        }
        let recent = self.recent.entry(witness.clone()).or_default();
        recent.push_back((serial, self.entries));
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
        self.entries += 1;
        self.length += bytes;
        self.head = hash;
    }

    /// The index of an entry that is there already.
    pub(crate) fn known(&self, witness: &Name, serial: Serial, batch: &Batch) -> Option<u64> {
        let durable = self.recent.get(witness)?.iter().rev().find(|(known, _)| *known == serial);
        let coming = batch.added.iter().find(|(name, known, ..)| name == witness && *known == serial);
        durable.map(|(_, index)| *index).or(coming.map(|(_, _, index, _)| *index))
    }

    /// Adds an entry to a batch; it is not durable yet.
    pub(crate) fn add(&self, batch: &mut Batch, mut body: Body) -> Result<u64, LineFault> {
        body.index = self.entries + batch.added.len() as u64;
        let (text, hash) = line::write(&batch.head.unwrap_or(self.head), &body)?;
        batch.added.push((body.witness, body.serial, body.index, text.len() as u64));
        batch.text.push_str(&text);
        batch.head = Some(hash);
        Ok(body.index)
    }

    /// Makes a batch durable, or leaves the record as it was.
    pub(crate) fn commit(&mut self, batch: &Batch) -> io::Result<()> {
        let written = self.file.write_all(batch.text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What was written in part is no entry: nobody has been told of it.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        let mut hashes = HashesOf::new(self.head, &batch.text);
        for (witness, serial, _, bytes) in &batch.added {
            let hash = hashes.next().unwrap_or(self.head);
            self.keep(witness, *serial, *bytes, hash);
        }
        if let Some(head) = batch.head {
            self.head = head;
        }
        Ok(())
    }

    /// Entries from `from` on, at most `max`.
    pub(crate) fn read(&self, from: u64, max: usize) -> io::Result<Vec<Record>> {
        if from >= self.entries {
            return Ok(Vec::new());
        }
        let block = usize::try_from(from / STRIDE).unwrap_or(usize::MAX);
        let offset = self.offsets.get(block).copied().unwrap_or(self.length);
        let reader = BufReader::new(At { file: &self.file, at: offset, end: self.length });
        let skip = usize::try_from(from % STRIDE).unwrap_or(0);
        let mut records = Vec::new();
        for line in reader.lines().skip(skip).take(max) {
            records.extend(line::show(&line?));
        }
        Ok(records)
    }

    /// Reads everything and checks every hash.
    pub(crate) fn verify(&self) -> io::Result<Report> {
        verify(BufReader::new(At { file: &self.file, at: 0, end: u64::MAX }))
    }
}

/// Checks a record from its first line to its last.
pub(crate) fn verify(mut reader: impl BufRead) -> io::Result<Report> {
    let mut report = Report { entries: 0, broken_at: None, fault: None, head: GENESIS };
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut bounded = io::Read::take(&mut reader, line::BOUND as u64 + 1);
        if bounded.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(report);
        }
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
        let checked = match text {
            Some(text) => line::read(&report.head, report.entries, text).map_err(|fault| fault.to_string()),
            None => Err("a torn last write, or not a line".to_owned()),
        };
        match checked {
            Ok((_, hash)) => (report.entries, report.head) = (report.entries + 1, hash),
            Err(fault) => {
                report.broken_at = Some(report.entries);
                report.fault = Some(Name::clip(&fault));
                return Ok(report);
            }
        }
    }
}

/// The hash that each line of a text of whole lines carries.
struct HashesOf<'a>(std::str::Lines<'a>, Hash);

impl<'a> HashesOf<'a> {
    fn new(head: Hash, text: &'a str) -> Self {
        Self(text.lines(), head)
    }
}

impl Iterator for HashesOf<'_> {
    type Item = Hash;
    fn next(&mut self) -> Option<Hash> {
        self.1 = line::show(self.0.next()?)?.hash;
        Some(self.1)
    }
}

/// Reads a file from a place of its own, so that appending is not disturbed.
struct At<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let length = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, Event, Result3};

    fn append(log: &mut Log, count: u64) {
        let mut batch = Batch::default();
        for number in 0..count {
            let serial = Serial { life: log.entries, number };
            let event = Event::new(Action::TurnStarted, Result3::Success);
            let body = Body { index: 0, time_ms: 1, witness: Name::clip("router"), serial, event };
            log.add(&mut batch, body).unwrap();
        }
        log.commit(&batch).unwrap();
    }

    #[test]
    fn what_was_appended_is_there_after_reopening_and_verifies() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path()).unwrap();
        append(&mut log, 300);
        append(&mut log, 300);
        let reopened = Log::open(folder.path()).unwrap();
        assert_eq!((reopened.entries, reopened.head, reopened.broken), (600, log.head, false));
        let indices: Vec<u64> = reopened.read(250, 20).unwrap().iter().map(|record| record.index).collect();
        assert_eq!(indices, (250..270).collect::<Vec<_>>());
        assert_eq!(reopened.verify().unwrap().entries, 600);
        assert!(reopened.read(600, 5).unwrap().is_empty());
    }

    #[test]
    fn a_torn_last_write_is_cut_off_and_an_edit_is_placed() {
        let folder = tempfile::tempdir().unwrap();
        append(&mut Log::open(folder.path()).unwrap(), 5);
        let path = folder.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        let log = Log::open(folder.path()).unwrap();
        assert_eq!((log.entries, log.broken), (4, false));
        let text = String::from_utf8(whole).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (edited, at) in [
            (text.replacen("router", "runner", 1), 0),
            ([lines[0], lines[2], lines[3]].join("\n") + "\n", 1),
            ([lines[0], lines[2], lines[1]].join("\n") + "\n", 1),
        ] {
            std::fs::write(&path, edited).unwrap();
            let log = Log::open(folder.path()).unwrap();
            assert!(log.broken);
            assert_eq!(log.verify().unwrap().broken_at, Some(at));
        }
    }

    #[test]
    fn the_same_serial_is_one_entry_also_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path()).unwrap();
        append(&mut log, 3);
        let log = Log::open(folder.path()).unwrap();
        let serial = Serial { life: 0, number: 1 };
        assert_eq!(log.known(&Name::clip("router"), serial, &Batch::default()), Some(1));
        assert_eq!(log.known(&Name::clip("gate"), serial, &Batch::default()), None);
    }
}
