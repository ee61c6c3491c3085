//! The start of a platform's process: three loops for each account.

use crate::account::Account;
use crate::api::Api;
use crate::deliver::deliver;
use crate::follow::resume;
use crate::platform::Platform;
use crate::receive::receive;
use ipc_proto::Name;
use ipc_proto::config::{ChannelAccount, Channels};
use kit::Host;
use std::rc::Rc;

/// Starts the loops of every account; `make` makes its platform from its configuration and its way to the servers.
pub fn start<P: Platform>(config: Channels, host: &Host, make: impl Fn(Api, &ChannelAccount) -> P) {
    for (name, account) in config.accounts {
        let name = Name::clip(&name);
        let platform = make(Api::new(host.link(), name.clone()), &account);
        let shared = Account::new(name, platform, host.link(), account.streaming, account.typing);
        let shared = Rc::new(shared);
        drop(tokio::task::spawn_local(resume(Rc::clone(&shared))));
        drop(tokio::task::spawn_local(deliver(Rc::clone(&shared))));
        drop(tokio::task::spawn_local(receive(shared)));
    }
}
