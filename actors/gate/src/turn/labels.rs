//! The labels of a turn while it runs: another session may write to the same folder.

use crate::state::context::GateContext;
use ipc_proto::ids::TurnId;
use ipc_proto::label::Label;
use ipc_proto::router;

/// The join of the labels of a turn's session and of its workspace now; none if router does not answer. Only the labels are
/// requested: a turn has up to 256 steps.
pub(crate) async fn now(gate: &GateContext, turn: TurnId) -> Option<Label> {
    let labels = gate
        .router
        .call(&router::method::labels, |router, rpc| async move { router.labels(rpc, turn).await });
    let (session, workspace) = labels.await.ok()?.ok()?;
    Some(session.join(&workspace))
}
