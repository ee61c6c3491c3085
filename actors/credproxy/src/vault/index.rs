//! The contents of the vault as they stand in the sealed body. Pure.

use super::fault::VaultFault;
use crate::envelope::{Envelope, Key};
use crate::secret::Secret;
use ipc_proto::credproxy::{Binding, Lease, binding};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The contents of the vault.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    /// Counts every change; a secret's version is the count at which its value or its binding was set.
    pub(super) revision: u64,
    pub(super) secrets: BTreeMap<String, Entry>,
}

/// One secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) version: u64,
    pub(super) binding: Binding,
    pub(super) lease: Lease,
    pub(super) set_ms: u64,
    pub(super) revoked: bool,
    /// Uses of a secret whose lease counts them.
    pub(super) spent: u64,
    pub(super) value: Envelope,
}

impl Index {
    /// Seals a value as this name's, with the next version.
    pub(super) fn put(
        &mut self,
        name: &str,
        entry: EntryBut,
        value: &Secret,
        wrapping: &Key,
    ) -> Result<(), VaultFault> {
        self.revision += 1;
        let EntryBut { binding, lease, set_ms, revoked, spent } = entry;
        let associated = associated(name, self.revision, &binding, lease);
        let value = Envelope::seal(wrapping, &associated, value.reveal()).map_err(VaultFault::Envelope)?;
        let entry = Entry { version: self.revision, binding, lease, set_ms, revoked, spent, value };
        self.secrets.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// A secret but for its value and what follows from that.
pub(super) struct EntryBut {
    pub(super) binding: Binding,
    pub(super) lease: Lease,
    pub(super) set_ms: u64,
    pub(super) revoked: bool,
    pub(super) spent: u64,
}

impl Entry {
    /// Its value, if the entry is what was stored under this name.
    pub(super) fn open(&self, name: &str, wrapping: &Key) -> Result<Secret, VaultFault> {
        let value = self.value.open(wrapping, &self.associated(name)).map_err(VaultFault::Sealed)?;
        Secret::new(value).ok_or(VaultFault::List)
    }

    /// The associated data of its value.
    pub(super) fn associated(&self, name: &str) -> Vec<u8> {
        associated(name, self.version, &self.binding, self.lease)
    }

    /// All of it but its value.
    pub(super) fn but_its_value(&self) -> EntryBut {
        let Self { binding, lease, set_ms, revoked, spent, .. } = self.clone();
        EntryBut { binding, lease, set_ms, revoked, spent }
    }
}

/// A value opens only as what it was stored as: name, version, binding, lease.
fn associated(name: &str, version: u64, bound: &Binding, lease: Lease) -> Vec<u8> {
    [&version.to_le_bytes()[..], &binding(name, bound, lease)].concat()
}
