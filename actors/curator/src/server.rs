//! The process: its queue, opened before the seal, and the one interface. Handlers translate; the table says who may
//! call.

use crate::queue::Queue;
use crate::rerank;
use crate::scheduler;
use crate::store::{FILE, Store};
use ipc_proto::Name;
use ipc_proto::config;
use ipc_proto::curator::{Curator, CuratorError, Edit, FRAME_BOUND, JobState, JobView, Listing, PromptJob};
use ipc_proto::ids::{JobId, UserId};
use kit::{Edge, Host, OpenFault, Place};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Process {
    queue: Rc<Queue>,
}

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Curator;
    type Config = config::Curator;
    type Opened = (config::Curator, Store);

    fn open(config: config::Curator, place: &Place) -> Result<Self::Opened, OpenFault> {
        let store = Store::open(&place.own().join(FILE));
        Ok((config, store.map_err(|error| OpenFault::new("the queue of background work", error))?))
    }

    async fn start((config, store): Self::Opened, host: Host) -> Self {
        let queue = Rc::new(Queue::new(config, store, &host));
        drop(tokio::task::spawn_local(scheduler::run(Rc::clone(&queue))));
        drop(tokio::task::spawn_local(rerank::serve(Rc::clone(&queue))));
        Self { queue }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Serving(Rc::clone(&self.queue)).serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.queue.depth()
    }
}

#[derive(Clone)]
struct Serving(Rc<Queue>);

impl Curator for Serving {
    async fn jobs(self, _: Context, state: Option<JobState>) -> Result<Listing, CuratorError> {
        self.0.listing(state)
    }

    async fn job(self, _: Context, id: JobId) -> Result<JobView, CuratorError> {
        self.0.view(id)
    }

    async fn ask(
        self,
        _: Context,
        by: Name,
        owner: UserId,
        id: JobId,
        job: PromptJob,
    ) -> Result<JobView, CuratorError> {
        self.0.put(&by, owner, id, job).await
    }

    async fn edit(self, _: Context, by: Name, id: JobId, edit: Edit) -> Result<JobView, CuratorError> {
        self.0.edit(&by, id, edit).await
    }

    async fn requeue(self, _: Context, by: Name, id: JobId) -> Result<JobView, CuratorError> {
        self.0.requeue(&by, id).await
    }

    async fn remove(self, _: Context, by: Name, id: JobId) -> Result<(), CuratorError> {
        self.0.remove(&by, id).await
    }

    async fn pause(self, _: Context, by: Name, paused: bool) -> Result<(), CuratorError> {
        self.0.pause(&by, paused).await
    }

    async fn abort(self, _: Context, by: Name, id: Option<JobId>) -> Result<u32, CuratorError> {
        self.0.abort(&by, id).await
    }

    async fn run(self, _: Context) -> Result<u32, CuratorError> {
        self.0.look_now();
        self.0.waiting()
    }
}
