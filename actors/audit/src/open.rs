//! Opens the log from its tiles and its last checkpoint, so that a start does not take longer as the log grows. A torn
//! last write is cut off, and recorded; any other fault closes the log to appending.

use crate::counts::{self, Counts, Meanings};
use crate::entry::{self, Head};
use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::keys::{KeyFault, Keys};
use crate::log::{CHECKPOINT, Log};
use crate::note::Checkpoint;
use crate::serials::{REMEMBERED, Serials};
use crate::tail::Tail;
use crate::tile::{self, WIDTH};
use crate::tiles::Tiles;
use ipc_proto::audit::{Action, Event, NOTE, Record, Result3, Serial};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// The file of the record's former format.
const FORMER: &str = "record.jsonl";

/// Why the log cannot be opened at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenLogFault {
    #[error("{} holds {FORMER}, a record of a former format that this program does not continue; move it away", .0.display())]
    Former(std::path::PathBuf),
    #[error(transparent)]
    Keys(#[from] KeyFault),
    #[error("the log's files: {0}")]
    Files(#[from] io::Error),
}

/// The log, or why it does not hold.
pub(crate) enum Opened {
    /// It holds as far as a start looks.
    Whole(Box<Log>),
    /// It does not; nothing is appended to it.
    Broken(String),
    /// It is another than this host's; nothing is appended to it.
    Foreign(String),
}

impl Opened {
    /// The log, or why it does not hold.
    pub(crate) fn whole(self) -> Result<Log, String> {
        match self {
            Self::Whole(log) => Ok(*log),
            Self::Broken(fault) | Self::Foreign(fault) => Err(fault),
        }
    }
}

/// The advice for a person who finds another log in the place of the host's own.
const REMEDY: &str = "put this host's own log back; or, for the host to go on with what is there, stop it and remove the file \
    record.id from its state directory";

/// Opens the log of this folder, or begins one.
pub(crate) fn open(path: &Path) -> Result<Opened, OpenLogFault> {
    open_known(path, None)
}

/// The same, if it is the log that is known to be there, where one is.
pub(crate) fn open_known(path: &Path, known: Option<Hash>) -> Result<Opened, OpenLogFault> {
    let folder = Folder::new(path);
    if folder.has(FORMER) {
        return Err(OpenLogFault::Former(path.canonicalize().unwrap_or_else(|_| path.to_owned())));
    }
    let mut keys = match Keys::read(&folder)? {
        Some(keys) => keys,
        None if known.is_some() => return Ok(foreign("there is no log any more".to_owned())),
        None => Keys::first(&folder)?,
    };
    if known.is_some_and(|known| known != keys.log()) {
        let name = &keys.secret.public.name;
        return Ok(foreign(format!(
            "this is the log {name}, whose first key is not that of this host's log"
        )));
    }
    keys.take_up(&folder)?;
    match look(&folder, keys)? {
        Ok(log) => Ok(Opened::Whole(Box::new(begin(log)?))),
        Err(fault) => {
            tracing::error!(%fault, "the record does not hold; nothing is appended");
            Ok(Opened::Broken(fault))
        }
    }
}

fn foreign(fault: String) -> Opened {
    tracing::error!(%fault, remedy = REMEDY, "the record is another log than this host's; nothing is appended");
    Opened::Foreign(fault)
}

/// A finding of the opening that is not on the record yet.
struct FoundLog {
    log: Log,
    /// Bytes of a torn last write.
    cut: u64,
    /// The newest entries.
    newest: Vec<Record>,
}

fn look(folder: &Folder, keys: Keys) -> Result<Result<FoundLog, String>, OpenLogFault> {
    let signed = match folder.read_text(CHECKPOINT, NOTE)? {
        Some(note) => match Checkpoint::open(&note, &keys.trusted) {
            Ok(checkpoint) if checkpoint.origin == keys.secret.public.name => Some(checkpoint),
            Ok(checkpoint) => {
                return Ok(Err(format!("the checkpoint is of another log, {}", checkpoint.origin)));
            }
            Err(fault) => return Ok(Err(format!("the checkpoint: {fault}"))),
        },
        None => None,
    };
    let begun = || [counts::FILE, &tile::bundle_path(0)].iter().any(|file| folder.has(file));
    if signed.is_none() && begun() {
        return Ok(Err("the checkpoint is gone".to_owned()));
    }
    let size = signed.as_ref().map_or(0, |checkpoint| checkpoint.size);
    let mut closed = size / WIDTH;
    // A checkpoint may have reached the disk before the names of its bundles.
    let nameless =
        |index: &u64| !folder.has(&tile::bundle_path(*index)) && folder.has(&tile::tail_path(*index));
    for index in (0..closed).rev().take_while(nameless) {
        name(folder, index)?;
        end(folder, index)?;
    }
    while folder.has(&tile::bundle_path(closed)) {
        end(folder, closed)?;
        closed += 1;
    }
    let tiles = match Tiles::load(folder, closed, true) {
        Ok(tiles) => tiles,
        Err(fault) => return Ok(Err(fault.to_string())),
    };
    read_tail(folder, keys, tiles, signed.as_ref())
}

/// Takes the room from a full bundle that got its name, and did not lose its room, before a power cut.
fn end(folder: &Folder, index: u64) -> io::Result<()> {
    let path = tile::bundle_path(index);
    let bytes = folder.read(&path, tile::BUNDLE)?.unwrap_or_default();
    let written = tile::written(&bytes);
    if written < bytes.len() {
        let file = OpenOptions::new().write(true).open(folder.at(&path))?;
        file.set_len(written as u64)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Gives the growing bundle its name where another follows it: it is full, and lost its name to a power cut.
fn name(folder: &Folder, index: u64) -> io::Result<()> {
    let path = tile::bundle_path(index);
    fs::rename(folder.at(&tile::tail_path(index)), folder.at(&path))?;
    folder.settle(&path)
}

fn read_tail(
    folder: &Folder,
    keys: Keys,
    mut tiles: Tiles,
    signed: Option<&Checkpoint>,
) -> Result<Result<FoundLog, String>, OpenLogFault> {
    let (first, size) = (tiles.closed * WIDTH, signed.map_or(0, |checkpoint| checkpoint.size));
    if size > first && !folder.has(&tile::tail_path(tiles.closed)) {
        return Ok(Err(format!("{size} entries are signed, and {first} are there")));
    }
    let mut tail = Tail::open(folder, tiles.closed)?;
    let bytes = tail.read()?;
    let (mut length, mut newest) = (0, Vec::new());
    for range in tile::entries(&bytes) {
        let record = bytes.get(range.clone()).and_then(|entry| entry::decode(entry).ok());
        let Some(record) = record.filter(|record| record.index == tiles.size()) else { break };
        tiles.push(record.hash);
        newest.push(record);
        length = range.end as u64;
    }
    let next = tiles.closed + 1;
    if tiles.is_full() && [tile::tail_path(next), tile::bundle_path(next)].iter().any(|it| folder.has(it)) {
        tail.cut(length)?;
        name(folder, tiles.closed)?;
        return look(folder, keys);
    }
    if tiles.size() < size {
        return Ok(Err(format!("{size} entries are signed, and {} are there and read", tiles.size())));
    }
    if let Some(checkpoint) = signed
        && tiles.root(size)? != checkpoint.root
    {
        return Ok(Err("the entries are not those that the checkpoint is of".to_owned()));
    }
    let cut = tail.cut(length)?;
    let own = Serial { life: getrandom::u64().map_err(KeyFault::Random)?, number: 0 };
    let newest = before(folder, tiles.closed)?.into_iter().chain(newest).collect();
    let log = Log {
        folder: folder.clone(),
        keys,
        tiles,
        tail,
        serials: Serials::default(),
        counts: Counts::default(),
        noted: 0,
        days: Vec::new(),
        signed: size,
        own,
        ahead: None,
        ended: Vec::new(),
        partials: Vec::new(),
    };
    Ok(Ok(FoundLog { log, cut, newest }))
}

/// The entries of the last closed bundles, as many as a repeat is looked for in.
fn before(folder: &Folder, closed: u64) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for index in closed.saturating_sub(REMEMBERED as u64 / WIDTH)..closed {
        let bundle = folder.read(&tile::bundle_path(index), tile::BUNDLE)?.unwrap_or_default();
        records.extend(tile::entries(&bundle).filter_map(|range| entry::decode(bundle.get(range)?).ok()));
    }
    Ok(records)
}

/// Takes up the state that the last process left: counts, a torn write to record, a rotation under way, a checkpoint.
fn begin(found: FoundLog) -> Result<Log, OpenLogFault> {
    let FoundLog { mut log, cut, newest } = found;
    for record in &newest {
        log.serials.keep(record);
    }
    recount(&mut log)?;
    if cut > 0 {
        tracing::warn!(index = log.entries(), bytes = cut, "a torn last write was cut off");
        let mut event =
            Event::new(Action::RecordRepaired, Result3::Success).because("a torn last write was cut off");
        event.bytes = cut;
        log.append_own(event)?;
    }
    if let Some(note) = log.keys.unfinished.take() {
        let note = hash::of(note.as_bytes());
        let recorded = newest.iter().any(|record| is_rotation(record, note));
        log.finish_rotation(note, !recorded)?;
    }
    log.sign()?;
    Ok(log)
}

fn is_rotation(record: &Record, note: Hash) -> bool {
    record.event.action == Action::KeyRotated && record.event.hash == Some(note)
}

/// Counts the entries after the last note of the counts: a few, or all where that note is lost. So they are not
/// decoded.
fn recount(log: &mut Log) -> io::Result<()> {
    let note = log.folder.read_text(counts::FILE, NOTE).ok().flatten();
    let counted = note.and_then(|note| Counts::read(&note, &log.keys.trusted));
    log.counts = counted.filter(|counts| counts.size <= log.entries()).unwrap_or_default();
    log.noted = log.counts.size;
    let mut meanings = Meanings::default();
    while log.counts.size < log.entries() {
        let (from, index) = (log.counts.size, log.counts.size / WIDTH);
        let bundle = log.bundle(index)?;
        for head in tile::entries(&bundle).filter_map(|range| Head::read(bundle.get(range)?)) {
            let Some((action, result)) = meanings.of(head.action, head.result) else { continue };
            if head.index >= from {
                log.counts.size = head.index;
                log.days.extend(log.counts.tally(head.time_ms, action, result));
            }
        }
        log.counts.size = ((index + 1) * WIDTH).min(log.entries());
    }
    Ok(())
}
