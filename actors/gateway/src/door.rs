//! The listeners: who comes in, how many at once, and how long one may stand still. The Unix socket has seats of its own,
//! so that a crowd on TCP keeps nobody of this machine's users out.

mod patient;

use crate::desk::Desk;
use crate::guard::Via;
use crate::routes;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kit::Host;
use patient::Patient;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

/// Connections over TCP; more wait in the kernel's queue. With those of the Unix socket 512.
const SEATS_TCP: usize = 448;
/// Connections over the Unix socket.
const SEATS_UNIX: usize = 64;
/// How long the head of a request may take to come, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of a head before no more of it is read; what came with the last of them may double that.
const HEAD_BOUND: usize = 32 << 10;
/// The pause after an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What every connection is served with.
struct Door {
    desk: Arc<Desk>,
    host: Host,
    routes: TowerToHyperService<axum::Router>,
}

/// Takes connections once agentd has handed the listeners over.
pub(crate) async fn open(desk: Arc<Desk>, host: Host) {
    let listeners = match host.listeners().await {
        Ok(listeners) => listeners,
        Err(error) => return tracing::error!(%error, "nothing is served"),
    };
    let routes = TowerToHyperService::new(routes::all(&desk));
    let door = Rc::new(Door { desk, host, routes });
    if let Some(tcp) = listeners.tcp {
        drop(tokio::task::spawn_local(accept_tcp(Rc::clone(&door), tcp)));
    }
    accept_unix(door, listeners.unix).await;
}

async fn accept_tcp(door: Rc<Door>, listener: TcpListener) {
    let seats = Arc::new(Semaphore::new(SEATS_TCP));
    loop {
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without this every event of a stream waits 44 ms for the one before to be acknowledged.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection that is gone already");
                    continue;
                }
                let door = Rc::clone(&door);
                drop(tokio::task::spawn_local(async move {
                    door.serve("tcp", Via::Tcp(peer.ip()), stream).await;
                    drop(seat);
                }));
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn accept_unix(door: Rc<Door>, listener: UnixListener) {
    let seats = Arc::new(Semaphore::new(SEATS_UNIX));
    loop {
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(peer) = stream.peer_cred() else {
                    door.host.refused();
                    tracing::warn!("connection ended: the kernel does not say who it is");
                    continue;
                };
                let door = Rc::clone(&door);
                drop(tokio::task::spawn_local(async move {
                    door.serve("unix", Via::Unix(peer.uid()), stream).await;
                    drop(seat);
                }));
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn cannot_accept(error: &std::io::Error) {
    tracing::warn!(%error, "cannot accept");
    tokio::time::sleep(PAUSE).await;
}

impl Door {
    /// Serves the requests of one connection until it ends.
    async fn serve(
        &self,
        listener: &'static str,
        via: Via,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    ) {
        self.desk.metrics.connected(listener);
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(via);
            self.host.served(self.routes.call(request))
        });
        let ended = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BOUND)
            .serve_connection(TokioIo::new(Patient::new(stream)), service)
            .await;
        if let Err(error) = ended
            && error.is_parse()
        {
            self.host.refused();
            tracing::debug!(listener, "connection ended: not a request");
        }
        self.desk.metrics.disconnected(listener);
    }
}
