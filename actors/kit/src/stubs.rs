//! The client of each process: the typed end of each interface.

use ipc_proto::Fault;
use manifest::Process;
use std::future::Future;
use tokio::net::UnixStream;

/// A client generated from an interface.
#[expect(async_fn_in_trait, reason = "an actor's futures stay on its one thread")]
pub trait Stub: Clone + 'static {
    /// The process that it calls.
    const CALLEE: Process;

    /// Exchanges hellos over a fresh edge, and returns the client and the future that drives it until the edge ends.
    async fn connect(
        stream: UnixStream,
        me: Process,
    ) -> Result<(Self, impl Future<Output = ()> + 'static), Fault>;
}

macro_rules! stubs {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal [$($interface:ident $client:ident $request:ident),*];)+) => { $($(
        impl Stub for ipc_proto::$interface::$client {
            const CALLEE: Process = Process::$process;

            async fn connect(
                stream: UnixStream,
                me: Process,
            ) -> Result<(Self, impl Future<Output = ()> + 'static), Fault> {
                let transport = wire::client(stream, me, ipc_proto::$interface::FRAME_BOUND).await?;
                let new = Self::new(tarpc::client::Config::default(), transport);
                let dispatch = new.dispatch;
                Ok((new.client, async move { drop(dispatch.await) }))
            }
        }
    )*)+ };
}
manifest::processes!(stubs);
