//! Turns that wait in the queue for an obstacle that their message is not to blame for: a budget that resets, a key, a process that is
//! held. The gate reports the obstacle, and the end of the runner then puts the message back into its lane. That counts as no failure.
//!
//! Only the oldest of one user's messages that wait for the same obstacle is tried again; the others go on once it is over, or once the
//! oldest is gone.
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
        let session = self.under_way(turn)?.session;
        let agent = self.store.session(session)?.agent;
        let Some(Live { head, phase: Phase::Running(_), postponed, .. }) = self.live_turn(turn) else {
            return Err(RouterError::NoTurn);
        };
        if head.channel.as_str() == API && !matches!(obstacle, Obstacle::Process(_)) {
            return Ok(false);
        }
        let tries = match postponed {
            Some(before) if before.pending => before.tries,
            Some(before) if before.over => 0,
            Some(before) => before.tries + 1,
            None => 0,
        };
        let over_in = (again_s > 0).then(|| Duration::from_secs(again_s.into()));
        *postponed = Some(Postponed {
            obstacle,
            agent,
            why: why.to_owned(),
            over_in,
            tries,
            pending: true,
            over: false,
        });
        Ok(true)
    }

    /// Returns true if an older message of the same user waits for the same obstacle, or tries whether it is over.
    pub(crate) fn waits_behind(&self, seq: i64) -> bool {
        let Some(live) = self.live.get(seq) else { return false };
        let Some(postponed) = &live.postponed else { return false };
        let tries = |older: &Live| {
            let same = older.postponed.as_ref().is_some_and(|it| it.is_same(postponed));
            same && older.head.user == live.head.user && !matches!(older.phase, Phase::Ending(_))
        };
        self.live.all().take_while(|older| older.head.seq < seq).any(tries)
    }

    /// A turn has got further than its obstacle, if it had met one: the messages that wait for the same one are tried now.
    pub(crate) fn went_on(&mut self, turn: TurnId) {
        let Some(live) = self.live_turn(turn) else { return };
        let Some(postponed) = live.postponed.clone() else { return };
        let (user, now) = (live.head.user, self.now.at);
        let same = |live: &Live| live.postponed.as_ref().is_some_and(|it| it.is_same(&postponed));
        for seq in self.live_where(|live| live.head.user == user && same(live)) {
            let Some(live) = self.live(seq) else { continue };
            if let Some(postponed) = &mut live.postponed {
                postponed.over = true;
            }
            if matches!(live.phase, Phase::Queued) {
                live.due = Some(now);
            }
        }
    }

    /// The end of a runner whose turn met an obstacle, if it met one.
    pub(crate) fn postponed_exit(&mut self, turn: TurnId) -> Option<RunnerExit> {
        let postponed = self.live_turn(turn)?.postponed.as_ref().filter(|postponed| postponed.pending)?;
        Some(RunnerExit { why: postponed.why.clone(), blame: Blame::Postponed, began: false })
    }
}
