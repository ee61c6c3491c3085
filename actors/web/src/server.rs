//! Web's two methods: each hands on to the fetcher. Dialer and credproxy are reached from here.

use crate::fetch::{AT_ONCE, Outside, Web as Fetcher};
use crate::search::Search;
use ipc_proto::credproxy::{self, CredError, CredproxyClient, Request};
use ipc_proto::dialer::{DialError, HostPort, NoHost};
use ipc_proto::web::{FRAME_BOUND, Fetch, Found, Page, Web, WebError};
use ipc_proto::{Fault, List, Text, config};
use kit::{Dial, Edge, Host, Link, OpenFault, Place, Pull};
use manifest::Process;
use rustls::ClientConfig;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tarpc::context::Context;
use tokio::sync::Semaphore;

/// The process.
pub(crate) struct Actor(Rc<Fetcher<Peers>>);

/// The state that is made before the seal.
pub(crate) struct Opened {
    tls: Arc<ClientConfig>,
    private: List<Text<260>, 32>,
    search: Search,
}

impl kit::Actor for Actor {
    const PROCESS: Process = Process::Web;
    type Config = config::Web;
    type Opened = Opened;

    fn open(config: config::Web, _: &Place) -> Result<Opened, OpenFault> {
        let tls =
            upstream::client(&[]).map_err(|fault| OpenFault::new("the certificate authorities", fault))?;
        let search = Search::new(&config.search).map_err(|fault| OpenFault::new("the search", fault))?;
        let private = private(&config.private_hosts).ok_or_else(|| {
            OpenFault::new("[web] private_hosts", "over 32 entries, or one is not host:port")
        })?;
        Ok(Opened { tls, private, search })
    }

    async fn start(opened: Opened, host: Host) -> Self {
        let Opened { tls, private, search } = opened;
        let outside = Peers { dial: Dial::new(&host), credproxy: host.link() };
        Self(Rc::new(Fetcher { outside, tls, private, search, slots: Semaphore::new(AT_ONCE) }))
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Server(Rc::clone(&self.0)).serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        u64::try_from(AT_ONCE.saturating_sub(self.0.slots.available_permits())).unwrap_or(0)
    }
}

fn private(hosts: &[String]) -> Option<List<Text<260>, 32>> {
    let one = |text: &String| {
        let host: Result<HostPort, NoHost> = text.parse();
        host.ok().and_then(|host| Text::new(host.to_string()).ok())
    };
    List::new(hosts.iter().map(one).collect::<Option<Vec<_>>>()?).ok()
}

/// Dialer and credproxy.
pub(crate) struct Peers {
    dial: Dial,
    credproxy: Link<CredproxyClient>,
}

impl Outside for Peers {
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, DialError> {
        self.dial.connect(target).await
    }

    async fn request(&self, request: Request, bound: usize) -> Result<(u16, Vec<u8>), CredError> {
        let asked = self.credproxy.call(&credproxy::method::request, |credproxy, context| {
            let request = request.clone();
            async move { credproxy.request(context, request).await }
        });
        let mut head = asked.await.map_err(lost)??;
        let (mut pull, mut body) = (Pull::of(&self.credproxy, &mut head), Vec::new());
        loop {
            let chunk = pull.next().await.map_err(lost)??;
            body.extend(&*chunk.bytes);
            match chunk.last {
                _ if body.len() > bound => return Err(CredError::Upstream),
                true => return Ok((head.status, body)),
                false => {}
            }
        }
    }
}

const fn lost(fault: Fault) -> CredError {
    match fault {
        Fault::Deadline => CredError::Stalled,
        _ => CredError::Upstream,
    }
}

#[derive(Clone)]
struct Server(Rc<Fetcher<Peers>>);

impl Web for Server {
    async fn fetch(self, _: Context, fetch: Fetch) -> Result<Page, WebError> {
        let fetched = self.0.fetch(fetch).await;
        if let Err(fault) = &fetched {
            tracing::info!(%fault, "not fetched");
        }
        fetched
    }

    async fn search(self, _: Context, query: Text<2048>, max: u8) -> Result<List<Found, 20>, WebError> {
        let found = self.0.search(&query, max).await;
        if let Err(fault) = &found {
            tracing::info!(%fault, "not searched");
        }
        found
    }
}
