//! From files to an open vault, or to one that waits for its passphrase. What does not open is left as it is.

use super::fault::VaultFault;
use super::index::Index;
use super::keys::{self, KEY_FILE, NEXT_KEY_FILE, Sources};
use super::{BODY, HOST_FILE, VAULT_FILE, Vault, body, wrapping, write};
use crate::envelope::Key;
use crate::format::{self, Head, HostId, KeyId, Opener, Stretch, VAULT_BOUND, Whole};
use crate::master_key::{KeyStore, Slot};
use crate::store::{PRIVATE, Store};
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::config::KeySource;
use std::sync::Arc;

/// A vault, open or not.
pub(crate) enum Held {
    /// It is open.
    Open(Box<Vault>),
    /// It waits for its passphrase.
    Locked(Locked),
}

/// A vault that waits for its passphrase, or for a first one.
pub(crate) struct Locked {
    store: Arc<Store>,
    sources: Arc<Sources>,
    key_store: KeyStore,
    /// True if there is no vault yet.
    pub(crate) empty: bool,
}

/// A vault that a passphrase opened, or a new one that it will be the first of.
pub(crate) struct Unlocked {
    head: Head,
    key: Key,
    index: Index,
    fresh: bool,
}

/// Opens the vault of this folder. In an empty folder it makes one, key first, unless that needs a passphrase.
pub(crate) fn open(store: Arc<Store>, sources: Sources, key_store: KeyStore) -> Result<Held, VaultFault> {
    let sources = Arc::new(sources);
    let Some(file) = read(&store)? else { return first(store, sources, key_store) };
    let whole = format::decode(&file)?;
    host_of(&store, Some(whole.head.host))?;
    let key = match whole.head.opener {
        Opener::File => Some(of_file(&store, &whole.head.key)?),
        Opener::Systemd => Some(of_credential(&sources, &whole.head.key)?),
        Opener::Passphrase(_) => earlier(&key_store, &whole.head.key)?,
    };
    let Some(key) = key else { return Ok(Held::Locked(Locked { store, sources, key_store, empty: false })) };
    let index = read_index(&whole, &key)?;
    settle(&store, &whole.head);
    Ok(Held::Open(Box::new(Vault::with(store, sources, key_store, whole.head, &key, index))))
}

/// The first vault of this host.
fn first(store: Arc<Store>, sources: Arc<Sources>, key_store: KeyStore) -> Result<Held, VaultFault> {
    let (opener, key) = match sources.want {
        KeySource::Passphrase => return Ok(Held::Locked(Locked { store, sources, key_store, empty: true })),
        KeySource::Systemd => {
            let key = sources.credential.as_ref().ok_or(VaultFault::NoCredential)?;
            (Opener::Systemd, key.copy())
        }
        // A key without a vault is of a first start that was cut off.
        KeySource::File => match keys::read(&store, KEY_FILE)? {
            Some(key) => (Opener::File, key),
            None => {
                let key = Key::random().map_err(VaultFault::Envelope)?;
                keys::write(&store, KEY_FILE, &key)?;
                (Opener::File, key)
            }
        },
    };
    let head = Head { key: keys::id(&key)?, host: host_of(&store, None)?, opener };
    let index = Index::default();
    write(&store, &head, &key, &index)?;
    Ok(Held::Open(Box::new(Vault::with(store, sources, key_store, head, &key, index))))
}

impl Vault {
    fn with(
        store: Arc<Store>,
        sources: Arc<Sources>,
        mut key_store: KeyStore,
        head: Head,
        key: &Key,
        index: Index,
    ) -> Self {
        key_store.put(Slot::Current, key);
        key_store.clear(Slot::Next);
        Self { store, sources, key_store, head, index }
    }
}

impl Locked {
    /// The source of the key that opens this vault, or would open a new one: a passphrase.
    pub(crate) const SOURCE: KeySource = KeySource::Passphrase;

    /// Looks whether this passphrase opens the vault; where there is none, it is to be the first one's. Nothing is
    /// changed.
    pub(crate) fn unlock(&self, passphrase: &[u8]) -> Result<Unlocked, VaultFault> {
        let Some(file) = read(&self.store)? else {
            let stretch = Stretch::fresh()?;
            let key = stretch.key(passphrase)?;
            let host = host_of(&self.store, None)?;
            let head = Head { key: keys::id(&key)?, host, opener: Opener::Passphrase(stretch) };
            return Ok(Unlocked { head, key, index: Index::default(), fresh: true });
        };
        let whole = format::decode(&file)?;
        host_of(&self.store, Some(whole.head.host))?;
        let Opener::Passphrase(stretch) = whole.head.opener else { return Err(VaultFault::NotByPassphrase) };
        let key = stretch.key(passphrase)?;
        if keys::id(&key)? != whole.head.key {
            return Err(VaultFault::WrongPassphrase);
        }
        let index = read_index(&whole, &key)?;
        Ok(Unlocked { head: whole.head, key, index, fresh: false })
    }

    /// The open vault, written if it is the first.
    pub(crate) fn enter(&mut self, unlocked: Unlocked) -> Result<Vault, VaultFault> {
        let Unlocked { head, key, index, fresh } = unlocked;
        if fresh {
            write(&self.store, &head, &key, &index)?;
        }
        settle(&self.store, &head);
        let (store, sources) = (Arc::clone(&self.store), Arc::clone(&self.sources));
        Ok(Vault::with(store, sources, std::mem::take(&mut self.key_store), head, &key, index))
    }
}

fn read(store: &Store) -> Result<Option<Vec<u8>>, VaultFault> {
    let file = store.read(VAULT_FILE, VAULT_BOUND).map_err(|cause| VaultFault::File(VAULT_FILE, cause))?;
    Ok(file.map(|file| file.bytes))
}

/// The contents of the body; every value must open.
fn read_index(whole: &Whole<'_>, key: &Key) -> Result<Index, VaultFault> {
    let (body, wrapping) = (body(key)?, wrapping(key)?);
    let list = body.open(&[BODY, whole.written].concat(), whole.body).map_err(VaultFault::Sealed)?;
    let index: Index = serde_json::from_slice(&list).map_err(|_| VaultFault::List)?;
    for (name, entry) in &index.secrets {
        entry.open(name, &wrapping)?;
    }
    Ok(index)
}

/// This host's id: that of its file, which a vault of another host has not. Without a file it is the vault's, or a new
/// one.
fn host_of(store: &Store, vault: Option<HostId>) -> Result<HostId, VaultFault> {
    let failed = |cause| VaultFault::File(HOST_FILE, cause);
    let file = store.read(HOST_FILE, 128).map_err(failed)?;
    let named = |bytes: &[u8]| HostId::try_from(HEX.decode(bytes.trim_ascii_end()).ok()?).ok();
    // Taken for one that is not there, it would let the vault of any host pass for this one's.
    let own = file.map(|file| named(&file.bytes).ok_or(VaultFault::BadHost)).transpose()?;
    match (own, vault) {
        (Some(own), Some(vault)) if own != vault => Err(VaultFault::OtherHost),
        (Some(own), _) => Ok(own),
        (None, vault) => {
            let id = match vault {
                Some(id) => id,
                None => random()?,
            };
            store.replace(HOST_FILE, PRIVATE, format!("{}\n", HEX.encode(&id)).as_bytes()).map_err(failed)?;
            Ok(id)
        }
    }
}

fn random() -> Result<HostId, VaultFault> {
    let mut id = HostId::default();
    getrandom::fill(&mut id).map_err(VaultFault::Random)?;
    Ok(id)
}

/// The key of the key file, or of the one that was about to take its place when a rotation was cut off.
fn of_file(store: &Store, id: &KeyId) -> Result<Key, VaultFault> {
    let key = keys::read(store, KEY_FILE)?;
    if let Some(key) = &key
        && keys::id(key)? == *id
    {
        return Ok(key.copy());
    }
    match keys::read(store, NEXT_KEY_FILE)? {
        Some(next) if keys::id(&next)? == *id => Ok(next),
        _ if key.is_none() => Err(VaultFault::NoKey),
        _ => Err(VaultFault::OtherKey),
    }
}

fn of_credential(sources: &Sources, id: &KeyId) -> Result<Key, VaultFault> {
    let key = sources.credential.as_ref().ok_or(VaultFault::NoCredential)?;
    if keys::id(key)? == *id { Ok(key.copy()) } else { Err(VaultFault::OtherCredential) }
}

/// The key that an earlier life left, if it is this vault's.
fn earlier(key_store: &KeyStore, id: &KeyId) -> Result<Option<Key>, VaultFault> {
    for key in Slot::ALL.into_iter().filter_map(|slot| key_store.get(slot)) {
        if keys::id(&key)? == *id {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Has the key files be what an open vault says: the end of a rotation, also of one that was cut off. What cannot be
/// done now is done at the next start.
pub(super) fn settle(store: &Store, head: &Head) {
    let done = match head.opener {
        Opener::File => settle_files(store, &head.key),
        Opener::Passphrase(_) | Opener::Systemd => {
            let removed = store.remove(KEY_FILE).and_then(|()| store.remove(NEXT_KEY_FILE));
            removed.map_err(|cause| VaultFault::File(KEY_FILE, cause))
        }
    };
    if let Err(fault) = done {
        tracing::warn!(%fault, "the key files of the vault could not be put in order");
    }
}

fn settle_files(store: &Store, id: &KeyId) -> Result<(), VaultFault> {
    let current = keys::read(store, KEY_FILE)?;
    let is_current = current.map(|key| keys::id(&key)).transpose()?.as_ref() == Some(id);
    let moved = if is_current { store.remove(NEXT_KEY_FILE) } else { store.rename(NEXT_KEY_FILE, KEY_FILE) };
    moved.map_err(|cause| VaultFault::File(KEY_FILE, cause))
}
