//! `/v1/chat/completions`.

use crate::answer::{self, Request as Asking};
use crate::body;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::Who;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use std::sync::Arc;
use vendors::openai::chat::read;

/// Answers it.
pub(crate) async fn complete(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let bytes = body::read(desk.max_body(), &parts.headers, body).await?;
    let asked = read(&bytes)?;
    let (path, headers, streams) = (parts.uri.path(), &parts.headers, asked.streams);
    let asking = Asking { desk: &desk, who: &who, path, headers, body: &bytes, streams };
    answer::give(&asking, asked.wish, asked.writer).await
}
