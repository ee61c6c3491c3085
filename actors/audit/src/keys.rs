//! The log's keys: the signing key, made at the first start and readable by audit alone, and its predecessors, each
//! bound to the next by a note that both signed.

use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::note::{self, PublicKey, SecretKey};
use ipc_proto::audit::NOTE;
use std::io;
use zeroize::Zeroizing;

/// The signing key.
pub(crate) const KEY: &str = "key";
/// The signing key to come, while a rotation is under way.
const NEXT: &str = "key.next";
/// The public key.
pub(crate) const PUBLIC: &str = "key.pub";
/// The folder of the notes that bind a key to the next.
const ROTATIONS: &str = "rotations";
/// A rotation note's first line.
const TITLE: &str = "cordon.audit rotation";
/// Bytes of a key's text.
const TEXT: usize = 1024;

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("{file}: {cause}")]
    File { file: &'static str, cause: io::Error },
    #[error("{0} is not a key of this program's")]
    NotAKey(&'static str),
    #[error("the signing key is gone but the log is there: put {KEY} back, or move the folder away")]
    Gone,
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    #[error("rotations/{0} does not bind a key of this log to the next")]
    Unbound(String),
}

/// The keys of a log.
pub(crate) struct Keys {
    pub(crate) secret: SecretKey,
    /// The signing key and those before it.
    pub(crate) trusted: Vec<PublicKey>,
    /// The note of a rotation that had begun when the process ended.
    pub(crate) unfinished: Option<String>,
}

impl Keys {
    /// Reads the keys of the log that is there, if there is one, and changes nothing: whose log it is is not known yet.
    pub(crate) fn read(folder: &Folder) -> Result<Option<Self>, KeyFault> {
        match read_secret(folder, KEY)? {
            Some(secret) => Self::of(folder, secret).map(Some),
            None if folder.has("checkpoint") || folder.has("tile") => Err(KeyFault::Gone),
            None => Ok(None),
        }
    }

    /// Makes the first key and the log's name.
    pub(crate) fn first(folder: &Folder) -> Result<Self, KeyFault> {
        Self::of(folder, first(folder)?)
    }

    fn of(folder: &Folder, secret: SecretKey) -> Result<Self, KeyFault> {
        let trusted = chain(folder, &secret.public)?;
        Ok(Self { secret, trusted, unfinished: None })
    }

    /// Completes a rotation that an earlier process left half done.
    pub(crate) fn take_up(&mut self, folder: &Folder) -> Result<(), KeyFault> {
        write_public(folder, &self.secret)?;
        self.unfinished = unfinished(folder, &self.secret)?;
        Ok(())
    }

    /// The log's identity: a SHA-256 of its first key with its name. A rotation does not change it, and nobody without
    /// a key of the log can make a log of the same identity.
    pub(crate) fn log(&self) -> Hash {
        let first = self.trusted.first().unwrap_or(&self.secret.public);
        hash::of(first.text().as_bytes())
    }

    /// Makes the next key and the note that binds it, both durable; it does not sign yet. One that was prepared and
    /// could not be put on the record is taken up again: there is one chain of keys.
    pub(crate) fn prepare(&self, folder: &Folder) -> Result<String, KeyFault> {
        if let Some(note) = unfinished(folder, &self.secret)? {
            return Ok(note);
        }
        let next = SecretKey::new(&self.secret.public.name, &*seed()?);
        let number = names(folder)?.len() + 1;
        write(folder, NEXT, next.text().as_bytes())?;
        let text = format!(
            "{TITLE}\n{}\n{number}\n{}\n{}\n",
            self.secret.public.name,
            self.secret.public.text(),
            next.public.text()
        );
        let note = note::sign(&text, &[&self.secret, &next]);
        let file = format!("{ROTATIONS}/{number:04}");
        folder.write(&file, note.as_bytes(), true).map_err(|cause| file_fault(ROTATIONS, cause))?;
        Ok(note)
    }

    /// Signs with the prepared key from here on; its rotation is on the record.
    pub(crate) fn install(&mut self, folder: &Folder) -> Result<(), KeyFault> {
        let next = read_secret(folder, NEXT)?.ok_or(KeyFault::NotAKey(NEXT))?;
        std::fs::rename(folder.at(NEXT), folder.at(KEY)).map_err(|cause| file_fault(KEY, cause))?;
        write_public(folder, &next)?;
        self.trusted = chain(folder, &next.public)?;
        self.secret = next;
        self.unfinished = None;
        Ok(())
    }
}

fn first(folder: &Folder) -> Result<SecretKey, KeyFault> {
    let mut name = [0; 12];
    getrandom::fill(&mut name).map_err(KeyFault::Random)?;
    let secret = SecretKey::new(&format!("cordon/{}", hash::hex(&name)), &*seed()?);
    write(folder, KEY, secret.text().as_bytes())?;
    Ok(secret)
}

fn seed() -> Result<Zeroizing<[u8; 32]>, KeyFault> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut()).map_err(KeyFault::Random)?;
    Ok(seed)
}

fn read_secret(folder: &Folder, file: &'static str) -> Result<Option<SecretKey>, KeyFault> {
    let text = folder.read_text(file, TEXT).map_err(|cause| file_fault(file, cause))?;
    let text = text.map(Zeroizing::new);
    text.map(|text| SecretKey::read(&text).ok_or(KeyFault::NotAKey(file))).transpose()
}

fn write(folder: &Folder, file: &'static str, bytes: &[u8]) -> Result<(), KeyFault> {
    folder.write(file, bytes, true).map_err(|cause| file_fault(file, cause))
}

/// A start that ended between the key and its public half is mended here.
fn write_public(folder: &Folder, secret: &SecretKey) -> Result<(), KeyFault> {
    let text = format!("{}\n", secret.public.text());
    match folder.read_text(PUBLIC, TEXT) {
        Ok(Some(there)) if there == text => Ok(()),
        _ => write(folder, PUBLIC, text.as_bytes()),
    }
}

const fn file_fault(file: &'static str, cause: io::Error) -> KeyFault {
    KeyFault::File { file, cause }
}

fn names(folder: &Folder) -> Result<Vec<String>, KeyFault> {
    let names = folder.names(ROTATIONS).map_err(|cause| file_fault(ROTATIONS, cause))?;
    Ok(names.into_iter().filter(|name| !name.ends_with(".new")).collect())
}

/// One rotation.
struct Bound {
    old: PublicKey,
    new: PublicKey,
}

fn bound(note: &str, origin: &str) -> Option<Bound> {
    let mut lines = note.lines();
    ((lines.next()?, lines.next()?) == (TITLE, origin)).then_some(())?;
    lines.next()?;
    let (old, new) = (PublicKey::read(lines.next()?)?, PublicKey::read(lines.next()?)?);
    let both = [&old, &new].iter().all(|key| note::open(note, &[(*key).clone()]).is_ok());
    (both && old.name == origin && new.name == origin).then_some(Bound { old, new })
}

/// The notes of every rotation, with their names.
pub(crate) fn rotations(folder: &Folder) -> Result<Vec<(String, String)>, KeyFault> {
    let read = |name: String| {
        let text = folder.read_text(&format!("{ROTATIONS}/{name}"), NOTE);
        let text = text.map_err(|_| KeyFault::Unbound(name.clone()))?;
        Ok((name, text.unwrap_or_default()))
    };
    names(folder)?.into_iter().map(read).collect()
}

/// `key` and every key of the log that rotations bind to it, in both directions, the oldest first. A rotation under
/// way whose next key does not sign yet is among them. A key that no rotation names stands alone.
pub(crate) fn chain(folder: &Folder, key: &PublicKey) -> Result<Vec<PublicKey>, KeyFault> {
    let mut keys: Vec<PublicKey> = Vec::new();
    for (name, note) in rotations(folder)? {
        let Some(Bound { old, new }) = bound(&note, &key.name) else { return Err(KeyFault::Unbound(name)) };
        if keys.last().is_some_and(|last| *last != old) {
            return Err(KeyFault::Unbound(name));
        }
        keys.pop();
        keys.extend([old, new]);
    }
    Ok(if keys.contains(key) { keys } else { vec![key.clone()] })
}

/// Returns true if the public key in the folder is one of these; a missing key is nobody's.
pub(crate) fn is_own(folder: &Folder, keys: &[PublicKey]) -> bool {
    match folder.read_text(PUBLIC, TEXT) {
        Ok(None) => true,
        Ok(Some(text)) => PublicKey::read(&text).is_some_and(|key| keys.contains(&key)),
        Err(_) => false,
    }
}

/// The note of a rotation under way. A prepared key whose note is there goes on; one without is forgotten: nothing
/// rests on it.
fn unfinished(folder: &Folder, secret: &SecretKey) -> Result<Option<String>, KeyFault> {
    let Some(next) = read_secret(folder, NEXT)? else { return Ok(None) };
    for (_, note) in rotations(folder)? {
        let binds = bound(&note, &secret.public.name).is_some_and(|link| link.new == next.public);
        if binds {
            return Ok(Some(note));
        }
    }
    folder.remove(NEXT).map_err(|cause| file_fault(NEXT, cause))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Check;
    use crate::open::{self, Opened};
    use ipc_proto::audit::{Action, Event, Result3};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Every file at the top of the folder.
    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    // Holds P6-16.
    #[test]
    fn a_key_rotation_during_a_verification_is_no_fault() {
        // Before the first bundle, between two, and behind the last; the first time its note is there already.
        for (prepared, steps) in [(true, 0), (false, 0), (false, 1), (false, 9)] {
            let folder = tempfile::tempdir().unwrap();
            let mut log = open::open(folder.path()).unwrap().whole().unwrap();
            for _ in 0..600 {
                log.append_own(Event::new(Action::TurnStarted, Result3::Success)).unwrap();
            }
            log.sign().unwrap();
            if prepared {
                log.keys.prepare(&log.folder).unwrap();
            }
            let mut check = Check::begin(folder.path(), None, None).unwrap();
            let more = (0..steps).all(|_| check.step());
            log.rotate().unwrap();
            log.note_counts().unwrap();
            while more && check.step() {}
            assert_eq!(check.end().faults.listed, vec![], "{prepared} {steps}");
        }
    }

    // Holds P6-05.
    #[test]
    fn what_a_start_would_mend_stays_as_it_is_in_a_log_that_is_not_the_hosts() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = open::open(own.path()).unwrap().whole().unwrap().keys.log();
        let log = open::open(other.path()).unwrap().whole().unwrap();
        log.keys.prepare(&log.folder).unwrap();
        drop(log);
        // As a kill may leave it: the public key not yet there, and a next key that nothing binds.
        fs::remove_file(other.path().join(PUBLIC)).unwrap();
        fs::remove_dir_all(other.path().join(ROTATIONS)).unwrap();
        let before = files(other.path());
        assert!(before.contains_key(&other.path().join(NEXT)));
        assert!(matches!(open::open_known(other.path(), Some(known)), Ok(Opened::Foreign(_))));
        assert_eq!(files(other.path()), before);
        assert!(matches!(open::open(other.path()), Ok(Opened::Whole(_))));
        let mended = files(other.path());
        assert!(mended.contains_key(&other.path().join(PUBLIC)));
        assert!(!mended.contains_key(&other.path().join(NEXT)));
    }
}
