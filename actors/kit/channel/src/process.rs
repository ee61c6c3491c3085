//! A platform's process: three loops for each account. Nobody calls it.

use crate::account::Account;
use crate::api::Api;
use crate::deliver::deliver;
use crate::follow::resume;
use crate::platform::Platform;
use crate::receive::receive;
use ipc_proto::Name;
use ipc_proto::config::Channels;
use kit::{Actor, Edge, Host, OpenFault, Place};
use std::marker::PhantomData;
use std::rc::Rc;

/// The process of a platform, for [`kit::run`].
pub struct Process<P>(PhantomData<P>);

impl<P: Platform> Actor for Process<P> {
    const PROCESS: manifest::Process = P::PROCESS;
    type Config = Channels;
    type Opened = Channels;

    fn open(config: Channels, _: &Place) -> Result<Channels, OpenFault> {
        Ok(config)
    }

    async fn start(config: Channels, host: Host) -> Self {
        for (name, account) in config.accounts {
            let name = Name::clip(&name);
            let platform = P::make(Api::new(host.link(), name.clone()), &account, &host);
            let shared = Account::new(name, platform, &host, account.streaming, account.typing);
            let shared = Rc::new(shared);
            drop(tokio::task::spawn_local(resume(Rc::clone(&shared))));
            drop(tokio::task::spawn_local(deliver(Rc::clone(&shared))));
            drop(tokio::task::spawn_local(receive(shared)));
        }
        Self(PhantomData)
    }

    async fn serve(&self, edge: Edge) {
        drop(edge);
    }
}
