//! The process: opens the store, and turns each call into a question to the writer or a way through the intake.
//! No logic is here; what a caller may ask was checked by kit, and whose memory it is stands in the scope.

use crate::intake::Intake;
use crate::store::Store;
use crate::writer::{Ask, Keeping, Writer, ask};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{
    Entry, FRAME_BOUND, Found, HITS, Hit, Manner, Memory as Service, MemoryError, Question, Row, Scope,
};
use ipc_proto::scanner::ScannerClient;
use ipc_proto::{List, Name, Text, config};
use kit::{Actor, Edge, Host, OpenFault, Place};
use ractor::ActorRef;
use tarpc::context::Context;

/// The process `memory`.
pub(crate) struct Memory {
    server: Server,
}

/// What serves one call.
#[derive(Clone)]
struct Server {
    intake: Intake,
    writer: ActorRef<Ask>,
}

impl Actor for Memory {
    const PROCESS: manifest::Process = manifest::Process::Memory;
    type Config = config::Memory;
    type Opened = Keeping;

    fn open(config: config::Memory, place: &Place) -> Result<Keeping, OpenFault> {
        let store =
            Store::open(&place.own()).map_err(|error| OpenFault::new("the memory database", error))?;
        Ok(Keeping { store, most: config.max_rows })
    }

    async fn start(keeping: Keeping, host: Host) -> Self {
        let Ok((writer, _)) = ractor::Actor::spawn(None, Writer, keeping).await else {
            // Without its writer the process can do nothing; agentd starts it anew.
            std::process::abort()
        };
        let intake = Intake::new(host.link::<ScannerClient>(), host.recorder(), writer.clone());
        Self { server: Server { intake, writer } }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, self.server.clone().serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.server.intake.under_way()
    }
}

impl Service for Server {
    async fn write(self, _: Context, scope: Scope, entry: Entry) -> Result<MemoryId, MemoryError> {
        self.intake.write(scope, entry).await
    }

    async fn query(
        self,
        _: Context,
        scope: Scope,
        words: Text<2048>,
        tags: List<Name, 16>,
        limit: u16,
    ) -> Result<List<Hit, HITS>, MemoryError> {
        let question = Question {
            words,
            tags,
            since_ms: None,
            until_ms: None,
            manner: Manner::Words,
            varied: false,
            limit,
        };
        let found = ask(&self.writer, |reply| Ask::Find(scope, question, reply)).await?;
        Ok(List::clip(found.into_iter().map(|found| found.hit)))
    }

    async fn read(self, _: Context, scope: Scope, id: MemoryId) -> Result<Row, MemoryError> {
        ask(&self.writer, |reply| Ask::Read(scope, id, reply)).await?.ok_or(MemoryError::NotFound)
    }

    async fn list(
        self,
        _: Context,
        scope: Scope,
        limit: u16,
        offset: u32,
    ) -> Result<List<Row, HITS>, MemoryError> {
        ask(&self.writer, |reply| Ask::List(scope, limit, offset, reply)).await.map(List::clip)
    }

    async fn delete(self, _: Context, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.intake.delete(scope, id).await
    }

    async fn find(
        self,
        _: Context,
        scope: Scope,
        question: Question,
    ) -> Result<List<Found, HITS>, MemoryError> {
        ask(&self.writer, |reply| Ask::Find(scope, question, reply)).await.map(List::clip)
    }
}
