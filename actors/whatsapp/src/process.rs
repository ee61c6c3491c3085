//! The process. Nobody calls it.

use crate::account::Number;
use channel::Hooks;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Whatsapp;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, |api, account| {
            let hooks = Hooks::new(host.link(), api.account().clone());
            Number::new(api, hooks, account)
        });
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
