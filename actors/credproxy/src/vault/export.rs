//! Every value out of the vault, for a person who shows that they could open it anyway. It is sealed to a key of theirs
//! before it leaves, so that its carrier cannot read it.

use super::Vault;
use super::fault::VaultFault;
use crypto_box::PublicKey;
use ipc_proto::credproxy::{EXPORT_BOUND, Exported};
use ipc_proto::{Blob, Name};
use zeroize::Zeroizing;

impl Vault {
    /// Every secret that may still be used, sealed to this X25519 key.
    pub(crate) fn export(&self, proof: &[u8], key: &[u8]) -> Result<Blob<EXPORT_BOUND>, VaultFault> {
        self.prove(proof)?;
        let key = PublicKey::from_slice(key).map_err(|_| VaultFault::WrongPassphrase)?;
        let wrapping = self.wrapping()?;
        // The room is made at once: a buffer that grows leaves copies behind. Half of it is what escapes may take.
        let mut list = Zeroizing::new(Vec::with_capacity(EXPORT_BOUND));
        list.push(b'[');
        for (name, entry) in self.index.secrets.iter().filter(|(_, entry)| !entry.revoked) {
            let value = entry.open(name, &wrapping)?;
            let value = std::str::from_utf8(value.reveal()).map_err(|_| VaultFault::List)?;
            let (name, binding, lease) = (Name::clip(name), entry.binding.clone(), entry.left());
            if list.len() > 1 {
                list.push(b',');
            }
            let one = Exported { name, binding, lease, value };
            serde_json::to_writer(&mut *list, &one).map_err(|_| VaultFault::List)?;
            if list.len() > EXPORT_BOUND / 2 {
                return Err(VaultFault::Full);
            }
        }
        list.push(b']');
        let sealed = key.seal(&mut crypto_box::aead::OsRng, &list);
        let sealed = sealed.map_err(|_| VaultFault::Envelope(crate::envelope::EnvelopeFault::Seal))?;
        Blob::new(sealed).map_err(|_| VaultFault::Full)
    }
}
