//! The process: an account of the configuration is a bot. Nobody calls it.

use crate::api::Api;
use crate::bot::Bot;
use ipc_proto::Name;
use ipc_proto::config::Channels;
use kit::{Edge, Host, OpenFault, Place};

/// Telegram's own server.
const SERVER: &str = "https://api.telegram.org";

/// The process.
pub(crate) struct Process;

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Telegram;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        channel::start(config, &host, |api, account| {
            let server = account.base_url.as_deref().unwrap_or(SERVER);
            Bot::new(Api::new(api, Name::clip(&account.secret), server))
        });
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
