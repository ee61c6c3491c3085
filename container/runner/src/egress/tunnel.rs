//! Connections whose bytes pass as they are: TLS to the places that the owner lists as opaque, and WebSockets. The proxy reads none of it.

use super::forward::{Refusal, refused};
use crate::gate::Gate;
use axum::body::Body;
use axum::http::header::{CONNECTION, HeaderValue, UPGRADE};
use axum::http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use ipc_proto::Blob;
use ipc_proto::egress::{Origin, PIECE, Piece, ReplyId};
use ipc_proto::runner_gate::NetworkError;
use runner::tools::Events;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

/// Opens a tunnel once a person has answered.
pub(super) async fn open(gate: &Gate, events: &Events, origin: &Origin) -> Result<ReplyId, Refusal> {
    let (begun, mut waiting) = (Instant::now(), None);
    loop {
        match gate.net_tunnel(origin.clone()).await {
            Ok(reply) => return Ok(reply),
            Err(NetworkError::Asking) => {
                waiting.get_or_insert_with(|| events.wait_since(begun));
            }
            Err(error) => {
                let refusal = refused(origin.host_port(), error);
                events.refused(refusal.sentence());
                return Err(refusal);
            }
        }
    }
}

/// A connection that is being upgraded. One that never is lets its reply go.
pub(super) async fn pass_upgraded(gate: Gate, reply: ReplyId, upgrade: OnUpgrade) {
    match upgrade.await {
        Ok(upgraded) => pass(&gate, reply, TokioIo::new(upgraded)).await,
        Err(_) => gate.net_close(reply).await,
    }
}

/// Passes bytes both ways until the server ends, or the gate does.
async fn pass(gate: &Gate, reply: ReplyId, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let (reader, writer) = split(stream);
    tokio::select! {
        () = up(gate, reply, reader) => {}
        () = down(gate, reply, writer) => {}
    }
    gate.net_close(reply).await;
}

/// Passes the program's bytes on; returns when they can go no further.
async fn up(gate: &Gate, reply: ReplyId, mut reader: impl AsyncRead + Unpin) {
    let mut bytes = vec![0; PIECE];
    loop {
        let Ok(length) = reader.read(&mut bytes).await else { return };
        let blob = Blob::new(bytes.get(..length).unwrap_or_default()).unwrap_or_default();
        let piece = Piece { bytes: blob, last: length == 0 };
        loop {
            match gate.net_send(reply, piece.clone()).await {
                Ok(()) => break,
                Err(NetworkError::Asking) => {}
                Err(_) => return,
            }
        }
        if piece.last {
            // The server may go on.
            return std::future::pending().await;
        }
    }
}

/// Passes the server's bytes on, to their end.
async fn down(gate: &Gate, reply: ReplyId, mut writer: impl AsyncWrite + Unpin) {
    while let Ok(piece) = gate.net_next(reply).await {
        let written = async {
            writer.write_all(&piece.bytes).await?;
            writer.flush().await
        };
        if written.await.is_err() {
            return;
        }
        if piece.last {
            drop(writer.shutdown().await);
            return;
        }
    }
}

/// Returns true if a request asks for a WebSocket.
pub(super) fn is_websocket(request: &Request<Incoming>) -> bool {
    let says = |name, word: &str| {
        let values = request.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    request.method() == Method::GET && says(UPGRADE, "websocket") && says(CONNECTION, "upgrade")
}

/// The response by which a program's own connection is upgraded.
pub(super) fn agreed(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    *response.body_mut() = Body::empty();
    response
}
