//! The gate as a runner reaches it: over the one socket, with each method's own deadline. When the gate is gone, the
//! runner ends. It has asked for its work before: `crate::asking`.

use crate::RunnerFault;
use ipc_proto::channel::{FILE_PIECE, SENT_BYTES};
use ipc_proto::egress::{self, EgressError, ReplyId};
use ipc_proto::engine::{EngineEvent, STATE, Token};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Message, ModelName, Piece, Request, StreamId};
use ipc_proto::router::{Input, STEERING_BOUND, STEERING_MESSAGES};
use ipc_proto::runner_gate::{
    CompletionState, EffectState, Ending, FRAME_BOUND, GateError, NetworkError, RunnerGateClient, method,
};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Method, Name, Text, mcp};
use std::time::Instant;
use tarpc::client::{Config, RpcError};
use tarpc::context::Context;
use tokio::net::UnixStream;
use wire::codec::{Messages, Side};
use wire::socket::Socket;

/// Events of an engine that go at once.
const EVENTS: usize = 64;

/// The gate.
#[derive(Clone)]
pub(crate) struct Gate(RunnerGateClient);

type Reply<T> = Result<Result<T, GateError>, RpcError>;
/// The gate's reply to a model call.
type Relayed<T> = Result<T, RelayError>;

impl Gate {
    /// Prepares calls over a connection whose first answer is read elsewhere; to be made within the event loop.
    pub(crate) fn over(connection: std::os::unix::net::UnixStream) -> Result<Self, RunnerFault> {
        let socket = Socket::new(UnixStream::from_std(connection)?)?;
        let transport = Messages::new(socket, FRAME_BOUND, Side::Client);
        Ok(Self(RunnerGateClient::new(Config::default(), transport).spawn()))
    }

    /// Starts a completion. Returns the messages that the person sent into the turn, which the model gets behind these
    /// messages.
    pub(crate) async fn start_completion(
        &self,
        system: &str,
        messages: &[Message],
    ) -> Result<List<Message, STEERING_MESSAGES>, RunnerFault> {
        let messages = List::clip(messages.iter().cloned());
        flat(self.0.start_completion(within(&method::start_completion), Text::clip(system), messages).await)
    }

    pub(crate) async fn poll_completion(&self) -> Result<CompletionState, RunnerFault> {
        flat(self.0.poll_completion(within(&method::poll_completion)).await)
    }

    pub(crate) async fn effect(
        &self,
        call: CallId,
        file: Option<Blob<SENT_BYTES>>,
    ) -> Result<EffectState, RunnerFault> {
        flat(self.0.effect(within(&method::effect), call, file).await)
    }

    /// A piece of a file of the message; empty at its end.
    pub(crate) async fn inbox(&self, number: u8, from: u64) -> Result<Blob<FILE_PIECE>, RunnerFault> {
        flat(self.0.inbox(within(&method::inbox), number, from).await)
    }

    pub(crate) async fn result(&self, result: ToolResult) -> Result<ToolResult, RunnerFault> {
        flat(self.0.result(within(&method::result), result).await)
    }

    /// Progress is a courtesy: that it is not heard is no failure.
    pub(crate) async fn progress(&self, call: CallId, line: &str) {
        drop(self.0.progress(within(&method::progress), call, Text::clip(line)).await);
    }

    pub(crate) async fn output(&self, error: bool, bytes: &[u8]) -> Result<(), RunnerFault> {
        let bytes = Blob::new(bytes).map_err(|_| RunnerFault::GateGone)?;
        flat(self.0.output(within(&method::output), error, bytes).await)
    }

    /// The person's typed input; none where the gate could not say.
    pub(crate) async fn input(&self, from: u64) -> Result<Option<Input>, RunnerFault> {
        match self.0.run_input(within(&method::run_input), from).await {
            Ok(said) => Ok(said.ok()),
            Err(RpcError::DeadlineExceeded | RpcError::Server(_)) => Ok(None),
            Err(_) => Err(RunnerFault::GateGone),
        }
    }

    pub(crate) async fn models(&self) -> Relayed<List<ModelName, 256>> {
        relayed(self.0.run_models(within(&method::run_models)).await)
    }

    pub(crate) async fn ask(&self, request: Request) -> Relayed<StreamId> {
        relayed(self.0.run_ask(within(&method::run_ask), request).await)
    }

    pub(crate) async fn pull(&self, stream: StreamId, credit: u16) -> Relayed<List<Piece, 64>> {
        relayed(self.0.run_pull(within(&method::run_pull), stream, credit).await)
    }

    /// Ends a completion; a lost call does no harm.
    pub(crate) async fn end(&self, stream: StreamId) {
        drop(self.0.run_end(within(&method::run_end), stream).await);
    }

    pub(crate) async fn count(&self, request: Request) -> Relayed<u32> {
        relayed(self.0.run_count(within(&method::run_count), request).await)
    }

    /// Sends a request of a program in the jail out.
    pub(crate) async fn net_request(&self, request: egress::Request) -> Result<egress::Head, NetworkError> {
        sent(self.0.net_request(within(&method::net_request), request).await)
    }

    /// The next piece of a reply.
    pub(crate) async fn net_next(&self, reply: ReplyId) -> Result<egress::Piece, NetworkError> {
        sent(self.0.net_next(within(&method::net_next), reply).await)
    }

    /// Opens a tunnel for a program in the jail.
    pub(crate) async fn net_tunnel(&self, origin: egress::Origin) -> Result<ReplyId, NetworkError> {
        sent(self.0.net_tunnel(within(&method::net_tunnel), origin).await)
    }

    /// Sends bytes into a tunnel or a WebSocket.
    pub(crate) async fn net_send(&self, reply: ReplyId, piece: egress::Piece) -> Result<(), NetworkError> {
        sent(self.0.net_send(within(&method::net_send), reply, piece).await)
    }

    /// Lets a reply go; a lost call does no harm.
    pub(crate) async fn net_close(&self, reply: ReplyId) {
        drop(self.0.net_close(within(&method::net_close), reply).await);
    }

    /// How the jail's server is reached.
    pub(crate) async fn server_terms(&self) -> Result<mcp::Terms, RunnerFault> {
        flat(self.0.server_terms(within(&method::server_terms)).await)
    }

    /// Reports what the server offers, or its failure.
    pub(crate) async fn server_report(&self, report: mcp::Report) -> Result<(), RunnerFault> {
        flat(self.0.server_report(within(&method::server_report), report).await)
    }

    /// The next request to the server; none where there was none in time.
    pub(crate) async fn server_next(&self) -> Result<Option<mcp::Request>, RunnerFault> {
        match self.0.server_next(within(&method::server_next)).await {
            Ok(next) => next.map_err(|_| RunnerFault::GateGone),
            Err(RpcError::DeadlineExceeded) => Ok(None),
            Err(_) => Err(RunnerFault::GateGone),
        }
    }

    /// The server's reply to a request.
    pub(crate) async fn server_reply(&self, id: u64, reply: mcp::Reply) -> Result<(), RunnerFault> {
        flat(self.0.server_reply(within(&method::server_reply), id, reply).await)
    }

    /// Passes on an engine's events, however many.
    pub(crate) async fn engine(&self, events: Vec<EngineEvent>) -> Result<(), RunnerFault> {
        for some in events.chunks(EVENTS) {
            let some = List::clip(some.iter().cloned());
            flat(self.0.engine(within(&method::engine), some).await)?;
        }
        Ok(())
    }

    /// The messages that a person sent into an engine's turn since the last call.
    pub(crate) async fn messages(
        &self,
    ) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, RunnerFault> {
        flat(self.0.steering(within(&method::steering)).await)
    }

    /// Stores an engine's state of the session.
    pub(crate) async fn save_engine_state(
        &self,
        token: Token,
        state: Blob<STATE>,
    ) -> Result<(), RunnerFault> {
        flat(self.0.save_engine_state(within(&method::save_engine_state), token, state).await)
    }

    pub(crate) async fn finish(&self, ending: Ending) -> Result<(), RunnerFault> {
        flat(self.0.finish(within(&method::finish), ending).await)
    }
}

/// With the method's own deadline.
pub(crate) fn within(method: &Method) -> Context {
    let mut context = tarpc::context::current();
    context.deadline = Instant::now() + method.deadline;
    context
}

/// A refusal of the gate ends the turn: the gate has told router why.
fn flat<T>(reply: Reply<T>) -> Result<T, RunnerFault> {
    reply.ok().and_then(Result::ok).ok_or(RunnerFault::GateGone)
}

/// A gate that is gone is a process that is not there.
fn relayed<T>(reply: Result<Relayed<T>, RpcError>) -> Relayed<T> {
    reply.unwrap_or_else(|_| Err(RelayError::Down(Name::clip("gate"))))
}

/// The same of a request that goes out.
fn sent<T>(reply: Result<Result<T, NetworkError>, RpcError>) -> Result<T, NetworkError> {
    reply.unwrap_or(Err(NetworkError::Egress(EgressError::Down)))
}
