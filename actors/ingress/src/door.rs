//! The listener: a request for `/hook/NAME` is read within its bounds and handed to its channel; every other one is refused.

use crate::hooks::Hooks;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ipc_proto::ingress::{BODY_BOUND, HEADERS, Hook, HookAnswer, HookId};
use ipc_proto::{Blob, List, Name, Text};
use kit::{Connections, Host, Room};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Connections at once. All come from a tunnel or a proxy on this machine.
const ROOM: Room = Room { total: 64, each: 64, reserve: 0 };
/// Time for the head of a request, and for its body.
const READ: Duration = Duration::from_secs(5);
/// Time for the channel's answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of a head before no more of it is read.
const HEAD_BOUND: usize = 32 << 10;
/// The pause after an accept that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes connections once agentd has handed the listener over.
pub(crate) async fn open(hooks: Rc<Hooks>, host: Host) {
    let listener = match host.listeners().await {
        Ok(listeners) => listeners.tcp,
        Err(error) => return tracing::error!(%error, "nothing is served"),
    };
    let Some(listener) = listener else { return tracing::error!("agentd handed over no TCP socket") };
    let (connections, host) = (Connections::new(ROOM), Rc::new(host));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // An answer is small and waits for nothing.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let Ok((slot, closed)) = connections.enter(peer.ip(), false) else {
            host.refused();
            continue;
        };
        let (hooks, host) = (Rc::clone(&hooks), Rc::clone(&host));
        drop(tokio::task::spawn_local(async move {
            tokio::select! {
                () = serve(&hooks, &host, stream) => {}
                _ = closed => host.refused(),
            }
            drop(slot);
        }));
    }
}

async fn serve(hooks: &Hooks, host: &Host, stream: TcpStream) {
    let service = service_fn(|request| host.served(answered(hooks, request)));
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ)
        .keep_alive(false)
        .max_buf_size(HEAD_BOUND)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if ended.is_err_and(|error| error.is_parse()) {
        host.refused();
    }
}

async fn answered(hooks: &Hooks, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = take(hooks, request).await.unwrap_or_else(|status| HookAnswer::status(status.as_u16()));
    let mut response = Response::new(Full::new(Bytes::from(answer.body.into_string())));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok(response)
}

/// The channel's answer to a request, or the status by which it is refused.
async fn take(hooks: &Hooks, request: Request<Incoming>) -> Result<HookAnswer, StatusCode> {
    let name = request.uri().path().strip_prefix("/hook/").unwrap_or_default().to_owned();
    let account = hooks.named(&name).ok_or(StatusCode::NOT_FOUND)?;
    let post = match *request.method() {
        Method::POST => true,
        Method::GET => false,
        _ => return Err(StatusCode::METHOD_NOT_ALLOWED),
    };
    let query = Text::new(request.uri().query().unwrap_or_default()).map_err(|_| StatusCode::URI_TOO_LONG)?;
    let headers = headers(request.headers());
    let body = body(request.into_body()).await?;
    let pushed = account.push(|id| Hook { id, post, query, headers, body });
    let (id, answer) = pushed.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    let _pending = PendingHook { hooks, name: &name, id };
    match timeout(ANSWER, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// A hook that is with its channel: when its sender goes, it is forgotten.
struct PendingHook<'a> {
    hooks: &'a Hooks,
    name: &'a str,
    id: HookId,
}

impl Drop for PendingHook<'_> {
    fn drop(&mut self) {
        if let Some(account) = self.hooks.named(self.name) {
            account.forget(self.id);
        }
    }
}

/// The headers that are short text, up to the bound.
fn headers(all: &HeaderMap) -> List<(Name, Text<1024>), HEADERS> {
    let short = all.iter().filter_map(|(name, value)| {
        Some((Name::new(name.as_str()).ok()?, Text::new(value.to_str().ok()?).ok()?))
    });
    List::clip(short)
}

async fn body(body: Incoming) -> Result<Blob<BODY_BOUND>, StatusCode> {
    let bound = u64::try_from(BODY_BOUND).unwrap_or(u64::MAX);
    if body.size_hint().lower() > bound {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let read = timeout(READ, Limited::new(body, BODY_BOUND).collect());
    let read = read.await.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    let bytes = read.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.to_bytes();
    Blob::new(bytes.to_vec()).map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)
}
