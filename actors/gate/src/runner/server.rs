//! The interface of runners: each call goes to its connection's actor, or to the program that it runs.

use crate::network::{Network, Outbound};
use crate::passthrough::program::Program;
use crate::runner::connection::{Connection, Message, Rights};
use crate::runner::server_jail::ServerJail;
use crate::state::blocked_on::BlockedOn;
use crate::state::context::GateContext;
use ipc_proto::channel::{FILE_PIECE, SENT_BYTES};
use ipc_proto::egress::{Head, Origin, Piece as BodyPiece, ReplyId, Request as OutboundRequest};
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::model::{Message as ModelMessage, ModelName, Piece, Request, StreamId};
use ipc_proto::router::{Input, STEERING_BOUND, STEERING_MESSAGES};
use ipc_proto::runner_gate::{
    self, CompletionState, EffectState, Ending, GateError, NetworkError, RunnerGate, Work,
};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Text, mcp};
use kit::Edge;
use ractor::{Actor, ActorRef, RpcReplyPort};
use std::rc::Rc;
use tarpc::context::Context;

/// Serves one runner. When its socket closes, everything under way for it ends.
pub(crate) async fn serve_runner(gate: GateContext, turn: TurnId, edge: Edge) {
    let replaced = gate.runners.register(turn);
    let (program, blocked_on) = (Program::new(gate.clone(), turn), BlockedOn::default());
    let arguments = (gate.clone(), turn, replaced, blocked_on.clone());
    let Ok((connection, ended)) = Connection::spawn(None, Connection, arguments).await else {
        return;
    };
    let followers = connection.clone();
    let instance = gate.mcp.launcher.by_id(turn.bytes());
    let jail = ServerJail::new(gate.clone(), instance.clone());
    let network = Network::new(
        gate.clone(),
        Rc::new(move |event| drop(followers.cast(Message::Event(Box::new(event))))),
    );
    if let Some(outbound) = instance.and_then(|instance| Outbound::of_server(&gate, instance)) {
        network.begin(outbound);
    }
    let runner = Runner {
        connection: connection.clone(),
        program: program.clone(),
        network: network.clone(),
        jail: jail.clone(),
        blocked_on,
    };
    edge.serve(runner_gate::FRAME_BOUND, runner.serve()).await;
    connection.stop(None);
    program.end_all().await;
    network.end_all().await;
    jail.gone();
    drop(ended.await);
}

#[derive(Clone)]
struct Runner {
    connection: ActorRef<Message>,
    /// The requests of a person's own program. The manifest's table says which runners may send them.
    program: Program,
    /// The way out of its jail.
    network: Network,
    /// The server of its jail.
    jail: ServerJail,
    /// The processes that its turn waits for.
    blocked_on: BlockedOn,
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
        let (work, rights) = self.ask(Message::Work).await?;
        if let Some(Rights { requester, outbound }) = rights {
            if let Some(requester) = requester {
                self.program.begin(requester);
            }
            self.network.begin(outbound);
        }
        Ok(work)
    }

    async fn start_completion(
        self,
        _: Context,
        system: Text<131_072>,
        messages: List<ModelMessage, 1024>,
    ) -> Result<List<ModelMessage, STEERING_MESSAGES>, GateError> {
        self.ask(|reply| Message::StartCompletion(system.into_string(), messages.into_vec(), reply)).await
    }

    async fn poll_completion(self, _: Context) -> Result<CompletionState, GateError> {
        self.ask(Message::PollCompletion).await
    }

    async fn effect(
        self,
        _: Context,
        call: CallId,
        file: Option<Blob<SENT_BYTES>>,
    ) -> Result<EffectState, GateError> {
        self.ask(|reply| Message::Effect(call, file, reply)).await
    }

    async fn result(self, _: Context, result: ToolResult) -> Result<ToolResult, GateError> {
        self.ask(|reply| Message::Result(result, reply)).await
    }

    async fn progress(self, _: Context, call: CallId, line: Text<256>) -> Result<(), GateError> {
        self.ask(|reply| Message::Progress(call, line, reply)).await
    }

    async fn inbox(self, _: Context, number: u8, from: u64) -> Result<Blob<FILE_PIECE>, GateError> {
        self.ask(|reply| Message::Inbox(number, from, reply)).await
    }

    async fn output(self, _: Context, error: bool, bytes: Blob<32_768>) -> Result<(), GateError> {
        self.ask(|reply| Message::Output(error, bytes, reply)).await
    }

    async fn run_models(self, _: Context) -> Result<List<ModelName, 256>, RelayError> {
        self.program.models().await
    }

    async fn run_ask(self, _: Context, request: Request) -> Result<StreamId, RelayError> {
        self.blocked_on.scope(self.program.ask(request)).await
    }

    async fn run_pull(
        self,
        _: Context,
        stream: StreamId,
        credit: u16,
    ) -> Result<List<Piece, 64>, RelayError> {
        self.blocked_on.scope(self.program.pull(stream, credit)).await
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

    async fn net_request(self, _: Context, request: OutboundRequest) -> Result<Head, NetworkError> {
        self.network.request(request).await
    }

    async fn net_next(self, _: Context, reply: ReplyId) -> Result<BodyPiece, NetworkError> {
        self.network.next(reply).await
    }

    async fn net_tunnel(self, _: Context, origin: Origin) -> Result<ReplyId, NetworkError> {
        self.network.tunnel(origin).await
    }

    async fn net_send(self, _: Context, reply: ReplyId, piece: BodyPiece) -> Result<(), NetworkError> {
        self.network.push(reply, piece).await
    }

    async fn net_close(self, _: Context, reply: ReplyId) {
        self.network.close(reply).await;
    }

    async fn server_terms(self, _: Context) -> Result<mcp::Terms, GateError> {
        self.jail.terms()
    }

    async fn server_report(self, _: Context, report: mcp::Report) -> Result<(), GateError> {
        self.jail.report(report).await
    }

    async fn server_next(self, _: Context) -> Result<Option<mcp::Request>, GateError> {
        self.jail.next().await
    }

    async fn server_reply(self, _: Context, id: u64, reply: mcp::Reply) -> Result<(), GateError> {
        self.jail.reply(id, reply)
    }

    async fn engine(self, _: Context, events: List<EngineEvent, 64>) -> Result<(), GateError> {
        self.ask(|reply| Message::Engine(events.into_vec(), reply)).await
    }

    async fn steering(self, _: Context) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError> {
        self.ask(Message::Steering).await
    }

    async fn save_engine_state(self, _: Context, token: Token, state: Blob<STATE>) -> Result<(), GateError> {
        self.ask(|reply| Message::SaveEngineState(token, state, reply)).await
    }

    async fn finish(self, _: Context, ending: Ending) -> Result<(), GateError> {
        let (spent, failure) = (self.program.spent(), self.program.failure());
        self.ask(|reply| Message::Finish(ending, spent, failure, reply)).await
    }
}
