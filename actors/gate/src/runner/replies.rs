//! The stages of a reply: the plan, the model's answer, people's decisions. Each stage ends in the next one or in the runner's
//! reply; nothing is shown before it is saved.

use crate::completion::model_call::{self, ModelCall, Reply};
use crate::completion::plan::{self, Planning};
use crate::decision::{approval, decide};
use crate::inspection::reply_text::WITHHELD;
use crate::inspection::{answer, display};
use crate::runner::active::{Active, Stage};
use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::state::runners::is_replaced;
use crate::turn::attempt::Attempt;
use crate::turn::context::TurnContext;
use crate::turn::pending_reply::{DecidedCall, PendingReply};
use crate::turn::steps;
use ipc_proto::model::{Message as ModelMessage, Thought};
use ipc_proto::router::{CallVerdict, Step};
use ipc_proto::runner_gate::{CompletionState, GateError};
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};

/// Starts a reply: the plan first where one is needed.
pub(crate) async fn start(
    gate: &GateContext,
    active: &mut Active,
    system: &str,
    messages: Vec<ModelMessage>,
) -> Result<Stage, GateError> {
    active.has_asked = true;
    let context = &mut active.attempt.context;
    for message in &messages {
        context.add_prompt_text(&message.text);
    }
    let prompt = model_call::Prompt { system: system.to_owned(), messages };
    if plan::is_needed(gate, context) {
        model_call::take_quota(gate, context)?;
        return Ok(Stage::Planning(Box::new(Planning::begin(gate, context).await?), prompt));
    }
    Ok(Stage::ModelCall(Box::new(model_call::begin(gate, context, prompt).await?)))
}

/// Polls the plan; once it is locked, the answer is started.
pub(crate) async fn poll_plan(
    gate: &GateContext,
    active: &mut Active,
    mut planning: Planning,
    prompt: model_call::Prompt,
) -> Result<CompletionState, GateError> {
    let mut replaced = active.attempt.replaced.clone();
    let plan = tokio::select! {
        plan = planning.poll(gate, &mut active.attempt.context) => plan?,
        () = is_replaced(&mut replaced) => {
            planning.cancel(gate).await;
            return Err(down("runner"));
        }
    };
    match plan {
        None => active.stage = Some(Stage::Planning(Box::new(planning), prompt)),
        Some(tools) => {
            plan::lock(gate, &mut active.attempt.context, tools).await?;
            let model_call = model_call::begin(gate, &mut active.attempt.context, prompt).await?;
            active.stage = Some(Stage::ModelCall(Box::new(model_call)));
        }
    }
    Ok(CompletionState::Waiting)
}

/// Polls the model's answer; a whole one is decided on.
pub(crate) async fn poll_call(
    gate: &GateContext,
    active: &mut Active,
    mut model_call: Box<ModelCall>,
) -> Result<CompletionState, GateError> {
    let mut replaced = active.attempt.replaced.clone();
    let reply = tokio::select! {
        reply = model_call.poll(gate, &mut active.attempt.context, &mut active.attempt.events) => reply?,
        () = is_replaced(&mut replaced) => {
            model_call.give_up(gate, &active.attempt.context).await?;
            return Err(down("runner"));
        }
    };
    let Some(reply) = reply else {
        active.stage = Some(Stage::ModelCall(model_call));
        return Ok(CompletionState::Waiting);
    };
    complete(gate, active, reply).await
}

/// Polls people's decisions. The reply itself is returned by the next poll: time in which a person was awaited does not count as
/// the turn's.
pub(crate) async fn poll_answers(
    gate: &GateContext,
    active: &mut Active,
    mut pending: PendingReply,
) -> Result<CompletionState, GateError> {
    if !pending.waits() {
        return Ok(pending.into_completion());
    }
    approval::apply_answers(gate, &mut active.attempt, &mut pending).await?;
    active.stage = Some(Stage::PendingReply(pending));
    Ok(CompletionState::Asking)
}

/// Decides on the calls of a whole reply, saves it, and only then shows it and asks people.
async fn complete(
    gate: &GateContext,
    active: &mut Active,
    reply: Reply,
) -> Result<CompletionState, GateError> {
    let attempt = &mut active.attempt;
    if *attempt.replaced.borrow() {
        return Err(down("runner"));
    }
    let Attempt { context, events, .. } = &mut *attempt;
    let text = answer::release_shown(gate, context, events, &reply.text).await?;
    // The calls beside a withheld text are the attacker's as well.
    let asked = if text == WITHHELD { Vec::new() } else { reply.calls };
    let (calls, looping) = decided_calls(gate, &mut attempt.context, asked).await?;
    let mut pending = PendingReply { text, finish: reply.finish, calls };
    save(gate, &mut attempt.context, &pending, reply.thoughts).await?;
    show(gate, attempt, &pending).await?;
    if let Some(tool) = looping {
        return Err(GateError::Looping { tool });
    }
    approval::ask(gate, attempt, &mut pending).await?;
    if !pending.waits() {
        return Ok(pending.into_completion());
    }
    // The time so far was the model's.
    active.stage = Some(Stage::PendingReply(pending));
    Ok(CompletionState::Waiting)
}

/// Decides on the calls. If the model repeats a refused call, its turn ends here: the tool is returned, and none of the other calls
/// is decided on.
async fn decided_calls(
    gate: &GateContext,
    context: &mut TurnContext,
    mut asked: Vec<ToolCall>,
) -> Result<(Vec<DecidedCall>, Option<Name>), GateError> {
    let looping = asked.iter().find(|call| context.calls.repeats_refused(call)).map(|call| call.tool.clone());
    if looping.is_some() {
        asked.retain(|call| context.calls.repeats_refused(call));
    }
    let mut calls = Vec::new();
    for call in asked {
        calls.push(decide::decide(gate, context, call).await?);
    }
    let most = context.agent.limits.same_call;
    context.calls.note_repeats(calls.iter().map(|call| &call.released.call), most);
    kit::fault_point!("gate.decided");
    Ok((calls, looping))
}

/// Saves the reply with its decisions and the reasoning before its calls.
async fn save(
    gate: &GateContext,
    context: &mut TurnContext,
    reply: &PendingReply,
    thoughts: Vec<Thought>,
) -> Result<(), GateError> {
    context.add_reply(&reply.text);
    context.last_text.clone_from(&reply.text);
    let first = reply.released().next().map(|released| released.call.id);
    let thoughts = List::clip(if first.is_some() { thoughts } else { Vec::new() });
    context.reasoning.keep(first, thoughts.clone());
    for released in reply.released().filter(|released| released.verdict == CallVerdict::Run) {
        context.raise_workspace_for(&released.call.tool);
    }
    let calls = List::clip(reply.released().cloned());
    steps::save(gate, context, Step::Reply { text: Text::clip(&reply.text), calls, thoughts }).await?;
    kit::fault_point!("gate.reply.kept");
    Ok(())
}

/// Stores the calls, and shows those on which nobody is asked.
async fn show(gate: &GateContext, attempt: &mut Attempt, reply: &PendingReply) -> Result<(), GateError> {
    let mut events = Vec::new();
    for released in reply.released() {
        attempt.context.calls.insert(released.clone(), None);
        if !matches!(released.verdict, CallVerdict::Asking(_)) {
            events.push(display::start(gate, &attempt.context, released).await?);
        }
    }
    attempt.events.send(gate, events).await
}
