//! Memory: always the caller's own, whoever the caller is.

use crate::caller::Caller;
use ipc_proto::Method;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Entry, Found, Hit, MemoryClient, MemoryError, Question, Row, Scope, method};
use ipc_proto::{List, Name, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// Remembers what the person wrote with their own hand.
    pub(crate) async fn remember(
        &self,
        id: MemoryId,
        area: Area,
        content: Text<100_000>,
        tags: List<Name, 16>,
    ) -> Answer<MemoryId> {
        self.desk.disk_has_room()?;
        let label = Label::of(Trust::User, Class::Internal, "control");
        let entry = Entry { id, content, tags, label, session: None };
        self.memory(area, &method::write, |memory, context, scope| {
            let entry = entry.clone();
            async move { memory.write(context, scope, entry).await }
        })
        .await
    }

    /// Finds.
    pub(crate) async fn search_memory(
        &self,
        area: Area,
        words: Text<2048>,
        limit: u16,
    ) -> Answer<List<Hit, 100>> {
        self.memory(area, &method::query, |memory, context, scope| {
            let words = words.clone();
            async move { memory.query(context, scope, words, List::default(), limit).await }
        })
        .await
    }

    /// Finds, and says why.
    pub(crate) async fn find_memory(&self, area: Area, question: Question) -> Answer<List<Found, 100>> {
        self.memory(area, &method::find, |memory, context, scope| {
            let question = question.clone();
            async move { memory.find(context, scope, question).await }
        })
        .await
    }

    /// One row.
    pub(crate) async fn show_memory(&self, area: Area, id: MemoryId) -> Answer<Row> {
        self.memory(area, &method::read, |memory, context, scope| async move {
            memory.read(context, scope, id).await
        })
        .await
    }

    /// Rows, newest first.
    pub(crate) async fn list_memories(&self, area: Area, limit: u16, offset: u32) -> Answer<List<Row, 100>> {
        self.memory(area, &method::list, |memory, context, scope| async move {
            memory.list(context, scope, limit, offset).await
        })
        .await
    }

    /// Forgets a row.
    pub(crate) async fn forget(&self, area: Area, id: MemoryId) -> Answer<()> {
        self.memory(area, &method::delete, |memory, context, scope| async move {
            memory.delete(context, scope, id).await
        })
        .await
    }

    /// Asks memory in the caller's own scope: no other can be expressed here.
    async fn memory<R, F, Fut>(&self, area: Area, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(MemoryClient, Context, Scope) -> Fut,
        Fut: Future<Output = Result<Result<R, MemoryError>, RpcError>>,
    {
        let scope = Scope { owner: self.user().await?.id, area };
        let answer =
            self.desk.ask(&self.desk.memory, method, |memory, context| ask(memory, context, scope.clone()));
        answer.await?.map_err(ControlError::Memory)
    }
}
