//! The API of the second vendor: messages, and how many tokens they are.

mod ask;
mod reply;

use crate::answer::{self, AGENT, Request as Asking, document};
use crate::body;
use crate::desk::Desk;
use crate::fault::{Dialect, Fault};
use crate::guard::Who;
use crate::relay;
use crate::routes::paced;
use ask::Ask;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use ipc_proto::gate::method;
use reply::Messages;
use serde_json::json;
use std::sync::Arc;

/// Bytes of text that make a token, about: an agent's own model is nobody's business who only counts.
const BYTES_A_TOKEN: usize = 4;

/// Answers a conversation.
pub(crate) async fn messages(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Response {
    let answer = answer(&desk, &who, request).await;
    paced(&desk, &who, Dialect::Anthropic, answer)
}

async fn answer(desk: &Arc<Desk>, who: &Who, request: Request) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(desk, &parts.headers, body).await?;
    let ask: Ask = body::decode(&bytes)?;
    if ask.max_tokens.is_none() {
        let missing = Fault::bad("max_tokens", "max_tokens: Field required");
        return Err(missing.coded("missing_required_parameter"));
    }
    let (streams, writer) = (ask.stream.unwrap_or_default(), Messages::new(&ask.model));
    let asking = Asking { desk, who, headers: &parts.headers, body: &bytes, streams };
    answer::give(&asking, ask.wish()?, writer).await
}

/// Says how many tokens a conversation is, about.
pub(crate) async fn count(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(&desk, &parts.headers, body).await?;
    let wish = body::decode::<Ask>(&bytes)?.wish()?;
    let model = wish.request.model.clone();
    if model.starts_with(AGENT) {
        let bytes: usize = wish.request.messages.iter().map(|message| message.text.len()).sum();
        return Ok(counted(u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX)));
    }
    let caller = who.caller;
    let asked = desk.gate.call(&method::relay_count, |gate, context| {
        let request = wish.request.clone();
        async move { gate.relay_count(context, caller, request).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(tokens) => Ok(counted(tokens.into())),
        Err(error) => Err(relay::refused(&desk, &who.holder, &model, error).await),
    }
}

fn counted(tokens: u64) -> Response {
    document(Body::from(json!({"input_tokens": tokens}).to_string()))
}

#[cfg(test)]
mod tests;
