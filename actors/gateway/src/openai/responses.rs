//! `/v1/responses`. Nothing is stored of a model's answers, so a client that passes through sends the whole conversation
//! each time; an agent's is gone on from by the id of a response.

use crate::agents;
use crate::answer::{self, AGENT};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::Who;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use std::sync::Arc;
use vendors::openai::responses::{Responses, read, unknown};
use vendors::wish::Ask;

/// Answers it.
pub(crate) async fn respond(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    answer::converse(&desk, &who, request, |body, headers| {
        let Ask { wish, streams, writer } = read(body)?;
        let conversation = match (&wish.previous, wish.request.model.starts_with(AGENT)) {
            (_, true) => agents::conversation(headers, &wish)?,
            (Some(response), false) => return Err(unknown(response)),
            (None, false) => None,
        };
        Ok(Ask { wish, streams, writer: Responses::new(writer, conversation) })
    })
    .await
}
