//! The process: three loops for each account. Nobody calls it.

use crate::api::Api;
use crate::bot::Bot;
use channel::{Account, deliver, receive, resume};
use ipc_proto::Name;
use ipc_proto::config::{Channels, Streaming};
use kit::{Edge, Host, OpenFault, Place};
use std::rc::Rc;

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
        for (name, account) in config.accounts {
            let name = Name::clip(&name);
            let server = account.base_url.as_deref().unwrap_or(SERVER);
            let api = Api::new(host.link(), name.clone(), Name::clip(&account.secret), server);
            let previews = account.streaming == Streaming::Edit;
            let shared = Account::new(name, Bot::new(api), host.link(), previews, account.typing);
            let shared = Rc::new(shared);
            drop(tokio::task::spawn_local(resume(Rc::clone(&shared))));
            drop(tokio::task::spawn_local(deliver(Rc::clone(&shared))));
            drop(tokio::task::spawn_local(receive(shared)));
        }
        Self
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
