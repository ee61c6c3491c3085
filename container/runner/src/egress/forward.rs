//! One request on its way through the gate: read whole, asked for until a person has answered, and its reply passed on piece by
//! piece.

use super::tunnel::{agreed, is_websocket, pass_upgraded};
use crate::gate::Gate;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use futures::stream;
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::OnUpgrade;
use ipc_proto::dialer::{Host, HostPort};
use ipc_proto::egress::{self, BODY, EgressError, HEADERS, Head, Line, Origin, Piece, ReplyId};
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::{Blob, List, Name, Text};
use runner::tools::Events;
use serde_json::json;
use std::io;
use std::time::Instant;
use tokio::sync::Semaphore;

/// Bytes of a body that take one place of [`ROOM`].
const WEIGHT: usize = 64 * 1024;
/// Places for bodies that are with the gate, 8 MiB together; more wait.
const WEIGHTS: u32 = 128;
static ROOM: Semaphore = Semaphore::const_new(WEIGHTS as usize);

/// Why the proxy answers by itself.
pub(super) struct Refusal {
    status: StatusCode,
    host: String,
    rule: String,
    next: String,
}

impl Refusal {
    /// A request that is not one in a single reading.
    pub(super) fn bad(rule: &str) -> Self {
        let next = "use a client that speaks plain HTTP/1.1 to a proxy".to_owned();
        Self { status: StatusCode::BAD_REQUEST, host: String::new(), rule: rule.to_owned(), next }
    }

    /// The same for the model.
    pub(super) fn sentence(&self) -> String {
        format!("[{} {}: {}; {}]", self.status.as_u16(), self.host, self.rule, self.next)
    }

    /// The answer to the program: JSON with host, rule and next step.
    pub(super) fn response(self) -> Response<Body> {
        let said = json!({"error": {"host": self.host, "rule": self.rule, "next": self.next}});
        let mut response = Response::new(Body::from(format!("{said}\n")));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// The origin that a request to the proxy names: HOST:PORT behind CONNECT, else a whole address without TLS.
pub(super) fn origin_of(uri: &Uri, tls: bool) -> Result<Origin, Refusal> {
    let fault = || Refusal::bad("the address names no host in exactly one reading");
    let authority = uri.authority().ok_or_else(fault)?.as_str();
    if !tls && uri.scheme_str() != Some("http") {
        return Err(Refusal::bad("an address without `http://` or CONNECT"));
    }
    let HostPort { host, port } = match authority.parse() {
        Ok(at) => at,
        Err(_) if !tls => HostPort { host: authority.parse::<Host>().map_err(|_| fault())?, port: 80 },
        Err(_) => return Err(fault()),
    };
    Ok(Origin { tls, host: Text::new(host.to_string()).map_err(|_| fault())?, port })
}

/// Sends a request out by the gate.
pub(super) async fn forward(
    gate: &Gate,
    events: &Events,
    origin: Origin,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let upgrade = is_websocket(&request).then(|| hyper::upgrade::on(&mut request));
    let shown = origin.host_port();
    let is_head = request.method() == Method::HEAD;
    let request = match read(origin, request, upgrade.is_some()).await {
        Ok(request) => request,
        Err(refusal) => return Refusal { host: shown, ..refusal }.response(),
    };
    let weights =
        u32::try_from(request.body.len() / WEIGHT + 1).map_or(WEIGHTS, |weights| weights.min(WEIGHTS));
    let _room = ROOM.acquire_many(weights).await;
    let (begun, mut waiting) = (Instant::now(), None);
    loop {
        return match gate.net_request(request.clone()).await {
            Ok(head) => match upgrade {
                Some(upgrade) if head.status == 101 => upgraded(gate, head, upgrade),
                _ => answer(gate, head, is_head),
            },
            // A person is asked: the program waits.
            Err(NetworkError::Asking) => {
                waiting.get_or_insert_with(|| events.wait_since(begun));
                continue;
            }
            Err(error) => {
                let refusal = refused(shown, error);
                events.refused(refusal.sentence());
                refusal.response()
            }
        };
    }
}

/// The reply of a server that agreed to a WebSocket; its bytes pass in a task of their own.
fn upgraded(gate: &Gate, head: Head, upgrade: OnUpgrade) -> Response<Body> {
    tokio::task::spawn_local(pass_upgraded(gate.clone(), head.reply, upgrade));
    let last = Piece { last: true, ..Piece::default() };
    agreed(answer(gate, Head { first: last, ..head }, false))
}

/// The request as the gate takes it, its body read to the end.
async fn read(
    origin: Origin,
    request: Request<Incoming>,
    websocket: bool,
) -> Result<egress::Request, Refusal> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let path = Text::new(path).map_err(|_| Refusal::bad("the path is longer than 8192 bytes"))?;
    Ok(egress::Request {
        origin,
        method: Name::new(parts.method.as_str()).map_err(|_| Refusal::bad("the method is too long"))?,
        path,
        headers: lines(&parts.headers)?,
        body: whole(body).await?,
        websocket,
    })
}

fn lines(headers: &HeaderMap) -> Result<List<Line, HEADERS>, Refusal> {
    let fault = || Refusal::bad("more headers, or longer ones, than are sent on");
    let line = |(name, value): (&axum::http::HeaderName, &HeaderValue)| {
        let name = Name::new(name.as_str()).ok()?;
        Some(Line { name, value: Text::new(value.to_str().ok()?).ok()? })
    };
    let lines: Option<Vec<Line>> = headers.iter().map(line).collect();
    List::new(lines.ok_or_else(fault)?).map_err(|_| fault())
}

async fn whole(body: Incoming) -> Result<Blob<BODY>, Refusal> {
    if body.is_end_stream() {
        return Ok(Blob::default());
    }
    let read = axum::body::to_bytes(Body::new(body), BODY).await;
    read.ok().and_then(|bytes| Blob::new(bytes).ok()).ok_or_else(|| Refusal {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        next: "send less in one request".to_owned(),
        ..Refusal::bad("a request's body is at most 8 MiB")
    })
}

/// The refusal of the gate.
pub(super) fn refused(host: String, error: NetworkError) -> Refusal {
    let said = |status, rule: String, next: &str| Refusal {
        status,
        host: String::new(),
        rule,
        next: next.to_owned(),
    };
    let refusal = match error {
        NetworkError::Refused { rule, next, .. } => said(StatusCode::FORBIDDEN, rule.to_string(), &next),
        NetworkError::Bound { what, limit, next } => {
            said(StatusCode::TOO_MANY_REQUESTS, format!("{what}: the bound of {limit} is reached"), &next)
        }
        NetworkError::Asking => said(StatusCode::SERVICE_UNAVAILABLE, error.to_string(), "try again"),
        NetworkError::Egress(EgressError::TimedOut) => {
            said(StatusCode::GATEWAY_TIMEOUT, EgressError::TimedOut.to_string(), "try again later")
        }
        NetworkError::Egress(error) => said(StatusCode::BAD_GATEWAY, error.to_string(), "try again"),
    };
    Refusal { host, ..refusal }
}

/// The reply for the program.
fn answer(gate: &Gate, head: Head, is_head: bool) -> Response<Body> {
    let mut headers = HeaderMap::new();
    for line in &head.headers {
        let name = axum::http::HeaderName::from_bytes(line.name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&line.value)) {
            headers.append(name, value);
        }
    }
    if let Some(length) = head.length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    let body = if is_head && head.first.last { Body::empty() } else { pieces(gate, head.reply, head.first) };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers;
    response
}

/// A reply that is read to its end, or let go when the program no longer reads it.
struct Open {
    gate: Gate,
    reply: ReplyId,
    over: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.over, tokio::runtime::Handle::try_current()) {
            let (gate, reply) = (self.gate.clone(), self.reply);
            runtime.spawn(async move { gate.net_close(reply).await });
        }
    }
}

/// The body of a reply, its first piece known.
fn pieces(gate: &Gate, reply: ReplyId, first: Piece) -> Body {
    let open = Open { gate: gate.clone(), reply, over: first.last };
    Body::from_stream(stream::try_unfold((open, Some(first)), |(mut open, first)| async move {
        let piece = match first {
            Some(first) => first,
            None if open.over => return Ok(None),
            None => open.gate.net_next(open.reply).await.map_err(io::Error::other)?,
        };
        open.over |= piece.last;
        Ok::<_, io::Error>(Some((Bytes::from(piece.bytes.into_vec()), (open, None))))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_in_one_way_or_not_at_all() {
        let read = |uri: &str, tls| {
            let origin = origin_of(&uri.parse::<Uri>().ok()?, tls).ok()?;
            Some((origin.host.to_string(), origin.port))
        };
        assert_eq!(read("pypi.org:443", true), Some(("pypi.org".into(), 443)));
        assert_eq!(read("PyPI.org.:443", true), Some(("pypi.org".into(), 443)));
        assert_eq!(read("http://a.example/x", false), Some(("a.example".into(), 80)));
        assert_eq!(read("http://a.example:8080/x", false), Some(("a.example".into(), 8080)));
        for (uri, tls) in [
            ("pypi.org", true),
            ("0x7f.1:443", true),
            ("user@a.example:443", true),
            ("http://user@a.example/", false),
            ("https://a.example/", false),
            ("/x", false),
            ("http://2130706433/", false),
        ] {
            assert_eq!(read(uri, tls), None, "{uri}");
        }
    }
}
