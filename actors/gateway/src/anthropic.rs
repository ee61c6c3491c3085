//! The API of the second vendor: messages, and how many tokens they are.

use crate::answer::{self, AGENT, document};
use crate::body;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::Who;
use crate::{listing, relay};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use ipc_proto::gate::method;
use std::sync::Arc;
use vendors::anthropic::{counted, read, read_count};

/// Bytes of text that make a token, about: an agent's own model is nobody's business who only counts.
const BYTES_A_TOKEN: usize = 4;

/// Answers a conversation.
pub(crate) async fn messages(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    answer::converse(&desk, &who, request, |body, _| read(body)).await
}

/// Says how many tokens a conversation is, about.
pub(crate) async fn count(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(desk.max_body(), &parts.headers, body).await?;
    let wish = read_count(&bytes)?;
    let model = wish.request.model.clone();
    if let Some(agent) = model.strip_prefix(AGENT) {
        if !who.holder.agents.iter().any(|name| name.as_str() == agent) {
            return Err(listing::no_agent(&desk, who.caller, &model).await);
        }
        let bytes: usize = wish.request.messages.iter().map(|message| message.text.len()).sum();
        return Ok(told(u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX)));
    }
    let caller = who.caller;
    let asked = desk.gate.call(&method::relay_count, |gate, context| {
        let request = wish.request.clone();
        async move { gate.relay_count(context, caller, request).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(tokens) => Ok(told(tokens.into())),
        Err(error) => Err(relay::refused(&desk, &who.holder, &model, error).await),
    }
}

fn told(tokens: u64) -> Response {
    document(Body::from(counted(tokens).to_string()))
}
