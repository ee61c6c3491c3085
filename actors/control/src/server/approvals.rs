//! Approvals and grants: the router's, in the caller's own scope. Who answers is the user that the kernel's word
//! names, never something that was said; the router records it.

use crate::caller::Caller;
use ipc_proto::approval::{ApprovalInfo, ApprovalView, FORM, Grant, Reply};
use ipc_proto::control::Answer;
use ipc_proto::ids::{ApprovalId, CallId};
use ipc_proto::router::{Released, method};
use ipc_proto::{List, Text};

impl Caller {
    /// Approvals that wait, and with `all` those that were settled.
    pub(crate) async fn list_approvals(&self, all: bool) -> Answer<List<ApprovalInfo, 256>> {
        let scope = self.scope();
        self.router(&method::approvals, |router, context| async move {
            router.approvals(context, scope, all).await
        })
        .await
    }

    /// One approval in full.
    pub(crate) async fn show_approval(&self, id: ApprovalId) -> Answer<ApprovalView> {
        let scope = self.scope();
        self.router(
            &method::approval,
            |router, context| async move { router.approval(context, scope, id).await },
        )
        .await
    }

    /// Answers one, as the caller.
    pub(crate) async fn answer_approval(
        &self,
        id: ApprovalId,
        hash: [u8; 32],
        reply: Reply,
        form: Text<FORM>,
    ) -> Answer<ApprovalInfo> {
        let (scope, by) = (self.scope(), self.user().await?.name);
        self.router(&method::answer, |router, context| {
            let (by, form) = (by.clone(), form.clone());
            async move { router.answer(context, scope, by, id, hash, (reply, form)).await }
        })
        .await
    }

    /// Grants that hold.
    pub(crate) async fn list_grants(&self) -> Answer<List<Grant, 256>> {
        let scope = self.scope();
        self.router(&method::grants, |router, context| async move { router.grants(context, scope).await })
            .await
    }

    /// Takes a grant back, as the caller.
    pub(crate) async fn take_back(&self, id: ApprovalId) -> Answer<()> {
        let (scope, by) = (self.scope(), self.user().await?.name);
        self.router(&method::revoke, |router, context| {
            let by = by.clone();
            async move { router.revoke(context, scope, by, id).await }
        })
        .await
    }

    /// A call that was decided on.
    pub(crate) async fn show_call(&self, id: CallId) -> Answer<Released> {
        let scope = self.scope();
        self.router(&method::call, |router, context| async move { router.call(context, scope, id).await })
            .await
    }
}
