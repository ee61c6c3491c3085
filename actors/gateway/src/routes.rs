//! Every route, and the checks before all of them: the origin of a request, its client, and its API. A fault gets the form of that API
//! here, once.

use crate::anthropic;
use crate::app_state::AppState;
use crate::connection::Connection;
use crate::fault::{Dialect, Fault, Kind};
use crate::guard::{self, Via, Who};
use crate::lock::lock;
use crate::pace::Standing;
use crate::permits::Permit;
use crate::{events, figures, health, ids, listing, mcp, openai, steer};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use ipc_proto::router::{QueueInfo, method};
use std::sync::Arc;
use std::time::Instant;
use vendors::answer::document;
use vendors::listing::asked_by;

/// Those that answer anybody: they say nothing of the host but whether it serves.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// Headers that a page may send, and those that it may read: any, since official clients in a browser send and read many of
/// their own. The star does not stand for `Authorization`, nor do older browsers know it.
const SENT: &str = "authorization, x-api-key, content-type, idempotency-key, x-session-id, anthropic-version, \
                    anthropic-beta, last-event-id, openai-organization, openai-project, mcp-protocol-version, \
                    mcp-method, mcp-name, *";
const READ: &str = "x-request-id, request-id, retry-after, x-should-retry, *";
/// Seconds for which a browser need not ask again.
const AGE: &str = "600";

/// Every route.
pub(crate) fn all(app: &Arc<AppState>) -> Router {
    let paced = |route: MethodRouter<Arc<AppState>>| {
        route.route_layer(middleware::from_fn_with_state(Arc::clone(app), pace)).fallback(other_method)
    };
    Router::new()
        .route("/v1/chat/completions", paced(post(openai::chat::complete)))
        .route("/v1/responses", paced(post(openai::responses::respond)))
        .route("/v1/embeddings", paced(post(openai::embeddings::embed)))
        .route("/v1/messages", paced(post(anthropic::messages)))
        .route("/v1/messages/count_tokens", post(anthropic::count).fallback(other_method))
        .route("/v1/steer", paced(post(steer::steer)))
        .route("/mcp", paced(post(mcp::serve)))
        .route("/v1/models", get(listing::models).fallback(other_method))
        .route("/v1/models/{*id}", get(listing::model).fallback(other_method))
        .route("/v1/events", get(events::stream).fallback(other_method))
        .route("/metrics", get(metrics).fallback(other_method))
        .route("/healthz", get(healthy).fallback(other_method))
        .route("/readyz", get(ready).fallback(other_method))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(Arc::clone(app), watch))
        .with_state(Arc::clone(app))
}

/// Runs before every route and after it.
async fn watch(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (mut parts, body) = request.into_parts();
    let route = route(parts.uri.path());
    let dialect = asked_by(parts.uri.path(), &parts.headers);
    let origin = parts.headers.get(header::ORIGIN).cloned();
    let id = ids::fresh("req_");
    let admitted = admitted(&app, &mut parts).await;
    // An admitted client's page may read the answer; any other page only if its origin is configured.
    let may_read = parts.extensions.get::<Who>().is_some()
        || origin.as_ref().is_some_and(|origin| guard::is_configured(&app, origin));
    let mut response = match admitted {
        Ok(Some(answer)) => answer,
        Ok(None) => match room(&app, &parts) {
            Ok(_room) => next.run(Request::from_parts(parts, body)).await,
            Err(fault) => fault.into_response(),
        },
        Err(fault) => fault.into_response(),
    };
    let standing = response.extensions_mut().remove::<Standing>();
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        response = fault.render(dialect, &id);
    }
    if let Some(standing) = standing {
        standing.write(dialect, response.headers_mut());
    }
    sign(response.headers_mut(), dialect, &id, began);
    if let Some(origin) = origin.filter(|_| may_read) {
        share(response.headers_mut(), origin);
    }
    app.metrics.answered(route, response.status().as_u16(), began.elapsed());
    response
}

/// Counts a request against its client's pace. How the client stands is said further out, on an answer and on a fault
/// alike.
async fn pace(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
    next: Next,
) -> Response {
    let standing = app.pace.count(who.caller, Instant::now());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(standing);
    response
}

/// Admits a request, and attaches its client for the route. A browser's preflight request is answered at once.
async fn admitted(app: &AppState, parts: &mut Parts) -> Result<Option<Response>, Fault> {
    let via = *parts.extensions.get::<Via>().ok_or_else(|| Fault::new(Kind::Failed, "No connection."))?;
    guard::host(app, via, parts)?;
    if OPEN.contains(&parts.uri.path()) {
        return Ok(None);
    }
    if parts.method == Method::OPTIONS && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return preflight(app, &parts.headers).map(Some);
    }
    let who = guard::admit(app, via, parts).await?;
    if let Some(connection) = parts.extensions.get::<Connection>() {
        connection.admitted(&who.holder);
    }
    parts.extensions.insert(who);
    Ok(None)
}

/// Room for the body, for as long as it is answered. One that does not say how long it is may be as long as any.
fn room(app: &AppState, parts: &Parts) -> Result<Option<Permit>, Fault> {
    // A request without a client is one whose body nobody reads.
    let Some(who) = parts.extensions.get::<Who>().filter(|_| parts.method == Method::POST) else {
        return Ok(None);
    };
    let said = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let said = said.filter(|_| !parts.headers.contains_key(header::TRANSFER_ENCODING));
    let length = said.and_then(|length| length.parse::<usize>().ok()).unwrap_or(usize::MAX);
    app.permits.body(&who.holder, length.min(app.max_body()))
}

/// A browser asks before a page may: it sends no key then, so only what is configured for all keys can be allowed.
fn preflight(app: &AppState, headers: &HeaderMap) -> Result<Response, Fault> {
    if !headers.get(header::ORIGIN).is_some_and(|origin| guard::is_configured(app, origin)) {
        return Err(guard::origin_denied());
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let said = response.headers_mut();
    said.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    said.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(SENT));
    said.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(AGE));
    Ok(response)
}

/// Lets the page read the response.
fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
}

/// The request's id, as the vendor's API says it, and what keeps a browser from taking data for a page.
fn sign(headers: &mut HeaderMap, dialect: Dialect, id: &str, began: Instant) {
    let name = match dialect {
        Dialect::OpenAi => HeaderName::from_static("x-request-id"),
        Dialect::Anthropic => HeaderName::from_static("request-id"),
    };
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(name, id);
    }
    if dialect == Dialect::OpenAi {
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        headers.insert("openai-processing-ms", HeaderValue::from(took));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// The route as the counters name it. A client cannot add names.
fn route(path: &str) -> &'static str {
    const ROUTES: [&str; 12] = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/embeddings",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/steer",
        "/mcp",
        "/v1/models",
        "/v1/events",
        "/metrics",
        "/healthz",
        "/readyz",
    ];
    let known = ROUTES.into_iter().find(|route| *route == path);
    known.or_else(|| path.starts_with("/v1/models/").then_some("/v1/models")).unwrap_or("other")
}

async fn nowhere(request: Request) -> Fault {
    let path: String = request.uri().path().chars().take(200).collect();
    let message = format!("Unknown request URL: {} {path}.", request.method());
    Fault::new(Kind::Missing, message).coded("unknown_url")
}

async fn other_method(request: Request) -> Fault {
    Fault::new(Kind::Method, format!("Not allowed method {} for this URL.", request.method()))
}

/// This process serves.
async fn healthy() -> &'static str {
    "ok\n"
}

/// Returns true if what every answer needs serves.
async fn ready(State(app): State<Arc<AppState>>) -> Response {
    let away = health::away(&app).await;
    if away.is_empty() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {}\n", away.join(", "))).into_response()
}

async fn metrics(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
) -> Result<Response, Fault> {
    let caller = who.caller;
    let queue = app
        .router
        .call(&method::api_queue, |router, context| async move { router.api_queue(context, caller).await })
        .await;
    let is_up = queue.is_ok();
    // The counters of this process are shown even while the queue is away.
    let nothing = QueueInfo {
        paused: false,
        paused_sessions: ipc_proto::List::default(),
        waiting: 0,
        running: 0,
        dead: 0,
    };
    let queue = match queue {
        Ok(queue) => queue?,
        Err(_) => nothing,
    };
    let mut text = app.metrics.text(&queue).map_err(|error| Fault::new(Kind::Failed, error.to_string()))?;
    text.push_str(&if who.holder.owner {
        lock(&app.figures).text()
    } else {
        figures::up([("router", is_up), ("gate", app.gate.is_up())])
    });
    let mut response = document(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests;
