//! The API of the second vendor: messages, and how many tokens they are.

use crate::answer;
use crate::app_state::AppState;
use crate::body;
use crate::chat_request::AGENT;
use crate::fault::Fault;
use crate::guard::Who;
use crate::{listing, relay};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use ipc_proto::gate::method;
use std::sync::Arc;
use vendors::answer::document;
use vendors::anthropic::{counted, read, read_count};

/// Bytes of text that make a token, about: an agent's own model is nobody's business who only counts.
const BYTES_A_TOKEN: usize = 4;

/// Answers a conversation.
pub(crate) async fn messages(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    answer::converse(&app, &who, request, |body, _| read(body)).await
}

/// Says how many tokens a conversation is, about.
pub(crate) async fn count(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(app.max_body(), &parts.headers, body).await?;
    let chat = read_count(&bytes)?;
    let model = chat.request.model.clone();
    if let Some(agent) = model.strip_prefix(AGENT) {
        if !who.holder.agents.iter().any(|name| name.as_str() == agent) {
            return Err(listing::no_agent(&app, who.caller, &model).await);
        }
        let bytes: usize = chat.request.messages.iter().map(|message| message.text.len()).sum();
        return Ok(counted_response(u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX)));
    }
    let caller = who.caller;
    let asked = app.gate.call(&method::relay_count, |gate, context| {
        let request = chat.request.clone();
        async move { gate.relay_count(context, caller, request).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(tokens) => Ok(counted_response(tokens.into())),
        Err(error) => Err(relay::refused(&app, &who.holder, &model, error).await),
    }
}

fn counted_response(tokens: u64) -> Response {
    document(Body::from(counted(tokens).to_string()))
}
