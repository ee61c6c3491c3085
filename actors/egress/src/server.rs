//! Egress's methods: each hands on to the exchanges.

use crate::exchange::Exchanges;
use ipc_proto::config;
use ipc_proto::egress::{Egress, EgressError, FRAME_BOUND, Head, Origin, Piece, ReplyId, Request};
use kit::{Dial, Edge, Host, OpenFault, Place};
use manifest::Process;
use rustls::ClientConfig;
use std::rc::Rc;
use std::sync::Arc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Actor(Rc<Exchanges>);

impl kit::Actor for Actor {
    const PROCESS: Process = Process::Egress;
    type Config = config::Egress;
    type Opened = Arc<ClientConfig>;

    fn open(config: config::Egress, _: &Place) -> Result<Arc<ClientConfig>, OpenFault> {
        upstream::client(config.authorities.as_bytes())
            .map_err(|fault| OpenFault::new("[egress] authorities_file", fault))
    }

    async fn start(tls: Arc<ClientConfig>, host: Host) -> Self {
        Self(Rc::new(Exchanges::new(Dial::new(&host), tls)))
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Server(Rc::clone(&self.0)).serve()).await;
        // The gate alone calls: its replies end with it.
        self.0.clear();
    }

    fn queue_depth(&self) -> u64 {
        u64::try_from(self.0.open()).unwrap_or(0)
    }
}

#[derive(Clone)]
struct Server(Rc<Exchanges>);

impl Egress for Server {
    async fn request(self, _: Context, scope: u64, request: Request) -> Result<Head, EgressError> {
        let sent = self.0.request(scope, request).await;
        if let Err(fault) = &sent {
            tracing::info!(%fault, "a request got no reply");
        }
        sent
    }

    async fn next(self, _: Context, reply: ReplyId) -> Result<Piece, EgressError> {
        self.0.next(reply).await
    }

    async fn tunnel(self, _: Context, origin: Origin) -> Result<ReplyId, EgressError> {
        let opened = self.0.tunnel(&origin).await;
        if let Err(fault) = &opened {
            tracing::info!(%fault, "a tunnel was not opened");
        }
        opened
    }

    async fn send(self, _: Context, reply: ReplyId, piece: Piece) -> Result<(), EgressError> {
        self.0.push(reply, piece).await
    }

    async fn close(self, _: Context, reply: ReplyId) {
        self.0.close(reply);
    }
}
