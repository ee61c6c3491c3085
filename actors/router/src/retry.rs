//! Retries turns whose runner ended first, up to a bound. A turn does not begin anew before the end of its last runner is on the record.

use crate::state::RouterState;
use crate::state::effects::Recorded;
use crate::state::live::{Live, Phase};
use crate::state::moment::PAUSE;
use crate::state::runner_exit::{Blame, LOSSES, RETRIES, RunnerExit, counted};
use crate::store::{Head, Transition};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::{End, MessageState};
use std::time::Duration;

/// A runner that could not be started is asked for again after [`PAUSE`], which doubles so often at most.
const MOST_DOUBLINGS: u32 = 3;

impl RouterState {
    /// A runner ended before its turn did. It is replaced, or the turn is given up.
    pub(crate) fn runner_failed(&mut self, seq: i64, exit: RunnerExit) {
        let Some(live) = self.live(seq) else { return };
        let (failures, losses) = counted(&live.head, &exit);
        // The effects of a person's own program or command are unknown, and it has no steps to go on from. A message that cannot be
        // read may be one.
        if exit.began && self.is_own_program(seq).unwrap_or(true) {
            let why = format!("{}; a program is not run again by itself", exit.why);
            return self.end_without_answer(seq, End::Failed(Text::clip(&why)), "", None);
        }
        let Some(live) = self.live(seq) else { return };
        if failures > RETRIES || losses > LOSSES {
            let Head { id, attempts, .. } = live.head;
            let why = format!("given up after {attempts} attempts: {}", exit.why);
            tracing::error!(message = %id, attempts, "a message is given up; it is among the dead letters");
            return self.end_without_answer(seq, End::Quarantined(Text::clip(&why)), "", None);
        }
        live.phase = Phase::RunnerExited(exit);
        live.due = None;
        self.record_runner_exit(seq);
    }

    /// Has the end of a runner put on the record, which comes before its successor.
    pub(crate) fn record_runner_exit(&mut self, seq: i64) {
        let Some(Live { head, phase: Phase::RunnerExited(exit), .. }) = self.live(seq) else { return };
        let event = Event::new(Action::TurnRetried, Result3::Error)
            .because(&exit.why)
            .in_turn(head.session, head.turn);
        self.record(event, Recorded::RunnerExit(seq));
    }

    /// The end of a runner is on the record, or could not be put there: its turn waits in its lane for another.
    pub(crate) fn runner_exit_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(Live { head, phase: Phase::RunnerExited(exit), due, .. }) = self.live(seq) else { return };
        let (mut head, exit) = (head.clone(), exit.clone());
        *due = None;
        (head.failures, head.losses) = counted(&head, &exit);
        if exit.blame == Blame::NotStarted {
            head.attempts = head.attempts.saturating_sub(1);
        }
        head.state = MessageState::Queued;
        let transition =
            Transition { note: &exit.why, ..Transition::of(&head, MessageState::Queued, self.now.ms) };
        let committed = recorded.then(|| self.store.commit(|tx| tx.transition(&transition)));
        if !matches!(committed, Some(Ok(()))) {
            return self.delay(seq, Phase::RunnerExited(exit), PAUSE);
        }
        kit::fault_point!("router.retry.committed");
        let (session, failures) = (head.session, head.failures);
        self.lanes.put_back(session, seq);
        let (mut refused, mut obstacle) = (0, Duration::ZERO);
        if let Some(live) = self.live(seq) {
            live.head = head;
            match (&mut live.postponed, exit.blame) {
                (Some(postponed), Blame::Postponed) => {
                    postponed.pending = false;
                    obstacle = postponed.pause();
                }
                // The runner worked and met none.
                (postponed, Blame::Failed | Blame::Lost) => *postponed = None,
                _ => {}
            }
            refused = live.refused;
            live.refused = if exit.blame == Blame::NotStarted { refused + 1 } else { 0 };
        }
        // A runner that failed is given time, the more the more often; one that was lost is not to blame.
        let pause = match exit.blame {
            Blame::Lost => Duration::ZERO,
            Blame::Failed => PAUSE * failures,
            Blame::NotStarted => PAUSE * (1 << refused.min(MOST_DOUBLINGS)),
            Blame::Postponed => obstacle,
        };
        self.delay(seq, Phase::Queued, pause);
        if exit.blame == Blame::Lost {
            self.lanes.clear(session, seq);
        }
        self.drive_now = true;
    }
}
