//! The model API on the jail's own loopback, in the forms of the vendors whose clients run here. Every client that
//! reaches it is in this jail, so no key is checked; the gate decides each time if a model is asked.

use super::model::{Model, refused};
use crate::RunnerFault;
use crate::gate::Gate;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipc_proto::Name;
use ipc_proto::gate::RelayError;
use ipc_proto::model::REQUEST_BOUND;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};
use vendors::answer::{Source as _, Writer, collect, document, respond, warned};
use vendors::chat_request::Ask;
use vendors::fault::{Dialect, Fault, Kind};
use vendors::listing::{self, asked_by};
use vendors::openai::responses::{Responses, unknown};
use vendors::{anthropic, body, ids, openai};

/// Where it is served.
pub(super) const PORT: u16 = 7080;
/// Connections at once; more wait.
const SEATS: usize = 64;
/// How long the head of a request may take to come.
const HEAD: Duration = Duration::from_secs(10);
/// Bytes of a body: escaped as JSON, texts take more than on the bus.
const BODY: usize = 4 * REQUEST_BOUND;
/// Bytes of a body that take one place of [`ROOM`].
const WEIGHT: usize = 64 * 1024;
/// Places for the requests that are with the gate, 8 MiB together; more wait. It keeps each until its answer has ended,
/// several times over, and has others to serve.
const WEIGHTS: u32 = 128;
static ROOM: Semaphore = Semaphore::const_new(WEIGHTS as usize);

/// Begins to serve it.
pub(super) async fn open(gate: Gate) -> Result<(), RunnerFault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await?;
    let service = TowerToHyperService::new(routes(gate));
    let seats = Arc::new(Semaphore::new(SEATS));
    tokio::task::spawn_local(async move {
        loop {
            let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Without this every event of a stream waits 44 ms for the one before to be acknowledged.
            drop(stream.set_nodelay(true));
            let service = service.clone();
            tokio::task::spawn_local(async move {
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(HEAD);
                drop(server.serve_connection(TokioIo::new(stream), service).await);
                drop(seat);
            });
        }
    });
    Ok(())
}

fn routes(gate: Gate) -> Router {
    let only = |route: MethodRouter<Gate>| route.fallback(other_method);
    Router::new()
        .route("/v1/chat/completions", only(post(chat)))
        .route("/v1/responses", only(post(responses)))
        .route("/v1/messages", only(post(messages)))
        .route("/v1/messages/count_tokens", only(post(count)))
        .route("/v1/models", only(get(models)))
        .route("/v1/models/{*id}", only(get(model)))
        .fallback(nowhere)
        .layer(middleware::from_fn(render))
        .with_state(gate)
}

/// Puts a fault into the words of the API that was asked by, and says the request's id as that does.
async fn render(request: Request, next: Next) -> Response {
    let dialect = asked_by(request.uri().path(), request.headers());
    let mut response = next.run(request).await;
    let id = ids::fresh("req_");
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        response = fault.render(dialect, &id);
    }
    let name = match dialect {
        Dialect::OpenAi => HeaderName::from_static("x-request-id"),
        Dialect::Anthropic => HeaderName::from_static("request-id"),
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(name, id);
    }
    response
}

/// Waits until there is room for a request with a body of this many bytes.
async fn room(body: usize) -> Result<SemaphorePermit<'static>, Fault> {
    let weights = u32::try_from(body / WEIGHT + 1).map_or(WEIGHTS, |weights| weights.min(WEIGHTS));
    ROOM.acquire_many(weights).await.map_err(|_| RelayError::Down(Name::clip("runner")).into())
}

async fn read(request: Request) -> Result<bytes::Bytes, Fault> {
    let (parts, body) = request.into_parts();
    body::read(BODY, &parts.headers, body).await
}

async fn chat(State(gate): State<Gate>, request: Request) -> Result<Response, Fault> {
    let body = read(request).await?;
    give(&gate, body.len(), openai::chat::read(&body)?).await
}

async fn responses(State(gate): State<Gate>, request: Request) -> Result<Response, Fault> {
    let body = read(request).await?;
    let Ask { chat, streams, writer } = openai::responses::read(&body)?;
    if let Some(previous) = &chat.previous {
        return Err(unknown(previous));
    }
    give(&gate, body.len(), Ask { chat, streams, writer: Responses::new(writer, None) }).await
}

async fn messages(State(gate): State<Gate>, request: Request) -> Result<Response, Fault> {
    let body = read(request).await?;
    give(&gate, body.len(), anthropic::read(&body)?).await
}

async fn give(gate: &Gate, body: usize, asked: Ask<impl Writer>) -> Result<Response, Fault> {
    let Ask { chat, streams, mut writer } = asked;
    let mut source = Model::begin(gate, chat.request, room(body).await?).await?;
    writer.begin(source.origin());
    if streams {
        return respond(source, writer, ()).await;
    }
    let whole = collect(&mut source).await?;
    Ok(warned(document(Body::from(writer.whole(&whole).to_string())), whole.over))
}

async fn count(State(gate): State<Gate>, request: Request) -> Result<Response, Fault> {
    let body = read(request).await?;
    let chat = anthropic::read_count(&body)?;
    let _room = room(body.len()).await?;
    let model = chat.request.model.clone();
    match gate.count(chat.request).await {
        Ok(tokens) => Ok(document(Body::from(anthropic::counted(tokens.into()).to_string()))),
        Err(error) => Err(refused(&gate, &model, error).await),
    }
}

async fn models(State(gate): State<Gate>, request: Request) -> Result<Response, Fault> {
    let dialect = asked_by(request.uri().path(), request.headers());
    let names = gate.models().await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Ok(document(Body::from(listing::list(&names, false, dialect).to_string())))
}

async fn model(
    State(gate): State<Gate>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Fault> {
    // A path that is no text is not a name.
    let id = id.map_or_else(|_| "\u{fffd}".to_owned(), |Path(id)| id);
    let dialect = asked_by(request.uri().path(), request.headers());
    let names = gate.models().await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    if !names.contains(&id.as_str()) {
        let shown: String = id.chars().take(128).collect();
        return Err(Fault::no_model(&shown, &names.join(", ")));
    }
    Ok(document(Body::from(listing::one(&id, dialect).to_string())))
}

async fn other_method(request: Request) -> Fault {
    Fault::new(Kind::Method, format!("Not allowed method {} for this URL.", request.method()))
}

async fn nowhere(request: Request) -> Response {
    let path: String = request.uri().path().chars().take(200).collect();
    let message = format!("Unknown request URL: {} {path}.", request.method());
    Fault::new(Kind::Missing, message).coded("unknown_url").into_response()
}
