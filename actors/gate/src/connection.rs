//! One runner's connection: an actor that takes its requests one after the other. Whose work it is is known from the
//! descriptor; what it may do next follows from what it was told before.

use crate::answer::Given;
use crate::context::{Pending, TurnContext};
use crate::engine::{self, Telling};
use crate::heart::Heart;
use crate::host::{Replaced, Shared, down, is_replaced};
use crate::running::Asker;
use crate::stages::{self, Stage};
use crate::tell::Teller;
use crate::waits::Waits;
use crate::{answer, asking, effects, recalling, replay, taking, words};
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Message as ModelMessage, Role, Usage};
use ipc_proto::router::{End, Released, Task, TurnEvent, WORDS, WORDS_BOUND};
use ipc_proto::runner_gate::{Ending, GateError, Heard, Work};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::time::Instant;

type Port<T> = RpcReplyPort<Result<T, GateError>>;

/// What a runner asks.
pub(crate) enum Message {
    Work(Port<Work>),
    Think(String, Vec<ModelMessage>, Port<List<ModelMessage, WORDS>>),
    Hear(Port<Heard>),
    Effect(CallId, Port<ToolResult>),
    Result(ToolResult, Port<ToolResult>),
    Progress(CallId, Text<256>, Port<()>),
    Output(bool, Blob<32768>, Port<()>),
    /// Who asks models, where that is the program of a person's own.
    Asker(Port<Asker>),
    /// What an engine does.
    Engine(Vec<EngineEvent>, Port<()>),
    /// What was said into its turn.
    Words(Port<List<Text<WORDS_BOUND>, WORDS>>),
    /// What it needs to go on with the session.
    Keep(Token, Blob<STATE>, Port<()>),
    /// The end, and what a program's own model calls came to.
    Finish(Ending, Usage, Port<()>),
}

/// One runner's connection.
pub(crate) struct Connection;

pub(crate) struct State {
    shared: Shared,
    turn: TurnId,
    replaced: Replaced,
    /// What the turn waits for.
    waits: Waits,
    /// There once the work was asked for.
    active: Option<Active>,
}

/// A turn that is under way.
pub(crate) struct Active {
    pub(crate) context: TurnContext,
    pub(crate) teller: Teller,
    pub(crate) replaced: Replaced,
    pub(crate) stage: Option<Stage>,
    /// The runner has asked for an answer before.
    pub(crate) has_thought: bool,
    /// What an engine does, where one answers.
    pub(crate) telling: Telling,
    over: bool,
    /// Kept for as long as the turn is under way here.
    _heart: Heart,
}

impl Actor for Connection {
    type Msg = Message;
    type State = State;
    type Arguments = (Shared, TurnId, Replaced, Waits);

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        (shared, turn, replaced, waits): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { shared, turn, replaced, waits, active: None })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.waits.clone().of(state.take(message)).await;
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
    async fn take(&mut self, message: Message) {
        match message {
            Message::Work(reply) => drop(reply.send(self.work().await)),
            Message::Think(system, messages, reply) => drop(reply.send(self.think(&system, messages).await)),
            Message::Hear(reply) => drop(reply.send(self.hear().await)),
            Message::Effect(call, reply) => drop(reply.send(self.effect(call).await)),
            Message::Result(result, reply) => drop(reply.send(self.result(result).await)),
            Message::Progress(call, line, reply) => drop(reply.send(self.progress(call, line).await)),
            Message::Output(error, bytes, reply) => drop(reply.send(self.output(error, bytes).await)),
            Message::Asker(reply) => drop(reply.send(self.asker())),
            Message::Engine(events, reply) => drop(reply.send(self.engine(events).await)),
            Message::Words(reply) => drop(reply.send(self.words().await)),
            Message::Keep(token, kept, reply) => drop(reply.send(self.keep(token, kept).await)),
            Message::Finish(ending, usage, reply) => drop(reply.send(self.finish(ending, usage).await)),
        }
    }

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
        let heart = Heart::begin(&shared, self.turn, &self.replaced, &self.waits);
        let mut teller = Teller::begin(&shared, self.turn).await?;
        teller.tell(&shared, [TurnEvent::Started { attempt: context.turn.attempt }]).await?;
        let replayed = replay::replay(&shared.catalogue, &mut context);
        for released in &replayed.unknown {
            answer::take(&shared, &mut context, released, Given::plain(replay::unknown(released))).await?;
        }
        recalling::recall(&shared, &mut context, &mut teller).await?;
        let replaced = self.replaced.clone();
        let telling = Telling::after(context.turn.steps.iter());
        let (stage, has_thought, over) = (None, false, false);
        if context.turn.unthought > 0 {
            let notice = format!(
                "what the model thought before {} of its replies is not handed back to it: that is kept up to 1 MiB a turn",
                context.turn.unthought
            );
            teller.tell(&shared, [TurnEvent::Notice(Text::clip(&notice))]).await?;
        }
        let mut active =
            Active { context, teller, replaced, stage, has_thought, telling, over, _heart: heart };
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
        let engine = taking::engine_of(&shared, &active.context).await?;
        let mut messages = replayed.messages;
        if engine.is_some() && active.context.turn.attempt > 1 {
            messages.push(replay::unseen());
        }
        let mut work = taking::work_of(&shared, &active.context, messages, again);
        work.engine = engine;
        self.active = Some(active);
        Ok(work)
    }

    async fn think(
        &mut self,
        system: &str,
        messages: Vec<ModelMessage>,
    ) -> Result<List<ModelMessage, WORDS>, GateError> {
        let (shared, active) = self.active()?;
        if matches!(active.stage, Some(Stage::Settling(_))) && !active.has_thought {
            // What an earlier attempt's model asked for waits for a person: that reply comes first.
            active.has_thought = true;
            return Ok(List::default());
        }
        if active.stage.is_some() || active.context.turn.task != Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        let begun = begin(shared, active, system, messages).await;
        if let Err(error) = &begun {
            fail(shared, active, error).await;
        }
        begun
    }

    async fn hear(&mut self) -> Result<Heard, GateError> {
        let (shared, active) = self.active()?;
        let Some(stage) = active.stage.take() else { return Err(GateError::OutOfTurn) };
        let heard = match stage {
            Stage::Planning(planning, asked) => stages::planned(shared, active, *planning, asked).await,
            Stage::Thinking(thinking) => stages::thought(shared, active, thinking).await,
            Stage::Settling(settling) => stages::settled(shared, active, settling).await,
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
        let context = &active.context;
        let runs = context.engine().is_some() || matches!(context.turn.task, Task::Run(_));
        if runs { Ok(Asker::of(context)) } else { Err(GateError::OutOfTurn) }
    }

    async fn engine(&mut self, events: Vec<EngineEvent>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        engine::tell(shared, active, events).await
    }

    async fn words(&mut self) -> Result<List<Text<WORDS_BOUND>, WORDS>, GateError> {
        let (shared, active) = self.active()?;
        engine::words(shared, active).await
    }

    async fn keep(&mut self, token: Token, state: Blob<STATE>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        engine::keep(shared, active, token, state).await
    }

    async fn finish(&mut self, ending: Ending, usage: Usage) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        active.context.add(usage);
        answer::finish(shared, &active.context, ending).await?;
        active.over = true;
        Ok(())
    }
}

/// Begins what the model is asked, with what was said into the turn since behind it; gives that back.
async fn begin(
    shared: &Shared,
    active: &mut Active,
    system: &str,
    mut messages: Vec<ModelMessage>,
) -> Result<List<ModelMessage, WORDS>, GateError> {
    let mut said = Vec::new();
    for text in words::take_in(shared, active).await? {
        said.push(ModelMessage::text(Role::User, &text));
    }
    messages.extend_from_slice(&said);
    active.stage = Some(stages::think(shared, active, system, messages).await?);
    Ok(List::clip(said))
}

/// Takes the result of a call in, and shows that it has ended.
pub(crate) async fn take_result(
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
