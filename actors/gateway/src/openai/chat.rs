//! `/v1/chat/completions`.

use crate::answer;
use crate::app_state::AppState;
use crate::fault::Fault;
use crate::guard::Who;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use std::sync::Arc;
use vendors::openai::chat::read;

/// Answers it.
pub(crate) async fn complete(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    answer::converse(&app, &who, request, |body, _| read(body)).await
}
