//! Which client speaks to which process: the typed end of each interface.

use ipc_proto::{
    Fault, audit, credproxy, curator, dialer, embedder, gate, memory, model, router, runner_gate, scanner,
    web,
};
use manifest::Process;
use std::future::Future;
use tokio::net::UnixStream;

/// A client generated from an interface.
#[expect(async_fn_in_trait, reason = "an actor's futures stay on its one thread")]
pub trait Stub: Clone + 'static {
    /// Whom it calls.
    const CALLEE: Process;

    /// Exchanges hellos over a fresh edge, and gives the client and what drives it until the edge ends.
    async fn connect(
        stream: UnixStream,
        me: Process,
    ) -> Result<(Self, impl Future<Output = ()> + 'static), Fault>;
}

macro_rules! stub {
    ($($client:ty, $callee:ident, $interface:ident;)+) => { $(
        impl Stub for $client {
            const CALLEE: Process = Process::$callee;

            async fn connect(
                stream: UnixStream,
                me: Process,
            ) -> Result<(Self, impl Future<Output = ()> + 'static), Fault> {
                let transport = wire::client(stream, me, $interface::FRAME_BOUND).await?;
                let new = Self::new(tarpc::client::Config::default(), transport);
                let dispatch = new.dispatch;
                Ok((new.client, async move { drop(dispatch.await) }))
            }
        }
    )+ };
}

stub! {
    audit::AuditClient, Audit, audit;
    dialer::DialerClient, Dialer, dialer;
    credproxy::CredproxyClient, Credproxy, credproxy;
    scanner::ScannerClient, Scanner, scanner;
    memory::MemoryClient, Memory, memory;
    web::WebClient, Web, web;
    model::ModelClient, Model, model;
    router::RouterClient, Router, router;
    gate::GateClient, Gate, gate;
    embedder::EmbedderClient, Embedder, embedder;
    curator::CuratorClient, Curator, curator;
    runner_gate::RunnerGateClient, Gate, runner_gate;
}
