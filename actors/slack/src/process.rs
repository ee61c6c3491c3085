//! The process: an account of the configuration is a workspace. Nobody calls it.

use crate::web::Web;
use crate::workspace::Workspace;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Slack;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, |api, account| Workspace::new(Web::new(api, account)));
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
