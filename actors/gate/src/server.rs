//! The process: opened before the seal, and the servers of its connections.

use crate::operators::{self, Operators};
use crate::passthrough::streams::Streams;
use crate::runner::server::serve_runner;
use crate::state::context::{GateContext, Opened};
use crate::state::mcp;
use crate::state::policy_files::Policies;
use ipc_proto::config;
use ipc_proto::gate::{self, Gate as _};
use ipc_proto::ids::TurnId;
use kit::{Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Ended, Frame, Kind, Room};
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
        let mcp = mcp::Opened::read(std::mem::take(&mut config.mcp), &place.own())?;
        Ok(Opened { config, catalogue, policies: Policies::open(&place.own())?, mcp })
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
        if frame.kind == Kind::RunnerEnded {
            let [_, _, how, code, ..] = frame.words;
            let how = Ended::from_number(how);
            self.gate.mcp.launcher.jail_ended(frame.id(0), &ending(how, code));
        }
    }

    async fn serve(&self, edge: Edge) {
        match edge.turn() {
            Some(turn) => serve_runner(self.gate.clone(), TurnId::from_bytes(turn), edge).await,
            None => serve_peer(self.gate.clone(), edge).await,
        }
    }
}

/// How the jail of a server ended, in words.
fn ending(how: Option<Ended>, code: u64) -> String {
    match how {
        Some(Ended::Exited) => format!("its bridge ended with status {code}"),
        Some(Ended::Killed) => format!("signal {code} ended it"),
        Some(Ended::TimedOut) => "its time ran out".to_owned(),
        Some(Ended::Memory) => "it used more memory than a server has".to_owned(),
        Some(Ended::Cpu) => "it used more CPU time than a server has".to_owned(),
        Some(Ended::Processes) => "it had more processes than a server may have".to_owned(),
        Some(Ended::NoLoopback) => {
            "this mode of the host has no network namespaces, which servers need".to_owned()
        }
        Some(Ended::NoWorkspace) => format!("its files or its workspace cannot be mounted (errno {code})"),
        _ => format!("agentd did not launch it (errno {code})"),
    }
}

/// Serves control or gateway; the answers that a gateway waited for end with it.
async fn serve_peer(gate: GateContext, edge: Edge) {
    let streams = Streams::default();
    let operators = Operators { gate: gate.clone(), streams: streams.clone(), by: edge.caller() };
    edge.serve(gate::FRAME_BOUND, operators.serve()).await;
    streams.end_all(&gate).await;
}
