//! Memory: always the caller's own, whoever the caller is. The trust of a row is decided here, since no client may decide
//! it: the label of a row that comes in follows from its source.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::gate::{self, RelayError};
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Answered, Area, Block, BlockAsk, Capture, Entry, Filter, Forget, Forgotten, HITS, MOST_IDS, MemoryClient,
    MemoryError, Muted, Neighbourhood, Project, Question, Raw, Restored, RestoredSession, Row, Scope,
    SessionRow, SourceType, Start, Stats, Unread, method,
};
use ipc_proto::router::RouterError;
use ipc_proto::{List, Method, Text};
use std::future::Future;
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// Asks memory in the caller's own scope: no other can be expressed here.
    pub(crate) async fn ask_memory<T, F, Fut>(&self, method: &Method, area: Area, ask: F) -> Answer<T>
    where
        F: Fn(MemoryClient, Context, Scope) -> Fut,
        Fut: Future<Output = Result<Result<T, MemoryError>, RpcError>>,
    {
        let scope = Scope { owner: self.user().await?.id, area };
        let asked = self.state.ask(&self.state.memory, method, |memory, rpc| ask(memory, rpc, scope.clone()));
        asked.await?.map_err(ControlError::Memory)
    }

    /// Rows by their ids.
    pub(crate) async fn read_memories(
        &self,
        area: Area,
        ids: List<MemoryId, MOST_IDS>,
    ) -> Answer<List<Row, HITS>> {
        let read = |memory: MemoryClient, rpc, scope| {
            let ids = ids.clone();
            async move { memory.read(rpc, scope, ids).await }
        };
        self.ask_memory(&method::read, area, read).await
    }

    /// The material that an observation was made from.
    pub(crate) async fn show_material(&self, area: Area, id: MemoryId) -> Answer<Raw> {
        let raw = |memory: MemoryClient, rpc, scope| async move { memory.raw(rpc, scope, id).await };
        self.ask_memory(&method::raw, area, raw).await
    }

    /// Rows, newest first.
    pub(crate) async fn list_memories(
        &self,
        area: Area,
        filter: Filter,
        limit: u16,
        start: Start,
    ) -> Answer<List<Row, HITS>> {
        let list = |memory: MemoryClient, rpc, scope| {
            let (filter, start) = (filter.clone(), start.clone());
            async move { memory.list(rpc, scope, filter, limit, start).await }
        };
        self.ask_memory(&method::list, area, list).await
    }

    /// Rows around an anchor in time.
    pub(crate) async fn memories_around(&self, area: Area, around: Neighbourhood) -> Answer<List<Row, HITS>> {
        let timeline = |memory: MemoryClient, rpc, scope| {
            let around = around.clone();
            async move { memory.timeline(rpc, scope, around).await }
        };
        self.ask_memory(&method::timeline, area, timeline).await
    }

    /// Every revision of a row.
    pub(crate) async fn memory_revisions(&self, area: Area, id: MemoryId) -> Answer<List<Row, HITS>> {
        let history = |memory: MemoryClient, rpc, scope| async move { memory.history(rpc, scope, id).await };
        self.ask_memory(&method::history, area, history).await
    }

    /// Sessions of clients, newest first.
    pub(crate) async fn client_sessions(
        &self,
        area: Area,
        project: Option<Project>,
        limit: u16,
        start: Start<SessionId>,
    ) -> Answer<List<SessionRow, HITS>> {
        let sessions = |memory: MemoryClient, rpc, scope| {
            let (project, start) = (project.clone(), start.clone());
            async move { memory.sessions(rpc, scope, project, limit, start).await }
        };
        self.ask_memory(&method::sessions, area, sessions).await
    }

    /// The size of the area, in numbers.
    pub(crate) async fn count_memories(&self, area: Area) -> Answer<Stats> {
        let stats = |memory: MemoryClient, rpc, scope| async move { memory.stats(rpc, scope).await };
        self.ask_memory(&method::stats, area, stats).await
    }

    /// Rows that cannot be read.
    pub(crate) async fn unreadable_memories(&self, area: Area, each: bool) -> Answer<Unread> {
        let unread = |memory: MemoryClient, rpc, scope| async move { memory.unread(rpc, scope, each).await };
        self.ask_memory(&method::unread, area, unread).await
    }

    /// Removes a row and leaves a tombstone.
    pub(crate) async fn remove_row(&self, area: Area, id: MemoryId, reason: Text<512>) -> Answer<()> {
        let remove = |memory: MemoryClient, rpc, scope| {
            let reason = reason.clone();
            async move { memory.remove(rpc, scope, id, reason).await }
        };
        self.ask_memory(&method::remove, area, remove).await
    }

    /// Makes a removed row current again.
    pub(crate) async fn unremove_memory(&self, area: Area, id: MemoryId) -> Answer<()> {
        let unremove =
            |memory: MemoryClient, rpc, scope| async move { memory.unremove(rpc, scope, id).await };
        self.ask_memory(&method::unremove, area, unremove).await
    }

    /// Accepts a proposed row.
    pub(crate) async fn accept_memory(&self, area: Area, id: MemoryId) -> Answer<()> {
        let accept = |memory: MemoryClient, rpc, scope| async move { memory.accept(rpc, scope, id).await };
        self.ask_memory(&method::accept, area, accept).await
    }

    /// Forgets rows.
    pub(crate) async fn forget_memories(
        &self,
        area: Area,
        what: Forget,
        purge: bool,
        dry_run: bool,
    ) -> Answer<Forgotten> {
        let forget = |memory: MemoryClient, rpc, scope| {
            let what = what.clone();
            async move { memory.forget(rpc, scope, what, purge, dry_run).await }
        };
        self.ask_memory(&method::forget, area, forget).await
    }

    /// Turns the block and the capture of a session or a project off, or on again.
    pub(crate) async fn mute_memory(&self, area: Area, what: Muted, mute: bool) -> Answer<()> {
        let mute = |memory: MemoryClient, rpc, scope| {
            let what = what.clone();
            async move { memory.mute(rpc, scope, what, mute).await }
        };
        self.ask_memory(&method::mute, area, mute).await
    }

    /// Builds the indexes anew and has every vector made again.
    pub(crate) async fn reindex_memories(&self, area: Area) -> Answer<Stats> {
        let reindex = |memory: MemoryClient, rpc, scope| async move { memory.reindex(rpc, scope).await };
        self.ask_memory(&method::reindex, area, reindex).await
    }

    /// The rows that answer a question best. Where a model has a part in it, the gate asks the model, and memory for it.
    pub(crate) async fn find_memories(&self, area: Area, question: Box<Question>) -> Answer<Box<Answered>> {
        let finding = &self.state.config.finding;
        if !finding.embeds(&question) && !finding.reorders(&question) {
            let find = |memory: MemoryClient, rpc, scope| {
                let question = question.clone();
                async move { memory.find(rpc, scope, question).await }
            };
            return self.ask_memory(&method::find, area, find).await;
        }
        let owner = self.user().await?.id;
        let found = self.state.ask(&self.state.gate, &gate::method::find, |gate, context| {
            let (area, question) = (area.clone(), (*question).clone());
            async move { gate.find(context, owner, area, question).await }
        });
        found.await?.map_err(of_the_gate)
    }

    /// The remembered text as a model receives it: the gate checks it for its reader.
    pub(crate) async fn recall_memories(&self, area: Area, ask: Box<BlockAsk>) -> Answer<Box<Block>> {
        let user = self.user().await?;
        let block = self.state.ask(&self.state.gate, &gate::method::recall, |gate, context| {
            let (area, name, ask) = (area.clone(), user.name.clone(), (*ask).clone());
            async move { gate.recall(context, user.id, name, area, ask).await }
        });
        block.await?.map_err(of_the_gate)
    }

    /// Stores a row.
    pub(crate) async fn write_memory(&self, area: Area, entry: Box<Entry>) -> Answer<MemoryId> {
        self.state.disk_has_room()?;
        let entry = of_this_host(entry);
        let write = |memory: MemoryClient, rpc, scope| {
            let entry = entry.clone();
            async move { memory.write(rpc, scope, entry).await }
        };
        self.ask_memory(&method::write, area, write).await
    }

    /// Checks a row and stores nothing.
    pub(crate) async fn judge_memory(&self, area: Area, entry: Box<Entry>) -> Answer<()> {
        let entry = of_this_host(entry);
        let judge = |memory: MemoryClient, rpc, scope| {
            let entry = entry.clone();
            async move { memory.judge(rpc, scope, entry).await }
        };
        self.ask_memory(&method::judge, area, judge).await
    }

    /// Writes a new row in the place of one.
    pub(crate) async fn revise_memory(
        &self,
        area: Area,
        id: MemoryId,
        entry: Box<Entry>,
        reason: Text<512>,
    ) -> Answer<MemoryId> {
        self.state.disk_has_room()?;
        let entry = of_this_host(entry);
        let revise = |memory: MemoryClient, rpc, scope| {
            let (entry, reason) = (entry.clone(), reason.clone());
            async move { memory.revise(rpc, scope, id, entry, reason).await }
        };
        self.ask_memory(&method::revise, area, revise).await
    }

    /// Puts back a row that was exported.
    pub(crate) async fn restore_memory(
        &self,
        area: Area,
        mut row: Box<Restored>,
    ) -> Answer<Option<MemoryId>> {
        if !row.dry_run {
            self.state.disk_has_room()?;
        }
        of_elsewhere(&mut row.row.entry, row.mine);
        let restore = |memory: MemoryClient, rpc, scope| {
            let row = row.clone();
            async move { memory.restore(rpc, scope, row).await }
        };
        self.ask_memory(&method::restore, area, restore).await
    }

    /// Puts back a client's session that was exported.
    pub(crate) async fn restore_client_session(
        &self,
        area: Area,
        session: Box<RestoredSession>,
    ) -> Answer<bool> {
        if !session.dry_run {
            self.state.disk_has_room()?;
        }
        let restore = |memory: MemoryClient, rpc, scope| {
            let session = session.clone();
            async move { memory.restore_session(rpc, scope, session).await }
        };
        self.ask_memory(&method::restore_session, area, restore).await
    }

    /// Stores an event that a client's hook captured.
    pub(crate) async fn capture_event(&self, area: Area, capture: Box<Capture>) -> Answer<Option<MemoryId>> {
        self.state.disk_has_room()?;
        let store = |memory: MemoryClient, rpc, scope| {
            let capture = capture.clone();
            async move { memory.capture(rpc, scope, capture).await }
        };
        self.ask_memory(&method::capture, area, store).await
    }
}

fn of_the_gate(error: RelayError) -> ControlError {
    match error {
        RelayError::Memory(error) => ControlError::Memory(error),
        RelayError::Embedder(error) => ControlError::Embedder(error),
        RelayError::NoAgent(names) => ControlError::Router(RouterError::NoAgent(names)),
        RelayError::Down(name) => ControlError::Down(name),
        error => ControlError::Relay(error),
    }
}

/// An entry that the person declares to be theirs keeps its label, except that none is the host's own; any other was
/// written by a stranger, whatever its label says.
fn of_elsewhere(entry: &mut Entry, mine: bool) {
    if mine {
        entry.label.trust = entry.label.trust.max(Trust::User);
    } else {
        entry.detail.source.external = true;
        entry.label = entry.label.join(&Label::of(Trust::Untrusted, Class::Internal, "import"));
    }
}

/// An entry that a person typed is theirs; one that a model concluded, a tool answered or another host stored is a
/// stranger's.
fn of_this_host(mut entry: Box<Entry>) -> Box<Entry> {
    let source = &entry.detail.source;
    let own = matches!(source.r#type, SourceType::ExplicitSave | SourceType::UserMessage) && !source.external;
    let trust = if own { Trust::User } else { Trust::Untrusted };
    entry.label = Label::of(trust, entry.label.class.max(Class::Internal), "control");
    entry
}
