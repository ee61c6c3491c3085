//! What credproxy does: store, list and forget secrets, and send a request with one in it. Every decision is on
//! the record before its effect. Recording and dialling are somebody else's, and handed in.

use crate::address::Address;
use crate::headers;
use crate::keeper::Ask;
use crate::needles::Needles;
use crate::replies::Replies;
use crate::reply::Reply;
use crate::secret::Secret;
use crate::upstream::{self, Limits};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::{
    Chunk, CredError, Head, Placement, Reply as ReplyId, Request, SECRET_BOUND, SecretInfo,
};
use ipc_proto::dialer::HostPort;
use ipc_proto::{Blob, List, Name, Text};
use manifest::Process;
use ractor::rpc::CallResult;
use ractor::{ActorRef, RpcReplyPort};
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Replies at once, of all callers.
pub(crate) const AT_ONCE: usize = 32;

/// The processes that credproxy needs.
pub(crate) trait Outside {
    /// Puts an event on the record.
    async fn record(&self, event: Event) -> Result<(), CredError>;
    /// A connection to this host.
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError>;
}

/// Credproxy itself.
pub(crate) struct Proxy<O> {
    /// Record and dialler.
    pub(crate) outside: O,
    /// Owner of the vault.
    pub(crate) keeper: ActorRef<Ask>,
    /// The live secrets, as they can stand in a reply.
    pub(crate) needles: watch::Receiver<Arc<Needles>>,
    /// How TLS is spoken.
    pub(crate) tls: Arc<ClientConfig>,
    /// Where plain HTTP may go.
    pub(crate) plain_http: BTreeSet<HostPort>,
    /// The one secret that web may have put into its requests.
    pub(crate) web_secret: Option<Name>,
    /// Room for replies.
    pub(crate) slots: Arc<Semaphore>,
    /// What upstreams may take.
    pub(crate) limits: Limits,
}

impl<O: Outside> Proxy<O> {
    /// Whether this caller may have this request sent. Web, which reads hostile bytes all day, searches with the key of
    /// its provider and has nothing else of the vault; what needs no secret it sends by itself.
    pub(crate) async fn admit(&self, caller: Process, request: &Request) -> Result<(), CredError> {
        let secret = request.secret.as_ref().map(|placement| &placement.secret);
        if caller != Process::Web || secret.is_some() && secret == self.web_secret.as_ref() {
            return Ok(());
        }
        tracing::warn!("refused: web asked for a secret that is not its own");
        let event = Event::new(Action::SecretMisdirected, Result3::Blocked).because("not the secret of web");
        self.note(Event { subject: secret.cloned(), hash: Some(hash(request)), ..event }).await;
        Err(CredError::NotBound)
    }

    /// Sends a request and keeps its reply among `replies`.
    pub(crate) async fn request(&self, replies: &Replies, request: Request) -> Result<Head, CredError> {
        let address = Address::parse(&request.url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        let mut headers = headers::build(&address.to_string(), &request.headers, request.secret.as_ref())?;
        replies.sweep(self.limits.idle);
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| CredError::Full)?;
        if let Some(placement) = &request.secret {
            let secret = self.use_secret(placement, &address, &request).await?;
            headers::place(&mut headers, placement, &secret)?;
        }
        let sent = upstream::request(&address, request.post, headers, request.body.into_vec())?;
        let descriptor = self.outside.dial(&address.target).await?;
        let stream = upstream::open(descriptor, &address, &self.tls, self.limits).await?;
        let (reply, driver) = upstream::send(stream, sent, self.limits).await?;
        let (status, retry_after) = (reply.status().as_u16(), upstream::retry_after(reply.headers()));
        let reply = Reply::new(reply.into_body(), driver, self.needles.clone(), slot, self.limits);
        Ok(Head { reply: replies.insert(reply), status, retry_after })
    }

    /// The value for a request, once its use is on the record.
    async fn use_secret(
        &self,
        placement: &Placement,
        address: &Address,
        request: &Request,
    ) -> Result<Secret, CredError> {
        let name = &placement.secret;
        let revealed = self.ask(|reply| Ask::Reveal(name.clone(), address.target.clone(), reply)).await;
        if revealed.as_ref().err() == Some(&CredError::NotBound) {
            tracing::warn!(secret = name.as_str(), "refused: not bound to the host it was asked for");
            let event =
                about(Action::SecretMisdirected, Result3::Blocked, name).because("not bound to this host");
            self.note(Event { hash: Some(hash(request)), ..event }).await;
        }
        let secret = revealed?;
        let bytes = request.body.len() as u64;
        let event = about(Action::SecretUsed, Result3::Success, name);
        self.outside.record(Event { hash: Some(hash(request)), bytes, ..event }).await?;
        kit::fault_point!("credproxy.use.recorded");
        drop(self.keeper.cast(Ask::Used(name.clone())));
        Ok(secret)
    }

    /// The next piece of a reply.
    pub(crate) async fn next(&self, replies: &Replies, id: ReplyId, credit: u32) -> Result<Chunk, CredError> {
        let pulled = replies.next(id, credit).await?;
        if pulled.cut_out > 0 {
            tracing::warn!(times = pulled.cut_out, "a live secret came back in a reply and was cut out");
            let event =
                Event::new(Action::SecretRedacted, Result3::Success).because("a live secret in a reply");
            self.note(event).await;
        }
        Ok(pulled.chunk)
    }

    /// Stores a value that was sealed for this name and these hosts.
    pub(crate) async fn set(
        &self,
        name: Name,
        hosts: List<Text<253>, 8>,
        sealed: Blob<SECRET_BOUND>,
    ) -> Result<(), CredError> {
        let fresh = self.ask(|reply| Ask::Unseal(name.clone(), hosts, sealed, reply)).await?;
        self.outside.record(about(Action::SecretSet, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.set.recorded");
        let stored = self.ask(|reply| Ask::Put(fresh, reply)).await;
        self.outcome(Action::SecretSet, &name, stored).await
    }

    /// Forgets a secret.
    pub(crate) async fn remove(&self, name: Name) -> Result<(), CredError> {
        self.ask(|reply| Ask::Has(name.clone(), reply)).await?;
        self.outside.record(about(Action::SecretRemoved, Result3::Success, &name)).await?;
        kit::fault_point!("credproxy.remove.recorded");
        let removed = self.ask(|reply| Ask::Remove(name.clone(), reply)).await;
        self.outcome(Action::SecretRemoved, &name, removed).await
    }

    /// Every secret without its value.
    pub(crate) async fn list(&self) -> Result<List<SecretInfo, 256>, CredError> {
        match self.keeper.call(Ask::List, None).await {
            Ok(CallResult::Success(list)) => Ok(list),
            _ => Err(CredError::Vault),
        }
    }

    /// A change that was recorded and then failed is recorded as that.
    async fn outcome(
        &self,
        action: Action,
        name: &Name,
        done: Result<(), CredError>,
    ) -> Result<(), CredError> {
        if done.is_err() {
            self.note(about(action, Result3::Error, name).because("not stored")).await;
        }
        done
    }

    /// Records what is so already: a refusal and a redaction stand with or without a record of them.
    async fn note(&self, event: Event) {
        if self.outside.record(event).await.is_err() {
            tracing::warn!("what was refused, failed or cut out could not be recorded");
        }
    }

    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(RpcReplyPort<Result<T, CredError>>) -> Ask,
    ) -> Result<T, CredError> {
        match self.keeper.call(ask, None).await {
            Ok(CallResult::Success(answer)) => answer,
            _ => Err(CredError::Vault),
        }
    }
}

fn about(action: Action, result: Result3, name: &Name) -> Event {
    Event::new(action, result).about(name)
}

/// SHA-256 of where a request goes and what it carries.
fn hash(request: &Request) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(if request.post { "POST " } else { "GET " });
    hash.update(request.url.as_bytes());
    hash.update("\n");
    hash.update(&*request.body);
    hash.finalize().into()
}

#[cfg(test)]
mod tests;
