//! The gate as a runner reaches it: over the one socket, with each method's own deadline. When the gate is gone,
//! so is the runner's reason to be.

use crate::RunnerFault;
use ipc_proto::ids::CallId;
use ipc_proto::model::Message;
use ipc_proto::runner_gate::{Ending, FRAME_BOUND, GateError, Heard, RunnerGateClient, Work, method};
use ipc_proto::tool::ToolResult;
use ipc_proto::{Blob, List, Method, Text};
use manifest::Process;
use std::os::fd::OwnedFd;
use std::time::Instant;
use tarpc::client::{Config, RpcError};
use tarpc::context::Context;
use tokio::net::UnixStream;

/// The gate.
#[derive(Clone)]
pub(crate) struct Gate(RunnerGateClient);

type Reply<T> = Result<Result<T, GateError>, RpcError>;

impl Gate {
    /// Takes the socket up.
    pub(crate) async fn connect(socket: OwnedFd) -> Result<Self, RunnerFault> {
        let stream = std::os::unix::net::UnixStream::from(socket);
        stream.set_nonblocking(true)?;
        let transport = wire::client(UnixStream::from_std(stream)?, Process::Runner, FRAME_BOUND).await;
        let transport = transport.map_err(|_| RunnerFault::GateGone)?;
        Ok(Self(RunnerGateClient::new(Config::default(), transport).spawn()))
    }

    pub(crate) async fn work(&self) -> Result<Work, RunnerFault> {
        flat(self.0.work(within(&method::work)).await)
    }

    pub(crate) async fn think(&self, system: &str, messages: &[Message]) -> Result<(), RunnerFault> {
        let messages = List::clip(messages.iter().cloned());
        flat(self.0.think(within(&method::think), Text::clip(system), messages).await)
    }

    pub(crate) async fn hear(&self) -> Result<Heard, RunnerFault> {
        flat(self.0.hear(within(&method::hear)).await)
    }

    pub(crate) async fn effect(&self, call: CallId) -> Result<ToolResult, RunnerFault> {
        flat(self.0.effect(within(&method::effect), call).await)
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

    pub(crate) async fn finish(&self, ending: Ending) -> Result<(), RunnerFault> {
        flat(self.0.finish(within(&method::finish), ending).await)
    }
}

fn within(method: &Method) -> Context {
    let mut context = tarpc::context::current();
    context.deadline = Instant::now() + method.deadline;
    context
}

/// A refusal of the gate ends the turn: the gate has told router why.
fn flat<T>(reply: Reply<T>) -> Result<T, RunnerFault> {
    reply.ok().and_then(Result::ok).ok_or(RunnerFault::GateGone)
}
