//! The known effect of each call of a turn. Pure: it reads no store.
//!
//! It must never report a call as running that no runner can be running still.

use ipc_proto::Name;
use ipc_proto::ids::CallId;
use ipc_proto::router::{CallInfo, CallVerdict, Effect, Step};
use ipc_proto::tool::Outcome;
use std::collections::HashMap;

/// The progress of a turn.
pub(crate) struct TurnProgress {
    /// True once it is over.
    pub(crate) over: bool,
    /// The attempt of its runner, if it has one.
    pub(crate) attempt: Option<u32>,
}

/// Every call of a turn in the order it was asked for. `released` says in which attempt each was released last.
pub(crate) fn listed(
    steps: impl IntoIterator<Item = Step>,
    released: &HashMap<CallId, u32>,
    turn: &TurnProgress,
) -> Vec<CallInfo> {
    let mut calls: Vec<(CallId, Name, CallVerdict, u64, Option<Outcome>)> = Vec::new();
    for step in steps {
        match step {
            Step::Reply { calls: asked, .. } => {
                calls.extend(
                    asked.into_iter().map(|it| (it.call.id, it.call.tool, it.verdict, it.record, None)),
                );
            }
            Step::Decided { call, verdict, record } => {
                if let Some(it) = calls.iter_mut().find(|it| it.0 == call) {
                    (it.2, it.3) = (verdict, record);
                }
            }
            Step::Result { result, .. } => {
                if let Some(it) = calls.iter_mut().find(|it| it.0 == result.call) {
                    it.4 = Some(result.outcome);
                }
            }
            Step::Plan { .. } | Step::Recalled { .. } | Step::Steered { .. } => {}
        }
    }
    let info = |(id, tool, verdict, record, outcome)| {
        let here = turn.attempt.is_some() && released.get(&id).copied() == turn.attempt;
        CallInfo { id, tool, effect: effect(&verdict, outcome, here, turn.over), record }
    };
    calls.into_iter().map(info).collect()
}

/// `here` is true if the turn's present runner had the call released.
const fn effect(verdict: &CallVerdict, outcome: Option<Outcome>, here: bool, over: bool) -> Effect {
    match (verdict, outcome) {
        (CallVerdict::Refused(_), _) => Effect::Refused,
        // A question that was not answered in time is refused.
        (CallVerdict::Asking(_), _) if over => Effect::Refused,
        (CallVerdict::Asking(_), _) => Effect::Asking,
        (CallVerdict::Run, Some(Outcome::Unknown)) => Effect::Unknown,
        (CallVerdict::Run, Some(_)) => Effect::Done,
        (CallVerdict::Run, None) if here && !over => Effect::Running,
        (CallVerdict::Run, None) => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{asking, decided, reply, result};
    use ipc_proto::Text;

    fn effects(steps: &[Step], released: &[(u8, u32)], over: bool, attempt: Option<u32>) -> Vec<Effect> {
        let released = released.iter().map(|(n, attempt)| (CallId::from_bytes([*n; 16]), *attempt)).collect();
        let listed = listed(steps.iter().cloned(), &released, &TurnProgress { over, attempt });
        listed.into_iter().map(|call| call.effect).collect()
    }

    // Holds P7-60.
    #[test]
    fn a_call_without_a_result_runs_only_with_its_own_runner() {
        let steps = [reply(1), result(1, "x"), reply(2)];
        let released = [(1, 1), (2, 1)];
        let second = |over, attempt| effects(&steps, &released, over, attempt)[1];
        assert_eq!(effects(&steps, &released, false, Some(1)), [Effect::Done, Effect::Running]);
        assert_eq!(second(false, Some(2)), Effect::Unknown, "that runner is gone");
        assert_eq!(second(false, None), Effect::Unknown, "there is no runner");
        assert_eq!(second(true, None), Effect::Unknown, "the turn is over");
        assert_eq!(effects(&steps, &[], false, Some(1))[1], Effect::Unknown, "no attempt released it");
    }

    #[test]
    fn a_call_that_a_person_is_asked_about_is_what_they_decide() {
        let refused = CallVerdict::Refused(Text::clip("no"));
        let cases = [
            (vec![asking(1)], false, Effect::Asking),
            (vec![asking(1)], true, Effect::Refused),
            (vec![asking(1), decided(1, refused)], false, Effect::Refused),
            (vec![asking(1), decided(1, CallVerdict::Run)], false, Effect::Running),
            (vec![asking(1), decided(1, CallVerdict::Run), result(1, "x")], true, Effect::Done),
        ];
        for (steps, over, expected) in cases {
            assert_eq!(effects(&steps, &[(1, 3)], over, Some(3)), [expected]);
        }
    }

    #[test]
    fn a_result_that_says_so_is_unknown() {
        let Step::Result { mut result, label } = result(1, "?") else { panic!("no result") };
        result.outcome = Outcome::Unknown;
        let steps = [reply(1), Step::Result { result, label }];
        assert_eq!(effects(&steps, &[(1, 1)], false, Some(2)), [Effect::Unknown]);
    }
}
