//! Secrets: a value passes here sealed to credproxy's key, or sealed to who asked for an export, and never in the clear.

use crate::caller::Caller;
use ipc_proto::Method;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::credproxy::{
    Binding, CredError, CredproxyClient, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo,
    VaultInfo, Verb, method,
};
use ipc_proto::{Blob, List, Name, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// Stores a sealed secret; credproxy records it first.
    pub(crate) async fn keep_secret(
        &self,
        name: Name,
        binding: Binding,
        lease: Lease,
        sealed: Blob<SECRET_BOUND>,
    ) -> Answer<()> {
        self.credproxy(&method::set, |credproxy, context| {
            let (name, binding, sealed) = (name.clone(), binding.clone(), sealed.clone());
            async move { credproxy.set(context, name, binding, lease, sealed).await }
        })
        .await
    }

    /// Every secret, without its value.
    pub(crate) async fn list_secrets(&self) -> Answer<List<SecretInfo, 256>> {
        self.credproxy(&method::list, |credproxy, context| async move { credproxy.list(context).await }).await
    }

    /// Binds a secret to less; credproxy refuses more, and records it first.
    pub(crate) async fn narrow_secret(&self, name: Name, binding: Binding, lease: Lease) -> Answer<()> {
        self.credproxy(&method::narrow, |credproxy, context| {
            let (name, binding) = (name.clone(), binding.clone());
            async move { credproxy.narrow(context, name, binding, lease).await }
        })
        .await
    }

    /// Has a secret be used no more; credproxy records it first.
    pub(crate) async fn revoke_secret(&self, name: Name) -> Answer<()> {
        self.credproxy(&method::revoke, |credproxy, context| {
            let name = name.clone();
            async move { credproxy.revoke(context, name).await }
        })
        .await
    }

    /// Forgets a secret; credproxy records it first.
    pub(crate) async fn forget_secret(&self, name: Name) -> Answer<()> {
        self.credproxy(&method::remove, |credproxy, context| {
            let name = name.clone();
            async move { credproxy.remove(context, name).await }
        })
        .await
    }

    /// The vault as a whole.
    pub(crate) async fn show_vault(&self) -> Answer<VaultInfo> {
        self.credproxy(&method::vault, |credproxy, context| async move { credproxy.vault(context).await })
            .await
    }

    /// Opens the vault with a sealed passphrase.
    pub(crate) async fn unlock_vault(&self, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.credproxy(&method::unlock, |credproxy, context| {
            let sealed = sealed.clone();
            async move { credproxy.unlock(context, sealed).await }
        })
        .await
    }

    /// Puts the vault under another sealed passphrase.
    pub(crate) async fn change_passphrase(&self, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.credproxy(&method::passphrase, |credproxy, context| {
            let sealed = sealed.clone();
            async move { credproxy.passphrase(context, sealed).await }
        })
        .await
    }

    /// Seals every secret under a new key of its own.
    pub(crate) async fn rotate_vault(&self) -> Answer<()> {
        self.credproxy(&method::rotate, |credproxy, context| async move { credproxy.rotate(context).await })
            .await
    }

    /// Every secret with its value, sealed to who asks.
    pub(crate) async fn export_secrets(&self, sealed: Blob<PARCEL_BOUND>) -> Answer<Blob<EXPORT_BOUND>> {
        self.credproxy(&method::export, |credproxy, context| {
            let sealed = sealed.clone();
            async move { credproxy.export(context, sealed).await }
        })
        .await
    }

    /// The status that a request with a secret in it comes back with.
    pub(crate) async fn try_secret(&self, name: Name, verb: Verb, url: Text<2048>) -> Answer<u16> {
        self.credproxy(&method::try_out, |credproxy, context| {
            let (name, url) = (name.clone(), url.clone());
            async move { credproxy.try_out(context, name, verb, url).await }
        })
        .await
    }

    async fn credproxy<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(CredproxyClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, CredError>, RpcError>>,
    {
        self.state.ask(&self.state.credproxy, method, ask).await?.map_err(ControlError::Cred)
    }
}
