//! The signed claims about the log: its checkpoint, a checkpoint that was stored elsewhere, and the digests of its
//! days. Each is a size and the root of the tree of that size.

use super::{Fault, Faults, Kind};
use crate::counts::{self, Counts};
use crate::digest;
use crate::folder::Folder;
use crate::hash::Hash;
use crate::log::CHECKPOINT;
use crate::note::{Checkpoint, NoteFault, PublicKey};
use ipc_proto::audit::NOTE;

/// Where a claim stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The log's own checkpoint.
    Checkpoint,
    /// One that was stored elsewhere.
    Saved,
    /// One that another host has on its record.
    Witness,
    /// The digest of a day.
    Digest(String),
}

/// A checkpoint that was stored elsewhere, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SavedCheckpoint<'a> {
    /// The note.
    Note(&'a str),
    /// Its size and root, as another host's record has them: that record vouches for them instead of the key.
    Tree(u64, Hash),
}

/// A signed claim about the tree.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) size: u64,
    pub(crate) root: Hash,
    pub(crate) source: Source,
    /// True if the entries' tree is the one that was signed; `None` until it is known.
    pub(crate) entries: Option<bool>,
    /// The same of the tree that the tiles have.
    pub(crate) tiles: Option<bool>,
}

impl Claim {
    fn new(checkpoint: &Checkpoint, source: Source) -> Self {
        Self { size: checkpoint.size, root: checkpoint.root, source, entries: None, tiles: None }
    }
}

/// Everything that was signed, the smallest tree first.
pub(crate) fn collect(
    folder: &Folder,
    keys: &[PublicKey],
    saved: Option<SavedCheckpoint<'_>>,
    faults: &mut Faults,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    match folder.read_text(CHECKPOINT, NOTE) {
        Ok(Some(note)) => take(&note, keys, Source::Checkpoint, &mut claims, faults),
        Ok(None) => faults.add(Fault::new(Kind::Checkpoint, None, "the log's checkpoint is gone")),
        Err(cause) => {
            faults.add(Fault::new(Kind::Checkpoint, None, format!("the log's checkpoint: {cause}")))
        }
    }
    match saved {
        Some(SavedCheckpoint::Note(note)) => take(note, keys, Source::Saved, &mut claims, faults),
        Some(SavedCheckpoint::Tree(size, root)) => {
            claims.push(Claim { size, root, source: Source::Witness, entries: None, tiles: None });
        }
        None => {}
    }
    for day in folder.names(digest::FOLDER).unwrap_or_default() {
        let note = folder.read_text(&format!("{}/{day}", digest::FOLDER), NOTE).ok().flatten();
        match note.and_then(|note| digest::open(&note, keys)) {
            Some(head) => claims.push(Claim::new(&head, Source::Digest(day))),
            None if day.ends_with(".new") => {}
            None => {
                let message = format!("the digest of {day} was edited, or is not of this log's keys");
                faults.add(Fault::new(Kind::Tile, None, message));
            }
        }
    }
    claims.sort_by_key(|claim| claim.size);
    claims
}

fn take(note: &str, keys: &[PublicKey], source: Source, claims: &mut Vec<Claim>, faults: &mut Faults) {
    let name = keys.first().map_or("", |key| key.name.as_str());
    let what = super::source(&source);
    match Checkpoint::open(note, keys) {
        Ok(checkpoint) if checkpoint.origin == name => claims.push(Claim::new(&checkpoint, source)),
        Ok(checkpoint) => faults.add(other(&what, &checkpoint.origin, name)),
        Err(fault) => {
            let origin = Checkpoint::unchecked(note).map(|checkpoint| checkpoint.origin);
            faults.add(match (fault, origin) {
                (NoteFault::UnknownKey(_), Some(origin)) if origin != name => other(&what, &origin, name),
                (fault @ NoteFault::UnknownKey(_), _) => {
                    Fault::new(Kind::WrongKey, None, format!("{what} is {fault}"))
                }
                (fault, _) => Fault::new(Kind::Checkpoint, None, format!("{what}: {fault}")),
            });
        }
    }
}

/// The fault of a claim about another log than the key's.
pub(crate) fn other(what: &str, origin: &str, name: &str) -> Fault {
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(64).collect();
    Fault::new(Kind::OtherLog, None, format!("{what} is of the log {origin}, and the key is that of {name}"))
}

/// Returns whether the note of the counts is one of the log's keys, or is not there.
pub(crate) fn counts_hold(folder: &Folder, keys: &[PublicKey]) -> bool {
    match folder.read_text(counts::FILE, NOTE) {
        Ok(None) => true,
        Ok(Some(note)) => Counts::read(&note, keys).is_some(),
        Err(_) => false,
    }
}
