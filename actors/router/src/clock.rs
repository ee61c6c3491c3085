//! The clock of a turn stands still while a person is asked: the time that its runner had left is stored, and agentd, which ends runners by
//! their deadline, gets the new one. The turn keeps its lane meanwhile, and its place only where no slot is left for its runner.

use crate::state::RouterState;
use crate::state::effects::Effect;
use crate::state::lease::GRACE;
use crate::state::live::{Live, Phase};
use ipc_proto::approval::{State, USE_MS};
use ipc_proto::ids::TurnId;
use std::time::Duration;

impl RouterState {
    /// Stops or starts the clock of a message's turn, as its open questions have it.
    pub(crate) fn clock(&mut self, seq: i64) {
        let now = self.now;
        let Some(Live { head, phase: Phase::Running(_), .. }) = self.live(seq) else { return };
        let turn = head.turn;
        let until = match self.store.open_approvals(turn) {
            Ok(open) => {
                open.iter().filter(|it| it.state_at(now.ms) == State::Pending).map(|it| it.ends_ms).max()
            }
            Err(fault) => {
                // The clock stays as it was: one that goes on ends the turn, one that stands still would hold its lane.
                tracing::error!(%fault, "the questions of a turn cannot be read");
                return;
            }
        };
        let Some(live) = self.live(seq) else { return };
        let standing = |until: u64, left: Duration| {
            let asked = Duration::from_millis(until.saturating_sub(now.ms).saturating_add(USE_MS));
            asked.saturating_add(left)
        };
        let wall = match (until, live.due, live.clock_left) {
            (Some(until), Some(due), None) => {
                let left = due.saturating_duration_since(now.at);
                (live.due, live.clock_left) = (None, Some(left));
                standing(until, left)
            }
            // One more question, which may wait longer.
            (Some(until), None, Some(left)) => standing(until, left),
            (None, None, Some(left)) => {
                (live.due, live.clock_left) = (Some(now.at + left), None);
                left.saturating_sub(GRACE)
            }
            _ => return,
        };
        let session = live.head.session;
        self.effects.push(Effect::SetDeadline(turn, wall));
        self.lanes.set_asking(session, seq, until.is_some());
        // A place may be free now.
        self.drive_after_reply = true;
    }

    /// The same for the message of this turn, if it is not over.
    pub(crate) fn clock_of(&mut self, turn: TurnId) {
        if let Some(seq) = self.live_turn(turn).map(|live| live.head.seq) {
            self.clock(seq);
        }
    }
}
