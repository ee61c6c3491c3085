//! The listeners: how many connections there are, and how long one may stand still. The Unix socket has places of its own, so that
//! a crowd on TCP keeps nobody of this machine's users out. A connection without an admitted request makes room for others.

mod patient;

use crate::app_state::AppState;
use crate::connection::{Client, Connection};
use crate::guard::Via;
use crate::routes;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipc_proto::ids::UserId;
use kit::{Connections, Host, NoPlace, Room, Seldom, Slot};
use patient::Patient;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::oneshot;

/// Connections over TCP, all of this machine, whose senders only a key tells: each address, and then each user, may have half.
const TCP: Room = Room { total: 448, each: 224, reserve: 0 };
/// Connections over the Unix socket, and those kept for root. With those over TCP 512.
const UNIX: Room = Room { total: 64, each: 56, reserve: 8 };
/// How long the head of a request may take to come, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of a head before no more of it is read; what came with the last of them may double that.
const HEAD_BOUND: usize = 32 << 10;
/// The pause after an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The context of every connection.
struct Door {
    app: Arc<AppState>,
    host: Host,
    routes: TowerToHyperService<axum::Router>,
    warnings: Seldom,
}

/// The sender of a connection over TCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sender {
    /// Somebody at this address.
    Address(IpAddr),
    /// The user of a key.
    User(UserId),
}

/// Takes connections once agentd has handed the listeners over.
pub(crate) async fn open(app: Arc<AppState>, host: Host) {
    let listeners = match host.listeners().await {
        Ok(listeners) => listeners,
        Err(error) => return tracing::error!(%error, "nothing is served"),
    };
    let routes = TowerToHyperService::new(routes::all(&app));
    let door = Rc::new(Door { app, host, routes, warnings: Seldom::default() });
    if let Some(tcp) = listeners.tcp {
        drop(tokio::task::spawn_local(accept_tcp(Rc::clone(&door), tcp)));
    }
    if let Some(unix) = listeners.unix {
        accept_unix(door, unix).await;
    }
}

async fn accept_tcp(door: Rc<Door>, listener: TcpListener) {
    let connections = Connections::new(TCP);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without this every event of a stream waits 44 ms for the one before to be acknowledged.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection that is gone already");
                    continue;
                }
                let identify = |slot: &Slot<Sender>, client: Client| {
                    slot.identified_as(Sender::User(client.user), client.owner);
                };
                let place = connections.enter(Sender::Address(peer.ip()), false);
                door.take("tcp", Via::Tcp(peer.ip()), stream, (place, identify));
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn accept_unix(door: Rc<Door>, listener: UnixListener) {
    let connections = Connections::new(UNIX);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(peer) = stream.peer_cred() else {
                    door.host.refused();
                    door.warn("unix", "the kernel does not say who it is");
                    continue;
                };
                let uid = peer.uid();
                let identify = |slot: &Slot<u32>, _: Client| slot.identified();
                door.take("unix", Via::Unix(uid), stream, (connections.enter(uid, uid == 0), identify));
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn cannot_accept(error: &std::io::Error) {
    tracing::warn!(%error, "cannot accept");
    tokio::time::sleep(PAUSE).await;
}

/// Notes the client of a connection whose request was admitted.
type Identify<P> = fn(&Slot<P>, Client);
/// A place, and what tells that another connection takes it.
type Place<P> = Result<(Slot<P>, oneshot::Receiver<()>), NoPlace>;

impl Door {
    /// Serves a connection that has a place; one without is closed. The function notes a client whose request was admitted.
    fn take<P: 'static>(
        self: &Rc<Self>,
        listener: &'static str,
        via: Via,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        (place, identify): (Place<P>, Identify<P>),
    ) {
        let (slot, closed) = match place {
            Ok(place) => place,
            Err(refusal) => {
                self.host.refused();
                return self.warn(listener, &refusal.to_string());
            }
        };
        let door = Rc::clone(self);
        drop(tokio::task::spawn_local(async move {
            tokio::select! {
                () = door.serve(listener, via, stream, |client| identify(&slot, client)) => {}
                _ = closed => {
                    door.host.refused();
                    door.warn(listener, "closed for another");
                }
            }
        }));
    }

    /// Logs that a connection was ended. Anybody can have that happen at any rate, so most of it is counted alone.
    fn warn(&self, listener: &'static str, reason: &str) {
        if let Some(others) = self.warnings.admit(Instant::now()) {
            tracing::warn!(listener, reason, others, "connection ended");
        }
    }

    /// Serves the requests of one connection until it ends. `identify` is told of a client whose request was admitted.
    async fn serve(
        &self,
        listener: &'static str,
        via: Via,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        identify: impl Fn(Client),
    ) {
        let _connected = Connected::new(&self.app, listener);
        let (connection, mut client) = Connection::new();
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(via);
            request.extensions_mut().insert(connection.clone());
            self.host.served(self.routes.call(request))
        });
        let mut served = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BOUND)
                .serve_connection(TokioIo::new(Patient::new(stream)), service)
        );
        let ended = loop {
            tokio::select! {
                ended = served.as_mut() => break ended,
                // An admitted request's answer may take minutes, and is cut off for no newcomer.
                Ok(()) = client.changed() => {
                    let known = *client.borrow_and_update();
                    known.into_iter().for_each(&identify);
                }
            }
        };
        if let Err(error) = ended
            && error.is_parse()
        {
            self.host.refused();
            tracing::debug!(listener, "connection ended: not a request");
        }
    }
}

/// Counts a connection for as long as it is open, however it ends.
struct Connected<'a> {
    app: &'a AppState,
    listener: &'static str,
}

impl<'a> Connected<'a> {
    fn new(app: &'a AppState, listener: &'static str) -> Self {
        app.metrics.connected(listener);
        Self { app, listener }
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.app.metrics.disconnected(self.listener);
    }
}
