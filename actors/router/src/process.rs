//! The process: the queue is opened before the seal; after it the desk is served to the gate and to control, and
//! agentd's word about runners is passed on to it.

use crate::desk::{Desk, Moment};
use crate::errands::Peers;
use crate::queue::Queue;
use crate::server::RouterServer;
use ipc_proto::config;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{FRAME_BOUND, Router as _};
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Ended, Frame, Kind, Room};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The queue's file in the process's own folder.
const FILE: &str = "queue.db";

/// The router's process.
pub(crate) struct Router {
    queue: Option<Queue>,
    depth: Arc<AtomicU64>,
}

impl Actor for Router {
    const PROCESS: Process = Process::Router;
    type Config = config::Router;
    type Opened = Desk;

    fn open(config: Self::Config, place: &Place) -> Result<Self::Opened, OpenFault> {
        Desk::open(&place.own().join(FILE), config, Moment::now())
            .map_err(|fault| OpenFault::new("the queue", fault))
    }

    async fn start(desk: Self::Opened, host: Host) -> Self {
        let depth = desk.depth();
        let (errands, out) = tokio::sync::mpsc::unbounded_channel();
        let queue = Queue::start(desk, errands).await;
        if let Some(queue) = &queue {
            tokio::task::spawn_local(Peers::of(&host).run(queue.clone(), out));
        }
        Self { queue, depth }
    }

    async fn serve(&self, edge: Edge) {
        if let Some(queue) = &self.queue {
            edge.serve(FRAME_BOUND, RouterServer(queue.clone()).serve()).await;
        }
    }

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        let Some(queue) = &self.queue else { return };
        let turn = TurnId::from_bytes(frame.id(0));
        let [_, _, how, code, ..] = frame.words;
        match frame.kind {
            Kind::RunnerAlive => queue.tell(move |desk| desk.runner_alive(turn)),
            Kind::RunnerEnded => {
                queue.tell(move |desk| desk.runner_ended(turn, Ended::from_number(how), code))
            }
            Kind::Plumbed => queue.tell(Desk::runners_known),
            Kind::Disk => {
                let room = Room::of(&frame).unwrap_or_default();
                queue.tell(move |desk| desk.hear_of_disk(room));
            }
            _ => {}
        }
    }

    fn queue_depth(&self) -> u64 {
        self.depth.load(Ordering::Relaxed)
    }
}
