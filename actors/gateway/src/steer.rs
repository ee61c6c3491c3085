//! `/v1/steer`: a client's message for the running turn of one of its own conversations. The session is named as in a message to the agent;
//! router finds its user by the key or uid.

use crate::agents;
use crate::app_state::AppState;
use crate::body;
use crate::chat_request::AGENT;
use crate::fault::Fault;
use crate::guard::Who;
use crate::{idempotency, listing, scope};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use ipc_proto::Text;
use ipc_proto::router::{STEERING_BOUND, Steer, method};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use vendors::answer::document;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// `agent/NAME`.
    model: String,
    text: String,
    #[serde(default)]
    urgent: bool,
}

/// Says it.
pub(crate) async fn steer(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let key = idempotency::key(&parts.headers)?;
    let ask: Ask = body::decode(&body::read(app.max_body(), &parts.headers, body).await?)?;
    let agent = ask.model.strip_prefix(AGENT).unwrap_or_default();
    if !who.holder.agents.iter().any(|name| name.as_str() == agent) {
        return Err(listing::no_agent(&app, who.caller, &ask.model).await);
    }
    let long =
        || Fault::bad("text", format!("What is said into a turn is at most {STEERING_BOUND} bytes of text."));
    let steer = Steer {
        session: scope::session(&who.holder, agent, scope::conversation(&parts.headers, None).as_deref()),
        text: Text::new(ask.text).map_err(|_| long())?,
        urgent: ask.urgent,
        key: agents::message_key(who.caller, key.as_deref()),
    };
    let caller = who.caller;
    let said = app.router.call(&method::api_steer, |router, context| {
        let steer = steer.clone();
        async move { router.api_steer(context, caller, steer).await }
    });
    let said = said.await.map_err(|fault| Fault::down("router", fault))??;
    let (message, turn) = (said.accepted.message.to_string(), said.into.to_string());
    let said = json!({"object": "steering", "message": message, "turn": turn});
    Ok(document(Body::from(said.to_string())))
}
