//! The owner's policies: the gate holds, checks and records them; here they only pass.

use crate::caller::Caller;
use ipc_proto::Method;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::gate::{GateClient, POLICY_BOUND, PolicyError, PolicySet, method};
use ipc_proto::{Name, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// Every policy file that holds.
    pub(crate) async fn list_policies(&self) -> Answer<PolicySet> {
        let gate = &self.state.gate;
        self.state
            .ask(gate, &method::policies, |gate, context| async move { gate.policies(context).await })
            .await
    }

    /// Adds or replaces a policy file, as the caller; gives the version that holds now.
    pub(crate) async fn put_policy(&self, name: Name, text: Text<POLICY_BOUND>) -> Answer<Name> {
        let by = self.user().await?.name;
        self.gate(&method::set_policy, |gate, context| {
            let (name, text, by) = (name.clone(), text.clone(), by.clone());
            async move { gate.set_policy(context, name, text, by).await }
        })
        .await
    }

    /// Removes one, as the caller; gives the version that holds now.
    pub(crate) async fn lose_policy(&self, name: Name) -> Answer<Name> {
        let by = self.user().await?.name;
        self.gate(&method::remove_policy, |gate, context| {
            let (name, by) = (name.clone(), by.clone());
            async move { gate.remove_policy(context, name, by).await }
        })
        .await
    }

    async fn gate<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(GateClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, PolicyError>, RpcError>>,
    {
        self.state.ask(&self.state.gate, method, ask).await?.map_err(ControlError::Policy)
    }
}
