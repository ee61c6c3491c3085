//! The proxy: requests with a whole address, and CONNECT, behind which TLS ends here under the name that was asked for.

use super::authority::Authority;
use super::forward::{Refusal, forward, origin_of};
use super::tunnel;
use crate::RunnerFault;
use crate::gate::Gate;
use axum::body::Body;
use axum::http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use ipc_proto::Text;
use ipc_proto::egress::{Origin, ReplyId};
use runner::tools::Events;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Where it is served.
pub(super) const PORT: u16 = 7081;
/// Connections at once; more wait.
const CONNECTIONS: usize = 32;
/// How long the head of a request or a handshake may take to come.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const HEAD_BOUND: usize = 16 * 1024;

/// The parts of the proxy.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) gate: Gate,
    pub(super) authority: Arc<Authority>,
    pub(super) events: Events,
    /// The places to which TLS passes undecrypted, as HOST:PORT.
    pub(super) opaque: Arc<[Text<260>]>,
}

/// Begins to serve it.
pub(super) async fn open(proxy: Proxy) -> Result<(), RunnerFault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::task::spawn_local(async move {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let proxy = proxy.clone();
            tokio::task::spawn_local(async move {
                connection(stream, proxy).await;
                drop(place);
            });
        }
    });
    Ok(())
}

/// Serves one connection to its end, the tunnel within it included.
async fn connection(stream: TcpStream, proxy: Proxy) {
    drop(stream.set_nodelay(true));
    let begun = std::rc::Rc::new(std::cell::RefCell::new(None));
    let service = service_fn(|request: Request<Incoming>| {
        let (proxy, into) = (proxy.clone(), std::rc::Rc::clone(&begun));
        async move {
            if request.method() != Method::CONNECT {
                return Ok::<_, Infallible>(by_address(&proxy, request).await);
            }
            Ok(match begin(&proxy, request).await {
                Ok(begun) => {
                    into.replace(Some(begun));
                    Response::new(Body::empty())
                }
                Err(refusal) => refusal.response(),
            })
        }
    });
    let served = server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    let Some(Begun { origin, reply, upgrade }) = begun.take() else { return };
    match (served, reply) {
        (Ok(()), Some(reply)) => tunnel::pass_upgraded(proxy.gate, reply, upgrade).await,
        (Err(_), Some(reply)) => proxy.gate.net_close(reply).await,
        (Ok(()), None) => {
            if let Ok(upgraded) = upgrade.await {
                secured(TokioIo::new(upgraded), origin, &proxy).await;
            }
        }
        (Err(_), None) => {}
    }
}

/// A tunnel that a program asked for.
struct Begun {
    origin: Origin,
    /// The tunnel outside, of a place to which TLS passes undecrypted.
    reply: Option<ReplyId>,
    upgrade: OnUpgrade,
}

async fn begin(proxy: &Proxy, request: Request<Incoming>) -> Result<Begun, Refusal> {
    let origin = origin_of(request.uri(), true)?;
    let at = origin.host_port();
    let reply = match proxy.opaque.iter().any(|opaque| opaque.as_str() == at) {
        true => Some(tunnel::open(&proxy.gate, &proxy.events, &origin).await?),
        false => None,
    };
    Ok(Begun { origin, reply, upgrade: hyper::upgrade::on(request) })
}

fn server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BOUND);
    server
}

/// A request that names its whole address.
async fn by_address(proxy: &Proxy, request: Request<Incoming>) -> Response<Body> {
    match origin_of(request.uri(), false) {
        Ok(origin) => forward(&proxy.gate, &proxy.events, origin, request).await,
        Err(refusal) => refusal.response(),
    }
}

/// Serves the requests within a tunnel. A client that asks for another name in TLS than it asked the proxy for is cut off.
async fn secured(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    origin: Origin,
    proxy: &Proxy,
) {
    let Ok(config) = proxy.authority.server(origin.host.trim_matches(['[', ']'])) else { return };
    let accepted = tokio::time::timeout(HEAD, TlsAcceptor::from(config).accept(stream)).await;
    let Ok(Ok(stream)) = accepted else { return };
    let asked = stream.get_ref().1.server_name();
    if asked.is_some_and(|asked| !asked.eq_ignore_ascii_case(&origin.host)) {
        return;
    }
    let service = service_fn(|request: Request<Incoming>| {
        let origin = origin.clone();
        async move {
            let response = match names(&request, &origin) {
                Ok(()) => forward(&proxy.gate, &proxy.events, origin, request).await,
                Err(refusal) => refusal.response(),
            };
            Ok::<_, Infallible>(response)
        }
    });
    drop(server().serve_connection(TokioIo::new(stream), service).with_upgrades().await);
}

/// Checks that a request within a tunnel names no other host than the tunnel's.
fn names(request: &Request<Incoming>, origin: &Origin) -> Result<(), Refusal> {
    let host = request.headers().get(axum::http::header::HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.strip_suffix(&format!(":{}", origin.port)).unwrap_or(host));
    match name {
        Some(name) if name.eq_ignore_ascii_case(&origin.host) => Ok(()),
        None => Ok(()),
        Some(_) => Err(Refusal::bad("the request names another host than its connection")),
    }
}
