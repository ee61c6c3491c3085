//! The vault: every secret in one sealed file, under the key in `vault.key`. It may read and replace the files of
//! its own folder. It never overwrites a vault that it could not open, and never makes a key for one that is there.
//!
//! Each value is in an envelope of its own, bound to name, version and hosts; the list of them, with the key that
//! opens what agentctl seals, is sealed as one more body, so that no entry can be dropped or put back unseen.

use crate::envelope::{Envelope, EnvelopeFault, Key};
use crate::format::{self, FormatFault, KeyId, VAULT_BOUND};
use crate::secret::Secret;
use crate::store::{PRIVATE, PUBLIC, Store};
use ipc_proto::Text;
use ipc_proto::credproxy::{CredError, binding};
use ipc_proto::dialer::{Host, HostPort};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use zeroize::Zeroizing;

/// Secrets in one vault.
pub(crate) const SECRETS: usize = 256;
/// The vault.
pub(crate) const VAULT_FILE: &str = "vault";
/// Its key-encryption key: 64 hexadecimal digits and a line end, 0600.
pub(crate) const KEY_FILE: &str = "vault.key";
/// The key to seal to: 64 hexadecimal digits and a line end, 0644.
pub(crate) const PUBLIC_FILE: &str = "public.key";

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultFault {
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(&'static str, #[source] io::Error),
    /// There is a vault and no key.
    #[error("there is a vault and no vault.key: put the key back; a new one would lose every secret")]
    NoKey,
    /// The key file holds no key.
    #[error("vault.key is not 64 hexadecimal digits")]
    BadKey,
    /// Others can read the key file.
    #[error(
        "vault.key has mode {0:o}: others can read it; `chmod 600` it, and take its secrets as known to them"
    )]
    OpenKey(u32),
    /// The file is not a vault that this key opens.
    #[error("vault: {0}")]
    Format(#[from] FormatFault),
    /// The file is whole and of this key, but somebody who could make the checksum hold has changed it.
    #[error("vault: it was altered: {0}")]
    Sealed(EnvelopeFault),
    /// The list inside is not one.
    #[error("vault: the list inside is not one of this version")]
    List,
    /// Randomness or sealing failed.
    #[error("sealing: {0}")]
    Envelope(EnvelopeFault),
    /// There is no randomness for the key of the fingerprints.
    #[error("randomness: {0}")]
    Random(getrandom::Error),
}

/// What the vault holds, as it stands in the sealed body.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    /// Counts every change; a secret's version is the count at which it was set.
    revision: u64,
    /// The secret half of the key that agentctl seals to.
    unsealing: Envelope,
    secrets: BTreeMap<String, Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: u64,
    hosts: Vec<String>,
    set_ms: u64,
    value: Envelope,
}

/// A value that came in sealed and was found good, on its way into the vault.
pub(crate) struct Fresh {
    name: String,
    hosts: Vec<String>,
    value: Secret,
}

/// A secret without its value.
pub(crate) struct Listed<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// `host` or `host:port`.
    pub(crate) hosts: &'a [String],
    /// When it was set, unix ms.
    pub(crate) set_ms: u64,
}

/// The open vault.
pub(crate) struct Vault {
    store: Store,
    keys: Keys,
    unsealing: crypto_box::SecretKey,
    index: Index,
}

/// What is made of the key-encryption key.
struct Keys {
    id: KeyId,
    body: Key,
    wrapping: Key,
}

impl Keys {
    fn new(key: &Key) -> Result<Self, EnvelopeFault> {
        let mut id = KeyId::default();
        let named = key.derive("cordon vault: key id")?;
        id.iter_mut().zip(named.bytes()).for_each(|(to, from)| *to = *from);
        Ok(Self {
            id,
            body: key.derive("cordon vault: body")?,
            wrapping: key.derive("cordon vault: data keys")?,
        })
    }
}

impl Vault {
    /// Opens the vault of this folder. In an empty folder it makes one, key first.
    pub(crate) fn open(store: Store) -> Result<Self, VaultFault> {
        let file =
            store.read(VAULT_FILE, VAULT_BOUND).map_err(|error| VaultFault::File(VAULT_FILE, error))?;
        let keys = Keys::new(&key_of(&store, file.is_some())?).map_err(VaultFault::Envelope)?;
        let index = match &file {
            Some(file) => read_index(&keys, &file.bytes)?,
            None => Index::empty(&keys).map_err(VaultFault::Envelope)?,
        };
        let unsealing = index.unsealing.open(&keys.wrapping, UNSEALING).map_err(VaultFault::Sealed)?;
        let unsealing = crypto_box::SecretKey::from_slice(&unsealing).map_err(|_| VaultFault::List)?;
        let vault = Self { store, keys, unsealing, index };
        vault.values()?;
        if file.is_none() {
            vault.write(&vault.index)?;
        }
        vault.publish()?;
        Ok(vault)
    }

    /// Opens a value that was sealed for this name and these hosts.
    pub(crate) fn unseal(&self, name: &str, hosts: &[Text<253>], sealed: &[u8]) -> Result<Fresh, CredError> {
        check_name(name)?;
        let bound = hosts.iter().map(|host| one_host(host)).collect::<Result<Vec<_>, _>>()?;
        if bound.is_empty() {
            return Err(CredError::BadBinding);
        }
        let plain = self.unsealing.unseal(sealed).map(Zeroizing::new).map_err(|_| CredError::NotSealed)?;
        let value = plain.strip_prefix(binding(name, hosts).as_slice()).ok_or(CredError::NotSealed)?;
        let value = Secret::new(Zeroizing::new(value.to_vec())).ok_or(CredError::BadValue)?;
        if self.index.secrets.len() >= SECRETS && !self.has(name) {
            return Err(CredError::Full);
        }
        Ok(Fresh { name: name.to_owned(), hosts: bound, value })
    }

    /// Stores it in the place of one with its name.
    pub(crate) fn put(&mut self, fresh: &Fresh, now_ms: u64) -> Result<(), VaultFault> {
        let mut index = self.index.clone();
        index.revision += 1;
        let version = index.revision;
        let associated = associated(&fresh.name, version, &fresh.hosts);
        let value = Envelope::seal(&self.keys.wrapping, &associated, fresh.value.reveal());
        let value = value.map_err(VaultFault::Envelope)?;
        let entry = Entry { version, hosts: fresh.hosts.clone(), set_ms: now_ms, value };
        index.secrets.insert(fresh.name.clone(), entry);
        self.write(&index)?;
        self.index = index;
        Ok(())
    }

    /// Forgets a secret.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), VaultFault> {
        let mut index = self.index.clone();
        index.revision += 1;
        index.secrets.remove(name);
        self.write(&index)?;
        self.index = index;
        Ok(())
    }

    /// The folder it is in.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether there is a secret of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.index.secrets.contains_key(name)
    }

    /// Every secret without its value, by name.
    pub(crate) fn list(&self) -> impl Iterator<Item = Listed<'_>> {
        self.index.secrets.iter().map(|(name, entry)| Listed {
            name,
            hosts: &entry.hosts,
            set_ms: entry.set_ms,
        })
    }

    /// The value of a secret for a request to `target`, if it is bound to it.
    pub(crate) fn reveal(&self, name: &str, target: &HostPort) -> Result<Secret, CredError> {
        let entry = self.index.secrets.get(name).ok_or(CredError::NoSecret)?;
        if !entry.hosts.iter().any(|host| covers(host, target)) {
            return Err(CredError::NotBound);
        }
        self.value(name, entry).map_err(|_| CredError::Vault)
    }

    /// Every value, to be searched for in replies.
    pub(crate) fn values(&self) -> Result<Vec<Secret>, VaultFault> {
        self.index.secrets.iter().map(|(name, entry)| self.value(name, entry)).collect()
    }

    fn value(&self, name: &str, entry: &Entry) -> Result<Secret, VaultFault> {
        let associated = associated(name, entry.version, &entry.hosts);
        let value = entry.value.open(&self.keys.wrapping, &associated).map_err(VaultFault::Sealed)?;
        Secret::new(value).ok_or(VaultFault::List)
    }

    fn write(&self, index: &Index) -> Result<(), VaultFault> {
        let list = serde_json::to_vec(index).map_err(|_| VaultFault::List)?;
        let body = self.keys.body.seal(BODY, &list).map_err(VaultFault::Envelope)?;
        let file = format::encode(&self.keys.id, &body);
        self.store.replace(VAULT_FILE, PRIVATE, &file).map_err(|error| VaultFault::File(VAULT_FILE, error))
    }

    /// Writes the key to seal to where agentctl reads it, unless it stands there.
    fn publish(&self) -> Result<(), VaultFault> {
        let line = format!("{}\n", hex(self.unsealing.public_key().as_bytes()));
        let fault = |error| VaultFault::File(PUBLIC_FILE, error);
        let there = self.store.read(PUBLIC_FILE, 128).map_err(fault)?;
        if there.is_some_and(|there| there.bytes == line.as_bytes() && there.mode == PUBLIC) {
            return Ok(());
        }
        self.store.replace(PUBLIC_FILE, PUBLIC, line.as_bytes()).map_err(fault)
    }
}

/// What the body is bound to, and the unsealing key.
const BODY: &[u8] = b"cordon vault body 1";
const UNSEALING: &[u8] = b"cordon vault unsealing key 1";

impl Index {
    fn empty(keys: &Keys) -> Result<Self, EnvelopeFault> {
        let unsealing = Key::random()?;
        let unsealing = Envelope::seal(&keys.wrapping, UNSEALING, unsealing.bytes())?;
        Ok(Self { revision: 0, unsealing, secrets: BTreeMap::new() })
    }
}

fn read_index(keys: &Keys, file: &[u8]) -> Result<Index, VaultFault> {
    let body = format::decode(&keys.id, file)?;
    let list = keys.body.open(BODY, body).map_err(VaultFault::Sealed)?;
    serde_json::from_slice(&list).map_err(|_| VaultFault::List)
}

/// The key-encryption key; a new one where there is neither key nor vault.
fn key_of(store: &Store, vault_there: bool) -> Result<Key, VaultFault> {
    let fault = |error| VaultFault::File(KEY_FILE, error);
    let Some(file) = store.read(KEY_FILE, 128).map_err(fault)? else {
        if vault_there {
            return Err(VaultFault::NoKey);
        }
        let key = Key::random().map_err(VaultFault::Envelope)?;
        let line = Zeroizing::new(format!("{}\n", *Zeroizing::new(hex(key.bytes()))));
        store.replace(KEY_FILE, PRIVATE, line.as_bytes()).map_err(fault)?;
        return Ok(key);
    };
    if file.mode & 0o077 != 0 {
        return Err(VaultFault::OpenKey(file.mode));
    }
    let digits = Zeroizing::new(file.bytes);
    let bytes = Zeroizing::new(unhex(digits.trim_ascii_end()).ok_or(VaultFault::BadKey)?);
    Key::from_slice(&bytes).ok_or(VaultFault::BadKey)
}

/// A value opens only as what it was stored as: name, version, hosts.
fn associated(name: &str, version: u64, hosts: &[String]) -> Vec<u8> {
    let mut bytes = version.to_le_bytes().to_vec();
    for part in std::iter::once(name).chain(hosts.iter().map(String::as_str)) {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes
}

fn check_name(name: &str) -> Result<(), CredError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !name.is_empty() && name.bytes().all(fits) { Ok(()) } else { Err(CredError::BadBinding) }
}

/// One host of a binding in its normal form: `host`, at any port, or `host:port`.
fn one_host(text: &str) -> Result<String, CredError> {
    if let Ok(target) = text.parse::<HostPort>() {
        return Ok(target.to_string());
    }
    text.parse::<Host>().map(|host| host.to_string()).map_err(|_| CredError::BadBinding)
}

fn covers(bound: &str, target: &HostPort) -> bool {
    bound == target.host.to_string() || bound == target.to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests;
