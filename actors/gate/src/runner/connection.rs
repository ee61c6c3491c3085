//! One runner's connection: an actor that handles its requests one by one. The turn is known from the descriptor; the permitted
//! requests follow from those before.

use crate::effects::delegation;
use crate::effects::result::{CallOutput, accept_and_show};
use crate::effects::run;
use crate::effects::server_call::{self, Polled};
use crate::network::Outbound;
use crate::runner::active::{Active, Stage};
use crate::runner::{begin, engine, obstacle, replies, steering};
use crate::state::blocked_on::BlockedOn;
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::{down, router_refusal};
use crate::state::mcp::calls_server;
use crate::state::runners::{Replaced, is_replaced};
use crate::turn::calls::Pending;
use crate::turn::end;
use crate::turn::requester::Requester;
use ipc_proto::channel::{FILE_PIECE, SENT_BYTES};
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Message as ModelMessage, Role, Usage};
use ipc_proto::router::{self, End, STEERING_BOUND, STEERING_MESSAGES, Task, TurnEvent};
use ipc_proto::runner_gate::{CompletionState, EffectState, Ending, GateError, Work};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::time::Instant;

type Port<T> = RpcReplyPort<Result<T, GateError>>;

/// A request of a runner.
pub(crate) enum Message {
    /// Returns the work, and the rights of programs in the jail that ask models by themselves or have a way out.
    Work(Port<(Work, Option<Rights>)>),
    StartCompletion(String, Vec<ModelMessage>, Port<List<ModelMessage, STEERING_MESSAGES>>),
    PollCompletion(Port<CompletionState>),
    /// A call, with the bytes of the file that it sends.
    Effect(CallId, Option<Blob<SENT_BYTES>>, Port<EffectState>),
    Result(ToolResult, Port<ToolResult>),
    Progress(CallId, Text<256>, Port<()>),
    /// A piece of a file of the turn's message.
    Inbox(u8, u64, Port<Blob<FILE_PIECE>>),
    Output(bool, Blob<32768>, Port<()>),
    /// Events of an engine.
    Engine(Vec<EngineEvent>, Port<()>),
    /// Returns the messages that were sent into its turn.
    Steering(Port<List<Text<STEERING_BOUND>, STEERING_MESSAGES>>),
    /// Saves the engine's state.
    SaveEngineState(Token, Blob<STATE>, Port<()>),
    /// An event for the followers of the turn.
    Event(Box<TurnEvent>),
    /// The end, the tokens that a program's own model calls used, and the failure of the last of these.
    Finish(Ending, Usage, Option<GateError>, Port<()>),
}

/// The turn of programs that ask models or the network by themselves, as it was when its work was given out.
pub(crate) struct Rights {
    /// None where programs ask no models.
    pub(crate) requester: Option<Requester>,
    pub(crate) outbound: Outbound,
}

/// One runner's connection.
pub(crate) struct Connection;

pub(crate) struct State {
    gate: GateContext,
    turn: TurnId,
    replaced: Replaced,
    /// The processes that the turn waits for.
    blocked_on: BlockedOn,
    /// Set once the work was requested.
    active: Option<Active>,
}

impl Actor for Connection {
    type Msg = Message;
    type State = State;
    type Arguments = (GateContext, TurnId, Replaced, BlockedOn);

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        (gate, turn, replaced, blocked_on): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { gate, turn, replaced, blocked_on, active: None })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.blocked_on.clone().scope(state.handle_message(message)).await;
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        match state.active.take().and_then(|active| active.stage) {
            Some(Stage::Planning(mut planning, _)) => planning.cancel(&state.gate).await,
            Some(Stage::ModelCall(model_call)) => model_call.cancel(&state.gate).await,
            Some(Stage::PendingReply(_)) | None => {}
        }
        Ok(())
    }
}

impl State {
    async fn handle_message(&mut self, message: Message) {
        match message {
            Message::Work(reply) => drop(reply.send(self.work().await)),
            Message::StartCompletion(system, messages, reply) => {
                drop(reply.send(self.start_completion(&system, messages).await))
            }
            Message::PollCompletion(reply) => drop(reply.send(self.poll_completion().await)),
            Message::Effect(call, file, reply) => drop(reply.send(self.effect(call, file).await)),
            Message::Result(result, reply) => drop(reply.send(self.result(result).await)),
            Message::Progress(call, line, reply) => drop(reply.send(self.progress(call, line).await)),
            Message::Inbox(number, from, reply) => drop(reply.send(self.inbox(number, from).await)),
            Message::Output(error, bytes, reply) => drop(reply.send(self.output(error, bytes).await)),
            Message::Engine(events, reply) => drop(reply.send(self.engine(events).await)),
            Message::Steering(reply) => drop(reply.send(self.steering().await)),
            Message::SaveEngineState(token, state, reply) => {
                drop(reply.send(self.save_engine_state(token, state).await))
            }
            Message::Event(event) => self.event(*event).await,
            Message::Finish(ending, usage, failure, reply) => {
                drop(reply.send(self.finish(ending, usage, failure).await))
            }
        }
    }

    fn active(&mut self) -> Result<(&GateContext, &mut Active), GateError> {
        match &mut self.active {
            Some(active) if active.over => Err(GateError::Over),
            Some(active) => Ok((&self.gate, active)),
            None => Err(GateError::OutOfTurn),
        }
    }

    /// Claims the turn and returns its work. An attempt whose answer was saved before needs no runner.
    async fn work(&mut self) -> Result<(Work, Option<Rights>), GateError> {
        let begun = begin::begin(&self.gate, self.turn, &self.replaced, &self.blocked_on).await;
        if let Err(error) = &begun {
            obstacle::postpone_turn(&self.gate, self.turn, error).await;
        }
        let (active, work) = begun?;
        let context = &active.attempt.context;
        let runs = context.runs_program();
        let rights = (runs || context.has_way_out()).then(|| Rights {
            requester: runs.then(|| Requester::of(context)),
            outbound: Outbound::of(&self.gate, context),
        });
        self.active = Some(active);
        Ok((work.ok_or(GateError::Over)?, rights))
    }

    async fn start_completion(
        &mut self,
        system: &str,
        messages: Vec<ModelMessage>,
    ) -> Result<List<ModelMessage, STEERING_MESSAGES>, GateError> {
        let (gate, active) = self.active()?;
        if matches!(active.stage, Some(Stage::PendingReply(_))) && !active.has_asked {
            // A reply of an earlier attempt waits for a person, and comes first.
            active.has_asked = true;
            return Ok(List::default());
        }
        if active.stage.is_some() || active.attempt.context.turn.task != Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        let started = start_reply(gate, active, system, messages).await;
        if let Err(error) = &started {
            fail(gate, active, error).await;
        }
        started
    }

    async fn poll_completion(&mut self) -> Result<CompletionState, GateError> {
        let (gate, active) = self.active()?;
        let Some(stage) = active.stage.take() else { return Err(GateError::OutOfTurn) };
        let heard = match stage {
            Stage::Planning(planning, prompt) => replies::poll_plan(gate, active, *planning, prompt).await,
            Stage::ModelCall(model_call) => replies::poll_call(gate, active, model_call).await,
            Stage::PendingReply(pending) => replies::poll_answers(gate, active, pending).await,
        };
        if let Err(error) = &heard {
            fail(gate, active, error).await;
        }
        heard
    }

    async fn effect(
        &mut self,
        call: CallId,
        file: Option<Blob<SENT_BYTES>>,
    ) -> Result<EffectState, GateError> {
        let (gate, active) = self.active()?;
        let released = match active.attempt.context.calls.pending(call)? {
            Pending::Open(released) => released,
            Pending::Done(result) => return Ok(EffectState::Done(result)),
        };
        let begun = active.server_call.as_ref().map(|call| call.begun);
        let begun = begun.or(active.tasks_call.as_ref().map(|call| call.begun)).unwrap_or_else(Instant::now);
        let mut replaced = active.attempt.replaced.clone();
        let polled = async {
            if calls_server(&released.call.tool) {
                let (attempt, under_way) = (&mut active.attempt, &mut active.server_call);
                return server_call::poll(gate, attempt, under_way, &released.call).await;
            }
            if delegation::calls(&released.call.tool) {
                let (attempt, under_way) = (&mut active.attempt, &mut active.tasks_call);
                return delegation::poll(gate, attempt, under_way, &released.call).await;
            }
            run::run(gate, &mut active.attempt.context, &released.call, file).await.map(Polled::Done)
        };
        let effect = tokio::select! {
            polled = polled => match polled? {
                Polled::Done(effect) => effect,
                Polled::Working => return Ok(EffectState::Waiting),
                Polled::Asking => return Ok(EffectState::Asking),
            },
            () = is_replaced(&mut replaced) => return Err(down("runner")),
        };
        kit::fault_point!("gate.effect.done");
        let duration_ms = ms(begun.elapsed());
        let output = Text::clip(&effect.output);
        let result = ToolResult { call, outcome: effect.outcome, output, duration_ms, snapshot: None };
        let output =
            CallOutput { result, label: effect.label, crossing: effect.crossing, source: effect.source };
        accept_and_show(gate, &mut active.attempt, &released, output).await.map(EffectState::Done)
    }

    async fn result(&mut self, result: ToolResult) -> Result<ToolResult, GateError> {
        let (gate, active) = self.active()?;
        match active.attempt.context.calls.pending(result.call)? {
            Pending::Done(known) => Ok(known),
            Pending::Open(released) => {
                accept_and_show(gate, &mut active.attempt, &released, CallOutput::plain(result)).await
            }
        }
    }

    async fn progress(&mut self, call: CallId, line: Text<256>) -> Result<(), GateError> {
        let (gate, active) = self.active()?;
        active.attempt.context.calls.pending(call)?;
        active.attempt.events.send(gate, [TurnEvent::ToolProgress { call, line }]).await
    }

    async fn inbox(&mut self, number: u8, from: u64) -> Result<Blob<FILE_PIECE>, GateError> {
        let (gate, active) = self.active()?;
        let turn = &active.attempt.context.turn;
        if usize::from(number) >= turn.files.len() {
            return Err(GateError::OutOfTurn);
        }
        let turn = turn.id;
        let piece = gate.router.call(&router::method::inbox, |router, rpc| async move {
            router.inbox(rpc, turn, number, from).await
        });
        piece.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
    }

    async fn output(&mut self, error: bool, bytes: Blob<32768>) -> Result<(), GateError> {
        let (gate, active) = self.active()?;
        if active.attempt.context.turn.task == Task::Chat {
            return Err(GateError::OutOfTurn);
        }
        active.attempt.events.send(gate, [TurnEvent::Output { error, bytes }]).await
    }

    async fn engine(&mut self, events: Vec<EngineEvent>) -> Result<(), GateError> {
        let (gate, active) = self.active()?;
        engine::accept(gate, &mut active.attempt, &mut active.engine_progress, events).await
    }

    async fn event(&mut self, event: TurnEvent) {
        let Ok((gate, active)) = self.active() else { return };
        if active.attempt.events.send(gate, [event]).await.is_err() {
            tracing::warn!("an event could not be shown to the followers of a turn");
        }
    }

    async fn steering(&mut self) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError> {
        let (gate, active) = self.active()?;
        engine::steering(gate, &mut active.attempt, &mut active.engine_progress).await
    }

    async fn save_engine_state(&mut self, token: Token, state: Blob<STATE>) -> Result<(), GateError> {
        let (gate, active) = self.active()?;
        engine::save_state(gate, &mut active.attempt, &mut active.engine_progress, token, state).await
    }

    async fn finish(
        &mut self,
        ending: Ending,
        usage: Usage,
        failure: Option<GateError>,
    ) -> Result<(), GateError> {
        let (gate, active) = self.active()?;
        active.attempt.context.add_usage(usage);
        // An engine asks models by itself, and ends where it gets no answer.
        let gave_up = matches!(ending, Ending::EngineFailed { .. } | Ending::EngineIdle);
        if let Some(error) = failure.filter(|_| gave_up)
            && obstacle::postpone(gate, &mut active.attempt, &error).await
        {
            active.over = true;
            return Ok(());
        }
        end::finish(gate, &active.attempt.context, ending).await?;
        active.over = true;
        Ok(())
    }
}

/// Starts a reply with the messages that were sent into the turn since the last one, and returns these.
async fn start_reply(
    gate: &GateContext,
    active: &mut Active,
    system: &str,
    mut messages: Vec<ModelMessage>,
) -> Result<List<ModelMessage, STEERING_MESSAGES>, GateError> {
    let mut steering = Vec::new();
    for text in steering::accept_messages(gate, &mut active.attempt).await? {
        steering.push(ModelMessage::text(Role::User, &text));
    }
    messages.extend_from_slice(&steering);
    active.stage = Some(replies::start(gate, active, system, messages).await?);
    Ok(List::clip(steering))
}

/// Ends the turn with the reason for which the model failed. A missing process ends the attempt alone, and router starts another.
/// A turn whose message is not to blame waits.
async fn fail(gate: &GateContext, active: &mut Active, error: &GateError) {
    if obstacle::postpone(gate, &mut active.attempt, error).await {
        active.over = true;
        return;
    }
    if matches!(error, GateError::Down(_)) {
        return;
    }
    active.over = true;
    let end = End::Failed(Text::clip(&error.to_string()));
    if end::end_turn(gate, &active.attempt.context, end).await.is_err() {
        tracing::warn!("a failed turn could not be ended; router takes it up again");
    }
}
