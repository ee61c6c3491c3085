//! The process: three loops for each account. Nobody calls it.

use crate::mailbox::MailAccount;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Email;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, MailAccount::new);
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
