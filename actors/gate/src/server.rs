//! The process: opened before the seal, and the servers of its connections.

use crate::operators::{self, Operators};
use crate::passthrough::streams::Streams;
use crate::runner::server::serve_runner;
use crate::state::context::{GateContext, Opened};
use crate::state::policy_files::Policies;
use ipc_proto::config;
use ipc_proto::gate::{self, Gate as _};
use ipc_proto::ids::TurnId;
use kit::{Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Frame, Room};
use policy::Catalogue;
use std::os::fd::OwnedFd;

/// The process.
pub(crate) struct Gate {
    gate: GateContext,
}

impl kit::Actor for Gate {
    const PROCESS: Process = Process::Gate;
    type Config = config::Gate;
    type Opened = Opened;

    fn open(mut config: config::Gate, place: &Place) -> Result<Opened, OpenFault> {
        let declared = std::mem::take(&mut config.tools);
        let catalogue = Catalogue::built_in().and_then(|built_in| {
            declared.into_iter().try_fold(built_in, |all, (tool, capability)| all.with(&tool, capability))
        });
        let catalogue = catalogue.map_err(|error| OpenFault::new("the tools' capabilities", error))?;
        Ok(Opened { config, catalogue, policies: Policies::open(&place.own())? })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let broken = opened.policies.broken.is_some();
        let gate = GateContext::new(&host, opened);
        if broken {
            tokio::task::spawn_local(operators::record_broken(gate.clone()));
        }
        Self { gate }
    }

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        if let Some(room) = Room::of(&frame) {
            self.gate.hear_of_disk(room);
        }
    }

    async fn serve(&self, edge: Edge) {
        match edge.turn() {
            Some(turn) => serve_runner(self.gate.clone(), TurnId::from_bytes(turn), edge).await,
            None => serve_peer(self.gate.clone(), edge).await,
        }
    }
}

/// Serves control or gateway; the answers that a gateway waited for end with it.
async fn serve_peer(gate: GateContext, edge: Edge) {
    let streams = Streams::default();
    let operators = Operators { gate: gate.clone(), streams: streams.clone(), by: edge.caller() };
    edge.serve(gate::FRAME_BOUND, operators.serve()).await;
    streams.end_all(&gate).await;
}
