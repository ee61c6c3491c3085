//! The process: the hooks of each account, and the interface by which channels take them.

use crate::door;
use crate::hooks::Hooks;
use ipc_proto::Name;
use ipc_proto::config;
use ipc_proto::ingress::{FRAME_BOUND, Hook, HookAnswer, HookId, Ingress as _, NoAccount};
use kit::{Edge, Host, OpenFault, Place};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Process(Rc<Hooks>);

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Ingress;
    type Config = config::Ingress;
    type Opened = Hooks;

    fn open(config: config::Ingress, _: &Place) -> Result<Hooks, OpenFault> {
        Ok(Hooks::new(&config))
    }

    async fn start(hooks: Hooks, host: Host) -> Self {
        let hooks = Rc::new(hooks);
        drop(tokio::task::spawn_local(door::open(Rc::clone(&hooks), host)));
        Self(hooks)
    }

    async fn serve(&self, edge: Edge) {
        let server = Server { caller: edge.caller(), hooks: Rc::clone(&self.0) };
        edge.serve(FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        self.0.waiting()
    }
}

#[derive(Clone)]
struct Server {
    caller: manifest::Process,
    hooks: Rc<Hooks>,
}

impl ipc_proto::ingress::Ingress for Server {
    async fn next(self, _: Context, account: Name, held: bool) -> Result<Option<Hook>, NoAccount> {
        self.hooks.of(self.caller, &account)?.next(held).await
    }

    async fn answer(
        self,
        _: Context,
        account: Name,
        id: HookId,
        answer: HookAnswer,
    ) -> Result<(), NoAccount> {
        self.hooks.of(self.caller, &account)?.answer(id, answer);
        Ok(())
    }
}
