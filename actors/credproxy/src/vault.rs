//! The vault: every secret in one sealed file, under a key that a file, a passphrase or a credential gives. It may read
//! and replace the files of its own folder. It never overwrites a vault that it could not open, and never makes a key for
//! one that is there.
//!
//! Each value is in an envelope of its own, bound to name, version, binding and lease; the list of them is sealed as one
//! more body, so that no entry can be dropped or put back unseen.

mod export;
mod fault;
mod index;
mod keys;
mod narrowing;
mod opening;
mod rekey;

use crate::binding::{self, Wanted};
use crate::envelope::{EnvelopeFault, Key};
use crate::format::{self, Head, VAULT_BOUND};
use crate::headers;
use crate::master_key::{KeyStore, Slot};
use crate::secret::Secret;
use crate::store::{PRIVATE, Store};
use index::{Entry, EntryBut, Index};
use ipc_proto::credproxy::{At, Binding, CredError, Lease};
use ipc_proto::dialer::{Host, HostPort};
use ipc_proto::{List, Text};
use std::sync::Arc;

pub(crate) use fault::VaultFault;
pub(crate) use keys::Sources;
pub(crate) use opening::{Held, Locked, Unlocked, open};
pub(crate) use rekey::{Rekeying, Step};

/// Secrets in one vault.
pub(crate) const SECRETS: usize = 256;
/// The vault.
pub(crate) const VAULT_FILE: &str = "vault";
/// The id of the vault's host: 32 hexadecimal digits and a line end, 0600.
pub(crate) const HOST_FILE: &str = "vault.id";

/// A value that came in sealed and was found good, on its way into the vault.
pub(crate) struct Fresh {
    name: String,
    binding: Binding,
    lease: Lease,
    value: Secret,
}

impl Fresh {
    /// The value that came in.
    pub(crate) const fn value(&self) -> &Secret {
        &self.value
    }

    /// The same with another value.
    pub(crate) fn with(self, value: Secret) -> Self {
        Self { value, ..self }
    }
}

/// A binding that is no wider than the one that holds, on its way into the vault.
pub(crate) struct Narrower {
    name: String,
    binding: Binding,
    lease: Lease,
}

/// A secret without its value.
pub(crate) struct Listed<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The uses that it is bound to.
    pub(crate) binding: &'a Binding,
    /// How long and how often it may be used; what was used up is taken off.
    pub(crate) lease: Lease,
    /// True if it is used no more.
    pub(crate) revoked: bool,
    /// When it was set, unix ms.
    pub(crate) set_ms: u64,
}

/// The open vault.
pub(crate) struct Vault {
    store: Arc<Store>,
    sources: Arc<Sources>,
    key_store: KeyStore,
    head: Head,
    index: Index,
}

impl Vault {
    /// Finds out whether a value that was unsealed is good for this name, this binding and this lease.
    pub(crate) fn judge(
        &self,
        name: &str,
        bound: &Binding,
        lease: Lease,
        plain: &[u8],
    ) -> Result<Fresh, CredError> {
        check_name(name)?;
        let binding = normal(bound)?;
        let prefix = ipc_proto::credproxy::binding(name, bound, lease);
        let value = plain.strip_prefix(prefix.as_slice()).ok_or(CredError::NotSealed)?;
        let value = Secret::new(value.to_vec().into()).ok_or(CredError::BadValue)?;
        if self.index.secrets.len() >= SECRETS && !self.has(name) {
            return Err(CredError::Full);
        }
        Ok(Fresh { name: name.to_owned(), binding, lease, value })
    }

    /// Stores it in the place of one with its name.
    pub(crate) fn put(&mut self, fresh: &Fresh, now_ms: u64) -> Result<(), VaultFault> {
        let entry = EntryBut {
            binding: fresh.binding.clone(),
            lease: fresh.lease,
            set_ms: now_ms,
            revoked: false,
            spent: 0,
        };
        let wrapping = self.wrapping()?;
        // Another may have taken the last place since this one was found good.
        if self.index.secrets.len() >= SECRETS && !self.has(&fresh.name) {
            return Err(VaultFault::Full);
        }
        self.change(|index| index.put(&fresh.name, entry, &fresh.value, &wrapping))
    }

    /// Puts another value in the place of a secret's, which stays what it is otherwise. One that was set anew since its
    /// value was `before` is for something else, and stays whole.
    pub(crate) fn renew(&mut self, name: &str, before: &Secret, value: &Secret) -> Result<(), VaultFault> {
        let entry = self.index.secrets.get(name).ok_or(VaultFault::Replaced)?;
        let wrapping = self.wrapping()?;
        if entry.open(name, &wrapping)?.reveal() != before.reveal() {
            return Err(VaultFault::Replaced);
        }
        let entry = entry.but_its_value();
        self.change(|index| index.put(name, entry, value, &wrapping))
    }

    /// Returns whether this is no wider than what holds.
    pub(crate) fn narrower(&self, name: &str, bound: &Binding, lease: Lease) -> Result<Narrower, CredError> {
        let entry = self.index.secrets.get(name).ok_or(CredError::NoSecret)?;
        let binding = normal(bound)?;
        if !narrowing::narrows((&entry.binding, entry.left()), (&binding, lease)) {
            return Err(CredError::Widens);
        }
        Ok(Narrower { name: name.to_owned(), binding, lease })
    }

    /// Binds a secret to less than it is bound to by now: since this was looked at it may have been set anew, or used.
    pub(crate) fn narrow(&mut self, narrower: Narrower) -> Result<(), VaultFault> {
        let Narrower { name, binding, lease } = narrower;
        let wrapping = self.wrapping()?;
        let entry = self.index.secrets.get(&name).ok_or(VaultFault::List)?;
        if !narrowing::narrows((&entry.binding, entry.left()), (&binding, lease)) {
            return Err(VaultFault::Widens);
        }
        let value = entry.open(&name, &wrapping)?;
        // The lease says what is left, as a listing does.
        let entry = EntryBut { binding, lease, spent: 0, ..entry.but_its_value() };
        self.change(|index| index.put(&name, entry, &value, &wrapping))
    }

    /// Has a secret be used no more. Its value stays: replies are searched for it as before.
    pub(crate) fn revoke(&mut self, name: &str) -> Result<(), VaultFault> {
        self.entry(name, |entry| entry.revoked = true)
    }

    /// Forgets a secret.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), VaultFault> {
        self.change(|index| {
            index.revision += 1;
            index.secrets.remove(name);
            Ok(())
        })
    }

    /// Returns whether there is a secret of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.index.secrets.contains_key(name)
    }

    /// The head of the vault's file.
    pub(crate) const fn head(&self) -> &Head {
        &self.head
    }

    /// Every secret without its value, by name.
    pub(crate) fn list(&self) -> impl Iterator<Item = Listed<'_>> {
        self.index.secrets.iter().map(|(name, entry)| Listed {
            name,
            binding: &entry.binding,
            lease: entry.left(),
            revoked: entry.revoked,
            set_ms: entry.set_ms,
        })
    }

    /// The value of a secret for this use, if it may be used so and now. A use that is counted is so, durably, before the
    /// value is given.
    pub(crate) fn reveal(&mut self, name: &str, wanted: &Wanted, now_ms: u64) -> Result<Secret, CredError> {
        let entry = self.index.secrets.get(name).ok_or(CredError::NoSecret)?;
        binding::allows(&entry.binding, wanted).map_err(|_| CredError::NotBound)?;
        entry.may_be_used(now_ms)?;
        let value = self.opened(name, entry)?;
        if entry.lease.uses.is_some() {
            let counted = self.entry(name, |entry| entry.spent = entry.spent.saturating_add(1));
            counted.map_err(unopened)?;
        }
        Ok(value)
    }

    /// The value of a secret for a use that was counted already: it may have been renewed since, or revoked.
    pub(crate) fn again(&self, name: &str, wanted: &Wanted, now_ms: u64) -> Result<Secret, CredError> {
        let entry = self.index.secrets.get(name).ok_or(CredError::NoSecret)?;
        binding::allows(&entry.binding, wanted).map_err(|_| CredError::NotBound)?;
        entry.is_live(now_ms)?;
        self.opened(name, entry)
    }

    /// The value of a secret that a sender's proof is compared with. It goes nowhere, so its binding is not asked.
    pub(crate) fn compared(&self, name: &str, now_ms: u64) -> Result<Secret, CredError> {
        let entry = self.index.secrets.get(name).ok_or(CredError::NoSecret)?;
        entry.is_live(now_ms)?;
        self.opened(name, entry)
    }

    fn opened(&self, name: &str, entry: &Entry) -> Result<Secret, CredError> {
        self.wrapping().and_then(|wrapping| entry.open(name, &wrapping)).map_err(unopened)
    }

    /// Every value, to be searched for in replies: of those as well that are used no more.
    pub(crate) fn values(&self) -> Result<Vec<Secret>, VaultFault> {
        let wrapping = self.wrapping()?;
        self.index.secrets.iter().map(|(name, entry)| entry.open(name, &wrapping)).collect()
    }

    fn entry(&mut self, name: &str, act: impl FnOnce(&mut Entry)) -> Result<(), VaultFault> {
        self.change(|index| {
            if let Some(entry) = index.secrets.get_mut(name) {
                act(entry);
            }
            Ok(())
        })
    }

    /// Changes the list, on disk first.
    fn change(&mut self, act: impl FnOnce(&mut Index) -> Result<(), VaultFault>) -> Result<(), VaultFault> {
        let mut index = self.index.clone();
        act(&mut index)?;
        write(&self.store, &self.head, &self.key()?, &index)?;
        self.index = index;
        Ok(())
    }

    fn key(&self) -> Result<Key, VaultFault> {
        self.key_store.get(Slot::Current).ok_or(VaultFault::Envelope(EnvelopeFault::Open))
    }

    fn wrapping(&self) -> Result<Key, VaultFault> {
        wrapping(&self.key()?)
    }
}

/// The error for a caller that wanted a value; the log says more.
fn unopened(fault: VaultFault) -> CredError {
    tracing::error!(%fault, "a secret cannot be opened");
    fault.reported()
}

impl Entry {
    fn may_be_used(&self, now_ms: u64) -> Result<(), CredError> {
        self.is_live(now_ms)?;
        match self.lease.uses {
            Some(uses) if self.spent >= uses => Err(CredError::Spent),
            _ => Ok(()),
        }
    }

    fn is_live(&self, now_ms: u64) -> Result<(), CredError> {
        if self.revoked {
            Err(CredError::Revoked)
        } else if self.lease.until_ms.is_some_and(|until| now_ms >= until) {
            Err(CredError::Expired)
        } else {
            Ok(())
        }
    }

    /// Its lease, without what was used up.
    fn left(&self) -> Lease {
        Lease { uses: self.lease.uses.map(|uses| uses.saturating_sub(self.spent)), ..self.lease }
    }
}

/// The key that the data keys are wrapped by.
fn wrapping(key: &Key) -> Result<Key, VaultFault> {
    key.derive("cordon vault: data keys").map_err(VaultFault::Envelope)
}

/// The key that the body is sealed by.
fn body(key: &Key) -> Result<Key, VaultFault> {
    key.derive("cordon vault: body").map_err(VaultFault::Envelope)
}

/// Associated data of the sealed body, before the head as it is written.
const BODY: &[u8] = b"cordon vault body 1";

fn write(store: &Store, head: &Head, key: &Key, index: &Index) -> Result<(), VaultFault> {
    let list = serde_json::to_vec(index).map_err(|_| VaultFault::List)?;
    let head = head.encode();
    let sealed = body(key)?.seal(&[BODY, &head].concat(), &list).map_err(VaultFault::Envelope)?;
    let file = format::encode(&head, &sealed);
    if file.len() as u64 > VAULT_BOUND {
        return Err(VaultFault::Full);
    }
    store.replace(VAULT_FILE, PRIVATE, &file).map_err(|cause| VaultFault::File(VAULT_FILE, cause))
}

fn check_name(name: &str) -> Result<(), CredError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !name.is_empty() && name.bytes().all(fits) { Ok(()) } else { Err(CredError::BadBinding) }
}

/// A binding with its hosts in their normal form, if all of it can be meant.
fn normal(bound: &Binding) -> Result<Binding, CredError> {
    let hosts = bound.hosts.iter().map(|host| one_host(host)).collect::<Result<Vec<_>, _>>()?;
    let printable = |text: &str| text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    // A path that leads nowhere, and a header that no request may set, would bind it to nothing at all.
    let leads = |path: &str| printable(path) && !path.contains(['?', '#']) && address::reads_one_way(path);
    let paths = bound.paths.iter().all(|path| leads(path));
    let at = bound.at.iter().all(|at| match at {
        At::Header { name, prefix } => headers::takes_secret(name) && printable(prefix),
        At::Query { name } | At::Field { name } => !name.is_empty() && printable(name),
        At::Segment | At::Login => true,
    });
    if hosts.is_empty() || !paths || !at {
        return Err(CredError::BadBinding);
    }
    let hosts = List::new(hosts).map_err(|_| CredError::BadBinding)?;
    Ok(Binding { hosts, ..bound.clone() })
}

/// One host of a binding in its normal form: `host`, at any port, or `host:port`.
fn one_host(text: &str) -> Result<Text<253>, CredError> {
    let normal = match text.parse::<HostPort>() {
        Ok(target) => target.to_string(),
        Err(_) => text.parse::<Host>().map_err(|_| CredError::BadBinding)?.to_string(),
    };
    Text::new(normal).map_err(|_| CredError::BadBinding)
}

#[cfg(test)]
mod tests;
