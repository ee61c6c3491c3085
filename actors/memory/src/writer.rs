//! The actor that owns the store: one job at a time, each answered at once. It touches the database and must never wait
//! for another process, so that no read ever waits for the scanner or for the record.

use crate::error::StoreError;
use crate::store::Store;
use ipc_proto::memory::MemoryError;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

/// Something to do with the store.
pub(crate) struct Job(Box<dyn FnOnce(&mut Store) + Send>);

/// The actor; its state is the store.
pub(crate) struct Writer;

impl Actor for Writer {
    type Msg = Job;
    type State = Store;
    type Arguments = Store;

    async fn pre_start(&self, _: ActorRef<Job>, mut store: Store) -> Result<Store, ActorProcessingErr> {
        if let Err(error) = store.tidy(kit::now_ms()) {
            tracing::error!(%error, "what is over its time could not be removed");
        }
        Ok(store)
    }

    async fn handle(
        &self,
        _: ActorRef<Job>,
        Job(job): Job,
        store: &mut Store,
    ) -> Result<(), ActorProcessingErr> {
        job(store);
        Ok(())
    }
}

/// Has something read of the store as it is now, and waits for it.
pub(crate) async fn ask<T: Send + 'static>(
    writer: &ActorRef<Job>,
    read: impl FnOnce(&Store, u64) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, MemoryError> {
    change(writer, move |store, now_ms| {
        store.expire_if_it_can(now_ms);
        read(store, now_ms)
    })
    .await
}

/// Has something done with the store, and waits for it. That the caller goes away meanwhile is no error.
pub(crate) async fn change<T: Send + 'static>(
    writer: &ActorRef<Job>,
    done: impl FnOnce(&mut Store, u64) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, MemoryError> {
    let (reply, answer) = oneshot::channel();
    let job = Job(Box::new(move |store| {
        store.now_ms = kit::now_ms();
        let done = done(store, store.now_ms);
        drop(reply.send(done.map_err(|error| memory_error(error, store.damage.is_some()))));
    }));
    writer.cast(job).map_err(|_| MemoryError::Storage)?;
    answer.await.map_err(|_| MemoryError::Storage)?
}

fn memory_error(error: StoreError, is_damaged: bool) -> MemoryError {
    if !matches!(error, StoreError::Database(_) | StoreError::Column(_)) {
        return error.into();
    }
    tracing::error!(%error, "storage");
    if is_damaged { MemoryError::Damaged } else { error.into() }
}
