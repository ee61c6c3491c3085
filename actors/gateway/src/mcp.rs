//! `/mcp`: the memory tools over streamable HTTP, as the official SDK serves them. Each request stands by itself: there is
//! no session of the protocol that another could take over or that a restart could lose. The client is known before it
//! comes here; the gate decides which memory it reaches.

mod memory;

use crate::app_state::AppState;
use crate::body;
use crate::fault::Fault;
use crate::guard::Who;
use crate::held_reply::hold_until_sent;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body as HttpBody;
use ipc_proto::api::Caller;
use ipc_proto::gate::RelayError;
use ipc_proto::memory::Project;
use memory_tools::{Answer, Code, FolderAct, Place, Server, Store, Trouble, read_message};
use rmcp::model::{ErrorData, JsonRpcError};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use std::sync::Arc;
use vendors::answer::document;

/// The field of the address by which a client says which project it works in.
const PROJECT: &str = "project";

/// Bytes of a refusal of the SDK's.
const WORDS: usize = 4096;

/// The memory of a request's client.
struct Remembered {
    app: Arc<AppState>,
    caller: Caller,
    place: Place,
}

/// Answers one message.
pub(crate) async fn serve(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let place = Place { project: project(parts.uri.query().unwrap_or_default())? };
    let bound = app.max_body();
    let mut bytes = Vec::from(body::read(bound, &parts.headers, body).await?);
    let places = app.permits.memory(who.holder.user).await?;
    if let Err(refusal) = read_message(&mut bytes) {
        return Ok(refused(&refusal));
    }
    // Host, origin and size were looked at, by the rules of every other route.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(bound);
    let server = Server::new(Remembered { app, caller: who.caller, place });
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let request = axum::http::Request::from_parts(parts, Full::new(Bytes::from(bytes)));
    Ok(hold_until_sent(worded(service.handle(request).await).await, places))
}

/// Makes a JSON document of a refusal of the SDK's transport, such as of another version of the protocol: the SDK writes plain text, and
/// clients read documents.
async fn worded<B>(response: axum::http::Response<B>) -> Response
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let (parts, body) = response.into_parts();
    let is_document = parts.headers.contains_key(CONTENT_TYPE);
    if is_document || !parts.status.is_client_error() {
        return Response::from_parts(parts, Body::new(body));
    }
    let words = axum::body::to_bytes(Body::new(body), WORDS).await.unwrap_or_default();
    let said = ErrorData::invalid_request(String::from_utf8_lossy(&words).into_owned(), None);
    let mut response = refused(&JsonRpcError::new(None, said));
    *response.status_mut() = parts.status;
    response
}

/// The answer to what is no message of the protocol. What names a request answers it; nothing else was accepted.
fn refused(refusal: &JsonRpcError) -> Response {
    let said = serde_json::to_vec(refusal).unwrap_or_default();
    let mut response = document(Body::from(said));
    if refusal.id.is_none() {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// The project that the address names.
fn project(query: &str) -> Result<Option<Project>, Fault> {
    let mut named = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if name != PROJECT {
            return Err(Fault::bad(name, "The address of /mcp has one field: project."));
        }
        let value = Project::new(value).map_err(|long| Fault::bad(PROJECT, long.to_string()))?;
        if named.replace(value).is_some() {
            return Err(Fault::bad(PROJECT, "The address of /mcp names one project."));
        }
    }
    Ok(named.filter(|project| !project.trim().is_empty()))
}

impl Store for Remembered {
    fn place(&self) -> &Place {
        &self.place
    }

    async fn ask(&self, request: memory_tools::Request) -> Result<Answer, Trouble> {
        memory::call(&self.app, self.caller, request).await
    }

    fn folder(&self, _: FolderAct) -> Result<Value, memory_tools::Fault> {
        let why = "This server has no files; `agentctl mcp` on the machine of the project does this.";
        Err(memory_tools::Fault::new(Code::Locked, why))
    }
}

fn trouble(error: RelayError) -> Trouble {
    let why = error.to_string();
    match error {
        RelayError::Memory(error) => Trouble::Memory(error),
        RelayError::Busy { retry_s } => Trouble::Away(why, Some(retry_s)),
        RelayError::NoMemory | RelayError::NoKey => Trouble::Locked(why),
        _ => Trouble::Away(why, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_project_or_none_and_nothing_else() {
        assert_eq!(project("").unwrap(), None);
        assert_eq!(project("project=").unwrap(), None);
        assert_eq!(project("project=%2Fsrv%2Fa+b").unwrap().unwrap().as_str(), "/srv/a b");
        assert!(project("projekt=x").is_err());
        assert!(project(&format!("project={}", "x".repeat(600))).is_err());
        assert!(project("project=a&project=b").is_err() && project("project=&project=b").is_err());
    }
}
