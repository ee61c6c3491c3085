//! agentd's reports of runners, and what follows for their turns.

use crate::state::RouterState;
use crate::state::effects::Effect;
use crate::state::lease::UNHEARD;
use crate::state::live::{Live, Phase};
use crate::state::runner_exit::{AfterExit, Blame, RunnerExit, after_exit};
use ipc_proto::ids::TurnId;
use ipc_proto::router::End;
use manifest::command::Ended;

impl RouterState {
    /// agentd reports a live runner. It does so for each before its report is complete.
    pub(crate) fn runner_alive(&mut self, turn: TurnId) {
        self.runners.add_alive(turn);
    }

    /// agentd has reported which runners are alive. A turn that runs without one is retried; a runner whose turn is over is ended.
    pub(crate) fn runners_known(&mut self) {
        let Some(mut alive) = self.runners.complete() else { return };
        self.repeat_removals();
        for seq in self.live_where(|live| matches!(live.phase, Phase::Running(_))) {
            let Some(turn) = self.live(seq).map(|live| live.head.turn) else { continue };
            if !alive.remove(&turn) {
                let why = "its runner was gone when the router came back".into();
                self.runner_failed(seq, RunnerExit { why, blame: Blame::Lost, began: true });
            }
        }
        for turn in alive {
            self.kill(turn);
        }
        self.drive_now = true;
    }

    /// agentd reports that a runner ended.
    pub(crate) fn runner_ended(&mut self, turn: TurnId, how: Option<Ended>, code: u64) {
        self.runners.ended(turn);
        let Some(Live { head, phase: Phase::Running(lease), claimed, .. }) = self.live_turn(turn) else {
            return;
        };
        let (seq, lapsed) = (head.seq, lease.has_lapsed());
        let began = *claimed && how != Some(Ended::NotLaunched);
        if let Some(exit) = self.postponed_exit(turn) {
            self.runner_failed(seq, exit);
            self.drive_now = true;
            return;
        }
        match after_exit(how, code) {
            AfterExit::Retry(why) => {
                let why = if lapsed { UNHEARD.into() } else { why };
                self.runner_failed(seq, RunnerExit { why, blame: Blame::Failed, began });
            }
            AfterExit::RetryLater(why) => {
                self.runner_failed(seq, RunnerExit { why, blame: Blame::NotStarted, began })
            }
            AfterExit::Over(end) => self.end_without_answer(seq, end, "", None),
        }
        self.drive_now = true;
    }

    /// Has agentd end once more each runner whose end it has not reported.
    pub(crate) fn repeat_kills(&mut self) {
        self.effects.extend(self.runners.kill_again().into_iter().map(Effect::Kill));
    }

    /// agentd has not reported the end of a runner although its deadline is long past.
    pub(crate) fn overdue(&mut self, seq: i64) {
        let Some(turn) = self.live(seq).map(|live| live.head.turn) else { return };
        tracing::error!(%turn, "a runner outlived its wall clock");
        self.kill(turn);
        self.end_without_answer(seq, End::TimedOut, "", None);
    }
}
