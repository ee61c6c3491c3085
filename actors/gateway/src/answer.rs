//! An answer on its way: from an agent's turn or from a model, told in the words of whichever API was asked by.
//!
//! A client that goes away ends what it alone pays for, a model's answer; an agent's turn goes on.

mod source;

pub(crate) use crate::wish::AGENT;
pub(crate) use source::Source;
pub(crate) use vendors::answer::{Said, Writer, document, event, of_events, remark, warned};

use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::Who;
use crate::kept::{self, Claim, Tape};
use crate::wish::{Ask, Wish};
use crate::{agents, relay};
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use ipc_proto::model::Usage;
use std::sync::Arc;
use vendors::answer::{Meter, Source as _, collect};

/// Counts a stream among this process's, and keeps it where a key stands for it.
struct Counting {
    desk: Arc<Desk>,
    is_agent: bool,
    tape: Option<Tape>,
}

impl Meter for Counting {
    fn began(&self) {
        self.desk.metrics.stream_began();
    }

    fn spent(&self, usage: Usage) {
        self.desk.metrics.spent(self.is_agent, usage);
    }

    fn sent(&mut self, part: &[u8], last: bool) {
        if let Some(tape) = &mut self.tape {
            tape.take(part, last);
        }
    }

    fn ended(&self) {
        self.desk.metrics.stream_ended();
    }
}

/// Answers the conversation that `read` finds in a request's body.
///
/// # Errors
/// Why there is no answer, as long as nothing of one was sent.
pub(crate) async fn converse<W: Writer>(
    desk: &Arc<Desk>,
    who: &Who,
    request: axum::extract::Request,
    read: impl FnOnce(&[u8], &HeaderMap) -> Result<Ask<W>, Fault>,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let (path, headers) = (parts.uri.path(), &parts.headers);
    let body = crate::body::read(desk.max_body(), headers, body).await?;
    let Ask { wish, streams, writer } = read(&body, headers)?;
    give(&Request { desk, who, path, headers, body: &body, streams }, wish, writer).await
}

/// One request for an answer.
struct Request<'a> {
    desk: &'a Arc<Desk>,
    who: &'a Who,
    /// The route: an answer is in the words of the one that was asked by.
    path: &'a str,
    headers: &'a HeaderMap,
    /// Its body, by which a repetition is known.
    body: &'a [u8],
    /// True if it is to come as a stream.
    streams: bool,
}

async fn give(request: &Request<'_>, wish: Wish, mut writer: impl Writer) -> Result<Response, Fault> {
    let key = kept::key(request.headers)?;
    let is_agent = wish.request.model.starts_with(AGENT);
    // An agent's messages are kept apart by router itself, durably.
    let claim = match &key {
        Some(key) if !is_agent => {
            let key = format!("{} {key}", request.path);
            match request.desk.kept.claim(request.who.caller, &key, request.body)? {
                Claim::Answered(body) if request.streams => return Ok(of_events(Body::from(body))),
                Claim::Answered(body) => return Ok(document(Body::from(body))),
                Claim::Ours(claim) => Some(claim),
            }
        }
        _ => None,
    };
    let mut source = begin(request, &wish, key.as_deref()).await?;
    writer.begin(source.origin());
    if request.streams {
        let tape = claim.map(Tape::new);
        let counting = Counting { desk: Arc::clone(request.desk), is_agent, tape };
        return vendors::answer::respond(source, writer, counting).await;
    }
    let whole = collect(&mut source).await?;
    request.desk.metrics.spent(is_agent, whole.usage);
    let body = bytes::Bytes::from(writer.whole(&whole).to_string());
    if let Some(claim) = claim {
        claim.keep(&body);
    }
    Ok(warned(document(Body::from(body)), whole.over))
}

async fn begin(request: &Request<'_>, wish: &Wish, key: Option<&str>) -> Result<Source, Fault> {
    let Request { desk, who, headers, .. } = request;
    match wish.request.model.strip_prefix(AGENT) {
        Some(agent) => agents::begin(desk, who, headers, agent, wish, key).await.map(Source::Turn),
        None => relay::begin(desk, who, wish).await.map(Source::Relay),
    }
}
