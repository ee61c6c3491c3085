//! Turns that wait in the queue for an obstacle that their message is not to blame for: a budget that resets, a key, a process that is
//! held. The gate reports the obstacle, and the end of the runner then puts the message back into its lane. That counts as no failure.
//!
//! The report is kept in memory. After a restart the turn is tried at once, and meets its obstacle again if it is still there.

use crate::channels::API;
use crate::state::RouterState;
use crate::state::live::{Live, Phase};
use crate::state::postponed::Postponed;
use crate::state::runner_exit::{Blame, RunnerExit};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Obstacle, RouterError};
use std::time::Duration;

impl RouterState {
    /// The gate reports an obstacle of a running turn. Returns false if its client is to be refused instead.
    pub(crate) fn postpone(
        &mut self,
        turn: TurnId,
        obstacle: Obstacle,
        why: &str,
        again_s: u32,
    ) -> Result<bool, RouterError> {
        self.renew_lease(turn);
        let Some(Live { head, phase: Phase::Running(_), postponed, .. }) = self.live_turn(turn) else {
            return Err(RouterError::NoTurn);
        };
        if head.channel.as_str() == API && !matches!(obstacle, Obstacle::Process(_)) {
            return Ok(false);
        }
        let tries = match postponed {
            Some(before) if before.pending => before.tries,
            Some(before) => before.tries + 1,
            None => 0,
        };
        let over_in = (again_s > 0).then(|| Duration::from_secs(again_s.into()));
        *postponed = Some(Postponed { obstacle, why: why.to_owned(), over_in, tries, pending: true });
        Ok(true)
    }

    /// The end of a runner whose turn met an obstacle, if it met one.
    pub(crate) fn postponed_exit(&mut self, turn: TurnId) -> Option<RunnerExit> {
        let postponed = self.live_turn(turn)?.postponed.as_ref().filter(|postponed| postponed.pending)?;
        Some(RunnerExit { why: postponed.why.clone(), blame: Blame::Postponed, began: false })
    }
}
