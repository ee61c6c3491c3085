//! Requests about the key of the vault: opening the vault, putting it under another key, and exporting it. Each needs the
//! passphrase or key as proof.

use super::{VaultState, reported};
use crate::vault::{Held, Locked, Rekeying, Unlocked};
use ipc_proto::Blob;
use ipc_proto::credproxy::{CredError, EXPORT_BOUND, PASSPHRASE, Purpose, VaultInfo};

impl VaultState {
    /// The vault as a whole.
    pub(super) fn info(&self) -> VaultInfo {
        match &self.held {
            Held::Open(vault) => VaultInfo { key: vault.head().opener.source(), locked: false, empty: false },
            Held::Locked(locked) => VaultInfo { key: Locked::SOURCE, locked: true, empty: locked.empty },
        }
    }

    /// Looks whether a passphrase opens the vault.
    pub(super) fn unlock(&mut self, sealed: &[u8]) -> Result<Option<Unlocked>, CredError> {
        let [passphrase] = self.sealing_key.parcel(Purpose::Unlock, sealed)?;
        match &self.held {
            Held::Open(vault) => vault.check(&passphrase).map(|()| None).map_err(reported),
            Held::Locked(locked) => {
                if locked.empty {
                    bounded(&passphrase)?;
                }
                locked.unlock(&passphrase).map(Some).map_err(reported)
            }
        }
    }

    /// Opens the vault with what was found to open it.
    pub(super) fn enter(&mut self, unlocked: Unlocked) -> Result<(), CredError> {
        if let Held::Locked(locked) = &mut self.held {
            let vault = locked.enter(unlocked).map_err(reported)?;
            self.held = Held::Open(Box::new(vault));
            self.show()?;
            self.live.locked.send_replace(false);
        }
        Ok(())
    }

    /// The key of another passphrase.
    pub(super) fn passphrase(&mut self, sealed: &[u8]) -> Result<Option<Rekeying>, CredError> {
        let [proof, new] = self.sealing_key.parcel(Purpose::Passphrase, sealed)?;
        bounded(&new)?;
        self.vault()?.passphrase(&proof, &new).map_err(reported)
    }

    /// New data keys.
    pub(super) fn rotation(&mut self) -> Result<Rekeying, CredError> {
        self.vault()?.rotation().map_err(reported)
    }

    /// Every secret with its value, sealed.
    pub(super) fn export(&mut self, sealed: &[u8]) -> Result<Blob<EXPORT_BOUND>, CredError> {
        let [proof, key] = self.sealing_key.parcel(Purpose::Export, sealed)?;
        self.vault()?.export(&proof, &key).map_err(reported)
    }
}

/// A passphrase that is too short is guessed, whatever it is stretched by.
fn bounded(passphrase: &[u8]) -> Result<(), CredError> {
    let (least, most) = PASSPHRASE;
    if (least..=most).contains(&passphrase.len()) { Ok(()) } else { Err(CredError::BadPassphrase) }
}
