//! The interface of control, gateway and curator: models and their cost, the owner's policies, and the pass-through. A change of
//! policies is on the record before it holds. Handlers only translate; the manifest's table says which process may call which of
//! them.

mod health;
mod login;
mod servers;

use crate::memory::recall;
use crate::passthrough::client::{Background, Client};
use crate::passthrough::streams::Streams;
use crate::passthrough::{embed, find, memory, try_model};
use crate::state::context::GateContext;
use crate::state::policy_files::Change;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{
    Begun, Gate, POLICY_BOUND, PolicyError, PolicySet, RERANK_ROWS, RelayError, RerankRequest, Tried,
};
use ipc_proto::ids::{MemoryId, SessionId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::mcp::{
    Act, Approving, Installed, LoginTerms, McpError, Reply, SERVER_TOOLS, SERVERS, ServerInfo, ServerView,
    TOOL_NAME,
};
use ipc_proto::memory::{
    Answered, Area, Block, BlockAsk, Entry, Filter, HITS, MOST_IDS, Neighbourhood, Project, Question, Raw,
    Restored, Row, Scope, SessionRow, Start, Unread,
};
use ipc_proto::model::{
    self, BudgetInfo, Embedded, Embedding, GroupBy, ModelInfo, ModelName, Piece, Request, StreamId, UsageRow,
};
use ipc_proto::{List, Name, Text};
use manifest::Process;
use sha2::{Digest, Sha256};
use tarpc::context::Context;

// The methods' work is boxed: a call's future is as large as that of the largest method, and is moved several times.
#[derive(Clone)]
pub(crate) struct Operators {
    pub(crate) gate: GateContext,
    /// The answer streams of this edge.
    pub(crate) streams: Streams,
    /// The process at the other end.
    pub(crate) by: Process,
}

impl Operators {
    /// Records a checked change, writes it durably, and puts it into effect.
    async fn apply(
        &self,
        policies: &mut crate::state::policy_files::Policies,
        change: Change,
        event: Event,
    ) -> Result<Name, PolicyError> {
        let version = change.version();
        self.gate.record(event.clone()).await.map_err(|_| PolicyError::NotDurable)?;
        if let Err(error) = policies.apply(change) {
            tracing::error!(%error, "a policy file could not be written");
            // The recorded change did not happen, so a second event says that it failed.
            let failed = Event { result: Result3::Error, ..event };
            drop(self.gate.record(failed).await);
            return Err(PolicyError::NotDurable);
        }
        self.gate.swap(policies.engine());
        Ok(version)
    }
}

impl Gate for Operators {
    async fn models(self, _: Context) -> List<ModelInfo, 256> {
        List::clip(self.gate.models().await.unwrap_or_default())
    }

    async fn away(self, _: Context) -> List<Name, 8> {
        Box::pin(crate::operators::health::away(&self.gate)).await
    }

    async fn policies(self, _: Context) -> PolicySet {
        self.gate.policies.lock().await.list()
    }

    async fn set_policy(
        self,
        _: Context,
        name: Name,
        text: Text<POLICY_BOUND>,
        by: Name,
    ) -> Result<Name, PolicyError> {
        let mut policies = self.gate.policies.lock().await;
        let change = policies.check_set(&name, &text)?;
        let mut event = changed(&name, &format!("set by {by}"));
        event.bytes = text.len() as u64;
        event.hash = Some(Sha256::digest(text.as_bytes()).into());
        self.apply(&mut policies, change, event).await
    }

    async fn remove_policy(self, _: Context, name: Name, by: Name) -> Result<Name, PolicyError> {
        let mut policies = self.gate.policies.lock().await;
        let change = policies.check_removal(&name)?;
        self.apply(&mut policies, change, changed(&name, &format!("removed by {by}"))).await
    }

    async fn mcp_servers(self, _: Context) -> List<ServerInfo, SERVERS> {
        servers::list(&self.gate)
    }

    async fn mcp_server(self, _: Context, name: Name, start: bool) -> Result<Box<ServerView>, McpError> {
        Box::pin(servers::show(&self.gate, &name, start)).await
    }

    async fn mcp_approve(
        self,
        _: Context,
        name: Name,
        tools: List<Approving, SERVER_TOOLS>,
        by: Name,
    ) -> Result<List<Text<TOOL_NAME>, SERVER_TOOLS>, McpError> {
        Box::pin(servers::approve(&self.gate, &name, tools, &by)).await
    }

    async fn mcp_install(self, _: Context, name: Name, by: Name) -> Result<Option<Installed>, McpError> {
        Box::pin(servers::install(&self.gate, &name, &by)).await
    }

    async fn mcp_forget(self, _: Context, name: Name, by: Name) -> Result<(), McpError> {
        Box::pin(servers::forget(&self.gate, &name, &by)).await
    }

    async fn mcp_login_terms(self, _: Context, name: Name) -> Result<Box<LoginTerms>, McpError> {
        Box::pin(login::terms(&self.gate, &name)).await
    }

    async fn mcp_register(
        self,
        _: Context,
        name: Name,
        redirect_uri: Text<256>,
    ) -> Result<Text<1024>, McpError> {
        Box::pin(login::register(&self.gate, &name, &redirect_uri)).await
    }

    async fn mcp_ask(self, _: Context, name: Name, act: Act) -> Result<Reply, McpError> {
        Box::pin(servers::ask(&self.gate, &name, act)).await
    }

    async fn relay(self, _: Context, caller: Caller, request: Request) -> Result<Begun, RelayError> {
        Box::pin(self.streams.begin(&self.gate, caller, request)).await
    }

    async fn relayed(self, _: Context, stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError> {
        Box::pin(self.streams.pull(&self.gate, stream, credit)).await
    }

    async fn relay_end(self, _: Context, stream: StreamId) {
        Box::pin(self.streams.end(&self.gate, stream)).await;
    }

    async fn relay_embed(
        self,
        _: Context,
        caller: Caller,
        request: Embedding,
    ) -> Result<Embedded, RelayError> {
        Box::pin(embed::embed(&self.gate, caller, request)).await
    }

    async fn relay_count(self, _: Context, caller: Caller, request: Request) -> Result<u32, RelayError> {
        Box::pin(embed::count(&self.gate, caller, request)).await
    }

    async fn background(
        self,
        _: Context,
        owner: UserId,
        label: Label,
        order: Option<u64>,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        let work = Background { owner, label, by: self.by, order };
        Box::pin(self.streams.begin_background(&self.gate, work, request)).await
    }

    async fn background_embed(
        self,
        _: Context,
        owner: UserId,
        label: Label,
        request: Embedding,
    ) -> Result<Embedded, RelayError> {
        let work = Background { owner, label, by: self.by, order: None };
        Box::pin(embed::embed_background(&self.gate, work, request)).await
    }

    async fn memory_read(
        self,
        _: Context,
        caller: Caller,
        ids: List<MemoryId, MOST_IDS>,
    ) -> Result<List<Row, HITS>, RelayError> {
        Box::pin(memory::read(&self.gate, caller, ids)).await
    }

    async fn memory_raw(self, _: Context, caller: Caller, id: MemoryId) -> Result<Raw, RelayError> {
        Box::pin(memory::raw(&self.gate, caller, id)).await
    }

    async fn memory_list(
        self,
        _: Context,
        caller: Caller,
        filter: Filter,
        limit: u16,
        start: Start,
    ) -> Result<List<Row, HITS>, RelayError> {
        Box::pin(memory::list(&self.gate, caller, filter, (limit, start))).await
    }

    async fn memory_find(
        self,
        _: Context,
        caller: Caller,
        question: Box<Question>,
    ) -> Result<Box<Answered>, RelayError> {
        Box::pin(memory::find(&self.gate, caller, question)).await
    }

    async fn memory_timeline(
        self,
        _: Context,
        caller: Caller,
        around: Neighbourhood,
    ) -> Result<List<Row, HITS>, RelayError> {
        Box::pin(memory::timeline(&self.gate, caller, around)).await
    }

    async fn memory_history(
        self,
        _: Context,
        caller: Caller,
        id: MemoryId,
    ) -> Result<List<Row, HITS>, RelayError> {
        Box::pin(memory::history(&self.gate, caller, id)).await
    }

    async fn memory_sessions(
        self,
        _: Context,
        caller: Caller,
        project: Option<Project>,
        limit: u16,
        start: Start<SessionId>,
    ) -> Result<List<SessionRow, HITS>, RelayError> {
        Box::pin(memory::sessions(&self.gate, caller, project, (limit, start))).await
    }

    async fn memory_block(
        self,
        _: Context,
        caller: Caller,
        ask: Box<BlockAsk>,
    ) -> Result<Box<Block>, RelayError> {
        Box::pin(memory::block(&self.gate, caller, ask)).await
    }

    async fn memory_unread(self, _: Context, caller: Caller, each: bool) -> Result<Unread, RelayError> {
        Box::pin(memory::unread(&self.gate, caller, each)).await
    }

    async fn memory_write(
        self,
        _: Context,
        caller: Caller,
        entry: Box<Entry>,
    ) -> Result<MemoryId, RelayError> {
        Box::pin(memory::write(&self.gate, caller, entry)).await
    }

    async fn memory_revise(
        self,
        _: Context,
        caller: Caller,
        id: MemoryId,
        entry: Box<Entry>,
        reason: Text<512>,
    ) -> Result<MemoryId, RelayError> {
        Box::pin(memory::revise(&self.gate, caller, id, (entry, reason))).await
    }

    async fn memory_remove(
        self,
        _: Context,
        caller: Caller,
        id: MemoryId,
        reason: Text<512>,
    ) -> Result<(), RelayError> {
        Box::pin(memory::remove(&self.gate, caller, id, reason)).await
    }

    async fn memory_restore(
        self,
        _: Context,
        caller: Caller,
        row: Box<Restored>,
    ) -> Result<Option<MemoryId>, RelayError> {
        Box::pin(memory::restore(&self.gate, caller, row)).await
    }

    async fn find(
        self,
        _: Context,
        owner: UserId,
        area: Area,
        question: Question,
    ) -> Result<Box<Answered>, RelayError> {
        let label = Label::of(Trust::User, Class::Internal, self.by.name());
        let client = Client::background(Background { owner, label, by: self.by, order: None });
        Box::pin(find::find(&self.gate, &client, Scope { owner, area }, question)).await
    }

    async fn recall(
        self,
        _: Context,
        owner: UserId,
        user: Name,
        area: Area,
        ask: BlockAsk,
    ) -> Result<Box<Block>, RelayError> {
        Box::pin(recall::preview(&self.gate, (owner, &user), area, ask)).await
    }

    async fn next_rerank(self, _: Context, wait_ms: u32) -> Option<RerankRequest> {
        self.gate.reranks.next(wait_ms).await
    }

    async fn finish_rerank(self, _: Context, id: u64, order: Result<List<u8, RERANK_ROWS>, Text<200>>) {
        self.gate.reranks.finish(id, order);
    }

    async fn try_model(self, _: Context, model: ModelName, by: Name) -> Result<Tried, RelayError> {
        Box::pin(try_model::try_model(&self.gate, model, &by)).await
    }

    async fn usage(self, _: Context, by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, RelayError> {
        let usage = self
            .gate
            .model
            .call(&model::method::usage, |model, rpc| async move { model.usage(rpc, by, since_ms).await });
        usage.await.map_err(|_| RelayError::Down(Name::clip("model")))?.map_err(RelayError::Model)
    }

    async fn budgets(self, _: Context) -> Result<List<BudgetInfo, 64>, RelayError> {
        let budgets = self
            .gate
            .model
            .call(&model::method::budgets, |model, rpc| async move { model.budgets(rpc).await });
        budgets.await.map_err(|_| RelayError::Down(Name::clip("model")))?.map_err(RelayError::Model)
    }
}

fn changed(name: &str, why: &str) -> Event {
    Event::new(Action::PolicyChanged, Result3::Success).about(name).because(why)
}

/// Records that the owner's policy files are not valid, so that every call is refused.
pub(crate) async fn record_broken(gate: GateContext) {
    let event =
        Event::new(Action::PolicyChanged, Result3::Blocked).because("a policy file does not hold: deny all");
    if gate.record(event).await.is_err() {
        tracing::warn!("that the policies do not hold could not be recorded");
    }
}
