//! Socket Mode: a ticket opens one socket; each envelope goes to one that is ready, and again, by any, until it is acknowledged.

use super::web::Reply;
use super::{ACKNOWLEDGE, Shared, State, TEAM, refusal};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// Sockets at once.
const SOCKETS: usize = 10;
/// Tries of an envelope.
const TRIES: u32 = 4;
/// The rest of a socket's time after its warning.
const WARNED: Duration = Duration::from_secs(2);

/// A socket that has said hello.
pub(super) struct Live {
    number: u64,
    outgoing: VecDeque<Value>,
    ends: Option<Instant>,
}

/// Something that is to be acknowledged.
pub(super) struct Envelope {
    id: String,
    document: Value,
    tries: u32,
    due: Instant,
    /// The socket that it was sent over last.
    over: Option<u64>,
}

/// `apps.connections.open`.
pub(super) fn ticket(state: &mut State, port: u16) -> Reply {
    if state.sockets.len() >= SOCKETS {
        return refusal("too_many_websockets");
    }
    let ticket = format!("ticket-{}-kQ7vTz93mWx2LdPb", state.fresh_number());
    state.tickets.0.push(ticket.clone());
    state.tickets.1.push(ticket.clone());
    let url = format!("ws://127.0.0.1:{port}/link/?ticket={ticket}&app_id=A17");
    Reply::of(json!({ "ok": true, "url": url }))
}

/// Sends an event of this document.
pub(super) fn event(state: &mut State, event: &Value) {
    let number = state.fresh_number();
    let payload = json!({
        "type": "event_callback", "team_id": TEAM, "api_app_id": "A17", "event": event,
        "event_id": format!("Ev{number}"), "event_time": 1_700_000_000,
    });
    enqueue(state, "events_api", &payload);
}

/// Sends an envelope.
pub(super) fn enqueue(state: &mut State, kind: &str, payload: &Value) {
    if state.deaf && state.sockets.is_empty() {
        return;
    }
    let id = format!("envelope-{}", state.fresh_number());
    let document = json!({
        "envelope_id": id, "type": kind, "payload": payload, "accepts_response_payload": false,
        "retry_attempt": 0, "retry_reason": "",
    });
    state.envelopes.push(Envelope { id, document, tries: 0, due: Instant::now(), over: None });
}

/// Warns every socket.
pub(super) fn warn(state: &mut State) {
    for socket in &mut state.sockets {
        socket.outgoing.push_back(json!({ "type": "disconnect", "reason": "warning", "debug_info": {} }));
        socket.ends = Some(Instant::now() + WARNED);
    }
}

/// Serves one socket to its end.
pub(super) fn converse(shared: &Shared, stream: TcpStream) {
    #[expect(clippy::result_large_err, reason = "the library's own type of a refusal")]
    let judge = |request: &Request, reply: Response| -> Result<Response, ErrorResponse> {
        let query = request.uri().query().unwrap_or_default();
        let given = query.split('&').find_map(|pair| pair.strip_prefix("ticket="));
        let mut state = shared.state();
        let at = state.tickets.0.iter().position(|ticket| Some(ticket.as_str()) == given);
        match at.filter(|_| !state.revoked) {
            Some(at) => {
                state.tickets.0.remove(at);
                Ok(reply)
            }
            None => {
                let mut refused = reply.map(|()| None);
                *refused.status_mut() = StatusCode::FORBIDDEN;
                Err(refused)
            }
        }
    };
    let Ok(mut socket) = tungstenite::accept_hdr(stream, judge) else { return };
    drop(socket.get_ref().set_read_timeout(Some(Duration::from_millis(10))));
    let number = {
        let mut state = shared.state();
        let number = state.fresh_number();
        let hello = json!({
            "type": "hello", "num_connections": state.sockets.len() + 1, "connection_info": { "app_id": "A17" },
        });
        state.sockets.push(Live { number, outgoing: VecDeque::from([hello]), ends: None });
        number
    };
    while turn(shared, number, &mut socket) {}
    let mut state = shared.state();
    state.sockets.retain(|live| live.number != number);
    for envelope in state.envelopes.iter_mut().filter(|envelope| envelope.over == Some(number)) {
        envelope.due = Instant::now();
    }
}

/// Sends what is due and reads what came; false at the end.
fn turn(shared: &Shared, number: u64, socket: &mut WebSocket<TcpStream>) -> bool {
    let Some(outgoing) = outgoing(&mut shared.state(), number) else { return false };
    for document in outgoing {
        if socket.send(Message::text(document.to_string())).is_err() {
            return false;
        }
    }
    match socket.read() {
        Ok(Message::Text(text)) => {
            let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let mut state = shared.state();
            state.envelopes.retain(|envelope| answer["envelope_id"] != envelope.id.as_str());
            true
        }
        Ok(Message::Close(_)) => false,
        Ok(_) => true,
        Err(tungstenite::Error::Io(error)) => {
            matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        }
        Err(_) => false,
    }
}

/// The messages that go over a socket now; none if it ends.
fn outgoing(state: &mut State, number: u64) -> Option<Vec<Value>> {
    let now = Instant::now();
    let last = state.sockets.last().map(|live| live.number);
    let live = state.sockets.iter_mut().find(|live| live.number == number)?;
    if live.ends.is_some_and(|ends| ends <= now) {
        return None;
    }
    let mut outgoing: Vec<Value> = live.outgoing.drain(..).collect();
    if last == Some(number) {
        for envelope in state.envelopes.iter_mut().filter(|envelope| envelope.due <= now) {
            envelope.document["retry_attempt"] = json!(envelope.tries);
            if envelope.tries > 0 {
                envelope.document["retry_reason"] = json!("timeout");
                state.sent_again += 1;
            }
            envelope.tries += 1;
            envelope.due = now + ACKNOWLEDGE;
            envelope.over = Some(number);
            outgoing.push(envelope.document.clone());
        }
        state.envelopes.retain(|envelope| envelope.tries <= TRIES);
    }
    Some(outgoing)
}
