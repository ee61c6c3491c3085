//! Credproxy's methods: each hands on to the proxy. The record and the dialler are reached from here.

use crate::keeper::{Keeper, Start};
use crate::proxy::{AT_ONCE, Outside, Proxy};
use crate::replies::Replies;
use crate::store::Store;
use crate::tls;
use crate::upstream::Limits;
use crate::vault::Vault;
use ipc_proto::audit::Event;
use ipc_proto::credproxy::{
    Chunk, CredError, Credproxy as _, FRAME_BOUND, Head, Reply, Request, SECRET_BOUND, SecretInfo,
};
use ipc_proto::dialer::{self, DialError, DialerClient, HostPort, NoHost};
use ipc_proto::{Blob, Fault, List, Name, Text, config};
use kit::{Descriptors, Edge, Host, Link, OpenFault, Place, Recorder};
use manifest::Process;
use rustls::ClientConfig;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tarpc::context::Context;
use tokio::sync::{Semaphore, watch};

/// The process.
pub(crate) struct Credproxy(Rc<Proxy<Peers>>);

/// What it opened.
pub(crate) struct Opened {
    start: Start,
    needles: watch::Receiver<Arc<crate::needles::Needles>>,
    tls: Arc<ClientConfig>,
    plain_http: BTreeSet<HostPort>,
}

impl kit::Actor for Credproxy {
    const PROCESS: Process = Process::Credproxy;
    type Config = config::Credproxy;
    type Opened = Opened;

    fn open(config: config::Credproxy, place: &Place) -> Result<Opened, OpenFault> {
        let store = Store::open(&place.own()).map_err(|fault| OpenFault::new("the own folder", fault))?;
        let tls =
            tls::client(&store).map_err(|fault| OpenFault::new("the certificate authorities", fault))?;
        let vault = Vault::open(store).map_err(|fault| OpenFault::new("the vault", fault))?;
        let (start, needles) = Start::new(vault).map_err(|fault| OpenFault::new("the vault", fault))?;
        let plain_http = config.plain_http.iter().map(|text| text.parse()).collect::<Result<_, NoHost>>();
        let plain_http = plain_http.map_err(|fault| OpenFault::new("[credproxy] plain_http", fault))?;
        Ok(Opened { start, needles, tls, plain_http })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let Opened { start, needles, tls, plain_http } = opened;
        // An actor fails to start when its name is taken or its own start fails; this one has neither.
        let keeper = match ractor::Actor::spawn(None, Keeper, start).await {
            Ok((keeper, _)) => keeper,
            Err(_) => std::process::abort(),
        };
        let outside = Peers {
            recorder: host.recorder(),
            dialer: host.link(),
            descriptors: host.descriptors(Process::Dialer),
        };
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        Self(Rc::new(Proxy { outside, keeper, needles, tls, plain_http, slots, limits: Limits::USUAL }))
    }

    async fn serve(&self, edge: Edge) {
        let server = CredproxyServer { proxy: Rc::clone(&self.0), replies: Replies::default() };
        edge.serve(FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        u64::try_from(AT_ONCE.saturating_sub(self.0.slots.available_permits())).unwrap_or(0)
    }
}

/// Audit and dialer.
struct Peers {
    recorder: Recorder,
    dialer: Link<DialerClient>,
    descriptors: Descriptors,
}

impl Outside for Peers {
    async fn record(&self, event: Event) -> Result<(), CredError> {
        self.recorder.record(event).await.map(|_| ()).map_err(|_| CredError::NotRecorded)
    }

    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError> {
        let host = Text::new(target.host.to_string()).map_err(|_| CredError::BadUrl)?;
        let dialled = self.dialer.call(&dialer::method::dial, |dialer, context| {
            let (host, port) = (host.clone(), target.port);
            async move { dialer.dial(context, host, port).await }
        });
        let ticket =
            dialled.await.map_err(|fault| CredError::Dial(missed(fault)))?.map_err(CredError::Dial)?;
        self.descriptors.take(ticket.0).await.map_err(|_| CredError::Dial(DialError::Down))
    }
}

const fn missed(fault: Fault) -> DialError {
    match fault {
        Fault::Deadline => DialError::TimedOut,
        _ => DialError::Down,
    }
}

/// One caller's view: its replies are its own.
#[derive(Clone)]
struct CredproxyServer {
    proxy: Rc<Proxy<Peers>>,
    replies: Replies,
}

impl ipc_proto::credproxy::Credproxy for CredproxyServer {
    async fn request(self, _: Context, request: Request) -> Result<Head, CredError> {
        self.proxy.request(&self.replies, request).await
    }

    async fn next(self, _: Context, reply: Reply, credit: u32) -> Result<Chunk, CredError> {
        self.proxy.next(&self.replies, reply, credit).await
    }

    async fn close(self, _: Context, reply: Reply) {
        self.replies.close(reply);
    }

    async fn set(
        self,
        _: Context,
        name: Name,
        hosts: List<Text<253>, 8>,
        sealed: Blob<SECRET_BOUND>,
    ) -> Result<(), CredError> {
        self.proxy.set(name, hosts, sealed).await
    }

    async fn list(self, _: Context) -> Result<List<SecretInfo, 256>, CredError> {
        self.proxy.list().await
    }

    async fn remove(self, _: Context, name: Name) -> Result<(), CredError> {
        self.proxy.remove(name).await
    }
}
