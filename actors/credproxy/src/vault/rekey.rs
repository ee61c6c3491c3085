//! Another key for the vault, and new data keys. Each change puts one vault in the place of another: a process that ends in
//! between leaves the old one or the new one, and a key that opens it.

use super::fault::VaultFault;
use super::keys::{self, NEXT_KEY_FILE};
use super::opening::settle;
use super::{Vault, wrapping, write};
use crate::envelope::{Envelope, Key};
use crate::format::{Head, Opener, Stretch};
use crate::master_key::Slot;
use ipc_proto::config::KeySource;

/// The change of the data keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// They are wrapped anew; values stay as they are sealed.
    Rewrap,
    /// They are new; values are sealed anew.
    Reseal,
}

/// A key that the vault is to be put under. Nothing is changed yet.
pub(crate) struct Rekeying {
    opener: Opener,
    key: Key,
    step: Step,
}

impl Rekeying {
    /// The change of the data keys.
    pub(crate) const fn step(&self) -> Step {
        self.step
    }
}

impl Vault {
    /// New data keys; and a new key, if it is in a file or is to be. The key of a passphrase changes with that alone.
    pub(crate) fn rotation(&self) -> Result<Rekeying, VaultFault> {
        let (opener, key) = match self.sources.want {
            KeySource::File => (Opener::File, Key::random().map_err(VaultFault::Envelope)?),
            KeySource::Systemd => {
                let key = self.sources.credential.as_ref().ok_or(VaultFault::NoCredential)?;
                (Opener::Systemd, key.copy())
            }
            KeySource::Passphrase => (self.head.opener, self.key()?),
        };
        Ok(Rekeying { opener, key, step: Step::Reseal })
    }

    /// The key of a new passphrase, if the request proves the present passphrase or key. `None` if the new one opens the vault
    /// already: then an earlier request had set it, and its answer was lost.
    pub(crate) fn passphrase(&self, proof: &[u8], new: &[u8]) -> Result<Option<Rekeying>, VaultFault> {
        if self.sources.want != KeySource::Passphrase {
            return Err(VaultFault::NotByPassphrase);
        }
        if let Err(fault) = self.prove(proof) {
            return self.check(new).map(|()| None).map_err(|_| fault);
        }
        let stretch = Stretch::fresh()?;
        let key = stretch.key(new)?;
        Ok(Some(Rekeying { opener: Opener::Passphrase(stretch), key, step: Step::Rewrap }))
    }

    /// Returns whether this is the passphrase of the vault, which is open already.
    pub(crate) fn check(&self, passphrase: &[u8]) -> Result<(), VaultFault> {
        match self.head.opener {
            Opener::Passphrase(_) => self.prove(passphrase),
            Opener::File | Opener::Systemd => Err(VaultFault::NotByPassphrase),
        }
    }

    /// Returns whether this opens the vault: its passphrase, or what its key file or credential holds.
    pub(super) fn prove(&self, proof: &[u8]) -> Result<(), VaultFault> {
        let key = match self.head.opener {
            Opener::File => keys::of_digits(proof).ok_or(VaultFault::WrongPassphrase)?,
            Opener::Passphrase(stretch) => stretch.key(proof)?,
            Opener::Systemd => keys::of_credential(proof).map_err(|_| VaultFault::WrongPassphrase)?,
        };
        if keys::id(&key)? == self.head.key { Ok(()) } else { Err(VaultFault::WrongPassphrase) }
    }

    /// Puts the vault under another key. Where this fails nothing is taken back: a vault that was written after all is
    /// opened by what was kept for it.
    pub(crate) fn rekey(&mut self, to: Rekeying) -> Result<(), VaultFault> {
        let Rekeying { opener, key, step } = to;
        let head = Head { key: keys::id(&key)?, opener, ..self.head };
        let (old, new) = (self.wrapping()?, wrapping(&key)?);
        let mut index = self.index.clone();
        index.revision += 1;
        for (name, entry) in &mut index.secrets {
            let associated = entry.associated(name);
            let sealed = match step {
                Step::Rewrap => entry.value.rewrap(&old, &new, &associated),
                Step::Reseal => Envelope::seal(&new, &associated, entry.open(name, &old)?.reveal()),
            };
            entry.value = sealed.map_err(VaultFault::Envelope)?;
        }
        kit::fault_point!("credproxy.rekey.sealed");
        if opener == Opener::File {
            keys::write(&self.store, NEXT_KEY_FILE, &key)?;
        }
        kit::fault_point!("credproxy.rekey.key.written");
        self.key_store.put(Slot::Next, &key);
        kit::fault_point!("credproxy.rekey.key.kept");
        write(&self.store, &head, &key, &index)?;
        kit::fault_point!("credproxy.rekey.vault.written");
        self.key_store.put(Slot::Current, &key);
        kit::fault_point!("credproxy.rekey.key.current");
        self.key_store.clear(Slot::Next);
        (self.head, self.index) = (head, index);
        settle(&self.store, &self.head);
        kit::fault_point!("credproxy.rekey.settled");
        Ok(())
    }
}
