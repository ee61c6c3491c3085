//! Secrets: a value passes here sealed to credproxy's key, and none ever comes back.

use crate::caller::Caller;
use ipc_proto::Method;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::credproxy::{CredError, CredproxyClient, SecretInfo, method};
use ipc_proto::{Blob, List, Name, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// Stores a sealed secret; credproxy records it first.
    pub(crate) async fn keep_secret(
        &self,
        name: Name,
        hosts: List<Text<253>, 8>,
        sealed: Blob<16384>,
    ) -> Answer<()> {
        self.credproxy(&method::set, |credproxy, context| {
            let (name, hosts, sealed) = (name.clone(), hosts.clone(), sealed.clone());
            async move { credproxy.set(context, name, hosts, sealed).await }
        })
        .await
    }

    /// Every secret, without its value.
    pub(crate) async fn list_secrets(&self) -> Answer<List<SecretInfo, 256>> {
        self.credproxy(&method::list, |credproxy, context| async move { credproxy.list(context).await }).await
    }

    /// Forgets a secret; credproxy records it first.
    pub(crate) async fn forget_secret(&self, name: Name) -> Answer<()> {
        self.credproxy(&method::remove, |credproxy, context| {
            let name = name.clone();
            async move { credproxy.remove(context, name).await }
        })
        .await
    }

    async fn credproxy<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(CredproxyClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, CredError>, RpcError>>,
    {
        self.desk.ask(&self.desk.credproxy, method, ask).await?.map_err(ControlError::Cred)
    }
}
