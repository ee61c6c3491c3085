//! An answer on its way: from an agent's turn or from a model, in the form of the API that the request came by.
//!
//! A client that goes away ends a model's answer, which it alone pays for; an agent's turn goes on.

mod source;

use crate::app_state::AppState;
use crate::chat_request::{AGENT, Ask, ChatRequest};
use crate::fault::Fault;
use crate::guard::Who;
use crate::idempotency::{self, Claim, StreamRecorder};
use crate::{agents, relay};
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use ipc_proto::model::Usage;
use source::Source;
use std::sync::Arc;
use vendors::answer::{Meter, Source as _, Writer, collect, document, of_events, warned};

/// Counts a stream among this process's, and keeps it where a key stands for it.
struct Counting {
    app: Arc<AppState>,
    is_agent: bool,
    recorder: Option<StreamRecorder>,
}

impl Meter for Counting {
    fn began(&self) {
        self.app.metrics.stream_began();
    }

    fn spent(&self, usage: Usage) {
        self.app.metrics.spent(self.is_agent, usage);
    }

    fn sent(&mut self, part: &[u8], last: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(part, last);
        }
    }

    fn ended(&self) {
        self.app.metrics.stream_ended();
    }
}

/// Answers the conversation that `read` finds in a request's body.
///
/// # Errors
/// Why there is no answer, as long as nothing of one was sent.
pub(crate) async fn converse<W: Writer>(
    app: &Arc<AppState>,
    who: &Who,
    request: axum::extract::Request,
    read: impl FnOnce(&[u8], &HeaderMap) -> Result<Ask<W>, Fault>,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let (path, headers) = (parts.uri.path(), &parts.headers);
    let body = crate::body::read(app.max_body(), headers, body).await?;
    let Ask { chat, streams, writer } = read(&body, headers)?;
    give(&Request { app, who, path, headers, body: &body, streams }, chat, writer).await
}

/// One request for an answer.
struct Request<'a> {
    app: &'a Arc<AppState>,
    who: &'a Who,
    /// The route of the request.
    path: &'a str,
    headers: &'a HeaderMap,
    /// Its body, by which a repetition is recognised.
    body: &'a [u8],
    /// True if it is to come as a stream.
    streams: bool,
}

async fn give(request: &Request<'_>, chat: ChatRequest, mut writer: impl Writer) -> Result<Response, Fault> {
    let key = idempotency::key(request.headers)?;
    let is_agent = chat.request.model.starts_with(AGENT);
    // Router itself deduplicates messages to agents, durably.
    let claim = match &key {
        Some(key) if !is_agent => {
            let key = format!("{} {key}", request.path);
            match request.app.idempotency.claim(request.who.caller, &key, request.body)? {
                Claim::Answered(body) if request.streams => return Ok(of_events(Body::from(body))),
                Claim::Answered(body) => return Ok(document(Body::from(body))),
                Claim::New(claim) => Some(claim),
            }
        }
        _ => None,
    };
    let mut source = begin(request, &chat, key.as_deref()).await?;
    writer.begin(source.origin());
    if request.streams {
        let recorder = claim.map(StreamRecorder::new);
        let counting = Counting { app: Arc::clone(request.app), is_agent, recorder };
        return vendors::answer::respond(source, writer, counting).await;
    }
    let whole = collect(&mut source).await?;
    request.app.metrics.spent(is_agent, whole.usage);
    let body = bytes::Bytes::from(writer.whole(&whole).to_string());
    if let Some(claim) = claim {
        claim.store(&body);
    }
    Ok(warned(document(Body::from(body)), whole.over))
}

async fn begin(request: &Request<'_>, chat: &ChatRequest, key: Option<&str>) -> Result<Source, Fault> {
    let Request { app, who, headers, .. } = request;
    match chat.request.model.strip_prefix(AGENT) {
        Some(agent) => agents::begin(app, who, headers, agent, chat, key).await.map(Source::Turn),
        None => relay::begin(app, who, chat).await.map(Source::Relay),
    }
}
