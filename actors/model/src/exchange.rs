//! One exchange with a provider: the request goes out and the reply is pulled through credproxy, as fast as the reader
//! of the answer takes its pieces. It holds one upstream reply and releases it however the answer ends.

use crate::models::EmbedAsk;
use crate::streams::{Outlet, Stop};
use dialect::embedding::{self, BODY_BOUND};
use dialect::{Ask, REFUSAL_BOUND, Reader, refused};
use ipc_proto::Fault;
use ipc_proto::credproxy::{self, CHUNK, Chunk, CredError, CredproxyClient, Head, Reply, method};
use ipc_proto::model::{Embedded, ModelError, Piece};
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(600);
/// How long vectors may take: less than the gate waits for them.
const VECTORS: Duration = Duration::from_secs(120);
/// Time to wait for the body of a refusal; without it, the status decides.
const REFUSAL: Duration = Duration::from_secs(10);
/// How long the end of a body is waited for that holds a whole answer: a connection whose reply has ended serves the next
/// request, and any other is closed.
const REST: Duration = Duration::from_millis(100);

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

/// The error of an answer whose call to credproxy was lost. A restart of it took the reply with it: the gate asks
/// again.
const fn lost(fault: Fault) -> ModelError {
    match fault {
        Fault::PeerRestarted | Fault::Unreachable | Fault::NoSlot => {
            ModelError::Credentials(CredError::NoReply)
        }
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
    let connection = Connection::new(upstream);
    let answer = async {
        let ended = timeout(ANSWER, exchange(&connection, ask, &outlet)).await;
        if let Err(error) = ended.unwrap_or(Err(ModelError::Timeout)) {
            tracing::info!(%error, "an answer failed");
            outlet.give(Piece::Failed(error)).await;
        }
    };
    tokio::select! { biased; _ = stop => {}, () = answer => {} }
    connection.let_go().await;
}

/// A reply that is being read: open until it has ended, or is closed.
struct Connection<U> {
    upstream: U,
    reply: Cell<Option<Reply>>,
    /// The part of the body that came with its head.
    first: Cell<Chunk>,
    /// It has given a whole answer.
    whole: Cell<bool>,
}

impl<U: Upstream> Connection<U> {
    fn new(upstream: U) -> Self {
        Self { upstream, reply: Cell::new(None), first: Cell::default(), whole: Cell::new(false) }
    }

    /// The next bytes.
    async fn next(&self) -> Result<Chunk, ModelError> {
        let first = self.first.take();
        if first.last || !first.bytes.is_empty() {
            return Ok(first);
        }
        let reply = self.reply.get().ok_or(ModelError::Truncated)?;
        let chunk = self.upstream.next(reply).await?;
        if chunk.last {
            self.reply.set(None);
        }
        Ok(chunk)
    }

    /// Lets it go, if it has not ended. One that gave a whole answer is about to.
    async fn let_go(self) {
        if self.whole.get() {
            let rest = async { while self.reply.get().is_some() && self.next().await.is_ok() {} };
            // However that ends, an open reply is closed.
            let _ = timeout(REST, rest).await;
        }
        if let Some(reply) = self.reply.take() {
            self.upstream.close(reply).await;
        }
    }
}

async fn exchange<U: Upstream>(
    connection: &Connection<U>,
    ask: Ask,
    outlet: &Outlet,
) -> Result<(), ModelError> {
    let (mut reader, patience) = (ask.reader(), ask.patience);
    send(connection, ask.http, ask.known.context).await?;
    while !reader.is_last() {
        match pull(connection, &mut reader, outlet, patience).await {
            Ok(true) => break,
            Ok(false) => {}
            // All that matters had come.
            Err(_) if reader.is_finished() => break,
            Err(error) => {
                // An answer that broke off was paid for all the same.
                if let Some(usage) = reader.spent() {
                    outlet.give(Piece::Usage(usage)).await;
                }
                return Err(error);
            }
        }
    }
    let end = reader.end()?;
    connection.whole.set(true);
    for piece in end {
        outlet.give(piece).await;
    }
    Ok(())
}

/// Sends a request; a reply that is no success becomes the error of its status and its body.
async fn send<U: Upstream>(
    connection: &Connection<U>,
    http: credproxy::Request,
    context: u32,
) -> Result<(), ModelError> {
    let head = connection.upstream.request(http).await?;
    connection.reply.set((!head.first.last).then_some(head.reply));
    connection.first.set(head.first);
    if (200..300).contains(&head.status) {
        return Ok(());
    }
    let mut body = Vec::new();
    let reading = whole(connection, REFUSAL_BOUND, &mut body);
    // However it ends: the part that came may say enough.
    let _ = timeout(REFUSAL, reading).await;
    let wait = dialect::wait(head.retry_after, &head.headers, kit::now_ms() / 1000);
    Err(refused(head.status, wait, &body, context))
}

/// Pulls until something of the answer has come, and gives it. Says whether the body has ended.
async fn pull<U: Upstream>(
    connection: &Connection<U>,
    reader: &mut Reader,
    outlet: &Outlet,
    patience: Duration,
) -> Result<bool, ModelError> {
    let until = Instant::now() + patience;
    loop {
        let chunk = timeout_at(until, connection.next()).await.map_err(|_| ModelError::Timeout)??;
        let taken = reader.feed(&chunk.bytes);
        let ready = reader.ready();
        let some = !ready.is_empty();
        // The pieces before an error are given all the same.
        for piece in ready {
            outlet.give(piece).await;
        }
        taken?;
        if some || chunk.last || reader.is_last() {
            return Ok(chunk.last);
        }
    }
}

/// Pulls a whole body, or as much of it as the bound allows. Says whether that was all.
async fn whole<U: Upstream>(
    connection: &Connection<U>,
    bound: usize,
    body: &mut Vec<u8>,
) -> Result<bool, ModelError> {
    loop {
        let chunk = connection.next().await?;
        let room = bound.saturating_sub(body.len());
        body.extend(chunk.bytes.iter().take(room));
        if chunk.bytes.len() > room || chunk.last {
            return Ok(chunk.bytes.len() <= room);
        }
    }
}

/// Has a model embed. A caller that no longer waits ends it: the reply is closed all the same.
///
/// # Errors
/// Why there are no vectors.
pub(crate) async fn embed<U: Upstream + 'static>(upstream: U, ask: EmbedAsk) -> Result<Embedded, ModelError> {
    let ask = match ask {
        EmbedAsk::Here(embedded) => return Ok(embedded),
        EmbedAsk::Upstream(ask) => ask,
    };
    let (mut answer, embedded) = oneshot::channel();
    tokio::task::spawn_local(async move {
        let connection = Connection::new(upstream);
        let fetched = tokio::select! {
            biased;
            () = answer.closed() => None,
            fetched = timeout(VECTORS, fetch(&connection, &ask)) => Some(fetched),
        };
        connection.let_go().await;
        if let Some(fetched) = fetched {
            // The caller may be gone; then nobody gets the answer.
            let _ = answer.send(fetched.unwrap_or(Err(ModelError::Timeout)));
        }
    });
    embedded.await.unwrap_or(Err(ModelError::Truncated))
}

async fn fetch<U: Upstream>(
    connection: &Connection<U>,
    ask: &embedding::EmbedAsk,
) -> Result<Embedded, ModelError> {
    send(connection, ask.http.clone(), ask.known.context).await?;
    let mut body = Vec::new();
    match whole(connection, BODY_BOUND, &mut body).await? {
        true => ask.read(&body),
        false => Err(ModelError::InvalidJson),
    }
}

#[cfg(test)]
mod tests;
