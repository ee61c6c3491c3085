//! One runner's connection: an actor that takes its requests one after the other. Whose work it is is known from the
//! descriptor; what it may do next follows from what it was told before.

use crate::context::TurnContext;
use crate::decide;
use crate::host::{Shared, down, refused};
use crate::tell::Teller;
use crate::thinking::{Reply, Thinking};
use crate::{answer, effects, replay};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Message as ModelMessage, Request, Role};
use ipc_proto::router::{self, CallVerdict, End, Released, Step, Task, Turn, TurnEvent};
use ipc_proto::runner_gate::{Ending, GateError, Heard, Work};
use ipc_proto::tool::{ToolList, ToolResult, ToolSpec};
use ipc_proto::{Blob, List, Name, Text};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::collections::HashMap;
use std::time::Instant;

/// History that is asked for, bytes, before the model's own window is known.
const HISTORY: u32 = 512 * 1024;
/// Bytes of text that a token stands for, generously.
const BYTES_PER_TOKEN: u32 = 3;

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
    Finish(Ending, Port<()>),
}

/// One runner's connection.
pub(crate) struct Connection;

pub(crate) struct State {
    shared: Shared,
    turn: TurnId,
    /// There once the work was asked for.
    active: Option<Active>,
}

struct Active {
    context: TurnContext,
    teller: Teller,
    thinking: Option<Thinking>,
    over: bool,
}

impl Actor for Connection {
    type Msg = Message;
    type State = State;
    type Arguments = (Shared, TurnId);

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        (shared, turn): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { shared, turn, active: None })
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
            Message::Finish(ending, reply) => drop(reply.send(state.finish(ending).await)),
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        if let Some(thinking) = state.active.take().and_then(|active| active.thinking) {
            thinking.cancel(&state.shared).await;
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
        let mut context = take(&shared, self.turn).await?;
        let mut teller = Teller::begin(&shared, self.turn).await?;
        teller.tell(&shared, [TurnEvent::Started { attempt: context.turn.attempt }]).await?;
        let replayed = replay::replay(&mut context);
        for released in &replayed.unknown {
            answer::take(&shared, &mut context, released, replay::unknown(released), None).await?;
        }
        let mut active = Active { context, teller, thinking: None, over: false };
        if replayed.answered {
            answer::finish(&shared, &active.context, Ending::Answered).await?;
            active.over = true;
            self.active = Some(active);
            return Err(GateError::Over);
        }
        permit_command(&shared, &mut active.context).await?;
        let work = work_of(&active.context, replayed.messages);
        self.active = Some(active);
        Ok(work)
    }

    async fn think(&mut self, system: &str, messages: Vec<ModelMessage>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        if active.thinking.is_some() || active.context.turn.task != Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        match begin(shared, &active.context, system, messages).await {
            Ok(thinking) => active.thinking = Some(thinking),
            Err(error) => {
                fail(shared, active, &error).await;
                return Err(error);
            }
        }
        Ok(())
    }

    async fn hear(&mut self) -> Result<Heard, GateError> {
        let (shared, active) = self.active()?;
        let Some(mut thinking) = active.thinking.take() else { return Err(GateError::OutOfTurn) };
        match thinking.go_on(shared, &mut active.context, &mut active.teller).await {
            Ok(None) => {
                active.thinking = Some(thinking);
                Ok(Heard::Waiting)
            }
            Ok(Some(reply)) => heard(shared, active, reply).await,
            Err(error) => {
                fail(shared, active, &error).await;
                Err(error)
            }
        }
    }

    async fn effect(&mut self, call: CallId) -> Result<ToolResult, GateError> {
        let (shared, active) = self.active()?;
        let released = match pending(active, call)? {
            Pending::Open(released) => released,
            Pending::Done(result) => return Ok(result),
        };
        let begun = Instant::now();
        let effect = effects::run(shared, &active.context, &released.call).await?;
        kit::fault_point!("gate.effect.done");
        let duration_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        let output = Text::clip(&effect.output);
        let result = ToolResult { call, outcome: effect.outcome, output, duration_ms, snapshot: None };
        take_result(shared, active, &released, result, effect.label.as_ref()).await
    }

    async fn result(&mut self, result: ToolResult) -> Result<ToolResult, GateError> {
        let (shared, active) = self.active()?;
        match pending(active, result.call)? {
            Pending::Done(known) => Ok(known),
            Pending::Open(released) => take_result(shared, active, &released, result, None).await,
        }
    }

    async fn progress(&mut self, call: CallId, line: Text<256>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        pending(active, call)?;
        active.teller.tell(shared, [TurnEvent::ToolProgress { call, line }]).await
    }

    async fn output(&mut self, error: bool, bytes: Blob<32768>) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        if active.context.turn.task == Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        active.teller.tell(shared, [TurnEvent::Output { error, bytes }]).await
    }

    async fn finish(&mut self, ending: Ending) -> Result<(), GateError> {
        let (shared, active) = self.active()?;
        answer::finish(shared, &active.context, ending).await?;
        active.over = true;
        Ok(())
    }
}

/// Gets the turn from router, with as much history as the agent's model takes in.
async fn take(shared: &Shared, id: TurnId) -> Result<TurnContext, GateError> {
    let mut turn = ask_turn(shared, id, HISTORY).await?;
    let agent = shared.agents.get(turn.agent.as_str()).cloned().ok_or(GateError::Over)?;
    let models = shared.models().await?;
    let window =
        models.iter().find(|model| model.name.as_str() == agent.model).map_or(0, |model| model.context);
    let budget = window.saturating_sub(agent.limits.output_tokens).saturating_mul(BYTES_PER_TOKEN);
    if window > 0 && budget < HISTORY {
        turn = ask_turn(shared, id, budget).await?;
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| down("randomness"))?;
    let canary = random.iter().fold(String::from("CANARY-"), |text, byte| text + &format!("{byte:02x}"));
    let (session_label, workspace_label) = (turn.session_label.clone(), turn.workspace_label.clone());
    // CONTEXT.md and the skills are read into the prompt, so what the workspace holds is known from the start.
    let session_label = session_label.join(&workspace_label);
    Ok(TurnContext {
        turn,
        agent,
        canary,
        session_label,
        workspace_label,
        calls: HashMap::new(),
        asked: 0,
        failures: HashMap::new(),
        next_step: 0,
        last_text: String::new(),
        usage: ipc_proto::model::Usage::default(),
    })
}

async fn ask_turn(shared: &Shared, id: TurnId, budget: u32) -> Result<Turn, GateError> {
    let turn = shared
        .router
        .call(&router::method::take, |router, rpc| async move { router.take(rpc, id, budget).await });
    turn.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
}

/// A person's own command, put or get: on the record before it runs.
async fn permit_command(shared: &Shared, context: &mut TurnContext) -> Result<(), GateError> {
    let subject = match &context.turn.task {
        Task::Chat => return Ok(()),
        Task::Command { .. } => "sandbox run",
        Task::Put { .. } => "workspace put",
        Task::Get { .. } => "workspace get",
    };
    let event = Event::new(Action::ToolDecided, Result3::Success).about(subject);
    let mut event = event.in_turn(context.turn.session, context.turn.id).because("a person's own command");
    event.label = Some(context.session_label.clone());
    shared.record(event).await.map(drop)
}

fn work_of(context: &TurnContext, replayed: Vec<ModelMessage>) -> Work {
    let limits = &context.agent.limits;
    let history = context.turn.history.iter().map(|labelled| labelled.message.clone());
    let message = ModelMessage::text(Role::User, &context.turn.content.plain());
    Work {
        task: context.turn.task.clone(),
        prompt: Text::clip(&format!("{}\n\n{}\n", context.agent.prompt, context.canary)),
        messages: List::clip(history.chain([message]).chain(replayed)),
        tools: tools(context),
        tool_calls: limits.tool_calls.saturating_sub(context.asked),
        tool_failures: limits.tool_failures,
        wall_ms: limits.seconds.saturating_mul(1000),
    }
}

/// The tools that this agent has.
fn tools(context: &TurnContext) -> ToolList {
    let specs =
        toolset::specs().into_iter().filter(|spec| context.agent.tools.iter().any(|tool| tool == spec.name));
    List::clip(specs.map(|spec| ToolSpec {
        name: Name::clip(spec.name),
        description: Text::clip(spec.description),
        schema: Text::clip(&spec.schema.to_string()),
        in_jail: spec.in_jail,
    }))
}

fn request(context: &TurnContext, system: &str, messages: Vec<ModelMessage>) -> Request {
    let system = ModelMessage::text(Role::System, system);
    Request {
        model: Text::clip(&context.agent.model),
        messages: List::clip(std::iter::once(system).chain(messages)),
        tools: tools(context),
        max_output: context.agent.limits.output_tokens,
        temperature: None,
    }
}

/// A model call: within the session's quota, on the record, and only then begun.
async fn begin(
    shared: &Shared,
    context: &TurnContext,
    system: &str,
    messages: Vec<ModelMessage>,
) -> Result<Thinking, GateError> {
    let limit = context.agent.limits.model_calls_per_hour;
    let room =
        shared.quotas.lock().is_ok_and(|mut quotas| quotas.take(context.turn.session, limit, Instant::now()));
    if !room {
        return Err(GateError::Quota { what: Name::clip("model calls an hour"), limit });
    }
    let request = request(context, system, messages);
    let event = Event::new(Action::ModelDecided, Result3::Success).about(&request.model);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = request.messages.iter().map(|message| message.text.len() as u64).sum();
    event.label = Some(context.session_label.clone());
    shared.record(event).await?;
    kit::fault_point!("gate.think.recorded");
    Thinking::begin(shared, request).await
}

/// A whole reply: its calls decided on, kept, and only then shown.
async fn heard(shared: &Shared, active: &mut Active, reply: Reply) -> Result<Heard, GateError> {
    let context = &mut active.context;
    let mut calls = Vec::new();
    for call in reply.calls {
        calls.push(decide::decide(shared, context, call).await?);
    }
    kit::fault_point!("gate.decided");
    context.last_text.clone_from(&reply.text);
    let kept: List<Released, 32> = List::clip(calls);
    answer::keep(shared, context, Step::Reply { text: Text::clip(&reply.text), calls: kept.clone() }).await?;
    kit::fault_point!("gate.reply.kept");
    let mut events = Vec::new();
    for released in &kept {
        context.calls.insert(released.call.id, (released.clone(), None));
        events.push(shown(shared, released).await?);
    }
    active.teller.tell(shared, events).await?;
    let message = replay::assistant(&reply.text, &kept);
    Ok(Heard::Reply { message, calls: kept, finish: reply.finish })
}

/// The beginning of a call's arguments, secrets cut out, for whoever follows the turn.
async fn shown(shared: &Shared, released: &Released) -> Result<TurnEvent, GateError> {
    use ipc_proto::scanner::{Direction, method};
    let beginning = Text::<512>::clip(&released.call.args);
    let scanned = shared.scanner.call(&method::scan, |scanner, rpc| {
        let text = Text::clip(&beginning);
        async move { scanner.scan(rpc, Direction::Output, text, None).await }
    });
    let verdict = scanned.await.map_err(|_| down("scanner"))?;
    let args = verdict.redacted.map_or(beginning, |clean| Text::clip(&clean));
    let refused = match &released.verdict {
        CallVerdict::Run => None,
        CallVerdict::Refused(reason) => Some(reason.clone()),
    };
    let (call, tool) = (released.call.id, released.call.tool.clone());
    Ok(TurnEvent::ToolStart { call, tool, args, refused, record: released.record })
}

enum Pending {
    /// Released, and no result yet.
    Open(Released),
    /// Its result is in: asked again, it is given again.
    Done(ToolResult),
}

fn pending(active: &Active, call: CallId) -> Result<Pending, GateError> {
    match active.context.calls.get(&call) {
        Some((_, Some(result))) => Ok(Pending::Done(result.clone())),
        Some((released, None)) if released.verdict == CallVerdict::Run => Ok(Pending::Open(released.clone())),
        _ => Err(GateError::OutOfTurn),
    }
}

async fn take_result(
    shared: &Shared,
    active: &mut Active,
    released: &Released,
    result: ToolResult,
    own: Option<&ipc_proto::label::Label>,
) -> Result<ToolResult, GateError> {
    let result = answer::take(shared, &mut active.context, released, result, own).await?;
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
