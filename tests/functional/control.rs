//! A connection to control of a test's own, for what the command never asks. It touches the host's socket alone.

use ipc_proto::control::{Answer, ControlClient, FRAME_BOUND};
use manifest::Process;
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tarpc::context::Context;
use tests::Host;
use tokio::net::UnixStream;

/// Asks control, over a connection of its own.
pub(crate) fn ask<T>(
    host: &Host,
    call: impl AsyncFnOnce(ControlClient, Context) -> Result<Answer<T>, RpcError>,
) -> Answer<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = UnixStream::connect(host.socket()).await.unwrap();
        let transport = wire::client(stream, Process::Agentd, FRAME_BOUND).await.unwrap();
        let client = ControlClient::new(tarpc::client::Config::default(), transport).spawn();
        let mut context = tarpc::context::current();
        context.deadline = Instant::now() + Duration::from_secs(30);
        call(client, context).await.unwrap()
    })
}
