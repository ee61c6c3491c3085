//! Signed notes and checkpoints as C2SP signed-note and tlog-checkpoint have them: text, a blank line, Ed25519
//! signatures. It opens nothing; the one secret, the signing key, is wiped when it is dropped.

use crate::hash::{self, Hash};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ipc_proto::audit::NOTE;
use zeroize::Zeroizing;

/// The signature type of Ed25519.
const ED25519: u8 = 1;
/// How a signature line begins.
const DASH: &str = "\u{2014} ";
/// Signatures looked at in one note.
const SIGNATURES: usize = 16;
/// How the text of a private key begins.
const PRIVATE: &str = "PRIVATE+KEY+";

/// Why a note is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoteFault {
    #[error("not a signed note")]
    Form,
    #[error("signed by none of the keys that are trusted here, but by {0}")]
    UnknownKey(String),
    #[error("the signature does not fit the text")]
    Signature,
    #[error("not a checkpoint")]
    NoCheckpoint,
}

/// A public key with the log's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    pub(crate) name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl PublicKey {
    fn new(name: &str, key: VerifyingKey) -> Self {
        let signed = [name.as_bytes(), &[b'\n', ED25519], key.as_bytes()].concat();
        let [a, b, c, d, ..] = hash::of(&signed);
        Self { name: name.to_owned(), id: [a, b, c, d], key }
    }

    /// Reads `name+id+base64(type, key)`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim_end_matches('\n').splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes = STANDARD.decode(key).ok()?;
        let (kind, key) = bytes.split_first()?;
        let key = VerifyingKey::from_bytes(key.try_into().ok()?).ok().filter(|_| *kind == ED25519)?;
        let key = Self::new(name, key);
        (is_name(name) && id == hash::hex(&key.id)).then_some(key)
    }

    /// The text that [`PublicKey::read`] reads.
    pub(crate) fn text(&self) -> String {
        let typed = [&[ED25519], self.key.as_bytes().as_slice()].concat();
        format!("{}+{}+{}", self.name, hash::hex(&self.id), STANDARD.encode(typed))
    }

    /// The id, as hex.
    pub(crate) fn id(&self) -> String {
        hash::hex(&self.id)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

/// The signing key.
pub(crate) struct SecretKey {
    key: SigningKey,
    pub(crate) public: PublicKey,
}

impl SecretKey {
    /// The key of this seed.
    pub(crate) fn new(name: &str, seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(seed);
        let public = PublicKey::new(name, key.verifying_key());
        Self { key, public }
    }

    /// Reads the output of [`SecretKey::text`].
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim_end_matches('\n').strip_prefix(PRIVATE)?.splitn(3, '+');
        let (name, id, seed) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes = Zeroizing::new(STANDARD.decode(seed).ok()?);
        let (kind, seed) = bytes.split_first()?;
        let key = Self::new(name, seed.try_into().ok().filter(|_| *kind == ED25519)?);
        (is_name(name) && id == key.public.id()).then_some(key)
    }

    /// The text of the key's file.
    pub(crate) fn text(&self) -> Zeroizing<String> {
        let typed = Zeroizing::new([&[ED25519], self.key.as_bytes().as_slice()].concat());
        let seed = Zeroizing::new(STANDARD.encode(&*typed));
        Zeroizing::new(format!("{PRIVATE}{}+{}+{}\n", self.public.name, self.public.id(), &*seed))
    }

    /// A signature line over a note's text, which ends in a line break.
    fn line(&self, text: &str) -> String {
        let signature = self.key.sign(text.as_bytes()).to_bytes();
        let signed = [self.public.id.as_slice(), &signature].concat();
        format!("{DASH}{} {}\n", self.public.name, STANDARD.encode(signed))
    }
}

/// A note of this text, signed by every one of these keys.
pub(crate) fn sign(text: &str, keys: &[&SecretKey]) -> String {
    let lines: String = keys.iter().map(|key| key.line(text)).collect();
    format!("{text}\n{lines}")
}

/// The text of a note that one of `keys` signed; a signature of a known key that does not fit spoils the note.
pub(crate) fn open<'a>(note: &'a str, keys: &[PublicKey]) -> Result<&'a str, NoteFault> {
    if note.len() > NOTE || note.chars().any(|c| c < ' ' && c != '\n') {
        return Err(NoteFault::Form);
    }
    let split = note.rfind("\n\n").ok_or(NoteFault::Form)?;
    let (text, signatures) = note.split_at_checked(split + 1).ok_or(NoteFault::Form)?;
    let signatures =
        signatures.strip_prefix('\n').filter(|lines| lines.ends_with('\n')).ok_or(NoteFault::Form)?;
    let (mut known, mut others) = (false, Vec::new());
    for line in signatures.lines().take(SIGNATURES) {
        let (name, id, signature) = signature(line).ok_or(NoteFault::Form)?;
        match keys.iter().find(|key| key.name == name && key.id == id) {
            Some(key) if key.key.verify_strict(text.as_bytes(), &signature).is_ok() => known = true,
            Some(_) => return Err(NoteFault::Signature),
            None => others.push(format!("{name}+{}", hash::hex(&id))),
        }
    }
    if known { Ok(text) } else { Err(NoteFault::UnknownKey(others.join(", "))) }
}

fn signature(line: &str) -> Option<(&str, [u8; 4], Signature)> {
    let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = STANDARD.decode(signature).ok()?;
    let (id, signature) = bytes.split_first_chunk::<4>()?;
    Some((name, *id, Signature::from_slice(signature).ok()?))
}

/// The content of a checkpoint: the log, its size, and the root of its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) origin: String,
    pub(crate) size: u64,
    pub(crate) root: Hash,
}

impl Checkpoint {
    /// The note's text.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root))
    }

    /// Reads a note's text; lines after the third are allowed, and not looked at.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let value: u64 = size.parse().ok().filter(|value: &u64| value.to_string() == size)?;
        let root = STANDARD.decode(root).ok()?.try_into().ok()?;
        (!origin.is_empty()).then(|| Self { origin: origin.to_owned(), size: value, root })
    }

    /// Reads a checkpoint without looking at who signed it: to say which log it is of.
    pub(crate) fn unchecked(note: &str) -> Option<Self> {
        Self::read(note.split("\n\n").next()?)
    }

    /// Reads a checkpoint that one of `keys` signed.
    pub(crate) fn open(note: &str, keys: &[PublicKey]) -> Result<Self, NoteFault> {
        Self::read(open(note, keys)?).ok_or(NoteFault::NoCheckpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the signed-note specification's reference implementation (golang.org/x/mod/sumdb/note).
    const SKEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n";
    const LINE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_another_implementation_is_read_and_written_byte_for_byte() {
        let key = SecretKey::read(SKEY).unwrap();
        assert_eq!(key.public.text(), VKEY);
        assert_eq!(key.text().trim_end(), SKEY);
        let note = sign(TEXT, &[&key]);
        assert_eq!(note, format!("{TEXT}\n{LINE}"));
        assert_eq!(open(&note, &[PublicKey::read(VKEY).unwrap()]), Ok(TEXT));
    }

    fn key(seed: u8) -> SecretKey {
        SecretKey::new("cordon/test", &[seed; 32])
    }

    #[test]
    fn a_note_needs_one_known_key_old_or_new() {
        let (old, new, other) = (key(1), key(2), key(3));
        let note = sign("text\n", &[&old, &new]);
        for trusted in [&old, &new] {
            assert_eq!(open(&note, std::slice::from_ref(&trusted.public)), Ok("text\n"));
        }
        assert!(matches!(open(&note, std::slice::from_ref(&other.public)), Err(NoteFault::UnknownKey(_))));
    }

    #[test]
    fn an_edited_byte_anywhere_in_a_checkpoint_is_found() {
        let key = key(1);
        let checkpoint = Checkpoint { origin: "cordon/test".to_owned(), size: 300, root: [7; 32] };
        let note = sign(&checkpoint.text(), &[&key]);
        let keys = [key.public.clone()];
        assert_eq!(Checkpoint::open(&note, &keys), Ok(checkpoint));
        for at in 0..note.len() {
            for flip in [1, 2, 0x20] {
                let mut bytes = note.clone().into_bytes();
                bytes[at] ^= flip;
                let edited = String::from_utf8_lossy(&bytes).into_owned();
                assert!(Checkpoint::open(&edited, &keys).is_err(), "byte {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_at_all_is_a_note_a_key_or_refused(text in ".{0,300}") {
            let _ = (PublicKey::read(&text), SecretKey::read(&text), Checkpoint::unchecked(&text));
            prop_assert!(open(&text, &[key(1).public]).is_err());
        }

        #[test]
        fn a_checkpoint_reads_back(size: u64, root: [u8; 32]) {
            let checkpoint = Checkpoint { origin: "o".to_owned(), size, root };
            prop_assert_eq!(Checkpoint::read(&checkpoint.text()), Some(checkpoint));
        }
    }
}
