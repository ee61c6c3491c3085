//! Memory's methods as the gate calls them. The caller was decided on before.

use crate::state::context::GateContext;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{
    Answered, Block, BlockAsk, Entry, Filter, HITS, MOST_IDS, MemoryClient, MemoryError, Neighbourhood,
    Project, Question, Raw, Restored, Row, Scope, SessionRow, Start, Unread, method,
};
use ipc_proto::{List, Method, Name, Text};
use std::future::Future;
use tarpc::client::RpcError;
use tarpc::context::Context;

async fn call<T, F, Fut>(gate: &GateContext, method: &Method, ask: F) -> Result<T, RelayError>
where
    F: Fn(MemoryClient, Context) -> Fut,
    Fut: Future<Output = Result<Result<T, MemoryError>, RpcError>>,
{
    let answer = gate.memory.call(method, ask).await.map_err(|fault| {
        tracing::warn!(%fault, "memory did not answer");
        RelayError::Down(Name::clip("memory"))
    });
    answer?.map_err(RelayError::Memory)
}

/// Rows by their ids.
pub(crate) async fn read(
    gate: &GateContext,
    scope: &Scope,
    ids: List<MemoryId, MOST_IDS>,
) -> Result<List<Row, HITS>, RelayError> {
    let read = |memory: MemoryClient, rpc| {
        let (scope, ids) = (scope.clone(), ids.clone());
        async move { memory.read(rpc, scope, ids).await }
    };
    call(gate, &method::read, read).await
}

/// The material that an observation was made from.
pub(crate) async fn raw(gate: &GateContext, scope: &Scope, id: MemoryId) -> Result<Raw, RelayError> {
    let raw = |memory: MemoryClient, rpc| {
        let scope = scope.clone();
        async move { memory.raw(rpc, scope, id).await }
    };
    call(gate, &method::raw, raw).await
}

/// Rows, newest first.
pub(crate) async fn list(
    gate: &GateContext,
    scope: &Scope,
    filter: Filter,
    limit: u16,
    start: Start,
) -> Result<List<Row, HITS>, RelayError> {
    let list = |memory: MemoryClient, rpc| {
        let (scope, filter, start) = (scope.clone(), filter.clone(), start.clone());
        async move { memory.list(rpc, scope, filter, limit, start).await }
    };
    call(gate, &method::list, list).await
}

/// The rows that answer a question best.
pub(crate) async fn find(
    gate: &GateContext,
    scope: &Scope,
    question: &Question,
) -> Result<Box<Answered>, RelayError> {
    let find = |memory: MemoryClient, rpc| {
        let (scope, question) = (scope.clone(), Box::new(question.clone()));
        async move { memory.find(rpc, scope, question).await }
    };
    call(gate, &method::find, find).await
}

/// Rows around an anchor in time.
pub(crate) async fn timeline(
    gate: &GateContext,
    scope: &Scope,
    around: Neighbourhood,
) -> Result<List<Row, HITS>, RelayError> {
    let timeline = |memory: MemoryClient, rpc| {
        let (scope, around) = (scope.clone(), around.clone());
        async move { memory.timeline(rpc, scope, around).await }
    };
    call(gate, &method::timeline, timeline).await
}

/// Every revision of a row.
pub(crate) async fn history(
    gate: &GateContext,
    scope: &Scope,
    id: MemoryId,
) -> Result<List<Row, HITS>, RelayError> {
    let history = |memory: MemoryClient, rpc| {
        let scope = scope.clone();
        async move { memory.history(rpc, scope, id).await }
    };
    call(gate, &method::history, history).await
}

/// Sessions of clients, newest first.
pub(crate) async fn sessions(
    gate: &GateContext,
    scope: &Scope,
    project: Option<Project>,
    limit: u16,
    start: Start<SessionId>,
) -> Result<List<SessionRow, HITS>, RelayError> {
    let sessions = |memory: MemoryClient, rpc| {
        let (scope, project, start) = (scope.clone(), project.clone(), start.clone());
        async move { memory.sessions(rpc, scope, project, limit, start).await }
    };
    call(gate, &method::sessions, sessions).await
}

/// The block as memory lays it out.
pub(crate) async fn block(
    gate: &GateContext,
    scope: &Scope,
    ask: BlockAsk,
) -> Result<Box<Block>, RelayError> {
    let block = |memory: MemoryClient, rpc| {
        let (scope, ask) = (scope.clone(), Box::new(ask.clone()));
        async move { memory.block(rpc, scope, ask).await }
    };
    call(gate, &method::block, block).await
}

/// Rows that cannot be read.
pub(crate) async fn unread(gate: &GateContext, scope: &Scope, each: bool) -> Result<Unread, RelayError> {
    let unread = |memory: MemoryClient, rpc| {
        let scope = scope.clone();
        async move { memory.unread(rpc, scope, each).await }
    };
    call(gate, &method::unread, unread).await
}

/// Stores a row.
pub(crate) async fn write(
    gate: &GateContext,
    scope: &Scope,
    entry: Box<Entry>,
) -> Result<MemoryId, RelayError> {
    let write = |memory: MemoryClient, rpc| {
        let (scope, entry) = (scope.clone(), entry.clone());
        async move { memory.write(rpc, scope, entry).await }
    };
    call(gate, &method::write, write).await
}

/// Writes a new row in the place of one.
pub(crate) async fn revise(
    gate: &GateContext,
    scope: &Scope,
    id: MemoryId,
    entry: Box<Entry>,
    reason: Text<512>,
) -> Result<MemoryId, RelayError> {
    let revise = |memory: MemoryClient, rpc| {
        let (scope, entry, reason) = (scope.clone(), entry.clone(), reason.clone());
        async move { memory.revise(rpc, scope, id, entry, reason).await }
    };
    call(gate, &method::revise, revise).await
}

/// Removes a row and leaves a tombstone.
pub(crate) async fn remove(
    gate: &GateContext,
    scope: &Scope,
    id: MemoryId,
    reason: Text<512>,
) -> Result<(), RelayError> {
    let remove = |memory: MemoryClient, rpc| {
        let (scope, reason) = (scope.clone(), reason.clone());
        async move { memory.remove(rpc, scope, id, reason).await }
    };
    call(gate, &method::remove, remove).await
}

/// Puts back a row that was exported.
pub(crate) async fn restore(
    gate: &GateContext,
    scope: &Scope,
    row: Box<Restored>,
) -> Result<Option<MemoryId>, RelayError> {
    let restore = |memory: MemoryClient, rpc| {
        let (scope, row) = (scope.clone(), row.clone());
        async move { memory.restore(rpc, scope, row).await }
    };
    call(gate, &method::restore, restore).await
}
