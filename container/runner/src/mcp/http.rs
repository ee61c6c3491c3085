//! A server elsewhere, over HTTP: the SDK's requests go out by the gate, which lets them go to the server's own address alone and puts
//! its token in outside of the jail.

use crate::gate::Gate;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use ipc_proto::egress::{self, BODY, Head, Line, Origin, ReplyId};
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::{Blob, List, Name, Text};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Bytes of one event of a stream, and of an answer.
pub(super) const EVENT: usize = 4 << 20;
/// Bytes of an answer that is a failure.
const FAILURE: usize = 64 * 1024;
/// The longest wait for a server's stream.
const OPENING: Duration = Duration::from_secs(2);
const SESSION: &str = "mcp-session-id";
/// The command that the gate names where a token is missing.
const LOGIN: &str = "agentctl mcp login";

type Headers = HashMap<http::HeaderName, http::HeaderValue>;
type Fault = StreamableHttpError<NetworkError>;

/// The jail's way to the server.
#[derive(Clone)]
pub(super) struct Outbound {
    gate: Gate,
    origin: Origin,
    path: Text<{ egress::PATH }>,
    /// The server wanted a login when it was asked last.
    login: Arc<AtomicBool>,
    /// The state of the stream by which the server asks and tells by itself.
    stream: Arc<watch::Sender<Listening>>,
}

/// The state of that stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listening {
    /// None is opened: the newest version needs none.
    No,
    Opening,
    /// It is open, or the server has none.
    Settled,
}

impl Outbound {
    /// The way to this address.
    pub(super) fn new(gate: Gate, origin: Origin, path: Text<{ egress::PATH }>) -> Self {
        let stream = Arc::new(watch::Sender::new(Listening::No));
        Self { gate, origin, path, login: Arc::default(), stream }
    }

    /// Returns true if the server wanted a login when it was asked last.
    pub(super) fn wants_login(&self) -> bool {
        self.login.load(Ordering::Relaxed)
    }

    /// Waits until the server can ask and tell by itself, if it is about to: what it says before that is lost.
    pub(super) async fn listens(&self) {
        let mut stream = self.stream.subscribe();
        let settled = stream.wait_for(|stream| *stream != Listening::Opening);
        drop(tokio::time::timeout(OPENING, settled).await);
    }

    async fn send(&self, method: &str, headers: Vec<(&str, String)>, body: &[u8]) -> Result<Head, Fault> {
        let line = |(name, value): (&str, String)| Line { name: Name::clip(name), value: Text::clip(&value) };
        let request = egress::Request {
            origin: self.origin.clone(),
            method: Name::clip(method),
            path: self.path.clone(),
            headers: List::clip(headers.into_iter().map(line)),
            body: Blob::<BODY>::new(body)
                .map_err(|_| Fault::UnexpectedServerResponse("the request is over 8 MiB".into()))?,
            websocket: false,
        };
        let replied = self.gate.net_request(request).await;
        let wanted = match &replied {
            Ok(head) => head.status == 401,
            // Credproxy has no token.
            Err(NetworkError::Refused { next, .. }) => next.contains(LOGIN),
            Err(_) => false,
        };
        self.login.store(wanted, Ordering::Relaxed);
        replied.map_err(Fault::Client)
    }

    /// The body of a reply, whole.
    async fn whole(&self, head: &Head, bound: usize) -> Result<Vec<u8>, Fault> {
        let mut body = head.first.bytes.to_vec();
        let mut last = head.first.last;
        while !last {
            let piece = self.gate.net_next(head.reply).await.map_err(Fault::Client)?;
            body.extend_from_slice(&piece.bytes);
            last = piece.last;
            if body.len() > bound {
                self.gate.net_close(head.reply).await;
                return Err(Fault::ResponseBodyTooLarge { max_size: bound });
            }
        }
        Ok(body)
    }

    /// The body of a reply as events, each within a bound.
    fn events(&self, head: Head, bound: usize) -> BoxStream<'static, Result<Sse, SseError>> {
        let pieces = pieces(self.gate.clone(), head);
        let mut since_end = 0;
        let bounded = pieces.map(move |piece| {
            let piece = piece?;
            since_end = match piece.windows(2).rposition(|two| two == b"\n\n") {
                Some(at) => piece.len() - at,
                None => since_end + piece.len(),
            };
            if since_end > bound {
                Err(io::Error::other("an event over 4 MiB"))
            } else {
                Ok(bytes::Bytes::from(piece))
            }
        });
        SseStream::from_bytes_stream(bounded.boxed()).boxed()
    }
}

fn pieces(gate: Gate, head: Head) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    let open = Open { gate, reply: head.reply, last: head.first.last };
    let first = stream::iter([Ok(head.first.bytes.to_vec())]);
    first.chain(stream::unfold(Some(open), |open| async move {
        let mut open = open?;
        if open.last {
            return None;
        }
        match open.gate.net_next(open.reply).await {
            Ok(piece) => {
                open.last = piece.last;
                Some((Ok(piece.bytes.to_vec()), Some(open)))
            }
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    }))
}

/// A reply that is let go when nobody reads it any more.
struct Open {
    gate: Gate,
    reply: ReplyId,
    last: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.last
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (gate, reply) = (self.gate.clone(), self.reply);
            runtime.spawn(async move { gate.net_close(reply).await });
        }
    }
}

fn said<'a>(headers: &'a Head, name: &str) -> Option<&'a str> {
    let line = headers.headers.iter().find(|line| line.name.as_str().eq_ignore_ascii_case(name));
    line.map(|line| line.value.as_str())
}

/// The lines of a request: the SDK's own, and the session where there is one.
fn lines(custom: &Headers, session: Option<&str>, more: &[(&'static str, &str)]) -> Vec<(String, String)> {
    let custom =
        custom.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let session = session.map(|id| (SESSION.to_owned(), id.to_owned()));
    custom
        .chain(session)
        .chain(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
        .collect()
}

fn borrowed(lines: &[(String, String)]) -> Vec<(&str, String)> {
    lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

impl StreamableHttpClient for Outbound {
    type Error = NetworkError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, custom, EVENT).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        custom: Headers,
        event: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let more = [("content-type", "application/json"), ("accept", "text/event-stream, application/json")];
        let lines = lines(&custom, session.as_deref(), &more);
        let head = self.send("POST", borrowed(&lines), &serde_json::to_vec(&message)?).await?;
        if matches!(head.status, 202 | 204) {
            self.gate.net_close(head.reply).await;
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if head.status == 404 && session.is_some() {
            self.gate.net_close(head.reply).await;
            return Err(Fault::SessionExpired);
        }
        if !(200..300).contains(&head.status) {
            let body = self.whole(&head, FAILURE).await.unwrap_or_default();
            return refused(&message, session.is_some(), head.status, &body);
        }
        let kind = said(&head, "content-type").unwrap_or_default().to_owned();
        let session = said(&head, SESSION).map(str::to_owned);
        if kind.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(self.events(head, event), session));
        }
        let body = self.whole(&head, EVENT).await?;
        match (&message, serde_json::from_slice(&body)) {
            (_, Ok(parsed)) => Ok(StreamableHttpPostResponse::Json(answered(&message, parsed), session)),
            (ClientJsonRpcMessage::Request(_), Err(_)) => Err(Fault::UnexpectedContentType(Some(kind))),
            _ => Ok(StreamableHttpPostResponse::Accepted),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom: Headers,
    ) -> Result<(), Fault> {
        let lines = lines(&custom, Some(&session), &[]);
        let head = self.send("DELETE", borrowed(&lines), &[]).await?;
        self.gate.net_close(head.reply).await;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        custom: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, custom, EVENT).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        custom: Headers,
        event: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let mut lines = lines(&custom, session.as_deref(), &[("accept", "text/event-stream")]);
        lines.extend(last.map(|id| ("last-event-id".to_owned(), id)));
        self.stream.send_if_modified(|stream| {
            let first = *stream == Listening::No;
            *stream = if first { Listening::Opening } else { *stream };
            first
        });
        let head = self.send("GET", borrowed(&lines), &[]).await;
        self.stream.send_replace(Listening::Settled);
        let head = head?;
        let streams = said(&head, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if head.status == 405 || !streams {
            self.gate.net_close(head.reply).await;
            return Err(Fault::ServerDoesNotSupportSse);
        }
        Ok(self.events(head, event))
    }
}

/// The id of the first request of the newest version, if this is that request.
fn newest_first(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::DiscoverRequest(_)).then_some(&request.id)
        }
        _ => None,
    }
}

/// The answer to a request. A server of an older version that answers the newest first request, and says nothing by it, refuses it.
fn answered(message: &ClientJsonRpcMessage, answer: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    match (newest_first(message), &answer) {
        (Some(id), ServerJsonRpcMessage::Response(response))
            if !matches!(response.result, ServerResult::DiscoverResult(_)) =>
        {
            let error = ErrorData::invalid_request("an answer that is none", None);
            ServerJsonRpcMessage::error(error, Some(id.clone()))
        }
        _ => answer,
    }
}

/// The answer to a request that the server refused by its status. A server of an older version refuses the newest first request.
fn refused(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    status: u16,
    body: &[u8],
) -> Result<StreamableHttpPostResponse, Fault> {
    if let Some(id) = newest_first(message)
        && (400..500).contains(&status)
        && !matches!(status, 401 | 403)
        && !in_session
    {
        let error = match serde_json::from_slice(body) {
            Ok(ServerJsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let error = ServerJsonRpcMessage::error(error, Some(id.clone()));
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    let next = if status == 401 { "; the owner runs `agentctl mcp login` with its name" } else { "" };
    Err(Fault::UnexpectedServerResponse(format!("the server answered HTTP {status}{next}").into()))
}
