//! The actor that owns the store: one message at a time, each answered at once. It touches the database and must
//! never wait for another process, so that no read ever waits for the scanner or for the record.

use crate::screen::Scanned;
use crate::store::{Admission, Doomed, Store, StoreError};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Found, MemoryError, Question, Row, Scope};
use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::sync::Arc;

/// Where an answer goes.
pub(crate) type Reply<T> = RpcReplyPort<Result<T, MemoryError>>;

/// What the store can be asked; each is for one scope.
pub(crate) enum Ask {
    /// Whether this may be written.
    Admit(Scope, Arc<Scanned>, Reply<Admission>),
    /// Writes it, if it still may be.
    Insert(Scope, Arc<Scanned>, Reply<Admission>),
    /// What a delete would find.
    Doomed(Scope, MemoryId, Reply<Doomed>),
    /// Deletes it, if it is still there.
    Delete(Scope, MemoryId, Reply<()>),
    /// One row.
    Read(Scope, MemoryId, Reply<Option<Row>>),
    /// Rows, newest first: limit and offset.
    List(Scope, u16, u32, Reply<Vec<Row>>),
    /// Rows that answer a question.
    Find(Scope, Question, Reply<Vec<Found>>),
}

/// The actor; its state is a [`Keeping`].
pub(crate) struct Writer;

/// The store, and how many rows one owner may have in it.
pub(crate) struct Keeping {
    /// The open database.
    pub(crate) store: Store,
    /// Rows of one owner.
    pub(crate) most: u32,
}

impl Actor for Writer {
    type Msg = Ask;
    type State = Keeping;
    type Arguments = Keeping;

    async fn pre_start(&self, _: ActorRef<Ask>, keeping: Keeping) -> Result<Keeping, ActorProcessingErr> {
        Ok(keeping)
    }

    async fn handle(
        &self,
        _: ActorRef<Ask>,
        ask: Ask,
        keeping: &mut Keeping,
    ) -> Result<(), ActorProcessingErr> {
        keeping.answer(ask);
        Ok(())
    }
}

impl Keeping {
    fn answer(&mut self, ask: Ask) {
        let (store, most) = (&mut self.store, self.most);
        match ask {
            Ask::Admit(scope, scanned, reply) => send(reply, store.admit(&scope, &scanned, most)),
            Ask::Insert(scope, scanned, reply) => {
                send(reply, store.insert(&scope, &scanned, most, kit::now_ms()));
            }
            Ask::Doomed(scope, id, reply) => send(reply, store.doomed(&scope, id)),
            Ask::Delete(scope, id, reply) => send(reply, store.delete(&scope, id, kit::now_ms())),
            Ask::Read(scope, id, reply) => send(reply, store.read(&scope, id)),
            Ask::List(scope, limit, offset, reply) => send(reply, store.list(&scope, limit, offset)),
            Ask::Find(scope, question, reply) => send(reply, store.find(&scope, &question, kit::now_ms())),
        }
    }
}

/// Answers; that the caller went away meanwhile is no error.
fn send<T: Send + 'static>(reply: Reply<T>, answer: Result<T, StoreError>) {
    let answer = answer.map_err(|error| {
        tracing::error!(%error, "storage");
        MemoryError::Storage
    });
    drop(reply.send(answer));
}

/// Asks the writer and waits for its answer.
pub(crate) async fn ask<T: Send + 'static>(
    writer: &ActorRef<Ask>,
    message: impl FnOnce(Reply<T>) -> Ask,
) -> Result<T, MemoryError> {
    match writer.call(message, None).await {
        Ok(CallResult::Success(answer)) => answer,
        _ => Err(MemoryError::Storage),
    }
}
