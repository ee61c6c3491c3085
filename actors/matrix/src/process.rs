//! The process: an account of the configuration is a user of a homeserver. Nobody calls it.

use crate::api::Api;
use crate::homeserver::Homeserver;
use ipc_proto::Name;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Matrix;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, |api, account| {
            // The configuration has one for every account of this platform.
            let server = account.base_url.as_deref().unwrap_or_default();
            Homeserver::new(Api::new(api, Name::clip(&account.secret), server))
        });
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
