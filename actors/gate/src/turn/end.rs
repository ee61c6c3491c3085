//! The end of a turn: recorded, then durable in the outbox.

use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::{self, End, Finished};
use ipc_proto::runner_gate::{Ending, GateError};

/// Ends the turn: recorded, then durable in the outbox, then shown.
pub(crate) async fn finish(
    gate: &GateContext,
    context: &TurnContext,
    ending: Ending,
) -> Result<(), GateError> {
    let end = match ending {
        Ending::Answered => End::Answered,
        Ending::Exited { status } => End::Exited { status },
        Ending::TimedOut => End::TimedOut,
        Ending::NotStarted => End::Failed(Text::clip(
            "the command could not be started in the jail; `agentctl doctor` says what the machine lacks",
        )),
        Ending::TooManyCalls => End::Failed(Text::clip(
            "the turn's bound of tool calls is reached; go on with another message, or raise limits.tool_calls of the agent",
        )),
        Ending::EngineFailed { status } => End::Failed(Text::clip(&engine_failed(context, status))),
        Ending::EngineIdle => {
            let seconds = context.agent.engine.as_ref().map_or(0, |engine| engine.idle_seconds);
            End::Failed(Text::clip(&format!(
                "the engine said nothing for {seconds} s, and was ended; send it again, or raise limits.idle_seconds of the agent"
            )))
        }
    };
    let mut event =
        Event::new(Action::AnswerReleased, Result3::Success).in_turn(context.turn.session, context.turn.id);
    event.bytes = context.last_text.len() as u64;
    event.tokens = (context.usage.input, context.usage.output);
    event.label = Some(context.session.label.clone());
    gate.record(event).await?;
    kit::fault_point!("gate.finish.recorded");
    end_turn(gate, context, end).await
}

/// The reason for which an engine failed. By the convention of shells and env(1), status 127 is a missing program and 126 one
/// that cannot be run.
fn engine_failed(context: &TurnContext, status: u8) -> String {
    let what = format!("the engine ended with status {status} and without an answer");
    let program = context.agent.engine.as_ref().and_then(|engine| engine.command.first());
    match (status, program) {
        (126 | 127, Some(program)) => {
            format!(
                "{what}: {program}, or what it runs, is not there in the jail or cannot be run; install it for everybody on this machine"
            )
        }
        _ => what,
    }
}

/// Tells router how a turn ended.
pub(crate) async fn end_turn(gate: &GateContext, context: &TurnContext, end: End) -> Result<(), GateError> {
    let finished = Finished {
        end,
        text: Text::clip(&context.last_text),
        label: context.session.label.clone(),
        usage: context.usage,
        duration_ms: 0,
        attempts: context.turn.attempt,
    };
    let ended = gate.router.call(&router::method::finish, |router, rpc| {
        let (turn, finished) = (context.turn.id, finished.clone());
        async move { router.finish(rpc, turn, finished).await }
    });
    ended.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
}
