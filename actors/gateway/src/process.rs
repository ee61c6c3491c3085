//! The process: what it is configured with. It opens nothing; its counters are made before the seal so that one that
//! cannot be made ends it at its start.

use crate::app_state::AppState;
use crate::door;
use crate::lock::lock;
use crate::metrics::Metrics;
use ipc_proto::config;
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Frame, Kind};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The process.
pub(crate) struct Gateway {
    app: Arc<AppState>,
}

impl Actor for Gateway {
    const PROCESS: Process = Process::Gateway;
    type Config = config::Gateway;
    type Opened = (config::Gateway, Metrics);

    fn open(config: config::Gateway, _: &Place) -> Result<Self::Opened, OpenFault> {
        let metrics = Metrics::new().map_err(|error| OpenFault::new("the counters", error))?;
        Ok((config, metrics))
    }

    async fn start((config, metrics): Self::Opened, host: Host) -> Self {
        let app = Arc::new(AppState::new(config, metrics, host.link(), host.link()));
        drop(tokio::task::spawn_local(door::open(Arc::clone(&app), host)));
        Self { app }
    }

    /// No process of the table calls this one.
    async fn serve(&self, _: Edge) {}

    fn notice(&self, frame: Frame, _: Vec<OwnedFd>) {
        match frame.kind {
            Kind::Plumbed => {}
            Kind::ProcessState | Kind::HostState | Kind::Disk | Kind::Measure => {
                lock(&self.app.figures).take(&frame);
            }
            _ => tracing::warn!(kind = ?frame.kind, "agentd said what is not for gateway"),
        }
    }
}
