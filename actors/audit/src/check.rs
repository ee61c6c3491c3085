//! Verification of a log: every entry against its tile, every tile against the one above, and the tree against the
//! signed claims. It reads a folder, needs nothing but a public key, and changes nothing.

mod blame;
mod bundle;
mod claims;
mod gaps;
mod pass;
mod seals;
mod unsigned;

use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::keys::{self, PUBLIC};
use crate::note::PublicKey;
use claims::{Claim, Source};
pub(crate) use claims::{SavedCheckpoint, other};
pub(crate) use gaps::Gap;
use ipc_proto::audit::Late;
use pass::Pass;
use std::path::Path;

/// Faults that are listed; more are only counted.
const LISTED: usize = 16;
/// Bytes of a key's text.
const KEY: usize = 1024;

/// The kind of a fault, as a fixed word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The folder or a file of it cannot be read, or is no log.
    Unreadable,
    /// The key given is not that of the log, though it bears its name.
    WrongKey,
    /// The log, or a checkpoint, is another one.
    OtherLog,
    /// A checkpoint's signature or form does not hold.
    Checkpoint,
    /// An entry was changed.
    Edited,
    /// An entry is not there.
    Deleted,
    /// Entries stand in another order.
    Reordered,
    /// Entries at the end are not there that were signed.
    Truncated,
    /// Something else was signed of the same tree.
    Fork,
    /// A tile, note or count was changed or is not there; the entries are not concerned.
    Tile,
    /// The last write was not finished.
    Torn,
}

impl Kind {
    /// The word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::WrongKey => "wrong_key",
            Self::OtherLog => "other_log",
            Self::Checkpoint => "checkpoint",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
            Self::Reordered => "reordered",
            Self::Truncated => "truncated",
            Self::Fork => "fork",
            Self::Tile => "tile",
            Self::Torn => "torn",
        }
    }
}

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// The first entry that it concerns.
    pub(crate) index: Option<u64>,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(kind: Kind, index: impl Into<Option<u64>>, message: impl Into<String>) -> Self {
        Self { kind, index: index.into(), message: message.into() }
    }
}

/// Faults, as many as are listed.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) listed: Vec<Fault>,
    pub(crate) number: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.number += 1;
        if self.listed.len() < LISTED {
            self.listed.push(fault);
        }
    }

    /// The fault to name: a wrong signer comes before a wrong content, and the first entry before later ones.
    pub(crate) fn first(&self) -> Option<&Fault> {
        self.listed
            .iter()
            .min_by_key(|fault| (fault.kind > Kind::Checkpoint, fault.index.unwrap_or(u64::MAX)))
    }
}

/// The result of a verification.
#[derive(Debug)]
pub(crate) struct Findings {
    /// Entries from the first on that are there or sealed, and hold.
    pub(crate) entries: u64,
    /// The number of entries present that are sealed.
    pub(crate) sealed: u64,
    /// The root of the tree as the entries have it.
    pub(crate) head: Hash,
    /// Entries that something signed vouches for.
    pub(crate) vouched: u64,
    /// The log's name.
    pub(crate) origin: String,
    pub(crate) faults: Faults,
    /// Witnesses' own counts that have holes: information, no fault.
    pub(crate) gaps: Vec<Gap>,
    /// Entries that wait too long for a signature: a warning, no fault.
    pub(crate) late: Option<Late>,
    /// True if all entries but the faults' hold, since their tiles do.
    pub(crate) others_hold: bool,
}

impl Findings {
    /// The part of the log that can still be relied on.
    pub(crate) fn trustworthy(&self) -> String {
        match (self.faults.first().map(|fault| fault.kind), self.vouched) {
            (Some(Kind::WrongKey | Kind::OtherLog | Kind::Unreadable), 0) => {
                "nothing is vouched for by this key".to_owned()
            }
            (_, 0) => "nothing that is signed vouches for any entry".to_owned(),
            (Some(Kind::Edited | Kind::Deleted | Kind::Reordered | Kind::Tile), vouched)
                if self.others_hold =>
            {
                format!("every entry below {vouched} but those named: their hashes are as they were signed")
            }
            // A signature over entries that are gone does not help.
            (_, vouched) => match vouched.min(self.entries) {
                0 => "no entry that was signed is left".to_owned(),
                hold => format!("entries 0 to {}, as they were signed", hold - 1),
            },
        }
    }
}

/// Verification under way: step by step, so that a process that serves can do other things between.
pub(crate) struct Check {
    folder: Folder,
    key: PublicKey,
    keys: Vec<PublicKey>,
    /// The notes of rotations, with their names: those signed before the pass must be on the record that it reads.
    rotations: Vec<(String, String)>,
    claims: Vec<Claim>,
    pass: Pass,
}

impl Check {
    /// Begins to verify the log of `folder` with the key of this text, or with its own, and against a checkpoint
    /// that was stored elsewhere.
    ///
    /// # Errors
    /// That it cannot even begin.
    pub(crate) fn begin(
        folder: &Path,
        key: Option<&str>,
        saved: Option<SavedCheckpoint<'_>>,
    ) -> Result<Self, Fault> {
        let unreadable = |what: String| Fault::new(Kind::Unreadable, None, what);
        if !folder.is_dir() {
            return Err(unreadable(format!("{} is not a folder", folder.display())));
        }
        let folder = Folder::new(folder);
        let now_ms = kit::now_ms();
        let own = || folder.read_text(PUBLIC, KEY).map_err(|cause| unreadable(format!("{PUBLIC}: {cause}")));
        let text = match key {
            Some(key) => key.to_owned(),
            None => own()?
                .ok_or_else(|| unreadable(format!("there is no {PUBLIC}: this is no log of Cordon's")))?,
        };
        let key = PublicKey::read(&text);
        let key =
            key.ok_or_else(|| Fault::new(Kind::WrongKey, None, "the public key is not one, or was edited"))?;
        let keys = keys::chain(&folder, &key);
        let keys = keys.map_err(|cause| Fault::new(Kind::WrongKey, None, cause.to_string()))?;
        let rotations = keys::rotations(&folder).unwrap_or_default();
        let mut faults = Faults::default();
        let claims = claims::collect(&folder, &keys, saved, &mut faults);
        let pass = Pass::new(folder.clone(), &claims, faults, now_ms);
        Ok(Self { folder, key, keys, rotations, claims, pass })
    }

    /// The fault of the notes themselves, known before any entry is read: a note is malformed, has other keys, or is of
    /// another log.
    pub(crate) fn unsigned(&self) -> Option<&Fault> {
        self.pass.faults.first().filter(|fault| fault.kind <= Kind::Checkpoint)
    }

    /// Verifies the next bundle; whether there is another.
    pub(crate) fn step(&mut self) -> bool {
        self.pass.step(&mut self.claims)
    }

    /// Ends the verification and returns its findings.
    pub(crate) fn end(mut self) -> Findings {
        for (name, note) in &self.rotations {
            if !self.pass.seals.has_rotation(&hash::of(note.as_bytes())) && !self.pass.faults.is_broken() {
                let message = format!("rotations/{name} is not on the record");
                self.pass.faults.add(Fault::new(Kind::Tile, None, message));
            }
        }
        // A key that signs since the pass began is bound to those before it, or it is none of the log's.
        let now = keys::chain(&self.folder, &self.key).unwrap_or_default();
        let keys = if now.is_empty() { &self.keys } else { &now };
        // A log of another host is named as such, by its signatures.
        if self.unsigned().is_none() && !keys::is_own(&self.folder, keys) {
            let message = format!("{PUBLIC} is not the key of this log, or was edited");
            self.pass.faults.add(Fault::new(Kind::Tile, None, message));
        }
        if !claims::counts_hold(&self.folder, keys) {
            self.pass.faults.add(Fault::new(Kind::Tile, None, "the note of the counts was edited"));
        }
        self.pass.end(&self.claims, self.key.name)
    }
}

impl Faults {
    /// Returns true if entries are concerned, so that nothing can be said about claims that rest on them.
    fn is_broken(&self) -> bool {
        self.listed.iter().any(|fault| fault.kind != Kind::Tile && fault.kind != Kind::Torn)
    }
}

/// Verifies the log of a folder from its first entry to its last.
pub(crate) fn run(
    folder: &Path,
    key: Option<&str>,
    saved: Option<SavedCheckpoint<'_>>,
) -> Result<Findings, Fault> {
    let mut check = Check::begin(folder, key, saved)?;
    while check.step() {}
    Ok(check.end())
}

/// Looks for the first entry in which two logs differ; `None` where one is the beginning of the other.
pub(crate) fn fork(one: &Path, other: &Path) -> Option<u64> {
    let (one, other) = (Folder::new(one), Folder::new(other));
    for index in 0.. {
        let (left, right) = (bundle::leaves(&one, index), bundle::leaves(&other, index));
        if let Some(at) = left.iter().zip(&right).position(|(left, right)| left != right) {
            return Some(index * crate::tile::WIDTH + at as u64);
        }
        if left.len().min(right.len()) < 256 {
            return None;
        }
    }
    None
}

/// The name of a claim's source.
fn source(source: &Source) -> String {
    match source {
        Source::Checkpoint => "the log's own checkpoint".to_owned(),
        Source::Saved => "the checkpoint that was kept".to_owned(),
        Source::Witness => "the checkpoint that another host keeps".to_owned(),
        Source::Digest(day) => format!("the digest of {day}"),
    }
}
