//! Users, agents and models.

use crate::caller::Caller;
use ipc_proto::config::UserRole;
use ipc_proto::control::Answer;
use ipc_proto::model::ModelInfo;
use ipc_proto::router::{AgentInfo, UserInfo, method};
use ipc_proto::{List, Name, Text, gate};

impl Caller {
    /// All users.
    pub(crate) async fn list_users(&self) -> Answer<List<UserInfo, 256>> {
        self.router(&method::users, |router, context| async move { router.users(context).await }).await
    }

    /// Adds a user; the router records it first.
    pub(crate) async fn put_user(
        &self,
        name: Name,
        role: UserRole,
        uids: List<u32, 16>,
        identities: List<Text<256>, 16>,
    ) -> Answer<UserInfo> {
        self.router(&method::add_user, |router, context| {
            let (name, uids, identities) = (name.clone(), uids.clone(), identities.clone());
            async move { router.add_user(context, name, role, uids, identities).await }
        })
        .await
    }

    /// Changes a user; the router records it first.
    pub(crate) async fn change_user(
        &self,
        name: Name,
        role: Option<UserRole>,
        uids: Option<List<u32, 16>>,
    ) -> Answer<UserInfo> {
        self.router(&method::edit_user, |router, context| {
            let (name, uids) = (name.clone(), uids.clone());
            async move { router.edit_user(context, name, role, uids).await }
        })
        .await
    }

    /// Removes a user; the router records it first.
    pub(crate) async fn lose_user(&self, name: Name) -> Answer<()> {
        self.router(&method::remove_user, |router, context| {
            let name = name.clone();
            async move { router.remove_user(context, name).await }
        })
        .await
    }

    /// The agents.
    pub(crate) async fn list_agents(&self) -> Answer<List<AgentInfo, 64>> {
        let router = &self.state.router;
        self.state
            .ask(router, &method::agents, |router, context| async move { router.agents(context).await })
            .await
    }

    /// The models.
    pub(crate) async fn list_models(&self) -> Answer<List<ModelInfo, 256>> {
        let gate = &self.state.gate;
        self.state
            .ask(gate, &gate::method::models, |gate, context| async move { gate.models(context).await })
            .await
    }
}
