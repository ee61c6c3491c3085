//! The process: opens the store, and turns each call into a question to the writer or a way through the intake.
//! No logic is here; what a caller may ask was checked by kit, and whose memory it is stands in the scope.

use crate::capture::Ignored;
use crate::error::StoreError;
use crate::intake::{Intake, Rules};
use crate::limits::Limits;
use crate::patterns::Patterns;
use crate::store::Store;
use crate::unread::unread;
use crate::writer::{Job, Writer, ask, change};
use ipc_proto::memory::{
    Answered, Ask, FRAME_BOUND, Memory as Service, MemoryError, Refusal, Said, Scope, Settled, TaskName, Work,
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

/// What serves one call.
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
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store, u64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        ask(&self.writer, read).await
    }

    /// What changes something.
    async fn changed(self, scope: Scope, asked: Ask) -> Result<Said, MemoryError> {
        let intake = self.intake;
        match asked {
            Ask::Write(entry) => intake.write(scope, *entry).await.map(Said::Id),
            Ask::Capture(capture) => intake.capture(scope, *capture).await.map(Said::Taken),
            Ask::Revise { id, entry, reason } => {
                intake.revise(scope, id, *entry, &reason).await.map(Said::Id)
            }
            Ask::Remove { id, reason } => {
                intake.remove(scope, id, reason.into_string()).await.map(|()| Said::Done)
            }
            Ask::Forget { what, purge, dry_run } => {
                intake.forget(scope, *what, (purge, dry_run)).await.map(Said::Forgotten)
            }
            Ask::Restore { row, raw, over, dry_run, .. } => {
                intake.restore(scope, *row, &raw, (over, dry_run)).await.map(Said::Taken)
            }
            Ask::RestoreSession { session, over, mine, dry_run } => {
                intake.restore_session(scope, *session, (over, mine, dry_run)).await.map(Said::Session)
            }
            Ask::Judge(entry) => intake.judge(scope, *entry).await.map(|()| Said::Done),
            Ask::Unremove(id) => intake.unremove(scope, id).await.map(|()| Said::Done),
            Ask::Accept(id) => intake.accept(scope, id).await.map(|()| Said::Done),
            Ask::Mute { what, mute } => intake.mute(scope, what, mute).await.map(|()| Said::Done),
            _ => Err(MemoryError::Refused(Refusal::NotDone)),
        }
    }
}

impl Service for Server {
    async fn ask(self, _: Context, scope: Scope, asked: Ask) -> Result<Said, MemoryError> {
        match asked {
            Ask::Read(ids) => {
                let read = move |store: &Store, _| {
                    let rows = store.read_all(&scope, &ids)?;
                    store.were_read(&scope, &rows)?;
                    Ok(rows)
                };
                Ok(Said::Rows(List::clip(self.read(read).await?)))
            }
            Ask::Raw(id) => {
                let raw = self.read(move |store, _| store.raw(&scope, id)).await?;
                Ok(Said::Raw(raw))
            }
            Ask::List { filter, limit, start } => {
                let rows = self.read(move |store, _| store.list(&scope, &filter, limit, &start)).await?;
                Ok(Said::Rows(List::clip(rows)))
            }
            Ask::Find(question) => {
                let found = self.read(move |store, now_ms| store.find(&scope, &question, now_ms)).await?;
                Ok(Said::Found(Box::new(Answered::of(found))))
            }
            Ask::Timeline { anchor, filter, before, after } => {
                let rows = move |store: &Store, _| store.timeline(&scope, anchor, &filter, (before, after));
                Ok(Said::Rows(List::clip(self.read(rows).await?)))
            }
            Ask::Sessions { project, limit, start } => {
                let project = project.map(Text::into_string);
                let sessions =
                    move |store: &Store, _| store.sessions(&scope, project.as_deref(), limit, &start);
                Ok(Said::Sessions(List::clip(self.read(sessions).await?)))
            }
            Ask::History(id) => {
                let rows = self.read(move |store, _| store.history(&scope, id)).await?;
                Ok(Said::Rows(List::clip(rows)))
            }
            Ask::Block(mut block) => {
                let most = self.index_entries;
                block.rows = Some(block.rows.map_or(most, |rows| rows.min(most)));
                let block = self.read(move |store, now_ms| store.block(&scope, &block, now_ms)).await?;
                Ok(Said::Block(Box::new(block)))
            }
            Ask::Unread { each } => unread(&self.writer, scope, each).await.map(Said::Unread),
            Ask::Stats => self.read(move |store, _| store.stats(&scope)).await.map(Said::Stats),
            Ask::Reindex => {
                let reindexed = change(&self.writer, move |store, _| {
                    store.reindex(&scope)?;
                    store.stats(&scope)
                });
                reindexed.await.map(Said::Stats)
            }
            asked => self.changed(scope, asked).await,
        }
    }

    async fn sound(self, _: Context) -> Result<(), MemoryError> {
        self.read(|store, _| store.writable()).await
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
