//! The process: its queue, opened before the seal, and the one interface. Handlers translate; the table says who calls.

use crate::desk::Desk;
use crate::driving;
use crate::rerank;
use crate::store::{FILE, Store};
use ipc_proto::Name;
use ipc_proto::config;
use ipc_proto::curator::{Ask, Curator, CuratorError, FRAME_BOUND, Said};
use ipc_proto::ids::UserId;
use kit::{Edge, Host, OpenFault, Place};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Process {
    desk: Rc<Desk>,
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
        let desk = Rc::new(Desk::new(config, store, &host));
        drop(tokio::task::spawn_local(driving::drive(Rc::clone(&desk))));
        drop(tokio::task::spawn_local(rerank::serve(Rc::clone(&desk))));
        Self { desk }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Serving(Rc::clone(&self.desk)).serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.desk.depth()
    }
}

#[derive(Clone)]
struct Serving(Rc<Desk>);

impl Curator for Serving {
    async fn curate(self, _: Context, by: Name, owner: UserId, ask: Ask) -> Result<Said, CuratorError> {
        self.0.steer(&by, owner, ask).await
    }
}
