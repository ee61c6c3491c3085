//! The process: what it is configured with, and what agentd tells it. It opens no file before the seal; it must
//! not take anybody in before it knows every process's state.

use crate::door;
use crate::state::{OperatorState, disk, violations};
use ipc_proto::config;
use kit::{Actor, Edge, Host, Listeners, OpenFault, Place};
use manifest::Process;
use manifest::command::{Frame, Kind, Room};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// The process.
pub(crate) struct Controller {
    state: Rc<OperatorState>,
}

impl Actor for Controller {
    const PROCESS: Process = Process::Control;
    type Config = config::Control;
    type Opened = (config::Control, PathBuf);

    fn open(config: config::Control, place: &Place) -> Result<Self::Opened, OpenFault> {
        Ok((config, place.beside("logs")))
    }

    async fn start((config, logs): Self::Opened, host: Host) -> Self {
        let state = Rc::new(OperatorState::new(host, config, logs));
        drop(tokio::task::spawn_local(open(Rc::clone(&state))));
        Self { state }
    }

    /// No process of the table calls this one.
    async fn serve(&self, _: Edge) {}

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        match frame.kind {
            Kind::Plumbed => {}
            Kind::ProcessState | Kind::HostState => self.state.board.borrow_mut().take(&frame),
            Kind::Measure => self.state.figures.borrow_mut().take(&frame, Instant::now()),
            Kind::ProcessEnded => self.state.figures.borrow_mut().end(&frame),
            Kind::Done => self.state.agentd.done(&frame),
            Kind::Disk => disk::hear(&self.state, Room::of(&frame).unwrap_or_default()),
            Kind::Violation => violations::heard(&self.state, frame),
            Kind::Probed => self.state.agentd.probed(&frame),
            Kind::Attached => self.state.agentd.attached(&frame),
            _ => tracing::warn!(kind = ?frame.kind, "agentd said what is not for control"),
        }
    }
}

/// Accepts connections once agentd has reported every process: no client sees a host without processes.
async fn open(state: Rc<OperatorState>) {
    match state.host.listeners().await {
        Ok(Listeners { unix: Some(unix), .. }) => door::open(&state, unix),
        Ok(_) => tracing::error!("agentd handed over no Unix socket"),
        Err(fault) => tracing::error!(%fault, "nobody can be taken in"),
    }
}
