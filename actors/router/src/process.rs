//! The process: it opens the queue before the seal, and then serves it to gate, gateway and control. agentd's reports of runners and of the
//! disk go to the actor.

use crate::actor::{Message, RouterHandle};
use crate::gauges::Gauges;
use crate::peers::Peers;
use crate::server::RouterServer;
use crate::state::RouterState;
use crate::state::moment::Moment;
use ipc_proto::config;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{FRAME_BOUND, Router as _};
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Ended, Frame, Gauge, Kind, Room, Worker};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The queue's file in the process's own folder.
const FILE: &str = "queue.db";

/// The router's process.
pub(crate) struct Router {
    handle: Option<RouterHandle>,
    gauges: Arc<Gauges>,
}

impl Actor for Router {
    const PROCESS: Process = Process::Router;
    type Config = config::Router;
    type Opened = RouterState;

    fn open(config: Self::Config, place: &Place) -> Result<Self::Opened, OpenFault> {
        RouterState::open(&place.own().join(FILE), config, Moment::now())
            .map_err(|fault| OpenFault::new("the queue", fault))
    }

    async fn start(router: Self::Opened, host: Host) -> Self {
        let gauges = router.gauges();
        let (effects, out) = tokio::sync::mpsc::unbounded_channel();
        let handle = RouterHandle::start(router, effects).await;
        if let Some(handle) = &handle {
            tokio::task::spawn_local(Peers::of(&host).run(handle.clone(), out));
        }
        Self { handle, gauges }
    }

    async fn serve(&self, edge: Edge) {
        if let Some(handle) = &self.handle {
            let server = RouterServer { handle: handle.clone(), caller: edge.caller() };
            edge.serve(FRAME_BOUND, server.serve()).await;
        }
    }

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        let Some(handle) = &self.handle else { return };
        let turn = TurnId::from_bytes(frame.id(0));
        let [_, _, how, code, ..] = frame.words;
        match frame.kind {
            Kind::RunnerAlive => handle.send(Message::RunnerAlive(turn)),
            Kind::RunnerEnded => handle.send(Message::RunnerEnded(turn, Ended::from_number(how), code)),
            Kind::Plumbed => handle.send(Message::RunnersKnown),
            Kind::Disk => handle.send(Message::Disk(Room::of(&frame).unwrap_or_default())),
            _ => {}
        }
    }

    fn queue_depth(&self) -> u64 {
        self.gauges.waiting.load(Ordering::Relaxed)
    }

    fn workers(&self) -> Vec<Worker> {
        self.handle.iter().map(RouterHandle::worker).collect()
    }

    fn gauges(&self) -> Vec<(Gauge, u64)> {
        self.gauges.all()
    }
}
