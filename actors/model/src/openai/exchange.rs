//! One exchange with a provider: the request goes out and the reply is pulled through credproxy, as fast as whoever
//! reads the answer takes its pieces. It holds one upstream reply and lets it go however the answer ends.

use super::events::{Decoder, refusal};
use super::request::Ask;
use super::sse::Sse;
use crate::streams::{Outlet, Stop};
use ipc_proto::Fault;
use ipc_proto::credproxy::{self, CHUNK, Chunk, CredError, CredproxyClient, Head, Reply, method};
use ipc_proto::model::{ModelError, Piece};
use std::cell::Cell;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Bytes of a reply of a provider that does not stream.
const WHOLE: usize = 4 * 1024 * 1024;
/// How long a reply may go without anything of the answer; comments that keep a connection open do not count.
const SILENCE: Duration = Duration::from_secs(120);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(600);

/// The way to providers. A trait so that the exchange can be tried on replies cut at every place.
pub(crate) trait Upstream {
    /// Sends a request and waits for the head of its reply.
    async fn request(&self, request: credproxy::Request) -> Result<Head, ModelError>;
    /// The next bytes of a reply.
    async fn next(&self, reply: Reply) -> Result<Chunk, ModelError>;
    /// Lets a reply go.
    async fn close(&self, reply: Reply);
}

/// The link to credproxy.
#[derive(Clone)]
pub(crate) struct Credproxy(kit::Link<CredproxyClient>);

impl Credproxy {
    /// Over this link.
    pub(crate) const fn new(link: kit::Link<CredproxyClient>) -> Self {
        Self(link)
    }
}

impl Upstream for Credproxy {
    async fn request(&self, request: credproxy::Request) -> Result<Head, ModelError> {
        let ask = |client: CredproxyClient, context| {
            let request = request.clone();
            async move { client.request(context, request).await }
        };
        self.0.call(&method::request, ask).await.map_err(lost)?.map_err(unsent)
    }

    async fn next(&self, reply: Reply) -> Result<Chunk, ModelError> {
        let credit = u32::try_from(CHUNK).unwrap_or(u32::MAX);
        let ask = |client: CredproxyClient, context| async move { client.next(context, reply, credit).await };
        self.0.call(&method::next, ask).await.map_err(lost)?.map_err(broken_off)
    }

    async fn close(&self, reply: Reply) {
        let ask = |client: CredproxyClient, context| async move { client.close(context, reply).await };
        if let Err(fault) = self.0.call(&method::close, ask).await {
            tracing::warn!(%fault, "a reply could not be let go");
        }
    }
}

/// What a lost call to credproxy means for the answer. A restart of it took the reply with it: the gate asks again.
const fn lost(fault: Fault) -> ModelError {
    match fault {
        Fault::PeerRestarted | Fault::Unreachable => ModelError::Credentials(CredError::NoReply),
        Fault::Deadline => ModelError::Timeout,
        Fault::NotAllowed | Fault::WrongVersion => ModelError::Credentials(CredError::Upstream),
    }
}

/// Why a request was not sent, or got no head.
const fn unsent(error: CredError) -> ModelError {
    match error {
        CredError::Stalled => ModelError::Timeout,
        error => ModelError::Credentials(error),
    }
}

/// Why a reply goes no further.
const fn broken_off(error: CredError) -> ModelError {
    match error {
        CredError::Upstream => ModelError::Truncated,
        error => unsent(error),
    }
}

/// Has a provider answer, until the answer's end or `stop`.
pub(crate) async fn converse<U: Upstream>(upstream: U, ask: Ask, outlet: Outlet, stop: Stop) {
    let held = Cell::new(None);
    let answer = async {
        let ended = timeout(ANSWER, exchange(&upstream, ask, &outlet, &held)).await;
        if let Err(error) = ended.unwrap_or(Err(ModelError::Timeout)) {
            tracing::info!(%error, "an answer failed");
            outlet.give(Piece::Failed(error)).await;
        }
    };
    tokio::select! { biased; _ = stop => {}, () = answer => {} }
    if let Some(reply) = held.take() {
        upstream.close(reply).await;
    }
}

async fn exchange<U: Upstream>(
    upstream: &U,
    ask: Ask,
    outlet: &Outlet,
    held: &Cell<Option<Reply>>,
) -> Result<(), ModelError> {
    let head = upstream.request(ask.http).await?;
    held.set(Some(head.reply));
    if let Some(error) = refusal(head.status, head.retry_after) {
        return Err(error);
    }
    let mut body = Body::default();
    while !body.decoder.is_last() {
        let chunk = match pull(upstream, head.reply, &mut body, outlet).await {
            // All that matters had come.
            Err(_) if body.decoder.is_finished() => break,
            chunk => chunk?,
        };
        if chunk {
            break;
        }
    }
    for piece in body.end(ask.tokens)? {
        outlet.give(piece).await;
    }
    Ok(())
}

/// Pulls until something of the answer has come, and gives it. Says whether the body has ended.
async fn pull<U: Upstream>(
    upstream: &U,
    reply: Reply,
    body: &mut Body,
    outlet: &Outlet,
) -> Result<bool, ModelError> {
    let patience = Instant::now() + SILENCE;
    loop {
        let chunk = timeout_at(patience, upstream.next(reply)).await.map_err(|_| ModelError::Timeout)??;
        let taken = body.take(&chunk.bytes);
        let ready = body.decoder.ready();
        let some = !ready.is_empty();
        // What came before an error was said all the same.
        for piece in ready {
            outlet.give(piece).await;
        }
        taken?;
        if some || chunk.last || body.decoder.is_last() {
            return Ok(chunk.last);
        }
    }
}

/// The body of a reply: events, or one JSON document from a provider that does not stream. Which it is, its first
/// byte says: no line of an event stream begins with a brace.
#[derive(Default)]
struct Body {
    form: Form,
    decoder: Decoder,
}

#[derive(Default)]
enum Form {
    #[default]
    Unknown,
    Events(Sse),
    Whole(Vec<u8>),
}

impl Body {
    fn take(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if matches!(self.form, Form::Unknown) {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[') => self.form = Form::Whole(Vec::new()),
                Some(_) => self.form = Form::Events(Sse::default()),
            }
        }
        match &mut self.form {
            Form::Events(sse) => {
                let events = sse.feed(bytes).map_err(|_| ModelError::InvalidJson)?;
                events.iter().try_for_each(|event| self.decoder.event(event))
            }
            Form::Whole(json) if json.len() + bytes.len() > WHOLE => Err(ModelError::InvalidJson),
            Form::Whole(json) => {
                json.extend_from_slice(bytes);
                Ok(())
            }
            Form::Unknown => Ok(()),
        }
    }

    fn end(mut self, asked: u32) -> Result<Vec<Piece>, ModelError> {
        match self.form {
            Form::Events(sse) => {
                // Some servers leave the last blank line out; what cannot be read here was cut short.
                if let Ok(Some(event)) = sse.end() {
                    self.decoder.event(&event).map_err(|_| ModelError::Truncated)?;
                }
            }
            Form::Whole(json) => {
                let json = String::from_utf8(json).map_err(|_| ModelError::InvalidJson)?;
                self.decoder.whole(&json)?;
            }
            Form::Unknown => {}
        }
        self.decoder.end(asked)
    }
}

#[cfg(test)]
mod tests;
