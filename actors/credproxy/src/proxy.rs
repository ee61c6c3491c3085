//! Sends a request with a secret in it. Every decision is on the record before its effect. Recording and dialling are other
//! processes' work, and are handed in.

use crate::address::Address;
use crate::binding::Wanted;
use crate::draft::Draft;
use crate::login_turns::Turns;
use crate::login_value;
use crate::pool::{Lease, Pool, Purpose};
use crate::replies::Replies;
use crate::reply::Reply;
use crate::response_headers::{retry_after, shown_headers};
use crate::secret::Secret;
use crate::secret_patterns::SecretPatterns;
use crate::upstream::{self, Limits};
use crate::vault_actor::VaultRequest;
use ::upstream::Fault;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config;
use ipc_proto::credproxy::{Chunk, CredError, Head, Placement, Reply as ReplyId, Request, Verb};
use ipc_proto::dialer::HostPort;
use manifest::Process;
use ractor::rpc::CallResult;
use ractor::{ActorRef, RpcReplyPort};
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Replies at once, of all callers.
pub(crate) const AT_ONCE: usize = 256;

/// The processes that credproxy needs.
pub(crate) trait Outside {
    /// Puts an event on the record.
    async fn record(&self, event: Event) -> Result<(), CredError>;
    /// A connection to this host.
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError>;
}

/// One use of a secret.
struct Used {
    name: Name,
    wanted: Wanted,
    /// SHA-256 of the request.
    sum: [u8; 32],
    /// Bytes of its body.
    bytes: u64,
}

/// The secrets that each caller may have put into its requests.
pub(crate) type Shares = BTreeMap<Process, BTreeSet<String>>;

/// Credproxy itself.
pub(crate) struct Proxy<O> {
    /// Record and dialler.
    pub(crate) outside: O,
    /// The actor that owns the vault.
    pub(crate) vault_actor: ActorRef<VaultRequest>,
    /// The live secrets, as they can stand in a reply.
    pub(crate) patterns: watch::Receiver<Arc<SecretPatterns>>,
    /// How TLS is spoken.
    pub(crate) tls: Arc<ClientConfig>,
    /// Where plain HTTP may go.
    pub(crate) plain_http: BTreeSet<HostPort>,
    /// The secrets of each caller.
    pub(crate) shares: Shares,
    /// Connections that wait for the next request.
    pub(crate) pool: Pool,
    /// Logins that are being renewed.
    pub(crate) logins: Turns,
    /// Room for replies.
    pub(crate) slots: Arc<Semaphore>,
    /// The limits of upstreams.
    pub(crate) limits: Limits,
}

/// The configured shares.
pub(crate) fn shares(config: &config::Credproxy) -> Shares {
    Shares::from([
        (Process::Web, config.web_secret.iter().cloned().collect()),
        (Process::Model, config.model_secrets.iter().cloned().collect()),
        (Process::Gate, config.gate_secrets.iter().cloned().collect()),
    ])
}

impl<O: Outside> Proxy<O> {
    /// Returns whether this caller may have this request sent: each has its own secrets of the configuration and no other's.
    /// A request without a secret is sent for model, to a server of its own, and for the gate, to a service; web sends such
    /// requests by itself.
    pub(crate) async fn admit(&self, caller: Process, request: &Request) -> Result<(), CredError> {
        let secret = request.secret.as_ref().map(|placement| &placement.secret);
        let own = |secret: &Name| self.shares.get(&caller).is_some_and(|own| own.contains(secret.as_str()));
        if secret.map_or(matches!(caller, Process::Model | Process::Gate), own) {
            return Ok(());
        }
        tracing::warn!(caller = caller.name(), "refused: asked for a secret that is not its own");
        let event =
            Event::new(Action::SecretMisdirected, Result3::Blocked).because("not a secret of the caller");
        self.note(Event { subject: secret.cloned(), hash: Some(hash(request)), ..event }).await;
        Err(CredError::NotBound)
    }

    /// Sends a request and keeps its reply among `replies`.
    pub(crate) async fn request(&self, replies: &Replies, request: Request) -> Result<Head, CredError> {
        let address = Address::parse(&request.url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        replies.sweep(self.limits.idle);
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| CredError::Full)?;
        let (placement, verb) = (request.secret.clone(), request.verb);
        let (sum, bytes) = (hash(&request), request.body.len() as u64);
        let draft = Draft::new(request, &address)?;
        let used = placement.map(|placement| Used {
            wanted: wanted(&placement, &address, verb),
            name: placement.secret,
            sum,
            bytes,
        });
        let (reply, lease) = self.exchange(draft, used, &address).await?;
        let status = reply.status().as_u16();
        let retry_after = retry_after(reply.headers());
        let live = Arc::clone(&self.patterns.borrow());
        let (headers, cut_out) = shown_headers(reply.headers(), &live);
        self.record_redaction(cut_out).await;
        let mut reply = Reply::new(reply.into_body(), lease, self.patterns.clone(), slot, self.limits);
        let first = reply.at_once().await;
        self.record_redaction(reply.cut_out()).await;
        let over = first.last;
        let head = Head { reply: replies.insert(reply), status, retry_after, headers, first };
        if over {
            replies.close(head.reply);
        }
        Ok(head)
    }

    /// Sends it with its secret in it, once the use of that is on the record. A login whose token the service takes no
    /// more is renewed, once.
    async fn exchange(
        &self,
        mut draft: Draft,
        used: Option<Used>,
        address: &Address,
    ) -> Result<(http::Response<Incoming>, Lease), CredError> {
        let secret = used.as_ref().map(|used| used.name.clone());
        let purpose = Purpose { secret, target: address.target.clone(), tls: address.tls };
        let Some(used) = used else { return self.send(draft.finish()?, address, purpose).await };
        let value = self.use_secret(&used).await?;
        let Some(login) = login_value::read(value.reveal()) else {
            draft.fill(&value)?;
            return self.send(draft.finish()?, address, purpose).await;
        };
        let bearer = self.token(&used.name, &used.wanted, login.clone(), None).await?;
        let mut again = draft.clone();
        draft.fill(&bearer.access)?;
        let (reply, lease) = self.send(draft.finish()?, address, purpose.clone()).await?;
        if reply.status() != http::StatusCode::UNAUTHORIZED || !bearer.renewable {
            return Ok((reply, lease));
        }
        drop((reply, lease));
        let bearer = self.token(&used.name, &used.wanted, login, Some(&bearer.access)).await?;
        again.fill(&bearer.access)?;
        self.send(again.finish()?, address, purpose).await
    }

    /// Sends it over a connection that waits for this purpose, or over a new one.
    pub(crate) async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        address: &Address,
        purpose: Purpose,
    ) -> Result<(http::Response<Incoming>, Lease), CredError> {
        while let Some(mut conversation) = self.pool.take(&purpose) {
            match conversation.ask(request.clone(), self.limits.head).await {
                Ok(reply) => return Ok((reply, self.pool.lease(purpose, conversation))),
                // The other end had closed it, and has seen nothing of the request.
                Err(Fault::Unsent) => {}
                // It may have seen it, and what only reads may be read twice.
                Err(Fault::Protocol) if request.method().is_safe() => {}
                Err(fault) => return Err(upstream::broken(fault)),
            }
        }
        let descriptor = self.outside.dial(&address.target).await?;
        let mut conversation = upstream::open(descriptor, address, &self.tls, self.limits).await?;
        let reply = conversation.ask(request, self.limits.head).await.map_err(upstream::broken)?;
        Ok((reply, self.pool.lease(purpose, conversation)))
    }

    /// The value for a request, once its use is on the record.
    async fn use_secret(&self, used: &Used) -> Result<Secret, CredError> {
        let Used { name, wanted, sum, bytes } = used;
        let revealed = self.ask(|reply| VaultRequest::Reveal(name.clone(), wanted.clone(), reply)).await;
        if revealed.as_ref().err() == Some(&CredError::NotBound) {
            tracing::warn!(secret = name.as_str(), "refused: not bound to what it was asked for");
            let event =
                about(Action::SecretMisdirected, Result3::Blocked, name).because("not bound to this use");
            self.note(Event { hash: Some(*sum), ..event }).await;
        }
        let secret = revealed?;
        let event = about(Action::SecretUsed, Result3::Success, name);
        self.outside.record(Event { hash: Some(*sum), bytes: *bytes, ..event }).await?;
        kit::fault_point!("credproxy.use.recorded");
        drop(self.vault_actor.cast(VaultRequest::Used(name.clone())));
        Ok(secret)
    }

    /// The next piece of a reply.
    pub(crate) async fn next(&self, replies: &Replies, id: ReplyId, credit: u32) -> Result<Chunk, CredError> {
        let pulled = replies.next(id, credit).await?;
        self.record_redaction(pulled.cut_out).await;
        Ok(pulled.chunk)
    }

    /// Puts on the record that secrets came back in a reply.
    async fn record_redaction(&self, cut_out: u64) {
        if cut_out > 0 {
            tracing::warn!(times = cut_out, "a live secret came back in a reply and was cut out");
            let event =
                Event::new(Action::SecretRedacted, Result3::Success).because("a live secret in a reply");
            self.note(event).await;
        }
    }

    /// Records a refusal, a failure or a redaction, which stand with or without a record of them.
    pub(crate) async fn note(&self, event: Event) {
        if self.outside.record(event).await.is_err() {
            tracing::warn!("what was refused, failed or cut out could not be recorded");
        }
    }

    /// Asks the actor that owns the vault.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(RpcReplyPort<Result<T, CredError>>) -> VaultRequest,
    ) -> Result<T, CredError> {
        match self.vault_actor.call(ask, None).await {
            Ok(CallResult::Success(answer)) => answer,
            _ => Err(CredError::Vault),
        }
    }
}

/// An event about a secret.
pub(crate) fn about(action: Action, result: Result3, name: &Name) -> Event {
    Event::new(action, result).about(name)
}

fn wanted(placement: &Placement, address: &Address, verb: Verb) -> Wanted {
    Wanted { target: address.target.clone(), verb, path: address.path.clone(), at: placement.at.clone() }
}

/// SHA-256 of where a request goes and what it carries, its secret not among it.
fn hash(request: &Request) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(request.verb.word());
    hash.update(" ");
    hash.update(request.url.as_bytes());
    hash.update("\n");
    hash.update(&*request.body);
    hash.finalize().into()
}

#[cfg(test)]
mod tests;
