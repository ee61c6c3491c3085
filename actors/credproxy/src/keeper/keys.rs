//! What the actor does with the key of the vault: it opens the vault, puts it under another key, and gives everything
//! out, each time for who shows the key.

use super::{Kept, told};
use crate::vault::{Held, Locked, Rekeying, Unlocked};
use ipc_proto::Blob;
use ipc_proto::credproxy::{CredError, EXPORT_BOUND, PASSPHRASE, Purpose, VaultInfo};

impl Kept {
    /// The vault as a whole.
    pub(super) fn info(&self) -> VaultInfo {
        match &self.held {
            Held::Open(vault) => VaultInfo { key: vault.head().opener.source(), locked: false, empty: false },
            Held::Locked(locked) => VaultInfo { key: Locked::SOURCE, locked: true, empty: locked.empty },
        }
    }

    /// Looks whether a passphrase opens the vault.
    pub(super) fn unlock(&mut self, sealed: &[u8]) -> Result<Option<Unlocked>, CredError> {
        let [passphrase] = self.door.parcel(Purpose::Unlock, sealed)?;
        match &self.held {
            Held::Open(vault) => vault.check(&passphrase).map(|()| None).map_err(told),
            Held::Locked(locked) => {
                if locked.empty {
                    bounded(&passphrase)?;
                }
                locked.unlock(&passphrase).map(Some).map_err(told)
            }
        }
    }

    /// Opens the vault with what was found to open it.
    pub(super) fn enter(&mut self, unlocked: Unlocked) -> Result<(), CredError> {
        if let Held::Locked(locked) = &mut self.held {
            let vault = locked.enter(unlocked).map_err(told)?;
            self.held = Held::Open(Box::new(vault));
            self.show()?;
            self.live.locked.send_replace(false);
        }
        Ok(())
    }

    /// The key of another passphrase.
    pub(super) fn passphrase(&mut self, sealed: &[u8]) -> Result<Option<Rekeying>, CredError> {
        let [proof, new] = self.door.parcel(Purpose::Passphrase, sealed)?;
        bounded(&new)?;
        self.vault()?.passphrase(&proof, &new).map_err(told)
    }

    /// New data keys.
    pub(super) fn rotation(&mut self) -> Result<Rekeying, CredError> {
        self.vault()?.rotation().map_err(told)
    }

    /// Every secret with its value, sealed.
    pub(super) fn export(&mut self, sealed: &[u8]) -> Result<Blob<EXPORT_BOUND>, CredError> {
        let [proof, key] = self.door.parcel(Purpose::Export, sealed)?;
        self.vault()?.export(&proof, &key).map_err(told)
    }
}

/// A passphrase that is too short is guessed, whatever it is stretched by.
fn bounded(passphrase: &[u8]) -> Result<(), CredError> {
    let (least, most) = PASSPHRASE;
    if (least..=most).contains(&passphrase.len()) { Ok(()) } else { Err(CredError::BadPassphrase) }
}
