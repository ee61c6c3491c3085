//! The beginning of an attempt: the turn is claimed, earlier attempts are replayed, and the work is made.

use crate::decision::approval;
use crate::effects::delegation;
use crate::effects::result::{self, CallOutput};
use crate::memory::recall;
use crate::runner::active::{Active, Stage};
use crate::runner::progress::EngineProgress;
use crate::state::blocked_on::BlockedOn;
use crate::state::context::GateContext;
use crate::state::runners::Replaced;
use crate::turn::attempt::Attempt;
use crate::turn::context::TurnContext;
use crate::turn::events::EventSender;
use crate::turn::heartbeat::Heartbeat;
use crate::turn::replay::{self, Replayed};
use crate::turn::{claim, end, work};
use ipc_proto::Text;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Released, TurnEvent};
use ipc_proto::runner_gate::{Ending, GateError, Work};
use ipc_proto::tool::ToolResult;

/// Begins an attempt. The work is `None` if an earlier attempt saved the answer: the turn is ended here then.
pub(crate) async fn begin(
    gate: &GateContext,
    turn: TurnId,
    replaced: &Replaced,
    blocked_on: &BlockedOn,
) -> Result<(Active, Option<Work>), GateError> {
    let mut context = claim::claim(gate, turn).await?;
    let heartbeat = Heartbeat::start(gate, turn, replaced, blocked_on);
    let mut events = EventSender::begin(gate, turn).await?;
    events.send(gate, [TurnEvent::Started { attempt: context.turn.attempt }]).await?;
    let replayed = replay::replay(&gate.catalogue(), &mut context);
    for released in &replayed.unknown {
        let output = match delegation::calls(&released.call.tool) {
            true => again(gate, &mut context, released).await,
            false => CallOutput::plain(replay::unknown(released)),
        };
        result::accept(gate, &mut context, released, output).await?;
    }
    recall::recall(gate, &mut context, &mut events).await?;
    let unthought = (context.turn.unthought > 0).then(|| unthought(context.turn.unthought));
    events.send(gate, unthought).await?;
    let engine_progress = EngineProgress::after(context.turn.steps.iter());
    let attempt = Attempt { context, events, replaced: replaced.clone() };
    let over = replayed.answered;
    let mut active = Active {
        attempt,
        stage: None,
        has_asked: false,
        engine_progress,
        server_call: None,
        tasks_call: None,
        over,
        _heartbeat: heartbeat,
    };
    if over {
        end::finish(gate, &active.attempt.context, Ending::Answered).await?;
        return Ok((active, None));
    }
    claim::permit_command(gate, &active.attempt.context).await?;
    let work = work_after(gate, &mut active, replayed).await?;
    Ok((active, Some(work)))
}

/// The result of a call that was handing out a task, or waiting for some. The same task is not handed out twice.
async fn again(gate: &GateContext, context: &mut TurnContext, released: &Released) -> CallOutput {
    let effect = delegation::again(gate, context, &released.call).await;
    let (call, output) = (released.call.id, Text::clip(&effect.output));
    CallOutput::plain(ToolResult { call, outcome: effect.outcome, output, duration_ms: 0, snapshot: None })
}

/// The notice of reasoning that was dropped because a turn keeps only so much.
fn unthought(replies: u32) -> TurnEvent {
    let notice = format!(
        "the model's reasoning before {replies} of its replies is not handed back to it, since a turn keeps up to 1 MiB of it"
    );
    TurnEvent::Notice(Text::clip(&notice))
}

/// The work of the attempt. Questions of an earlier attempt are asked again first.
async fn work_after(gate: &GateContext, active: &mut Active, replayed: Replayed) -> Result<Work, GateError> {
    let attempt = &mut active.attempt;
    let mut again = 0;
    if let Some(mut pending) = replayed.pending {
        again = u32::try_from(pending.calls.len()).unwrap_or(u32::MAX);
        approval::ask_again(gate, attempt, &mut pending).await?;
        active.stage = Some(Stage::PendingReply(pending));
    }
    let engine = work::engine_of(gate, &attempt.context).await?;
    let mut messages = replayed.messages;
    if engine.is_some() && attempt.context.turn.attempt > 1 {
        messages.push(replay::unseen());
    }
    Ok(work::work_of(gate, &attempt.context, engine, messages, again))
}
