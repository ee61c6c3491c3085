//! The interfaces: what runners ask goes to their connection's actor, what operators ask to `operators`.

use crate::connection::{Connection, Message};
use crate::host::Shared;
use crate::operators::{self, Operators};
use crate::policies::Policies;
use crate::relay::Relays;
use crate::running::Program;
use crate::waits::Waits;
use ipc_proto::config;
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::gate::{self, Gate as _, RelayError};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Message as ModelMessage, ModelName, Piece, Request, StreamId};
use ipc_proto::router::{Input, Task, WORDS, WORDS_BOUND};
use ipc_proto::runner_gate::{self, Ending, GateError, Heard, RunnerGate, Work};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text};
use kit::{Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Frame, Room};
use policy::Catalogue;
use ractor::{Actor, ActorRef, RpcReplyPort};
use std::os::fd::OwnedFd;
use tarpc::context::Context;

/// The process.
pub(crate) struct Gate {
    shared: Shared,
}

/// What is made before the seal: everything that decides.
pub(crate) struct Opened {
    pub(crate) config: config::Gate,
    pub(crate) catalogue: Catalogue,
    pub(crate) policies: Policies,
}

impl kit::Actor for Gate {
    const PROCESS: Process = Process::Gate;
    type Config = config::Gate;
    type Opened = Opened;

    fn open(mut config: config::Gate, place: &Place) -> Result<Opened, OpenFault> {
        let declared = std::mem::take(&mut config.tools);
        let catalogue = Catalogue::built_in().and_then(|built_in| {
            declared.into_iter().try_fold(built_in, |all, (tool, capability)| all.with(&tool, capability))
        });
        let catalogue = catalogue.map_err(|error| OpenFault::new("the tools' capabilities", error))?;
        Ok(Opened { config, catalogue, policies: Policies::open(&place.own())? })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let broken = opened.policies.broken.is_some();
        let shared = Shared::new(&host, opened);
        if broken {
            tokio::task::spawn_local(operators::record_broken(shared.clone()));
        }
        Self { shared }
    }

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        if let Some(room) = Room::of(&frame) {
            self.shared.hear_of_disk(room);
        }
    }

    async fn serve(&self, edge: Edge) {
        match edge.turn() {
            Some(turn) => serve_runner(self.shared.clone(), TurnId::from_bytes(turn), edge).await,
            None => serve_peer(self.shared.clone(), edge).await,
        }
    }
}

/// Serves one runner; when its socket ends, so does all that was under way for it.
async fn serve_runner(shared: Shared, turn: TurnId, edge: Edge) {
    let replaced = shared.take_up(turn);
    let (program, waits) = (Program::new(shared.clone(), turn), Waits::default());
    let arguments = (shared, turn, replaced, waits.clone());
    let Ok((connection, ended)) = Connection::spawn(None, Connection, arguments).await else {
        return;
    };
    let runner = Runner { connection: connection.clone(), program: program.clone(), waits };
    edge.serve(runner_gate::FRAME_BOUND, runner.serve()).await;
    connection.stop(None);
    program.end_all().await;
    drop(ended.await);
}

/// Serves control or gateway; the answers that a gateway waited for end with it.
async fn serve_peer(shared: Shared, edge: Edge) {
    let relays = Relays::default();
    let operators = Operators { shared: shared.clone(), relays: relays.clone(), by: edge.caller() };
    edge.serve(gate::FRAME_BOUND, operators.serve()).await;
    relays.end_all(&shared).await;
}

#[derive(Clone)]
struct Runner {
    connection: ActorRef<Message>,
    /// What a person's own program asks besides; the table says which rows may.
    program: Program,
    /// What its turn waits for.
    waits: Waits,
}

impl Runner {
    async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<Result<T, GateError>>) -> Message,
    ) -> Result<T, GateError> {
        let (reply, answer) = ractor::concurrency::oneshot();
        self.connection.cast(message(reply.into())).map_err(|_| GateError::Over)?;
        answer.await.map_err(|_| GateError::Over)?
    }
}

impl RunnerGate for Runner {
    async fn work(self, _: Context) -> Result<Work, GateError> {
        let work = self.ask(Message::Work).await?;
        if matches!(work.task, Task::Run(_)) || work.engine.is_some() {
            self.program.begin(self.ask(Message::Asker).await?);
        }
        Ok(work)
    }

    async fn think(
        self,
        _: Context,
        system: Text<131_072>,
        messages: List<ModelMessage, 1024>,
    ) -> Result<List<ModelMessage, WORDS>, GateError> {
        self.ask(|reply| Message::Think(system.into_string(), messages.into_vec(), reply)).await
    }

    async fn hear(self, _: Context) -> Result<Heard, GateError> {
        self.ask(Message::Hear).await
    }

    async fn effect(self, _: Context, call: CallId) -> Result<ToolResult, GateError> {
        self.ask(|reply| Message::Effect(call, reply)).await
    }

    async fn result(self, _: Context, result: ToolResult) -> Result<ToolResult, GateError> {
        self.ask(|reply| Message::Result(result, reply)).await
    }

    async fn progress(self, _: Context, call: CallId, line: Text<256>) -> Result<(), GateError> {
        self.ask(|reply| Message::Progress(call, line, reply)).await
    }

    async fn output(self, _: Context, error: bool, bytes: Blob<32_768>) -> Result<(), GateError> {
        self.ask(|reply| Message::Output(error, bytes, reply)).await
    }

    async fn run_models(self, _: Context) -> Result<List<ModelName, 256>, RelayError> {
        self.program.models().await
    }

    async fn run_ask(self, _: Context, request: Request) -> Result<StreamId, RelayError> {
        self.waits.of(self.program.ask(request)).await
    }

    async fn run_pull(
        self,
        _: Context,
        stream: StreamId,
        credit: u16,
    ) -> Result<List<Piece, 64>, RelayError> {
        self.waits.of(self.program.pull(stream, credit)).await
    }

    async fn run_end(self, _: Context, stream: StreamId) {
        self.program.end(stream).await;
    }

    async fn run_count(self, _: Context, request: Request) -> Result<u32, RelayError> {
        self.program.count(request).await
    }

    async fn run_input(self, _: Context, from: u64) -> Result<Input, GateError> {
        self.program.input(from).await
    }

    async fn engine(self, _: Context, events: List<EngineEvent, 64>) -> Result<(), GateError> {
        self.ask(|reply| Message::Engine(events.into_vec(), reply)).await
    }

    async fn words(self, _: Context) -> Result<List<Text<WORDS_BOUND>, WORDS>, GateError> {
        self.ask(Message::Words).await
    }

    async fn keep(self, _: Context, token: Token, state: Blob<STATE>) -> Result<(), GateError> {
        self.ask(|reply| Message::Keep(token, state, reply)).await
    }

    async fn finish(self, _: Context, ending: Ending) -> Result<(), GateError> {
        let spent = self.program.spent();
        self.ask(|reply| Message::Finish(ending, spent, reply)).await
    }
}
