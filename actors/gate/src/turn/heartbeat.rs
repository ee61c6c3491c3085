//! The heartbeat of a turn. While a turn is under way it renews the turn's lease at router, and reports the processes that the
//! turn waits for. Router's reply also says that a turn is over, for example because its user has stopped it; then everything
//! under way for it ends at once.

use crate::state::blocked_on::BlockedOn;
use crate::state::context::GateContext;
use crate::state::runners::{Replaced, is_replaced};
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, RouterError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The time between two heartbeats. The lease would allow far more, but a stopped turn is to end within a second.
const INTERVAL: Duration = Duration::from_millis(500);

/// Sends heartbeats until it is dropped.
pub(crate) struct Heartbeat(JoinHandle<()>);

impl Heartbeat {
    /// Starts the heartbeat of a turn; it stops when the runner is replaced or the turn is over.
    pub(crate) fn start(
        gate: &GateContext,
        turn: TurnId,
        replaced: &Replaced,
        blocked_on: &BlockedOn,
    ) -> Self {
        Self(tokio::spawn(beat(gate.clone(), turn, replaced.clone(), blocked_on.clone())))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn beat(gate: GateContext, turn: TurnId, mut replaced: Replaced, blocked_on: BlockedOn) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = is_replaced(&mut replaced) => return,
        }
        let heard = gate.router.call(&router::method::emit, |router, rpc| {
            let blocked_on = blocked_on.names();
            async move { router.emit(rpc, turn, 0, List::default(), blocked_on).await }
        });
        // An unreachable router says nothing about the turn.
        if let Ok(Err(RouterError::NoTurn)) = heard.await {
            return gate.runners.end(turn);
        }
    }
}
