//! `/v1/responses`. Nothing is stored of a model's answers, so a client that passes through sends the whole conversation
//! each time; an agent's is gone on from by the id of a response.

use crate::agents;
use crate::answer::{self, AGENT, Request as Asking};
use crate::body;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::Who;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use std::sync::Arc;
use vendors::openai::responses::{Responses, read, unknown};

/// Answers it.
pub(crate) async fn respond(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(desk.max_body(), &parts.headers, body).await?;
    let asked = read(&bytes)?;
    let wish = asked.wish;
    let conversation = match (&wish.previous, wish.request.model.starts_with(AGENT)) {
        (_, true) => agents::conversation(&parts.headers, &wish)?,
        (Some(response), false) => return Err(unknown(response)),
        (None, false) => None,
    };
    let writer = Responses::new(asked.writer, conversation);
    let (path, headers, streams) = (parts.uri.path(), &parts.headers, asked.streams);
    let asking = Asking { desk: &desk, who: &who, path, headers, body: &bytes, streams };
    answer::give(&asking, wish, writer).await
}
