//! The states of a message and which may follow which: data, and nothing else. Every change of a message's state
//! is looked up here before it is written; nothing may write a state around it.

use ipc_proto::router::MessageState::{
    Accepted, Answered, Blocked, Cancelled, Delivered, Failed, Quarantined, Queued, Recalled, Requeued,
    Running, TakenIn,
};
use ipc_proto::router::{End, MessageState};

/// One step that a message may take, and when.
pub(crate) struct Step {
    pub(crate) from: MessageState,
    pub(crate) to: MessageState,
    /// When this happens. A trace shows it where there is no other note.
    pub(crate) when: &'static str,
    /// Only a message for which no runner was ever launched may take it.
    unbegun: bool,
}

impl Step {
    /// Returns true if a message with so many attempts behind it may take this step.
    pub(crate) const fn is_open_after(&self, attempts: u32) -> bool {
        !self.unbegun || attempts == 0
    }
}

const fn step(from: MessageState, to: MessageState, when: &'static str) -> Step {
    Step { from, to, when, unbegun: false }
}

const fn unbegun(from: MessageState, to: MessageState, when: &'static str) -> Step {
    Step { from, to, when, unbegun: true }
}

/// Every step there is.
pub(crate) const STEPS: &[Step] = &[
    step(Accepted, Queued, "the scanner has looked at it and it has its label"),
    step(Accepted, Blocked, "the scanner keeps it from being answered"),
    step(Accepted, Cancelled, "its person, or the end of its session, cancels it"),
    step(Accepted, Failed, "it cannot be answered: its agent is gone"),
    unbegun(Accepted, Recalled, "its sender takes it back"),
    step(Queued, Running, "a runner is launched for it"),
    step(Queued, Answered, "its runner died while the answer was under way, and the answer came"),
    step(Queued, Blocked, "the same, and the gate kept the answer back"),
    step(Queued, Cancelled, "its person, or the end of its session, cancels it"),
    step(Queued, Failed, "it cannot be answered: its agent is gone"),
    unbegun(Queued, Recalled, "its sender takes it back before it has begun"),
    unbegun(Queued, TakenIn, "it was said into a turn under way, which has taken it in"),
    step(Running, Queued, "its runner ended before the turn did, and it is taken up again"),
    step(Running, Answered, "its answer is in the outbox"),
    step(Running, Blocked, "the gate kept the answer back"),
    step(Running, Cancelled, "its person, or the end of its session, cancels it"),
    step(Running, Failed, "out of time, or what failed will not mend by itself"),
    step(Running, Quarantined, "its runners ended once too often"),
    step(Answered, Delivered, "a follower was given the answer"),
    step(Failed, Requeued, "it was put into the queue again, as another message"),
    step(Quarantined, Requeued, "it was put into the queue again, as another message"),
];

/// Every state that is stored. `WaitingApproval` is none: it is how a listing shows one that runs while a person is
/// asked.
pub(crate) const STORED: [MessageState; 12] = [
    Accepted, Queued, Running, Answered, Delivered, Blocked, Cancelled, Failed, Recalled, Quarantined,
    Requeued, TakenIn,
];

/// The step from one state to the other, if a message may take it.
pub(crate) fn find(from: MessageState, to: MessageState) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.from == from && step.to == to)
}

/// Returns true if the turn of a message in this state is over.
pub(crate) const fn over(state: MessageState) -> bool {
    !matches!(state, Accepted | Queued | Running | MessageState::WaitingApproval)
}

/// Returns true if a message in this state is a dead letter: it may be put into the queue again.
pub(crate) const fn dead(state: MessageState) -> bool {
    matches!(state, Failed | Quarantined)
}

/// The state that has this name in the database.
pub(crate) fn parse(name: &str) -> Option<MessageState> {
    STORED.into_iter().find(|state| state.name() == name)
}

/// The state of a message whose turn has ended like this.
pub(crate) const fn of_end(end: &End) -> MessageState {
    match end {
        End::Answered | End::Exited { .. } => Answered,
        End::Cancelled => Cancelled,
        End::Blocked(_) => Blocked,
        End::TimedOut | End::Failed(_) | End::OverLimit(_) => Failed,
        End::Recalled => Recalled,
        End::Quarantined(_) => Quarantined,
        End::TakenIn(_) => TakenIn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn followers(from: MessageState) -> Vec<MessageState> {
        STEPS.iter().filter(|step| step.from == from).map(|step| step.to).collect()
    }

    proptest! {
        #[test]
        fn every_walk_stays_live_until_it_is_over_and_never_comes_back(choices in prop::collection::vec(0usize..8, 1..40)) {
            let mut at = Accepted;
            let mut was_over = false;
            for choice in choices {
                let next = followers(at);
                if next.is_empty() {
                    prop_assert!(over(at));
                    break;
                }
                at = next[choice % next.len()];
                prop_assert!(at != Accepted, "nothing comes back to the beginning");
                prop_assert!(!was_over || over(at), "what is over stays over");
                was_over = over(at);
            }
        }
    }

    #[test]
    fn every_live_state_reaches_an_end_and_the_first_reaches_every_state() {
        let mut reached = vec![Accepted];
        for at in 0.. {
            let Some(state) = reached.get(at).copied() else { break };
            assert!(over(state) || followers(state).into_iter().any(over), "{state:?} has no way out");
            for next in followers(state) {
                if !reached.contains(&next) {
                    reached.push(next);
                }
            }
        }
        assert_eq!(reached.len(), STORED.len());
    }

    #[test]
    fn each_step_stands_once_with_its_reason_and_each_name_comes_back() {
        for (at, step) in STEPS.iter().enumerate() {
            assert!(!step.when.is_empty());
            assert!(!STEPS[..at].iter().any(|it| it.from == step.from && it.to == step.to));
        }
        for state in STORED {
            assert_eq!(parse(state.name()), Some(state));
        }
        assert_eq!(parse(MessageState::WaitingApproval.name()), None, "it is shown and never kept");
    }

    #[test]
    fn only_answers_and_dead_letters_leave_a_state_that_is_over() {
        for state in STORED.into_iter().filter(|state| over(*state)) {
            let expected = match state {
                Answered => vec![Delivered],
                Failed | Quarantined => vec![Requeued],
                _ => vec![],
            };
            assert_eq!(followers(state), expected);
            assert_eq!(dead(state), expected == [Requeued]);
        }
    }

    #[test]
    fn only_what_has_not_begun_can_be_taken_back() {
        for from in STORED {
            let step = find(from, Recalled);
            assert_eq!(step.is_some(), matches!(from, Accepted | Queued), "{from:?}");
            assert!(step.is_none_or(|step| step.is_open_after(0) && !step.is_open_after(1)));
        }
        assert!(find(Queued, Cancelled).is_some_and(|step| step.is_open_after(2)));
    }
}
