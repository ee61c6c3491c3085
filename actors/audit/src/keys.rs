//! The log's keys: the one that signs, made at the first start and readable by audit alone, and those that signed
//! before it, each bound to the next by a note that both signed.

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

/// Whether a log was begun in this folder, whatever became of its key.
pub(crate) fn is_begun(folder: &Folder) -> bool {
    folder.has("checkpoint") || folder.has("tile")
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
    /// Reads the keys, or makes the first one and the log's name.
    pub(crate) fn open(folder: &Folder) -> Result<Self, KeyFault> {
        let secret = match read_secret(folder, KEY)? {
            Some(secret) => secret,
            None if is_begun(folder) => return Err(KeyFault::Gone),
            None => first(folder)?,
        };
        write_public(folder, &secret)?;
        let trusted = chain(folder, &secret.public)?;
        let unfinished = unfinished(folder, &secret)?;
        Ok(Self { secret, trusted, unfinished })
    }

    /// Which log this is: a SHA-256 of its first key with its name. A rotation leaves it as it is, and nobody without a key of
    /// the log can make a log that has the same.
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
