//! Obstacles that hold a turn up and that its message is not to blame for: a budget that resets by itself, a key that is missing,
//! locked away or refused, a process that is held. The message waits in the queue, and the person is told for what.

use crate::state::context::GateContext;
use crate::turn::attempt::Attempt;
use ipc_proto::Text;
use ipc_proto::credproxy::CredError;
use ipc_proto::ids::TurnId;
use ipc_proto::model::ModelError;
use ipc_proto::router::{self, Obstacle, Task, TurnEvent};
use ipc_proto::runner_gate::GateError;

/// Has the turn of this attempt wait, and tells its followers. Returns false if the error is no obstacle of a conversation, or its
/// client is to be refused at once.
pub(crate) async fn postpone(gate: &GateContext, attempt: &mut Attempt, error: &GateError) -> bool {
    let context = &attempt.context;
    if context.turn.task != Task::Chat || !postpone_turn(gate, context.turn.id, error).await {
        return false;
    }
    let notice = format!("your message waits in the queue: {}", sentence(error));
    if attempt.events.send(gate, [TurnEvent::Notice(Text::clip(&notice))]).await.is_err() {
        tracing::warn!("the followers of a turn that waits could not be told");
    }
    true
}

/// Has a turn wait, if the error is an obstacle.
pub(crate) async fn postpone_turn(gate: &GateContext, turn: TurnId, error: &GateError) -> bool {
    let Some((obstacle, again_s)) = obstacle_of(error, |name| is_up(gate, name)) else { return false };
    let why = Text::<512>::clip(&format!("waits: {}", sentence(error)));
    let postponed = gate.router.call(&router::method::postpone, |router, rpc| {
        let (obstacle, why) = (obstacle.clone(), why.clone());
        async move { router.postpone(rpc, turn, obstacle, why, again_s).await }
    });
    matches!(postponed.await, Ok(Ok(true)))
}

/// The obstacle that an error means, and the seconds until it is over; 0 where nobody knows. A process that serves is none: it failed
/// in the call itself.
fn obstacle_of(error: &GateError, is_up: impl Fn(&str) -> bool) -> Option<(Obstacle, u32)> {
    match error {
        GateError::Model(ModelError::Budget { again_s: again_s @ 1.., .. }) => {
            Some((Obstacle::Budget, *again_s))
        }
        GateError::Model(
            ModelError::Auth | ModelError::Credentials(CredError::Locked | CredError::NoSecret),
        ) => Some((Obstacle::Key, 0)),
        GateError::Down(name) if !is_up(name) => Some((Obstacle::Process(name.clone()), 0)),
        _ => None,
    }
}

/// The obstacle and its remedy in the host's words.
fn sentence(error: &GateError) -> String {
    match error {
        GateError::Down(name) => format!("{name} is held or away; if it is held: agentctl release {name}"),
        error => error.to_string(),
    }
}

/// Returns true if a process that turns need serves now.
fn is_up(gate: &GateContext, name: &str) -> bool {
    match name {
        "model" => gate.model.is_up(),
        "scanner" => gate.scanner.is_up(),
        "memory" => gate.memory.is_up(),
        "audit" => gate.audit.is_up(),
        "credproxy" => gate.credproxy.is_up(),
        // Without router nothing can be postponed, and no turn waits for another process.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::model::Per;

    fn kind(error: &GateError, up: bool) -> Option<(Obstacle, u32)> {
        obstacle_of(error, |_| up)
    }

    // Holds P7-94.
    #[test]
    fn a_budget_that_resets_a_key_and_a_held_process_are_obstacles() {
        let budget = |again_s| GateError::Model(ModelError::Budget { per: Per::Day, again_s });
        assert_eq!(kind(&budget(900), true), Some((Obstacle::Budget, 900)));
        assert_eq!(kind(&budget(0), true), None, "a session's budget needs a person");
        for error in [
            ModelError::Auth,
            ModelError::Credentials(CredError::Locked),
            ModelError::Credentials(CredError::NoSecret),
        ] {
            assert_eq!(kind(&GateError::Model(error), true), Some((Obstacle::Key, 0)), "{error}");
        }
        let down = GateError::Down(Name::clip("model"));
        assert_eq!(kind(&down, false), Some((Obstacle::Process(Name::clip("model")), 0)));
        assert_eq!(kind(&down, true), None, "it serves: the call itself failed");
        for error in [ModelError::Timeout, ModelError::Script, ModelError::Rejected { status: 400 }] {
            assert_eq!(kind(&GateError::Model(error), true), None, "{error}");
        }
    }

    // Holds P7-94.
    #[test]
    fn a_message_that_waits_says_for_what_and_how_to_go_on() {
        let said = sentence(&GateError::Down(Name::clip("scanner")));
        assert!(said.contains("agentctl release scanner"), "{said}");
        let said = sentence(&GateError::Model(ModelError::Credentials(CredError::Locked)));
        assert!(said.contains("agentctl cred unlock"), "{said}");
    }
}
