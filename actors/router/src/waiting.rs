//! What a turn waits for at this moment, by name, for a client that hears nothing of it: what else is away is none of its
//! business. Of a turn that is under way the gate says it; of any other it follows from where its message is. It changes
//! nothing.

use crate::desk::{Desk, Live, Phase};
use ipc_proto::api::Caller;
use ipc_proto::gate::DISK;
use ipc_proto::ids::TurnId;
use ipc_proto::router::RouterError;
use ipc_proto::{List, Name};

/// What the gate asks for a turn before it says what that waits for.
const TAKEN_UP: &str = "model";

impl Desk {
    /// What a turn of this client waits for.
    pub(crate) fn api_waits(&mut self, caller: Caller, turn: TurnId) -> Result<List<Name, 8>, RouterError> {
        self.whose_turn(caller, turn)?;
        let Some(live) = self.live_turn(turn) else { return Ok(List::default()) };
        let (session, seq) = (live.head.session, live.head.seq);
        // One that is not the first of its lane waits for whatever that waits for.
        let first = self.heads_where(|live| live.head.session == session).map(|head| head.seq).min();
        let low = self.disk_has_room().is_err();
        Ok(self.live(first.unwrap_or(seq)).map(|live| waits(live, low)).unwrap_or_default())
    }

    /// The gate says what a turn waits for.
    pub(crate) fn hear_waits(&mut self, turn: TurnId, waits: List<Name, 4>) {
        if let Some(live) = self.live_turn(turn) {
            live.waits = Some(waits);
        }
    }
}

/// What this one waits for, where the disk is low or is not.
fn waits(live: &Live, low: bool) -> List<Name, 8> {
    let told = match &live.phase {
        Phase::Running(_) => live.waits.as_ref(),
        _ => None,
    };
    let fixed: &[&str] = match &live.phase {
        Phase::Accepted => &["audit", "scanner"],
        // What comes next is on the record before it is done.
        Phase::Queued | Phase::Starting | Phase::Fallen(_) | Phase::Ending(_) => &["audit"],
        Phase::Running(_) if told.is_none() => &["gate", TAKEN_UP],
        Phase::Running(_) => &["gate"],
    };
    let disk = (low && matches!(live.phase, Phase::Queued)).then_some(DISK);
    let named = fixed.iter().copied().chain(disk).map(Name::clip);
    List::clip(named.chain(told.into_iter().flatten().cloned()))
}
