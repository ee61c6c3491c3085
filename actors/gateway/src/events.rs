//! `/v1/events`: the host's named events as they happen, server-sent. Each has the number of its event as its id, so that
//! a client which comes back with `Last-Event-ID` misses none that router still has.

use crate::app_state::AppState;
use crate::fault::Fault;
use crate::guard::{self, Who};
use crate::permits::Permit;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use ipc_proto::api::Caller;
use ipc_proto::router::{NamedEvent, method};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use vendors::answer::{event, of_events, remark};

/// How long nothing is sent at most, ms.
const KEEP_ALIVE: u32 = 15_000;
/// The pause before a router that is away is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a client waits before it comes back, ms.
const RETRY: &[u8] = b"retry: 2000\n\n";

/// One client that watches.
struct Watching {
    app: Arc<AppState>,
    caller: Caller,
    /// The last event it has.
    after: u64,
    began: bool,
    over: bool,
    _permit: Permit,
}

/// Streams them.
pub(crate) async fn stream(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let permit = app.permits.watcher(&who.holder)?;
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let watching = Watching {
        app,
        caller: who.caller,
        after: after.unwrap_or_default(),
        began: false,
        over: false,
        _permit: permit,
    };
    let body = futures::stream::unfold(watching, |mut watching| async move {
        let bytes = watching.next().await?;
        Some((Ok::<_, Infallible>(bytes), watching))
    });
    Ok(of_events(Body::from_stream(body)))
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if !self.began {
            // At once, so that a client knows that it is heard.
            self.began = true;
            return Some(Bytes::from_static(RETRY));
        }
        let (caller, after) = (self.caller, self.after);
        let asked = self.app.router.call(&method::api_events, |router, context| async move {
            router.api_events(context, caller, after, KEEP_ALIVE).await
        });
        let mut out = Vec::new();
        let asked = asked.await;
        if let Err(fault) = guard::still(&self.app, caller).await {
            self.end(&fault, &mut out);
            return Some(Bytes::from(out));
        }
        match asked {
            Ok(Ok(events)) => {
                for named in &events {
                    self.after = named.number;
                    out.extend_from_slice(format!("id: {}\n", named.number).as_bytes());
                    let (name, data) = told(named);
                    event(&mut out, name.as_str(), &data);
                }
            }
            Ok(Err(error)) => self.end(&Fault::from(error), &mut out),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        if out.is_empty() {
            remark(&mut out, "nothing new");
        }
        Some(Bytes::from(out))
    }

    /// Ends the stream with the reason: for example, the key was revoked meanwhile.
    fn end(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        self.over = true;
        event(out, Some("error"), &fault.json(crate::fault::Dialect::OpenAi, ""));
    }
}

/// An event's name and data.
fn told(named: &NamedEvent) -> (Value, Value) {
    let name = json!(named.name);
    let data = json!({
        "number": named.number,
        "at_ms": named.at_ms,
        "name": name,
        "session": named.session.map(|id| id.to_string()),
        "turn": named.turn.map(|id| id.to_string()),
        "message": named.message.map(|id| id.to_string()),
        "subject": named.subject.as_ref().map(ToString::to_string),
        "detail": named.detail.as_ref().map(ToString::to_string),
    });
    (name, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::ids::TurnId;
    use ipc_proto::router::EventName;

    #[test]
    fn an_event_is_told_by_its_name_with_what_it_is_about() {
        let turn = TurnId::random();
        let (name, data) = told(&NamedEvent {
            number: 7,
            at_ms: 9,
            name: EventName::ToolCompleted,
            session: None,
            turn: Some(turn),
            message: None,
            subject: Some(Name::clip("bash")),
            detail: Some(Name::clip("success")),
        });
        assert_eq!(name, "tool.execution.completed");
        let expected = json!({"number": 7, "at_ms": 9, "name": "tool.execution.completed", "session": null,
            "turn": turn.to_string(), "message": null, "subject": "bash", "detail": "success"});
        assert_eq!(data, expected);
    }
}
