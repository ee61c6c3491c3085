//! Keys of the API: the router holds and records them; here they only pass. Of a key itself only a hash ever comes here.

use crate::caller::Caller;
use ipc_proto::api::{KEYS, KeyInfo, KeyScope, Presented};
use ipc_proto::control::Answer;
use ipc_proto::router::method;
use ipc_proto::{List, Name};

impl Caller {
    /// Keeps a key for the caller.
    pub(crate) async fn make_key(
        &self,
        name: Name,
        scope: KeyScope,
        presented: Presented,
    ) -> Answer<KeyInfo> {
        let user = self.user().await?;
        self.router(&method::create_key, |router, context| {
            let (by, name, scope) = (user.name.clone(), name.clone(), scope.clone());
            async move { router.create_key(context, user.id, by, name, scope, presented).await }
        })
        .await
    }

    /// The caller's keys; everyone's for the owner.
    pub(crate) async fn list_keys(&self) -> Answer<List<KeyInfo, KEYS>> {
        let whose = self.scope();
        self.router(&method::keys, |router, context| async move { router.keys(context, whose).await }).await
    }

    /// Revokes one of them.
    pub(crate) async fn lose_key(&self, name: Name) -> Answer<()> {
        let (by, whose) = (self.user().await?.name, self.scope());
        self.router(&method::revoke_key, |router, context| {
            let (by, name) = (by.clone(), name.clone());
            async move { router.revoke_key(context, whose, by, name).await }
        })
        .await
    }
}
