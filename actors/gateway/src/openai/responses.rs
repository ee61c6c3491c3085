//! `/v1/responses`. Nothing is stored of a model's answers, so a client that passes through sends the whole conversation
//! each time; an agent's is gone on from by the id of a response.

use crate::agents;
use crate::answer;
use crate::app_state::AppState;
use crate::chat_request::AGENT;
use crate::fault::Fault;
use crate::guard::Who;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use std::sync::Arc;
use vendors::chat_request::Ask;
use vendors::openai::responses::{Responses, read, unknown};

/// Answers it.
pub(crate) async fn respond(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    answer::converse(&app, &who, request, |body, headers| {
        let Ask { chat, streams, writer } = read(body)?;
        let conversation = match (&chat.previous, chat.request.model.starts_with(AGENT)) {
            (_, true) => agents::conversation(headers, &chat)?,
            (Some(response), false) => return Err(unknown(response)),
            (None, false) => None,
        };
        Ok(Ask { chat, streams, writer: Responses::new(writer, conversation) })
    })
    .await
}
