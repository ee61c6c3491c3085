//! Egress's methods: each hands on to the exchanges. Dialer is reached from here.

use crate::exchange::{Exchanges, Outside};
use ipc_proto::dialer::{self, DialError, DialerClient, HostPort};
use ipc_proto::egress::{Egress, EgressError, FRAME_BOUND, Head, Piece, ReplyId, Request};
use ipc_proto::{Fault, Text, config};
use kit::{Descriptors, Edge, Host, Link, OpenFault, Place};
use manifest::Process;
use rustls::ClientConfig;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Actor(Rc<Exchanges<Peers>>);

impl kit::Actor for Actor {
    const PROCESS: Process = Process::Egress;
    type Config = config::Egress;
    type Opened = Arc<ClientConfig>;

    fn open(config: config::Egress, _: &Place) -> Result<Arc<ClientConfig>, OpenFault> {
        upstream::client(config.authorities.as_bytes())
            .map_err(|fault| OpenFault::new("[egress] authorities_file", fault))
    }

    async fn start(tls: Arc<ClientConfig>, host: Host) -> Self {
        let peers = Peers { dialer: host.link(), descriptors: host.descriptors(Process::Dialer) };
        Self(Rc::new(Exchanges::new(peers, tls)))
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

/// Dialer.
pub(crate) struct Peers {
    dialer: Link<DialerClient>,
    descriptors: Descriptors,
}

impl Outside for Peers {
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, DialError> {
        let host = Text::new(target.host.to_string()).map_err(|_| DialError::NotAllowed)?;
        let dialled = self.dialer.call(&dialer::method::dial, |dialer, context| {
            let (host, port) = (host.clone(), target.port);
            async move { dialer.dial(context, host, port).await }
        });
        let ticket = dialled.await.map_err(|fault| match fault {
            Fault::Deadline => DialError::TimedOut,
            _ => DialError::Down,
        })??;
        self.descriptors.take(ticket.0).await.map_err(|_| DialError::Down)
    }
}

#[derive(Clone)]
struct Server(Rc<Exchanges<Peers>>);

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

    async fn close(self, _: Context, reply: ReplyId) {
        self.0.close(reply);
    }
}
