//! Ends runners whose lease has run out.

use crate::state::RouterState;
use crate::state::lease::{Found, UNHEARD};
use crate::state::live::{Live, Phase};
use crate::state::runner_exit::{Blame, RunnerExit};
use std::time::Duration;

/// A router that could not check leases for this long was stopped or starved, and heard nobody meanwhile.
const STALLED: Duration = Duration::from_secs(5);

impl RouterState {
    /// Ends runners of which nothing was heard for too long. Their turns are retried once agentd has reported their ends, so that no turn
    /// runs twice at once.
    pub(crate) fn check_leases(&mut self) {
        let now = self.now.at;
        let stalled =
            now.saturating_duration_since(std::mem::replace(&mut self.leases_checked, now)) >= STALLED;
        for seq in self.live_where(|live| matches!(live.phase, Phase::Running(_))) {
            let Some(Live { head, phase: Phase::Running(lease), .. }) = self.live(seq) else { continue };
            if stalled {
                lease.renew(now);
            }
            let turn = head.turn;
            match lease.check(now) {
                Found::Holds => {}
                Found::HasLapsed => {
                    tracing::warn!(%turn, "nothing is heard of a runner; it is ended");
                    self.kill(turn);
                }
                Found::IsGone => {
                    let exit = RunnerExit { why: UNHEARD.into(), blame: Blame::Failed, began: true };
                    self.runner_failed(seq, exit);
                }
            }
        }
    }
}
