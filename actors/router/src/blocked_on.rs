//! The peers that a turn waits for at this moment, by name, for its client. Of a running turn the gate reports them; of any other they
//! follow from the phase of its message. Peers that the turn does not need are not shown.

use crate::state::RouterState;
use crate::state::live::{Live, Phase};
use ipc_proto::api::Caller;
use ipc_proto::gate::DISK;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Obstacle, RouterError};
use ipc_proto::{List, Name};

/// The peer that a turn waits for before the gate has reported any.
const FIRST: &str = "model";

impl RouterState {
    /// The peers that a turn of this client waits for.
    pub(crate) fn api_blocked_on(
        &mut self,
        caller: Caller,
        turn: TurnId,
    ) -> Result<List<Name, 8>, RouterError> {
        self.turn_owner(caller, turn)?;
        let Some(live) = self.live_turn(turn) else { return Ok(List::default()) };
        let (session, seq) = (live.head.session, live.head.seq);
        // A message that is not the first of its lane waits for the peers of the first.
        let first = self.heads_where(|live| live.head.session == session).map(|head| head.seq).min();
        let low = self.disk_has_room().is_err();
        Ok(self.live(first.unwrap_or(seq)).map(|live| blocked_on(live, low)).unwrap_or_default())
    }

    /// The gate reports the peers that a turn waits for.
    pub(crate) fn set_blocked_on(&mut self, turn: TurnId, waits: List<Name, 4>) {
        if let Some(live) = self.live_turn(turn) {
            live.blocked_on = Some(waits);
        }
    }
}

/// The peers that a message waits for. `low` is true while the disk has no room.
fn blocked_on(live: &Live, low: bool) -> List<Name, 8> {
    let reported = match &live.phase {
        Phase::Running(_) => live.blocked_on.as_ref(),
        _ => None,
    };
    let fixed: &[&str] = match &live.phase {
        Phase::Accepted => &["audit", "scanner"],
        // Each next step is on the record before it is done.
        Phase::Queued | Phase::Starting | Phase::RunnerExited(_) | Phase::Ending(_) => &["audit"],
        Phase::Running(_) if reported.is_none() => &["gate", FIRST],
        Phase::Running(_) => &["gate"],
    };
    let disk = (low && matches!(live.phase, Phase::Queued)).then_some(DISK);
    let away = match (&live.phase, live.postponed.as_ref().filter(|it| !it.over).map(|it| &it.obstacle)) {
        (Phase::Queued, Some(Obstacle::Process(name))) => Some(name.as_str()),
        _ => None,
    };
    let named = fixed.iter().copied().chain(disk).chain(away).map(Name::clip);
    List::clip(named.chain(reported.into_iter().flatten().cloned()))
}
