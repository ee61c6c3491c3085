//! The process: opens the store, and turns each call into a question to the writer or a change through the intake. It
//! has no logic; kit checked the caller, and the scope names the owner.

use crate::capture::Ignored;
use crate::error::StoreError;
use crate::intake::{Intake, Rules};
use crate::limits::Limits;
use crate::patterns::Patterns;
use crate::store::Store;
use crate::unread::unread;
use crate::writer::{Job, Writer, ask, change};
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{
    Answered, Block, BlockAsk, Capture, Entry, FRAME_BOUND, Filter, Forget, Forgotten, HITS, MOST_IDS,
    Memory as Service, MemoryError, Muted, Neighbourhood, Project, Question, Raw, Restored, RestoredSession,
    Row, Scope, SessionRow, Settled, Start, Stats, TaskName, Unread, Work,
};
use ipc_proto::scanner::ScannerClient;
use ipc_proto::{List, Text, config};
use kit::{Actor, Edge, Host, OpenFault, Place};
use ractor::ActorRef;
use tarpc::context::Context;

const MIB: u64 = 1 << 20;
/// Pieces of work in one answer.
const WORK: usize = 16;

/// The process `memory`.
pub(crate) struct Memory {
    server: Server,
}

/// The server of one call.
#[derive(Clone)]
struct Server {
    intake: Intake,
    writer: ActorRef<Job>,
    /// Most rows in the index of a block.
    index_entries: u16,
}

impl Actor for Memory {
    const PROCESS: manifest::Process = manifest::Process::Memory;
    type Config = config::Memory;
    type Opened = (Store, Rules, u16);

    fn open(config: config::Memory, place: &Place) -> Result<Self::Opened, OpenFault> {
        let mut store = Store::open(&place.own(), &config.database)
            .map_err(|error| OpenFault::new("the memory database", error))?;
        store.limits = Limits {
            rows: config.max_rows,
            episodic: config.max_episodic,
            semantic: config.max_semantic,
            episodic_days: config.episodic_days,
            retention_days: config.retention_days,
            bytes: u64::from(config.max_mib) * MIB,
            owner_bytes: u64::from(config.max_owner_mib) * MIB,
        };
        let embedder = config.embedder.as_deref().map(Text::clip);
        let kept = store.keep_vectors_of(embedder);
        // One that is damaged is read all the same, without vectors where it cannot say whose they are.
        if store.damage.is_none() {
            kept.map_err(|error| OpenFault::new("the memory database", error))?;
        }
        let patterns = Patterns::of(&config.sensitive_patterns);
        let patterns = patterns.map_err(|error| OpenFault::new("memory.sensitive_patterns", error))?;
        let ignored = Ignored { tools: config.ignored_tools, shorter: config.min_output_length };
        Ok((store, Rules { patterns, ignored }, config.max_index_entries))
    }

    async fn start((store, rules, index_entries): Self::Opened, host: Host) -> Self {
        let Ok((writer, _)) = ractor::Actor::spawn(None, Writer, store).await else {
            // Without its writer the process can do nothing; agentd starts it anew.
            std::process::abort()
        };
        let intake = Intake::new(host.link::<ScannerClient>(), host.recorder(), writer.clone(), rules);
        Self { server: Server { intake, writer, index_entries } }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, self.server.clone().serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.server.intake.under_way()
    }
}

impl Server {
    /// Has something read of the store.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store, u64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        ask(&self.writer, read).await
    }
}

impl Service for Server {
    async fn read(
        self,
        _: Context,
        scope: Scope,
        ids: List<MemoryId, MOST_IDS>,
    ) -> Result<List<Row, HITS>, MemoryError> {
        let rows = self.look(move |store, _| {
            let rows = store.read_all(&scope, &ids)?;
            store.were_read(&scope, &rows)?;
            Ok(rows)
        });
        rows.await.map(List::clip)
    }

    async fn raw(self, _: Context, scope: Scope, id: MemoryId) -> Result<Raw, MemoryError> {
        self.look(move |store, _| store.raw(&scope, id)).await
    }

    async fn list(
        self,
        _: Context,
        scope: Scope,
        filter: Filter,
        limit: u16,
        start: Start,
    ) -> Result<List<Row, HITS>, MemoryError> {
        self.look(move |store, _| store.list(&scope, &filter, limit, &start)).await.map(List::clip)
    }

    async fn find(
        self,
        _: Context,
        scope: Scope,
        question: Box<Question>,
    ) -> Result<Box<Answered>, MemoryError> {
        let found = self.look(move |store, now_ms| store.find(&scope, &question, now_ms)).await?;
        Ok(Box::new(Answered::of(found)))
    }

    async fn timeline(
        self,
        _: Context,
        scope: Scope,
        around: Neighbourhood,
    ) -> Result<List<Row, HITS>, MemoryError> {
        let Neighbourhood { anchor, filter, before, after } = around;
        self.look(move |store, _| store.timeline(&scope, anchor, &filter, (before, after)))
            .await
            .map(List::clip)
    }

    async fn history(self, _: Context, scope: Scope, id: MemoryId) -> Result<List<Row, HITS>, MemoryError> {
        self.look(move |store, _| store.history(&scope, id)).await.map(List::clip)
    }

    async fn sessions(
        self,
        _: Context,
        scope: Scope,
        project: Option<Project>,
        limit: u16,
        start: Start<SessionId>,
    ) -> Result<List<SessionRow, HITS>, MemoryError> {
        let project = project.map(Text::into_string);
        self.look(move |store, _| store.sessions(&scope, project.as_deref(), limit, &start))
            .await
            .map(List::clip)
    }

    async fn block(
        self,
        _: Context,
        scope: Scope,
        mut ask: Box<BlockAsk>,
    ) -> Result<Box<Block>, MemoryError> {
        let most = self.index_entries;
        ask.rows = Some(ask.rows.map_or(most, |rows| rows.min(most)));
        self.look(move |store, now_ms| store.block(&scope, &ask, now_ms)).await.map(Box::new)
    }

    async fn stats(self, _: Context, scope: Scope) -> Result<Stats, MemoryError> {
        self.look(move |store, _| store.stats(&scope)).await
    }

    async fn unread(self, _: Context, scope: Scope, each: bool) -> Result<Unread, MemoryError> {
        unread(&self.writer, scope, each).await
    }

    async fn write(self, _: Context, scope: Scope, entry: Box<Entry>) -> Result<MemoryId, MemoryError> {
        self.intake.write(scope, *entry).await
    }

    async fn revise(
        self,
        _: Context,
        scope: Scope,
        id: MemoryId,
        entry: Box<Entry>,
        reason: Text<512>,
    ) -> Result<MemoryId, MemoryError> {
        self.intake.revise(scope, id, *entry, &reason).await
    }

    async fn remove(
        self,
        _: Context,
        scope: Scope,
        id: MemoryId,
        reason: Text<512>,
    ) -> Result<(), MemoryError> {
        self.intake.remove(scope, id, reason.into_string()).await
    }

    async fn restore(
        self,
        _: Context,
        scope: Scope,
        row: Box<Restored>,
    ) -> Result<Option<MemoryId>, MemoryError> {
        let Restored { row, raw, over, dry_run, .. } = *row;
        self.intake.restore(scope, row, &raw, (over, dry_run)).await
    }

    async fn capture(
        self,
        _: Context,
        scope: Scope,
        capture: Box<Capture>,
    ) -> Result<Option<MemoryId>, MemoryError> {
        self.intake.capture(scope, *capture).await
    }

    async fn judge(self, _: Context, scope: Scope, entry: Box<Entry>) -> Result<(), MemoryError> {
        self.intake.judge(scope, *entry).await
    }

    async fn unremove(self, _: Context, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.intake.unremove(scope, id).await
    }

    async fn accept(self, _: Context, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.intake.accept(scope, id).await
    }

    async fn forget(
        self,
        _: Context,
        scope: Scope,
        what: Forget,
        purge: bool,
        dry_run: bool,
    ) -> Result<Forgotten, MemoryError> {
        self.intake.forget(scope, what, (purge, dry_run)).await
    }

    async fn restore_session(
        self,
        _: Context,
        scope: Scope,
        session: Box<RestoredSession>,
    ) -> Result<bool, MemoryError> {
        let RestoredSession { session, over, mine, dry_run } = *session;
        self.intake.restore_session(scope, session, (over, mine, dry_run)).await
    }

    async fn mute(self, _: Context, scope: Scope, what: Muted, mute: bool) -> Result<(), MemoryError> {
        self.intake.mute(scope, what, mute).await
    }

    async fn reindex(self, _: Context, scope: Scope) -> Result<Stats, MemoryError> {
        let reindexed = change(&self.writer, move |store, _| {
            store.reindex(&scope)?;
            store.stats(&scope)
        });
        reindexed.await
    }

    async fn sound(self, _: Context) -> Result<(), MemoryError> {
        self.look(|store, _| store.writable()).await
    }

    async fn waiting(
        self,
        _: Context,
        tasks: List<TaskName, 4>,
        limit: u16,
        lease_ms: u32,
    ) -> Result<List<Work, 16>, MemoryError> {
        let work = change(&self.writer, move |store, now_ms| {
            store.expire_if_it_can(now_ms);
            let until_ms = now_ms.saturating_add(u64::from(lease_ms));
            store.waiting(&tasks, usize::from(limit).min(WORK), now_ms, until_ms)
        });
        Ok(List::clip(work.await?))
    }

    async fn settle(self, _: Context, scope: Scope, settled: Settled) -> Result<(), MemoryError> {
        self.intake.settle(scope, settled).await
    }
}
