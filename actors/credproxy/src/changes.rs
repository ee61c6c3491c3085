//! Changes of the vault: storing, binding, revoking and forgetting secrets, opening the vault and putting it under other
//! keys. Every change is on the record before it is made, and so is what gives everything out.

mod trial;

use crate::proxy::{Outside, Proxy, about};
use crate::vault::Step;
use crate::vault_actor::VaultRequest;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::{
    Binding, CredError, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo, VaultInfo,
};
use ipc_proto::{Blob, List, Name};

impl<O: Outside> Proxy<O> {
    /// Stores a value that was sealed for this name, this binding and this lease.
    pub(crate) async fn set(
        &self,
        name: Name,
        binding: Binding,
        lease: Lease,
        sealed: Blob<SECRET_BOUND>,
    ) -> Result<(), CredError> {
        let fresh =
            self.ask(|reply| VaultRequest::Unseal(name.clone(), binding, lease, sealed, reply)).await?;
        self.outside.record(about(Action::SecretSet, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.set.recorded");
        let stored = match self.logged_in(&name, fresh).await {
            Ok(fresh) => self.ask(|reply| VaultRequest::Put(fresh, reply)).await,
            Err(refused) => Err(refused),
        };
        self.outcome(Action::SecretSet, &name, stored).await
    }

    /// Binds a secret to less than it is bound to.
    pub(crate) async fn narrow(&self, name: Name, binding: Binding, lease: Lease) -> Result<(), CredError> {
        let narrower = self.ask(|reply| VaultRequest::Narrower(name.clone(), binding, lease, reply)).await?;
        self.outside.record(about(Action::SecretNarrowed, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.narrow.recorded");
        let narrowed = self.ask(|reply| VaultRequest::Narrow(narrower, reply)).await;
        self.outcome(Action::SecretNarrowed, &name, narrowed).await
    }

    /// Has a secret be used no more.
    pub(crate) async fn revoke(&self, name: Name) -> Result<(), CredError> {
        self.ask(|reply| VaultRequest::Has(name.clone(), reply)).await?;
        self.outside.record(about(Action::SecretRevoked, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.revoke.recorded");
        let revoked = self.ask(|reply| VaultRequest::Revoke(name.clone(), reply)).await;
        self.outcome(Action::SecretRevoked, &name, revoked).await
    }

    /// Forgets a secret.
    pub(crate) async fn remove(&self, name: Name) -> Result<(), CredError> {
        self.ask(|reply| VaultRequest::Has(name.clone(), reply)).await?;
        self.outside.record(about(Action::SecretRemoved, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.remove.recorded");
        let removed = self.ask(|reply| VaultRequest::Remove(name.clone(), reply)).await;
        self.outcome(Action::SecretRemoved, &name, removed).await
    }

    /// Every secret without its value.
    pub(crate) async fn list(&self) -> Result<List<SecretInfo, 256>, CredError> {
        self.ask(VaultRequest::List).await
    }

    /// The vault as a whole.
    pub(crate) async fn vault(&self) -> Result<VaultInfo, CredError> {
        self.ask(VaultRequest::Info).await
    }

    /// Opens the vault, or makes the first one.
    pub(crate) async fn unlock(&self, sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError> {
        let unlocked = self.ask(|reply| VaultRequest::Unlock(sealed, reply)).await;
        self.note_wrong(&unlocked, "unlock").await;
        let Some(unlocked) = unlocked? else { return Ok(()) };
        self.outside.record(of_vault(Action::VaultUnlocked, Result3::Success)).await?;
        kit::fault_point!("credproxy.unlock.recorded");
        let entered = self.ask(|reply| VaultRequest::Enter(unlocked, reply)).await;
        self.outcome(Action::VaultUnlocked, &vault(), entered).await
    }

    /// Puts the vault under another passphrase.
    pub(crate) async fn passphrase(&self, sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError> {
        let rekeying = self.ask(|reply| VaultRequest::Passphrase(sealed, reply)).await;
        self.note_wrong(&rekeying, "passphrase").await;
        match rekeying? {
            Some(rekeying) => self.rekey(rekeying).await,
            None => Ok(()),
        }
    }

    /// Seals every secret under a new key of its own.
    pub(crate) async fn rotate(&self) -> Result<(), CredError> {
        let rekeying = self.ask(VaultRequest::Rotation).await?;
        self.rekey(rekeying).await
    }

    async fn rekey(&self, rekeying: crate::vault::Rekeying) -> Result<(), CredError> {
        let why = match rekeying.step() {
            Step::Rewrap => "another passphrase",
            Step::Reseal => "new data keys",
        };
        self.outside.record(of_vault(Action::SecretRotated, Result3::Success).because(why)).await?;
        kit::fault_point!("credproxy.rekey.recorded");
        let rekeyed = self.ask(|reply| VaultRequest::Rekey(rekeying, reply)).await;
        self.outcome(Action::SecretRotated, &vault(), rekeyed).await
    }

    /// Every secret with its value, sealed to the person who asks; it is given out once that is on the record.
    pub(crate) async fn export(&self, sealed: Blob<PARCEL_BOUND>) -> Result<Blob<EXPORT_BOUND>, CredError> {
        let export = self.ask(|reply| VaultRequest::Export(sealed, reply)).await;
        self.note_wrong(&export, "export").await;
        let export = export?;
        self.outside.record(of_vault(Action::SecretExported, Result3::Success)).await?;
        Ok(export)
    }

    /// Records a wrong passphrase or key as a failed authentication.
    async fn note_wrong<T>(&self, asked: &Result<T, CredError>, what: &str) {
        if asked.as_ref().err() == Some(&CredError::WrongPassphrase) {
            tracing::warn!(what, "refused: this is not the vault's passphrase or key");
            self.note(of_vault(Action::VaultUnlockFailed, Result3::Blocked).because(what)).await;
        }
    }

    /// A change that was recorded and then failed is recorded as that.
    async fn outcome(
        &self,
        action: Action,
        name: &Name,
        done: Result<(), CredError>,
    ) -> Result<(), CredError> {
        if done.is_err() {
            self.note(about(action, Result3::Error, name).because("not stored")).await;
        }
        done
    }
}

/// The name under which the record speaks of the vault as a whole.
fn vault() -> Name {
    Name::clip("vault")
}

fn of_vault(action: Action, result: Result3) -> Event {
    about(action, result, &vault())
}
