//! Requests of a server's jail to its own address with the secret of a service: credproxy sends them, and the jail never holds the secret.

use crate::network::decision::{away, refused};
use crate::network::session::{Carried, NEXT, Place};
use crate::services::verb;
use crate::state::context::GateContext;
use ipc_proto::Blob;
use ipc_proto::credproxy::{self, CredError, Header, Reply};
use ipc_proto::egress::{EgressError, Head, Line, Piece, ReplyId, Request};
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::{Fault, List, Name, Text};

/// Sends a request. The head's reply has no number of egress's yet.
pub(super) async fn request(
    gate: &GateContext,
    carried: &Carried,
    place: &Place,
    request: &Request,
) -> Result<(Reply, Head), NetworkError> {
    let whole =
        whole(carried, request).ok_or(NetworkError::Egress(EgressError::BadRequest(Name::clip("size"))))?;
    send(gate, (place, &carried.next), &whole).await
}

/// Sends a request as credproxy takes it; `next` is the next step where that refuses it.
pub(super) async fn send(
    gate: &GateContext,
    (place, next): (&Place, &str),
    whole: &credproxy::Request,
) -> Result<(Reply, Head), NetworkError> {
    let sent = gate.credproxy.call(&credproxy::method::request, |credproxy, rpc| {
        let whole = whole.clone();
        async move { credproxy.request(rpc, whole).await }
    });
    let head = flat((place, next), sent.await)?;
    let line = |header: &Header| Line { name: header.name.clone(), value: Text::clip(&header.value) };
    let first = piece(head.first)?;
    let headers = List::clip(head.headers.iter().map(line));
    Ok((head.reply, Head { reply: ReplyId(0), status: head.status, headers, length: None, first }))
}

/// The next piece of a reply.
pub(super) async fn next(gate: &GateContext, place: &Place, reply: Reply) -> Result<Piece, NetworkError> {
    let credit = u32::try_from(credproxy::CHUNK).unwrap_or(u32::MAX);
    let chunk = gate.credproxy.call(&credproxy::method::next, |credproxy, rpc| async move {
        credproxy.next(rpc, reply, credit).await
    });
    piece(flat((place, NEXT), chunk.await)?)
}

/// Lets a reply go; one that cannot be ends by itself.
pub(super) async fn close(gate: &GateContext, reply: Reply) {
    let closed = gate
        .credproxy
        .call(&credproxy::method::close, |credproxy, rpc| async move { credproxy.close(rpc, reply).await });
    let _ = closed.await;
}

fn whole(carried: &Carried, request: &Request) -> Option<credproxy::Request> {
    let header =
        |line: &Line| Some(Header { name: line.name.clone(), value: Text::new(line.value.as_str()).ok()? });
    let headers: Option<Vec<Header>> = request.headers.iter().map(header).collect();
    Some(credproxy::Request {
        verb: verb(&request.method),
        url: Text::new(format!("{}{}", request.origin.url(), request.path)).ok()?,
        headers: List::new(headers?).ok()?,
        body: Blob::new(request.body.to_vec()).ok()?,
        secret: carried.secret.clone(),
        cookies: false,
    })
}

fn piece(chunk: credproxy::Chunk) -> Result<Piece, NetworkError> {
    let bytes = Blob::new(chunk.bytes.to_vec());
    let bytes = bytes.map_err(|_| NetworkError::Egress(EgressError::Upstream))?;
    Ok(Piece { bytes, last: chunk.last })
}

fn flat<T>(
    (place, next): (&Place, &str),
    replied: Result<Result<T, CredError>, Fault>,
) -> Result<T, NetworkError> {
    match replied {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(refused(place, &error.to_string(), next)),
        Err(Fault::Deadline) => Err(NetworkError::Egress(EgressError::TimedOut)),
        Err(_) => Err(away(place, "credproxy")),
    }
}
