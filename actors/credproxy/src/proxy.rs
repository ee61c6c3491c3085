//! Sends a request with a secret in it. Every decision is on the record before its effect. Recording and dialling are other
//! processes' work, and are handed in.

use crate::accounts::Accounts;
use crate::address::Address;
use crate::binding::Wanted;
use crate::draft::Draft;
use crate::login_turns::Turns;
use crate::login_value;
use crate::poll_leases::{Poll, PollLeases};
use crate::pool::{Lease, Pool, Purpose};
use crate::replies::Replies;
use crate::reply::{Held, Reply};
use crate::response_headers::{retry_after, shown_headers};
use crate::secret::Secret;
use crate::secret_patterns::SecretPatterns;
use crate::upstream::{self, Limits};
use crate::vault_actor::VaultRequest;
use crate::verify::Proofs;
use ::upstream::{Conversation, Fault};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config;
use ipc_proto::credproxy::{Chunk, CredError, Head, Placement, Reply as ReplyId, Request, Verb};
use ipc_proto::dialer::{DialError, HostPort};
use manifest::Process;
use ractor::rpc::CallResult;
use ractor::{ActorRef, RpcReplyPort};
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Replies at once, of all callers.
pub(crate) const AT_ONCE: usize = 256;

/// The processes that credproxy needs.
pub(crate) trait Outside {
    /// Puts an event on the record.
    async fn record(&self, event: Event) -> Result<(), CredError>;
    /// A connection to this host.
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError>;
    /// True if a connection can be made without waiting for dialer.
    fn dials(&self) -> bool;
}

/// One use of a secret.
pub(crate) struct Used {
    /// The secret.
    pub(crate) name: Name,
    /// Its use.
    pub(crate) wanted: Wanted,
    /// SHA-256 of the request.
    pub(crate) sum: [u8; 32],
    /// Bytes of its body.
    pub(crate) bytes: u64,
    /// Set where it only waits for news.
    pub(crate) poll: Option<Poll>,
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
    /// The hosts and secrets of each channel's accounts.
    pub(crate) accounts: Accounts,
    /// Recorded uses that still hold.
    pub(crate) poll_leases: PollLeases,
    /// Wrong proofs, and codes that were accepted.
    pub(crate) proofs: Proofs,
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
        self.refused(caller, request, "not a secret of the caller").await
    }

    /// Sends a request of this account of a channel, if it goes to one of the account's hosts, with one of its secrets or with
    /// none.
    pub(crate) async fn channel_request(
        &self,
        (caller, account): (Process, Name),
        replies: &Replies,
        request: Request,
    ) -> Result<Head, CredError> {
        let Address { target, path, tls, .. } = Address::parse(&request.url)?;
        let secret = request.secret.as_ref().map(|placement| placement.secret.clone());
        if !self.accounts.admits(caller, &account, &target, secret.as_ref()) {
            return self.refused(caller, &request, "not a host or a secret of the account").await;
        }
        let polls = self.accounts.is_poll(caller, &account, &path);
        // A send that would wait for dialer is refused: if its sender died meanwhile, nobody could say that it was not sent.
        let purpose = Purpose { secret: secret.clone(), target: target.clone(), tls };
        if !polls && !self.outside.dials() && !self.pool.has(&purpose) {
            return Err(CredError::Dial(DialError::Down));
        }
        let poll = secret.filter(|_| polls).map(|secret| {
            let path = path.split_once('?').map_or(path.as_str(), |(path, _)| path).to_owned();
            Poll { caller, account, secret, target, path }
        });
        self.respond(replies, request, poll).await
    }

    /// Refuses a request that is not this caller's to make, on the record.
    pub(crate) async fn refused<T>(
        &self,
        caller: Process,
        request: &Request,
        why: &str,
    ) -> Result<T, CredError> {
        tracing::warn!(caller = caller.name(), why, "refused");
        let secret = request.secret.as_ref().map(|placement| placement.secret.clone());
        let event = Event::new(Action::SecretMisdirected, Result3::Blocked).because(why);
        self.note(Event { subject: secret, hash: Some(hash(request)), ..event }).await;
        Err(CredError::NotBound)
    }

    /// Sends a request and keeps its reply among `replies`.
    pub(crate) async fn request(&self, replies: &Replies, request: Request) -> Result<Head, CredError> {
        self.respond(replies, request, None).await
    }

    async fn respond(
        &self,
        replies: &Replies,
        request: Request,
        poll: Option<Poll>,
    ) -> Result<Head, CredError> {
        let address = Address::parse(&request.url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        replies.sweep(self.limits.idle);
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| CredError::Full)?;
        let (placement, verb, cookies) = (request.secret.clone(), request.verb, request.cookies);
        let (sum, bytes) = (hash(&request), request.body.len() as u64);
        let draft = Draft::new(request, &address)?;
        let used = placement.map(|placement| Used {
            wanted: wanted(&placement, &address, verb),
            name: placement.secret,
            sum,
            bytes,
            poll,
        });
        let (reply, lease) = self.exchange(draft, used, &address).await?;
        Ok(self.begin_reply(replies, (reply, cookies), Held::Pooled(lease), slot).await)
    }

    /// The head of a reply, with its cookies if the caller has them; it is put among `replies` unless all of it has come.
    pub(crate) async fn begin_reply(
        &self,
        replies: &Replies,
        (reply, cookies): (http::Response<Incoming>, bool),
        held: Held,
        slot: OwnedSemaphorePermit,
    ) -> Head {
        let status = reply.status().as_u16();
        let retry_after = retry_after(reply.headers());
        let live = Arc::clone(&self.patterns.borrow());
        let (headers, cut_out) = shown_headers(reply.headers(), cookies, &live);
        self.record_redaction(cut_out).await;
        let mut reply = Reply::new(reply.into_body(), held, self.patterns.clone(), slot, self.limits);
        let first = reply.at_once().await;
        self.record_redaction(reply.cut_out()).await;
        let over = first.last;
        let head = Head { reply: replies.insert(reply), status, retry_after, headers, first };
        if over {
            replies.close(head.reply);
        }
        head
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
        let bearer = self.token(&used.name, &used.wanted, login.clone(), None).await.map_err(unsent)?;
        let mut again = draft.clone();
        draft.fill(&bearer.access)?;
        let (reply, lease) = self.send(draft.finish()?, address, purpose.clone()).await?;
        if reply.status() != http::StatusCode::UNAUTHORIZED || !bearer.renewable {
            return Ok((reply, lease));
        }
        drop((reply, lease));
        let refused = Some(&bearer.access);
        let bearer = self.token(&used.name, &used.wanted, login, refused).await.map_err(unsent)?;
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
        let mut seen = false;
        while let Some(mut conversation) = self.pool.take(&purpose) {
            match conversation.ask(request.clone(), self.limits.head).await {
                Ok(reply) => return Ok((reply, self.pool.lease(purpose, conversation))),
                // The other end had closed it, and has seen nothing of the request.
                Err(Fault::Unsent) => {}
                // It may have seen it, and what only reads may be read twice.
                Err(Fault::Protocol) if request.method().is_safe() => seen = true,
                Err(fault) => return Err(upstream::broken(fault)),
            }
        }
        let asked = self.ask_anew(request, address).await;
        let unknown = |fault: CredError| if seen && fault.never_left() { CredError::Upstream } else { fault };
        let (reply, conversation) = asked.map_err(unknown)?;
        Ok((reply, self.pool.lease(purpose, conversation)))
    }

    async fn ask_anew(
        &self,
        request: http::Request<Full<Bytes>>,
        address: &Address,
    ) -> Result<(http::Response<Incoming>, Conversation), CredError> {
        let descriptor = self.outside.dial(&address.target).await?;
        let mut conversation = upstream::open(descriptor, address, &self.tls, self.limits).await?;
        let reply = conversation.ask(request, self.limits.head).await.map_err(upstream::broken)?;
        Ok((reply, conversation))
    }

    /// The text that stands for a secret where it is sent once: a login's is its token.
    pub(crate) async fn value(&self, used: &Used) -> Result<Secret, CredError> {
        let value = self.use_secret(used).await?;
        let Some(login) = login_value::read(value.reveal()) else { return Ok(value) };
        let bearer = self.token(&used.name, &used.wanted, login, None).await;
        bearer.map(|bearer| bearer.access).map_err(unsent)
    }

    /// The value for a request, once its use is on the record.
    async fn use_secret(&self, used: &Used) -> Result<Secret, CredError> {
        let Used { name, wanted, sum, bytes, poll } = used;
        let revealed = self.ask(|reply| VaultRequest::Reveal(name.clone(), wanted.clone(), reply)).await;
        if revealed.as_ref().err() == Some(&CredError::NotBound) {
            tracing::warn!(secret = name.as_str(), "refused: not bound to what it was asked for");
            let event =
                about(Action::SecretMisdirected, Result3::Blocked, name).because("not bound to this use");
            self.note(Event { hash: Some(*sum), ..event }).await;
        }
        let secret = revealed?;
        if !poll.as_ref().is_some_and(|poll| self.poll_leases.holds(poll)) {
            let (event, since) = (about(Action::SecretUsed, Result3::Success, name), Instant::now());
            let event = if poll.is_some() { event.because("waits for news, for 60 s") } else { event };
            self.outside.record(Event { hash: Some(*sum), bytes: *bytes, ..event }).await?;
            if let Some(poll) = poll {
                self.poll_leases.begin(poll.clone(), since);
            }
        }
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
    pub(crate) async fn record_redaction(&self, cut_out: u64) {
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

/// The fault of a request whose login could not be renewed: the request itself had not left, or was refused.
const fn unsent(fault: CredError) -> CredError {
    if fault.never_left() { fault } else { CredError::Unsent }
}

pub(crate) fn wanted(placement: &Placement, address: &Address, verb: Verb) -> Wanted {
    Wanted { target: address.target.clone(), verb, path: address.path.clone(), at: placement.at.clone() }
}

/// SHA-256 of where a request goes and what it carries, its secret not among it.
pub(crate) fn hash(request: &Request) -> [u8; 32] {
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
