//! One runner's connection: an actor that takes its requests one after the other. Whose work it is is known from the
//! descriptor; what it may do next follows from what it was told before.

use crate::answer::Given;
use crate::asking::{self, Settling};
use crate::context::{Pending, TurnContext};
use crate::heart::Heart;
use crate::host::{Replaced, Shared, down, is_replaced};
use crate::plan::{self, Planning};
use crate::running::Asker;
use crate::tell::Teller;
use crate::thinking::{Reply, Thinking};
use crate::{answer, decide, effects, recalling, replay, showing, taking, thinking};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::Message as ModelMessage;
use ipc_proto::router::{CallVerdict, End, Released, Step, Task, TurnEvent};
use ipc_proto::runner_gate::{Ending, GateError, Heard, Work};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::time::Instant;

type Port<T> = RpcReplyPort<Result<T, GateError>>;

/// What a runner asks.
pub(crate) enum Message {
    Work(Port<Work>),
    Think(String, Vec<ModelMessage>, Port<()>),
    Hear(Port<Heard>),
    Effect(CallId, Port<ToolResult>),
    Result(ToolResult, Port<ToolResult>),
    Progress(CallId, Text<256>, Port<()>),
    Output(bool, Blob<32768>, Port<()>),
    /// Who asks models, where that is the program of a person's own.
    Asker(Port<Asker>),
    Finish(Ending, Port<()>),
}

/// One runner's connection.
pub(crate) struct Connection;

pub(crate) struct State {
    shared: Shared,
    turn: TurnId,
    replaced: Replaced,
    /// There once the work was asked for.
    active: Option<Active>,
}

/// A turn that is under way.
pub(crate) struct Active {
    pub(crate) context: TurnContext,
    pub(crate) teller: Teller,
    pub(crate) replaced: Replaced,
    stage: Option<Stage>,
    /// The runner has asked for an answer before.
    has_thought: bool,
    over: bool,
    /// Kept for as long as the turn is under way here.
    _heart: Heart,
}

/// What a runner that has asked the model to go on waits for.
enum Stage {
    /// The plan; the request that follows it is ready.
    Planning(Planning, thinking::Asked),
    /// The model's answer.
    Thinking(Box<Thinking>),
    /// People's answers.
    Settling(Settling),
}

impl Actor for Connection {
    type Msg = Message;
    type State = State;
    type Arguments = (Shared, TurnId, Replaced);

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        (shared, turn, replaced): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { shared, turn, replaced, active: None })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Work(reply) => drop(reply.send(state.work().await)),
            Message::Think(system, messages, reply) => drop(reply.send(state.think(&system, messages).await)),
            Message::Hear(reply) => drop(reply.send(state.hear().await)),
            Message::Effect(call, reply) => drop(reply.send(state.effect(call).await)),
            Message::Result(result, reply) => drop(reply.send(state.result(result).await)),
            Message::Progress(call, line, reply) => drop(reply.send(state.progress(call, line).await)),
            Message::Output(error, bytes, reply) => drop(reply.send(state.output(error, bytes).await)),
            Message::Asker(reply) => drop(reply.send(state.asker())),
            Message::Finish(ending, reply) => drop(reply.send(state.finish(ending).await)),
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        match state.active.take().and_then(|active| active.stage) {
            Some(Stage::Planning(mut planning, _)) => planning.cancel(&state.shared).await,
            Some(Stage::Thinking(thinking)) => thinking.cancel(&state.shared).await,
            Some(Stage::Settling(_)) | None => {}
        }
        Ok(())
    }
}

impl State {
    fn active(&mut self) -> Result<(&Shared, &mut Active), GateError> {
        match &mut self.active {
            Some(active) if active.over => Err(GateError::Over),
            Some(active) => Ok((&self.shared, active)),
            None => Err(GateError::OutOfTurn),
        }
    }

    /// Takes the turn up.
    async fn work(&mut self) -> Result<Work, GateError> {
        let shared = self.shared.clone();
        let mut context = taking::take(&shared, self.turn).await?;
        let heart = Heart::begin(&shared, self.turn, &self.replaced);
        let mut teller = Teller::begin(&shared, self.turn).await?;
        teller.tell(&shared, [TurnEvent::Started { attempt: context.turn.attempt }]).await?;
        let replayed = replay::replay(&shared.catalogue, &mut context);
        for released in &replayed.unknown {
            answer::take(&shared, &mut context, released, Given::plain(replay::unknown(released))).await?;
        }
        recalling::recall(&shared, &mut context, &mut teller).await?;
        let replaced = self.replaced.clone();
        let (stage, has_thought, over) = (None, false, false);
        let mut active = Active { context, teller, replaced, stage, has_thought, over, _heart: heart };
        if replayed.answered {
            answer::finish(&shared, &active.context, Ending::Answered).await?;
            active.over = true;
            self.active = Some(active);
            return Err(GateError::Over);
        }
        taking::permit_command(&shared, &active.context).await?;
        let mut again = 0;
        if let Some(mut settling) = replayed.settling {
            again = u32::try_from(settling.calls.len()).unwrap_or(u32::MAX);
            asking::ask_again(&shared, &mut active, &mut settling).await?;
            active.stage = Some(Stage::Settling(settling));
        }
        let work = taking::work_of(&shared, &active.context, replayed.messages, again);
        self.active = Some(active);
        Ok(work)
    }

    async fn think(&mut self, system: &str, messages: Vec<ModelMessage>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        if matches!(active.stage, Some(Stage::Settling(_))) && !active.has_thought {
            // What an earlier attempt's model asked for waits for a person: that reply comes first.
            active.has_thought = true;
            return Ok(());
        }
        if active.stage.is_some() || active.context.turn.task != Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        match think(shared, active, system, messages).await {
            Ok(stage) => active.stage = Some(stage),
            Err(error) => {
                fail(shared, active, &error).await;
                return Err(error);
            }
        }
        Ok(())
    }

    async fn hear(&mut self) -> Result<Heard, GateError> {
        let (shared, active) = self.active()?;
        let Some(stage) = active.stage.take() else { return Err(GateError::OutOfTurn) };
        let heard = match stage {
            Stage::Planning(planning, asked) => planned(shared, active, planning, asked).await,
            Stage::Thinking(thinking) => thought(shared, active, thinking).await,
            Stage::Settling(settling) => settled(shared, active, settling).await,
        };
        if let Err(error) = &heard {
            fail(shared, active, error).await;
        }
        heard
    }

    async fn effect(&mut self, call: CallId) -> Result<ToolResult, GateError> {
        let (shared, active) = self.active()?;
        let released = match active.context.pending(call)? {
            Pending::Open(released) => released,
            Pending::Done(result) => return Ok(result),
        };
        let (begun, mut replaced) = (Instant::now(), active.replaced.clone());
        let effect = tokio::select! {
            effect = effects::run(shared, &mut active.context, &released.call) => effect?,
            () = is_replaced(&mut replaced) => return Err(down("runner")),
        };
        kit::fault_point!("gate.effect.done");
        let duration_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        let output = Text::clip(&effect.output);
        let result = ToolResult { call, outcome: effect.outcome, output, duration_ms, snapshot: None };
        let given = Given { result, own: effect.label, crossing: effect.crossing, from: effect.from };
        take_result(shared, active, &released, given).await
    }

    async fn result(&mut self, result: ToolResult) -> Result<ToolResult, GateError> {
        let (shared, active) = self.active()?;
        match active.context.pending(result.call)? {
            Pending::Done(known) => Ok(known),
            Pending::Open(released) => take_result(shared, active, &released, Given::plain(result)).await,
        }
    }

    async fn progress(&mut self, call: CallId, line: Text<256>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        active.context.pending(call)?;
        active.teller.tell(shared, [TurnEvent::ToolProgress { call, line }]).await
    }

    async fn output(&mut self, error: bool, bytes: Blob<32768>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        if active.context.turn.task == Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        active.teller.tell(shared, [TurnEvent::Output { error, bytes }]).await
    }

    fn asker(&mut self) -> Result<Asker, GateError> {
        let (_, active) = self.active()?;
        let runs = matches!(active.context.turn.task, Task::Run(_));
        if runs { Ok(Asker::of(&active.context)) } else { Err(GateError::OutOfTurn) }
    }

    async fn finish(&mut self, ending: Ending) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        answer::finish(shared, &active.context, ending).await?;
        active.over = true;
        Ok(())
    }
}

/// Begins what the model is asked for: the plan first where one is needed.
async fn think(
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
        return Ok(Stage::Planning(Planning::begin(shared, context).await?, asked));
    }
    let asked = thinking::Asked { system: system.to_owned(), messages };
    Ok(Stage::Thinking(Box::new(thinking::begin(shared, context, asked).await?)))
}

/// Works on the plan; once it is locked, the answer is begun.
async fn planned(
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
        None => active.stage = Some(Stage::Planning(planning, asked)),
        Some(tools) => {
            plan::lock(shared, &mut active.context, tools).await?;
            let thinking = thinking::begin(shared, &active.context, asked).await?;
            active.stage = Some(Stage::Thinking(Box::new(thinking)));
        }
    }
    Ok(Heard::Waiting)
}

async fn thought(
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
async fn settled(shared: &Shared, active: &mut Active, mut settling: Settling) -> Result<Heard, GateError> {
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
        let again = std::iter::once(TurnEvent::Again).chain(thinking::text_events(&text));
        active.teller.tell(shared, again).await?;
    }
    let (mut calls, mut waiting) = (Vec::new(), Vec::new());
    // What comes with a text that must not leave is the attacker's as well.
    let asked = if text == thinking::WITHHELD { Vec::new() } else { reply.calls };
    for call in asked {
        let decided = decide::decide(shared, context, call).await?;
        calls.push(decided.released);
        waiting.extend(decided.question);
    }
    kit::fault_point!("gate.decided");
    context.said(&text);
    context.last_text.clone_from(&text);
    let kept: List<Released, 32> = List::clip(calls.clone());
    answer::keep(shared, context, Step::Reply { text: Text::clip(&text), calls: kept }).await?;
    kit::fault_point!("gate.reply.kept");
    let mut events = Vec::new();
    for released in &calls {
        context.calls.insert(released.call.id, (released.clone(), None));
        if !matches!(released.verdict, CallVerdict::Asking(_)) {
            events.push(showing::start(shared, context, released).await?);
        }
    }
    active.teller.tell(shared, events).await?;
    let mut settling = Settling { text, calls, finish: reply.finish, waiting };
    asking::ask(shared, active, &mut settling).await?;
    if settling.waiting.is_empty() {
        return Ok(asking::reply(settling));
    }
    // What has passed by now was the model's.
    active.stage = Some(Stage::Settling(settling));
    Ok(Heard::Waiting)
}

async fn take_result(
    shared: &Shared,
    active: &mut Active,
    released: &Released,
    given: Given,
) -> Result<ToolResult, GateError> {
    let result = answer::take(shared, &mut active.context, released, given).await?;
    kit::fault_point!("gate.result.kept");
    let event =
        TurnEvent::ToolEnd { call: result.call, outcome: result.outcome, duration_ms: result.duration_ms };
    active.teller.tell(shared, [event]).await?;
    Ok(result)
}

/// The model failed for good: the turn ends with its reason. A process that is missing ends the attempt alone, and
/// router takes the turn up again.
async fn fail(shared: &Shared, active: &mut Active, error: &GateError) {
    if matches!(error, GateError::Down(_)) {
        return;
    }
    active.over = true;
    let end = End::Failed(Text::clip(&error.to_string()));
    if answer::end_turn(shared, &active.context, end).await.is_err() {
        tracing::warn!("a failed turn could not be ended; router takes it up again");
    }
}
