//! The beat of a turn: while one is under way router hears so, whatever else there is to say, and keeps its lease; with it goes
//! what the turn waits for. The same answer says that a turn is over: its person has stopped it, and what is under way for it
//! ends at once.

use crate::host::{Replaced, Shared, is_replaced};
use crate::waits::Waits;
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, RouterError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often. The lease would take far less; what a person stops is to end within a second.
const BEAT: Duration = Duration::from_millis(500);

/// Beats as long as it is kept.
pub(crate) struct Heart(JoinHandle<()>);

impl Heart {
    /// Begins to beat for a turn, until another runner has it or it is over.
    pub(crate) fn begin(shared: &Shared, turn: TurnId, replaced: &Replaced, waits: &Waits) -> Self {
        Self(tokio::spawn(beat(shared.clone(), turn, replaced.clone(), waits.clone())))
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn beat(shared: Shared, turn: TurnId, mut replaced: Replaced, waits: Waits) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(BEAT) => {}
            () = is_replaced(&mut replaced) => return,
        }
        let heard = shared.router.call(&router::method::emit, |router, rpc| {
            let waits = waits.now();
            async move { router.emit(rpc, turn, 0, List::default(), waits).await }
        });
        // A router that is away says nothing about the turn.
        if let Ok(Err(RouterError::NoTurn)) = heard.await {
            return shared.give_up(turn);
        }
    }
}
