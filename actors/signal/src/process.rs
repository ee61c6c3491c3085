//! The process. Nobody calls it.

use crate::account::Number;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Signal;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, |api, account| {
            Number::new(api, account.base_url.as_deref().unwrap_or_default())
        });
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
