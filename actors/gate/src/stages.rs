//! What a runner that has asked its model to go on waits for, one after another: a plan, the reply, people. Each stage ends
//! in the next or in what the runner hears; nothing is shown before it is kept.

use crate::answer;
use crate::asking::{self, Settling};
use crate::connection::Active;
use crate::decide;
use crate::host::{Shared, down, is_replaced};
use crate::plan::{self, Planning};
use crate::showing;
use crate::speech::{WITHHELD, text_events};
use crate::thinking::{self, Reply, Thinking};
use ipc_proto::model::Message as ModelMessage;
use ipc_proto::router::{CallVerdict, Released, Step, TurnEvent};
use ipc_proto::runner_gate::{GateError, Heard};
use ipc_proto::{List, Text};

/// What a runner that has asked the model to go on waits for.
pub(crate) enum Stage {
    /// The plan; the request that follows it is ready.
    Planning(Box<Planning>, thinking::Asked),
    /// The model's answer.
    Thinking(Box<Thinking>),
    /// People's answers.
    Settling(Settling),
}

/// Begins what the model is asked for: the plan first where one is needed.
pub(crate) async fn think(
    shared: &Shared,
    active: &mut Active,
    system: &str,
    messages: Vec<ModelMessage>,
) -> Result<Stage, GateError> {
    active.has_thought = true;
    let context = &mut active.context;
    for message in &messages {
        context.meet(&message.text);
    }
    if plan::is_needed(shared, context) {
        thinking::take_quota(shared, context)?;
        let asked = thinking::Asked { system: system.to_owned(), messages };
        return Ok(Stage::Planning(Box::new(Planning::begin(shared, context).await?), asked));
    }
    let asked = thinking::Asked { system: system.to_owned(), messages };
    Ok(Stage::Thinking(Box::new(thinking::begin(shared, context, asked).await?)))
}

/// Works on the plan; once it is locked, the answer is begun.
pub(crate) async fn planned(
    shared: &Shared,
    active: &mut Active,
    mut planning: Planning,
    asked: thinking::Asked,
) -> Result<Heard, GateError> {
    let mut replaced = active.replaced.clone();
    let plan = tokio::select! {
        plan = planning.go_on(shared, &mut active.context) => plan?,
        () = is_replaced(&mut replaced) => {
            planning.cancel(shared).await;
            return Err(down("runner"));
        }
    };
    match plan {
        None => active.stage = Some(Stage::Planning(Box::new(planning), asked)),
        Some(tools) => {
            plan::lock(shared, &mut active.context, tools).await?;
            let thinking = thinking::begin(shared, &mut active.context, asked).await?;
            active.stage = Some(Stage::Thinking(Box::new(thinking)));
        }
    }
    Ok(Heard::Waiting)
}

pub(crate) async fn thought(
    shared: &Shared,
    active: &mut Active,
    mut thinking: Box<Thinking>,
) -> Result<Heard, GateError> {
    let mut replaced = active.replaced.clone();
    let reply = tokio::select! {
        reply = thinking.go_on(shared, &mut active.context, &mut active.teller) => reply?,
        () = is_replaced(&mut replaced) => {
            thinking.give_up(shared, &active.context).await?;
            return Err(down("runner"));
        }
    };
    let Some(reply) = reply else {
        active.stage = Some(Stage::Thinking(thinking));
        return Ok(Heard::Waiting);
    };
    heard(shared, active, reply).await
}

/// The reply is given out by a hearing of its own: one in which a person was waited for is not the turn's time.
pub(crate) async fn settled(
    shared: &Shared,
    active: &mut Active,
    mut settling: Settling,
) -> Result<Heard, GateError> {
    if settling.waiting.is_empty() {
        return Ok(asking::reply(settling));
    }
    asking::settle(shared, active, &mut settling).await?;
    active.stage = Some(Stage::Settling(settling));
    Ok(Heard::Asking)
}

/// A whole reply: its calls decided on, kept, and only then shown; what asks is asked.
async fn heard(shared: &Shared, active: &mut Active, reply: Reply) -> Result<Heard, GateError> {
    if *active.replaced.borrow() {
        return Err(down("runner"));
    }
    let context = &mut active.context;
    let text = answer::release(shared, context, reply.text.clone()).await?;
    if text != reply.text {
        let again = std::iter::once(TurnEvent::Again).chain(text_events(&text));
        active.teller.tell(shared, again).await?;
    }
    let (mut calls, mut waiting) = (Vec::new(), Vec::new());
    // What comes with a text that must not leave is the attacker's as well.
    let mut asked = if text == WITHHELD { Vec::new() } else { reply.calls };
    let stubborn = asked.iter().find(|call| context.was_told(call)).map(|call| call.tool.clone());
    if stubborn.is_some() {
        // It goes round in circles, and its turn ends here: nothing else that it asks for is begun.
        asked.retain(|call| context.was_told(call));
    }
    for call in asked {
        let decided = decide::decide(shared, context, call).await?;
        calls.push(decided.released);
        waiting.extend(decided.question);
    }
    context.tell(calls.iter().map(|released| &released.call));
    kit::fault_point!("gate.decided");
    context.said(&text);
    context.last_text.clone_from(&text);
    let kept: List<Released, 32> = List::clip(calls.clone());
    let first = calls.first().map(|released| released.call.id);
    let thoughts = List::clip(if first.is_some() { reply.thoughts } else { Vec::new() });
    context.think(first, thoughts.clone());
    answer::keep(shared, context, Step::Reply { text: Text::clip(&text), calls: kept, thoughts }).await?;
    kit::fault_point!("gate.reply.kept");
    let mut events = Vec::new();
    for released in &calls {
        context.calls.insert(released.call.id, (released.clone(), None));
        if !matches!(released.verdict, CallVerdict::Asking(_)) {
            events.push(showing::start(shared, context, released).await?);
        }
    }
    active.teller.tell(shared, events).await?;
    if let Some(tool) = stubborn {
        return Err(GateError::Looping { tool });
    }
    let mut settling = Settling { text, calls, finish: reply.finish, waiting };
    asking::ask(shared, active, &mut settling).await?;
    if settling.waiting.is_empty() {
        return Ok(asking::reply(settling));
    }
    // What has passed by now was the model's.
    active.stage = Some(Stage::Settling(settling));
    Ok(Heard::Waiting)
}
