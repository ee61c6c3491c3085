//! Runners that ended before their turns did: the reasons, and what follows from each.

use crate::store::Head;
use ipc_proto::Text;
use ipc_proto::router::{End, Limit};
use manifest::acts::Act;
use manifest::command::Ended;

/// Runners that may end before their turn does, and be replaced.
pub(crate) const RETRIES: u32 = 2;
/// Runners that may be gone when this process comes back, and be replaced: not the turn's fault, yet not endless.
pub(crate) const LOSSES: u32 = 8;
/// `EAGAIN`, `ENOMEM`, `ENFILE`, `EMFILE`, `EINTR`, from `asm-generic/errno-base.h`: a launch may yet succeed.
const TRANSIENT_ERRNOS: [u64; 5] = [11, 12, 23, 24, 4];

/// `ENOTCONN`: the gate does not run, and a runner without it could do nothing.
const NO_GATE: u64 = 107;
/// `ETIMEDOUT` and `EPERM`, of an attached directory.
const STALLED: u64 = 110;
const ANOTHERS: u64 = 1;

/// A runner that ended before its turn did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunnerExit {
    /// Why, in the host's words.
    pub(crate) why: String,
    pub(crate) blame: Blame,
    /// True if it may have begun its work.
    pub(crate) began: bool,
}

/// How the end of a runner counts for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// It failed: one of [`RETRIES`].
    Failed,
    /// It was gone when this process came back: one of [`LOSSES`].
    Lost,
    /// The host could not start it at the moment. That is no attempt.
    NotStarted,
    /// Its turn met an obstacle that is not of its making, and waits.
    Postponed,
}

/// The consequence of a runner's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AfterExit {
    /// Another runner, and why.
    Retry(String),
    /// Another runner once the host can start one, and why it could not.
    RetryLater(String),
    /// The end of its turn.
    Over(End),
}

/// Separates transient from permanent failures.
pub(crate) fn after_exit(how: Option<Ended>, code: u64) -> AfterExit {
    let failed = |why: String| AfterExit::Over(End::Failed(Text::clip(&why)));
    match how {
        Some(Ended::TimedOut) => AfterExit::Over(End::TimedOut),
        // The same work would exceed the same limit.
        Some(Ended::Memory) => AfterExit::Over(End::OverLimit(Limit::Memory)),
        Some(Ended::Cpu) => AfterExit::Over(End::OverLimit(Limit::Cpu)),
        Some(Ended::Processes) => AfterExit::Over(End::OverLimit(Limit::Processes)),
        Some(Ended::Disk) => AfterExit::Over(End::OverLimit(Limit::Disk)),
        Some(Ended::Killed) => AfterExit::Retry(format!("the runner was ended by signal {code}")),
        Some(Ended::Exited) if code == 0 => AfterExit::Retry("the runner ended without ending its turn".into()),
        // With these the runner says that the fault was not its turn's: the gate is gone, or it could not begin.
        Some(Ended::Exited) if (128..=191).contains(&code) => {
            AfterExit::Retry(format!("the runner ended with status {code}"))
        }
        Some(Ended::Exited) => failed(format!(
            "the runner ended with status {code}; `agentctl logs agentd` says more, then `agentctl message requeue ID`"
        )),
        Some(Ended::NotLaunched) if code == NO_GATE => AfterExit::RetryLater(
            "waits: the gate is held or away; if it is held: agentctl release gate".into(),
        ),
        Some(Ended::NotLaunched) if TRANSIENT_ERRNOS.contains(&code) => {
            AfterExit::RetryLater(format!("the runner could not be started (errno {code})"))
        }
        Some(Ended::NotLaunched) => failed(format!(
            "the runner could not be started (errno {code}); `agentctl doctor` says what the machine lacks"
        )),
        Some(Ended::NoWorkspace) if code == STALLED => failed(
            "the attached directory did not answer within 2 s: its file system is stalled; attach it again when it answers"
                .into(),
        ),
        Some(Ended::NoWorkspace) if code == ANOTHERS => failed(
            "the attached directory is not owned any more by the user who attached it; attach one of your own: \
             agentctl chat --workspace DIR"
                .into(),
        ),
        Some(Ended::NoWorkspace) => failed(
            "the attached workspace is not known any more (the host was restarted); attach it again: \
             agentctl chat --workspace DIR"
                .into(),
        ),
        Some(Ended::Unproven) => {
            let act = u16::try_from(code).ok().and_then(Act::numbered).map_or("an act", |act| act.id);
            failed(format!(
                "this host serves no runner: its self-check failed (in a jail {act} was not refused, or could not be tried); \
                 see agentctl status"
            ))
        }
        Some(Ended::NoLoopback) => failed(
            "this host runs in mode flat, which has no network namespace; a program that asks models by itself needs one, and so does an \
             agent with `network.mode`; run the host as root, or permit user namespaces (agentctl doctor)"
                .into(),
        ),
        None => failed("the runner ended in an unknown way; install the release whole, and restart the host".into()),
    }
}

/// Failures and losses of a message's runners, this one included.
pub(crate) fn counted(head: &Head, exit: &RunnerExit) -> (u32, u32) {
    match exit.blame {
        Blame::Failed => (head.failures + 1, head.losses),
        Blame::Lost => (head.failures, head.losses + 1),
        Blame::NotStarted | Blame::Postponed => (head.failures, head.losses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_failures_are_separated_from_permanent_ones() {
        let again = [
            (Ended::Killed, 9),
            (Ended::Killed, 31),
            (Ended::Exited, 0),
            (Ended::Exited, 128),
            (Ended::Exited, 191),
        ];
        for (how, code) in again {
            assert!(matches!(after_exit(Some(how), code), AfterExit::Retry(_)), "{how:?} {code}");
        }
        for code in [11, 12, NO_GATE] {
            assert!(matches!(after_exit(Some(Ended::NotLaunched), code), AfterExit::RetryLater(_)), "{code}");
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
            assert!(matches!(after_exit(Some(how), code), AfterExit::Over(End::Failed(_))), "{how:?} {code}");
        }
        assert_eq!(after_exit(Some(Ended::TimedOut), 0), AfterExit::Over(End::TimedOut));
        for (how, limit) in [
            (Ended::Memory, Limit::Memory),
            (Ended::Cpu, Limit::Cpu),
            (Ended::Processes, Limit::Processes),
            (Ended::Disk, Limit::Disk),
        ] {
            assert_eq!(after_exit(Some(how), 9), AfterExit::Over(End::OverLimit(limit)));
        }
        assert!(matches!(after_exit(None, 7), AfterExit::Over(End::Failed(_))));
    }
}
