//! Runners that ended before their turns did: what will mend by itself is told from what will not, and a turn is taken up
//! again so often and no more. Nothing is launched here, and no turn begins anew whose end is not on the record.

use crate::desk::{Desk, Live, PAUSE, Phase};
use crate::store::{Head, Pass};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::{End, Limit, MessageState};
use manifest::acts::Act;
use manifest::command::Ended;
use std::time::Duration;

/// Runners that may end before their turn does, and be replaced.
pub(crate) const RETRIES: u32 = 2;
/// Runners that may be gone when this process comes back, and be replaced: not the turn's fault, yet not endless.
pub(crate) const LOSSES: u32 = 8;
/// `EAGAIN`, `ENOMEM`, `ENFILE`, `EMFILE`, `EINTR`, from `asm-generic/errno-base.h`: a launch may yet succeed.
const TRANSIENT_ERRNOS: [u64; 5] = [11, 12, 23, 24, 4];

/// `ETIMEDOUT` and `EPERM`, of an attached directory.
const STALLED: u64 = 110;
const ANOTHERS: u64 = 1;

/// A runner that ended before its turn did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fall {
    /// In the host's words.
    pub(crate) why: String,
    /// It was gone when this process came back.
    pub(crate) lost: bool,
    /// It may have begun its work.
    pub(crate) began: bool,
}

/// What follows from a runner's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Another runner, and why.
    Again(String),
    /// The end of its turn.
    Over(End),
}

/// Tells what will mend by itself from what will not.
pub(crate) fn follows(how: Option<Ended>, code: u64) -> Follows {
    let failed = |why: String| Follows::Over(End::Failed(Text::clip(&why)));
    match how {
        Some(Ended::TimedOut) => Follows::Over(End::TimedOut),
        // The same work would go over the same limit.
        Some(Ended::Memory) => Follows::Over(End::OverLimit(Limit::Memory)),
        Some(Ended::Cpu) => Follows::Over(End::OverLimit(Limit::Cpu)),
        Some(Ended::Processes) => Follows::Over(End::OverLimit(Limit::Processes)),
        Some(Ended::Disk) => Follows::Over(End::OverLimit(Limit::Disk)),
        Some(Ended::Killed) => Follows::Again(format!("the runner was ended by signal {code}")),
        Some(Ended::Exited) if code == 0 => Follows::Again("the runner ended without ending its turn".into()),
        // By these the runner says that the fault was not its turn's: the gate is gone, or it could not begin.
        Some(Ended::Exited) if (128..=191).contains(&code) => {
            Follows::Again(format!("the runner ended with status {code}"))
        }
        Some(Ended::Exited) => failed(format!("the runner ended with status {code}")),
        Some(Ended::NotLaunched) if TRANSIENT_ERRNOS.contains(&code) => {
            Follows::Again(format!("the runner could not be started (errno {code})"))
        }
        Some(Ended::NotLaunched) => failed(format!("the runner could not be started (errno {code})")),
        Some(Ended::NoWorkspace) if code == STALLED => failed(
            "the attached directory did not answer within 2 s: its file system is stalled; attach it again when it answers"
                .into(),
        ),
        Some(Ended::NoWorkspace) if code == ANOTHERS => failed(
            "the attached directory is not owned any more by the user who attached it; attach one of your own".into(),
        ),
        Some(Ended::NoWorkspace) => failed(
            "the attached workspace is not known any more (the host was restarted); attach it again".into(),
        ),
        Some(Ended::Unproven) => {
            let act = u16::try_from(code).ok().and_then(Act::numbered).map_or("an act", |act| act.id);
            failed(format!(
                "this host serves no runner: its self-check failed (in a jail {act} was not refused, or could not be tried); see agentctl status"
            ))
        }
        Some(Ended::NoLoopback) => failed(
            "this host runs in mode flat, which has no network namespace: a program that asks models by itself needs one \
             of its jail's own"
                .into(),
        ),
        None => failed("the runner ended in a way this program does not know".into()),
    }
}

impl Desk {
    /// A runner ended before its turn did: it is replaced, or it was once too often.
    pub(crate) fn fall(&mut self, seq: i64, fall: Fall) {
        let Some(live) = self.live(seq) else { return };
        let (failures, losses) = counted(&live.head, &fall);
        // What a program or a command of a person's own has done is not known, and it has kept no steps to go on from. What
        // cannot be read may be one.
        if fall.began && self.is_own_program(seq).unwrap_or(true) {
            let why = format!("{}; a program is not run again by itself", fall.why);
            return self.end_without_answer(seq, End::Failed(Text::clip(&why)), "", None);
        }
        let Some(live) = self.live(seq) else { return };
        if failures > RETRIES || losses > LOSSES {
            let Head { id, attempts, .. } = live.head;
            let why = format!("given up after {attempts} attempts: {}", fall.why);
            tracing::error!(message = %id, attempts, "a message is given up; it is among the dead letters");
            return self.end_without_answer(seq, End::Quarantined(Text::clip(&why)), "", None);
        }
        live.phase = Phase::Fallen(fall);
        live.due = None;
        self.record_fall(seq);
    }

    /// Has the end of a runner put on the record, which comes before its successor.
    pub(crate) fn record_fall(&mut self, seq: i64) {
        let Some(Live { head, phase: Phase::Fallen(fall), .. }) = self.live(seq) else { return };
        let event = Event::new(Action::TurnRetried, Result3::Error)
            .because(&fall.why)
            .in_turn(head.session, head.turn);
        self.record(event, move |desk, recorded| desk.fall_recorded(seq, recorded));
    }

    fn fall_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(Live { head, phase: Phase::Fallen(fall), due, .. }) = self.live(seq) else { return };
        let (mut head, fall) = (head.clone(), fall.clone());
        *due = None;
        (head.failures, head.losses) = counted(&head, &fall);
        head.state = MessageState::Queued;
        let pass = Pass { note: &fall.why, ..Pass::of(&head, MessageState::Queued, self.now.ms) };
        let committed = recorded.then(|| self.store.commit(|tx| tx.pass(&pass)));
        if !matches!(committed, Some(Ok(()))) {
            return self.later(seq, Phase::Fallen(fall), PAUSE);
        }
        kit::fault_point!("router.retry.committed");
        let (session, failures) = (head.session, head.failures);
        self.lanes.again(session, seq);
        if let Some(live) = self.live(seq) {
            live.head = head;
        }
        // A runner that failed is given time, the more the more often; one that was lost is not to blame.
        let pause = if fall.lost { Duration::ZERO } else { PAUSE * failures };
        self.later(seq, Phase::Queued, pause);
        if fall.lost {
            self.lanes.clear(session, seq);
        }
        self.drive();
    }
}

/// How often a message's runners have failed and been lost, this one included.
fn counted(head: &Head, fall: &Fall) -> (u32, u32) {
    if fall.lost { (head.failures, head.losses + 1) } else { (head.failures + 1, head.losses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_mend_by_itself_is_told_from_what_will_not() {
        let again = [
            (Ended::Killed, 9),
            (Ended::Killed, 31),
            (Ended::Exited, 0),
            (Ended::Exited, 128),
            (Ended::Exited, 191),
            (Ended::NotLaunched, 11),
            (Ended::NotLaunched, 12),
        ];
        for (how, code) in again {
            assert!(matches!(follows(Some(how), code), Follows::Again(_)), "{how:?} {code}");
        }
        let over = [
            (Ended::Exited, 1),
            (Ended::Exited, 127),
            (Ended::Exited, 192),
            (Ended::NotLaunched, 2),
            (Ended::NoWorkspace, 0),
            (Ended::NoWorkspace, STALLED),
            (Ended::NoWorkspace, ANOTHERS),
            (Ended::NoLoopback, 0),
            (Ended::Unproven, 3),
        ];
        for (how, code) in over {
            assert!(matches!(follows(Some(how), code), Follows::Over(End::Failed(_))), "{how:?} {code}");
        }
        assert_eq!(follows(Some(Ended::TimedOut), 0), Follows::Over(End::TimedOut));
        for (how, limit) in [
            (Ended::Memory, Limit::Memory),
            (Ended::Cpu, Limit::Cpu),
            (Ended::Processes, Limit::Processes),
            (Ended::Disk, Limit::Disk),
        ] {
            assert_eq!(follows(Some(how), 9), Follows::Over(End::OverLimit(limit)));
        }
        assert!(matches!(follows(None, 7), Follows::Over(End::Failed(_))));
    }
}
