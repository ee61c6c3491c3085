//! One fetch: judge the address, connect, ask, read, and the same again for every redirect. All of it has one time, and
//! each step its bound.

use crate::ask::{Ask, out_of_bounds};
use crate::page;
use crate::search::Search;
use address::{Scheme, Target, Unfit};
use http::header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use ipc_proto::credproxy::{self, CredError};
use ipc_proto::dialer::{DialError, HostPort};
use ipc_proto::web::{FETCH_MAX_MS, Fetch, PAGE_BOUND, Page, REDIRECTS, Rule, WebError};
use ipc_proto::{List, Name, Text};
use rustls::ClientConfig;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use upstream::Fault;

/// Fetches and searches at once, of all callers.
pub(crate) const AT_ONCE: usize = 16;

/// The processes that web needs.
pub(crate) trait Outside {
    /// A connection to this host, whose addresses dialer has checked.
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, DialError>;
    /// A request with a secret in it: status and as much of the reply as `bound` lets in.
    async fn request(&self, request: credproxy::Request, bound: usize) -> Result<(u16, Vec<u8>), CredError>;
}

/// Web itself.
pub(crate) struct Web<O> {
    /// Dialer and credproxy.
    pub(crate) outside: O,
    /// How TLS is spoken.
    pub(crate) tls: Arc<ClientConfig>,
    /// Hosts that need not be public, of the own configuration: what a caller's rule says of them is not believed.
    pub(crate) private: List<Text<260>, 32>,
    /// The search provider.
    pub(crate) search: Search,
    /// Room for fetches.
    pub(crate) slots: Semaphore,
}

/// A reply that is not decoded yet.
pub(crate) struct Fetched {
    /// HTTP status.
    pub(crate) status: StatusCode,
    /// Its address in the end.
    pub(crate) target: Target,
    /// The content type that the server states.
    pub(crate) content_type: String,
    /// The bytes.
    pub(crate) body: Vec<u8>,
    /// More followed.
    pub(crate) cut: bool,
    /// Redirects on the way.
    pub(crate) redirects: u8,
    /// The challenge of a reply of 401.
    pub(crate) challenge: Option<String>,
}

impl<O: Outside> Web<O> {
    /// Fetches one page.
    pub(crate) async fn fetch(&self, fetch: Fetch) -> Result<Page, WebError> {
        let _slot = self.slots.try_acquire().map_err(|_| WebError::Busy)?;
        let patience = within("timeout_ms", fetch.timeout_ms, FETCH_MAX_MS)?;
        let patience = Duration::from_millis(patience.into());
        let bound = usize::try_from(fetch.max_bytes).unwrap_or(PAGE_BOUND + 1);
        let bound = within("max_bytes", bound, PAGE_BOUND)?;
        let rule = Rule { private: self.private.clone(), ..fetch.rule };
        let ask = Ask::new(fetch.method, &fetch.headers, fetch.body)?;
        let fetched = self.follow(&fetch.url, ask, (&rule, fetch.same_origin), bound);
        let fetched = timeout(patience, fetched).await.map_err(|_| WebError::TimedOut)??;
        Ok(page::read(&fetched))
    }

    /// Follows redirects to an answer. Every address, the first as the last, is judged by the same function and rule,
    /// and is dialled as it was judged.
    pub(crate) async fn follow(
        &self,
        url: &str,
        mut ask: Ask,
        (rule, same_origin): (&Rule, bool),
        bound: usize,
    ) -> Result<Fetched, WebError> {
        let mut target = address::parse(url).map_err(refused)?;
        for redirects in 0..=REDIRECTS {
            address::may_go(&target, rule).map_err(refused)?;
            let (head, body, _conversation) = self.exchange(&target, &ask).await?;
            let Some((location, method)) = location(&head.headers, ask.redirected(head.status))? else {
                let (status, content_type) = (head.status, content_type(&head.headers));
                let challenge = challenge(&head);
                let (body, cut) = read(body, bound).await?;
                return Ok(Fetched { status, target, content_type, body, cut, redirects, challenge });
            };
            let next = target.follow(&location).map_err(refused)?;
            keeps_tls(&target, &next)?;
            if same_origin && !target.same_origin(&next) {
                return Err(WebError::Refused(Name::clip("a redirect to another origin")));
            }
            ask = ask.moved(method, target.same_origin(&next));
            target = next;
        }
        Err(WebError::Redirects)
    }

    /// One request over one new connection.
    async fn exchange(
        &self,
        target: &Target,
        ask: &Ask,
    ) -> Result<(http::response::Parts, Incoming, upstream::Conversation), WebError> {
        let request = ask.to(target)?;
        let descriptor = self.outside.dial(&target.host_port()).await.map_err(WebError::Dial)?;
        let tls = (target.scheme == Scheme::Https).then_some(&self.tls);
        let patience = Duration::from_millis(FETCH_MAX_MS.into());
        let stream = upstream::open(descriptor, &target.host, tls, patience).await.map_err(broken)?;
        let (reply, conversation) = upstream::send(stream, request, patience).await.map_err(broken)?;
        let (head, body) = reply.into_parts();
        Ok((head, body, conversation))
    }
}

/// Refuses a redirect from HTTPS to HTTP: everybody on the way could read and change a page that was asked for under TLS.
fn keeps_tls(from: &Target, to: &Target) -> Result<(), WebError> {
    if (from.scheme, to.scheme) != (Scheme::Https, Scheme::Http) {
        return Ok(());
    }
    let origin = |target: &Target| Text::clip(&format!("{}://{}", target.scheme.text(), target.authority()));
    Err(WebError::Downgrade { from: origin(from), to: origin(to) })
}

/// Where a reply redirects to, and how to ask there; two locations are one too many.
fn location(
    headers: &HeaderMap,
    method: Option<http::Method>,
) -> Result<Option<(String, http::Method)>, WebError> {
    let mut locations = headers.get_all(LOCATION).iter();
    let (Some(location), Some(method)) = (locations.next(), method) else { return Ok(None) };
    if locations.next().is_some() {
        return Err(WebError::Upstream);
    }
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| refused(Unfit::Malformed))?;
    Ok(Some((location.to_owned(), method)))
}

/// The first challenge of a reply of 401, where it is text.
fn challenge(head: &http::response::Parts) -> Option<String> {
    let line = head.headers.get(WWW_AUTHENTICATE).filter(|_| head.status == StatusCode::UNAUTHORIZED)?;
    line.to_str().ok().map(str::to_owned)
}

fn content_type(headers: &HeaderMap) -> String {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// As much of a body as `bound` lets in, and whether there was more. A body that breaks off before its announced
/// length is an error; one that never ends is cut, and its connection closed.
async fn read(mut body: Incoming, bound: usize) -> Result<(Vec<u8>, bool), WebError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| WebError::Upstream)?.into_data() else { continue };
        let room = bound - bytes.len();
        bytes.extend(data.iter().take(room));
        if data.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

fn within<T: PartialOrd + Default>(field: &str, given: T, most: T) -> Result<T, WebError> {
    if given > T::default() && given <= most { Ok(given) } else { Err(out_of_bounds(field)) }
}

/// The refusal of an address, in fixed words.
pub(crate) fn refused(unfit: Unfit) -> WebError {
    WebError::Refused(Name::clip(unfit.phrase()))
}

const fn broken(fault: Fault) -> WebError {
    match fault {
        Fault::Descriptor => WebError::Dial(DialError::Down),
        Fault::Name | Fault::Tls => WebError::Tls,
        Fault::Protocol | Fault::Unsent => WebError::Upstream,
        Fault::Compressed => WebError::Compressed,
        Fault::Stalled => WebError::TimedOut,
    }
}

#[cfg(test)]
mod tests;
