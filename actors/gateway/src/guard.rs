//! Who asks, and whether from where they do. On TCP a key must be presented, `Host` must be a name of this host's own, and
//! a page's `Origin` must be allowed; on the Unix socket the kernel says who is there.
//!
//! What router said of a caller holds for a second, and is asked for anew after that. Router and gate look for themselves
//! at whatever is done, so a key that was revoked does nothing in that second; and what is only shown, or was answered before
//! and is kept, is shown to nobody before router was asked, so it sees nothing either.

use crate::desk::{Desk, lock};
use crate::fault::{Fault, Kind};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use ipc_proto::api::{Caller, Holder, KEY_PREFIX, Presented};
use ipc_proto::router::{RouterError, method};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long what router said of a caller holds.
const FRESH: Duration = Duration::from_secs(1);
/// How long an answer under way waits to hear whether its client is still who they were: less than anybody notices.
const A_WORD: Duration = Duration::from_millis(100);
/// Callers that are remembered.
const CALLERS: usize = 512;
/// Wrong keys of one address within a minute, before it is told to wait.
const FAILURES: u32 = 20;
/// Addresses whose refusals are counted.
const ADDRESSES: usize = 1024;
const MINUTE: Duration = Duration::from_secs(60);

/// By which way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// TCP, from this address.
    Tcp(IpAddr),
    /// The Unix socket, from a process of this uid.
    Unix(u32),
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    /// As router and gate are told.
    pub(crate) caller: Caller,
    /// As router knows them.
    pub(crate) holder: Arc<Holder>,
}

/// What router said a moment ago.
#[derive(Default)]
pub(crate) struct Known {
    holders: Mutex<HashMap<Caller, (Instant, Arc<Holder>)>>,
    /// When router last said nothing where an answer was under way.
    silent: Mutex<Option<Instant>>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

/// Returns whether the request may be looked at, and who sent it.
///
/// # Errors
/// It may not, or nobody knows who it is.
pub(crate) async fn admit(desk: &Desk, via: Via, parts: &Parts) -> Result<Who, Fault> {
    host(desk, via, parts)?;
    let caller = caller(via, &parts.headers)?;
    // An answer that is kept is given out by this process alone.
    let does = parts.method == Method::POST && !parts.headers.contains_key("idempotency-key");
    let holder = desk.known.holder(desk, via, caller, does).await?;
    let origin = parts.headers.get(header::ORIGIN);
    let allowed = |origin: &[u8]| {
        let own = holder.scope.origins.iter().any(|own| own.as_bytes() == origin);
        own || desk.config.origins.iter().any(|all| all.as_bytes() == origin)
    };
    if origin.is_some_and(|origin| !allowed(origin.as_bytes())) {
        return Err(
            Fault::new(Kind::Forbidden, "Pages of this origin may not ask here.").coded("origin_denied")
        );
    }
    Ok(Who { caller, holder })
}

/// Who a caller is by now, for a refusal that shows what is theirs.
///
/// # Errors
/// Nobody any more, or router is away.
pub(crate) async fn anew(desk: &Desk, caller: Caller) -> Result<Holder, Fault> {
    asked(desk, caller).await?.map_err(Fault::from)
}

/// Returns whether whoever is being answered is still who they were, as router said within the last second: a key that is revoked or
/// has ended ends what was begun with it. With router away nobody can revoke one, and an answer goes on; nor does it wait
/// longer than [`A_WORD`] for router.
///
/// # Errors
/// Nobody any more.
pub(crate) async fn still(desk: &Desk, caller: Caller) -> Result<(), Fault> {
    if desk.known.is_fresh(caller) {
        return Ok(());
    }
    match timeout(A_WORD, asked(desk, caller)).await {
        Ok(Ok(Ok(holder))) => desk.known.remember(caller, &Arc::new(holder)),
        Ok(Ok(Err(error @ RouterError::NoKey))) => {
            lock(&desk.known.holders).remove(&caller);
            return Err(refused(caller, error));
        }
        // It is asked again in a second, of whomever.
        _ => *lock(&desk.known.silent) = Some(Instant::now()),
    }
    Ok(())
}

/// What router says of a caller.
pub(crate) async fn asked(desk: &Desk, caller: Caller) -> Result<Result<Holder, RouterError>, Fault> {
    let asked = desk
        .router
        .call(&method::holder, |router, context| async move { router.holder(context, caller).await });
    asked.await.map_err(|fault| Fault::down("router", fault))
}

/// Why a caller is nobody: who presented no key hears nothing of one.
fn refused(caller: Caller, error: RouterError) -> Fault {
    match (caller, error) {
        (Caller::Peer(uid), RouterError::NoKey) => Fault::new(
            Kind::NoKey,
            format!(
                "No user of this host has the uid {uid} (`agentctl user list`), and no key of this host was sent \
                 (`agentctl key create NAME`)."
            ),
        ),
        (_, error) => error.into(),
    }
}

/// Returns whether the request names this host: a page that has its own name lead here is told apart by that.
///
/// # Errors
/// It names another.
pub(crate) fn host(desk: &Desk, via: Via, parts: &Parts) -> Result<(), Fault> {
    if matches!(via, Via::Unix(_)) {
        return Ok(());
    }
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    // A request line may name the host too, and then it counts.
    let named = parts.uri.authority().map(axum::http::uri::Authority::as_str).or(named);
    let several = parts.headers.get_all(header::HOST).iter().count() > 1;
    let named = named.filter(|_| !several).map(str::to_ascii_lowercase);
    if named.is_some_and(|named| desk.config.hosts.contains(&named)) {
        return Ok(());
    }
    Err(Fault::new(
        Kind::Misdirected,
        "The request names another host; `[gateway] hosts` says which are this one.",
    ))
}

/// Who presents what.
///
/// # Errors
/// Nobody, on TCP.
fn caller(via: Via, headers: &HeaderMap) -> Result<Caller, Fault> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let key =
        bearer.or_else(|| headers.get("x-api-key").and_then(|value| value.to_str().ok()).map(str::trim));
    match (via, key.filter(|key| !key.is_empty())) {
        // Clients that cannot do without a key send any, and the kernel's word is the better one.
        (Via::Unix(uid), key) if key.is_none_or(|key| !key.starts_with(KEY_PREFIX)) => Ok(Caller::Peer(uid)),
        (_, Some(key)) => Ok(Caller::Key(Presented(Sha256::digest(key.as_bytes()).into()))),
        (_, None) => {
            let message = "You didn't provide an API key. Send one of `agentctl key create NAME` in an Authorization \
                           header (Authorization: Bearer KEY) or as x-api-key.";
            Err(Fault::new(Kind::NoKey, message))
        }
    }
}

impl Known {
    /// Who this caller is; as was said a moment ago where `does` something, which others look at as well.
    async fn holder(&self, desk: &Desk, via: Via, caller: Caller, does: bool) -> Result<Arc<Holder>, Fault> {
        let known = lock(&self.holders).get(&caller).cloned();
        if let Some((when, holder)) = &known
            && does
            && when.elapsed() < FRESH
        {
            return Ok(Arc::clone(holder));
        }
        // Router is asked about every key: others behind an address, which guess at keys, keep no right one out.
        match asked(desk, caller).await? {
            Ok(holder) => {
                let holder = Arc::new(holder);
                self.remember(caller, &holder);
                Ok(holder)
            }
            Err(error) => {
                lock(&self.holders).remove(&caller);
                let fault = refused(caller, error);
                if let (Via::Tcp(address), Kind::NoKey) = (via, fault.kind())
                    && self.failed(address, Instant::now())
                {
                    let message = "Wrong key, and too many of them from this address.";
                    return Err(Fault::new(Kind::Often, message).after(60));
                }
                Err(fault)
            }
        }
    }

    /// Returns whether router has been asked of this caller, or has said nothing, within the last while.
    fn is_fresh(&self, caller: Caller) -> bool {
        let told = lock(&self.holders).get(&caller).map(|(when, _)| *when);
        [told, *lock(&self.silent)].into_iter().flatten().any(|when| when.elapsed() < FRESH)
    }

    fn remember(&self, caller: Caller, holder: &Arc<Holder>) {
        let mut holders = lock(&self.holders);
        if holders.len() >= CALLERS {
            holders.retain(|_, (when, _)| when.elapsed() < FRESH);
        }
        if holders.len() < CALLERS {
            holders.insert(caller, (Instant::now(), Arc::clone(holder)));
        }
    }

    /// Counts a wrong key of an address; returns whether it has presented too many.
    fn failed(&self, address: IpAddr, now: Instant) -> bool {
        let mut failures = lock(&self.failures);
        let over = |since: Instant| now.saturating_duration_since(since) >= MINUTE;
        if failures.len() >= ADDRESSES {
            failures.retain(|_, (since, _)| !over(*since));
        }
        if failures.len() >= ADDRESSES && !failures.contains_key(&address) {
            return true;
        }
        let (since, count) = failures.entry(address).or_insert((now, 0));
        if over(*since) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::net::Ipv4Addr;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn of(via: Via, headers: &[(&'static str, &'static str)]) -> Option<Caller> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        caller(via, &map).ok()
    }

    fn key(text: &str) -> Option<Caller> {
        Some(Caller::Key(Presented(Sha256::digest(text.as_bytes()).into())))
    }

    #[test]
    fn a_key_is_presented_by_either_header_and_on_tcp_always() {
        let tcp = Via::Tcp(LOCAL);
        assert_eq!(of(tcp, &[]), None);
        assert_eq!(of(tcp, &[("authorization", "Basic abc")]), None);
        assert_eq!(of(tcp, &[("authorization", "Bearer ")]), None);
        for headers in [
            [("authorization", "Bearer cdn_k")],
            [("authorization", "bearer  cdn_k ")],
            [("x-api-key", "cdn_k")],
        ] {
            assert_eq!(of(tcp, &headers), key("cdn_k"), "{headers:?}");
        }
    }

    // Holds P3-15.
    #[test]
    fn on_the_unix_socket_the_kernel_s_word_counts_unless_a_key_of_this_host_is_sent() {
        let unix = Via::Unix(1000);
        for headers in [&[][..], &[("x-api-key", "unused")], &[("authorization", "Bearer sk-x")]] {
            assert_eq!(of(unix, headers), Some(Caller::Peer(1000)), "{headers:?}");
        }
        assert_eq!(of(unix, &[("x-api-key", "cdn_k")]), key("cdn_k"));
    }

    #[test]
    fn who_presented_no_key_is_told_of_their_uid_and_who_did_of_the_key() {
        let by_uid = refused(Caller::Peer(4711), RouterError::NoKey);
        assert!(by_uid.kind() == Kind::NoKey && by_uid.message().contains("uid 4711"), "{by_uid:?}");
        let by_key = refused(Caller::Key(Presented([0; 32])), RouterError::NoKey);
        assert!(by_key.kind() == Kind::NoKey && !by_key.message().contains("uid"), "{by_key:?}");
    }

    // Holds B-160.
    #[test]
    fn an_address_with_too_many_wrong_keys_is_told_to_wait_and_no_other_is() {
        let (known, now) = (Known::default(), Instant::now());
        for _ in 0..FAILURES {
            assert!(!known.failed(LOCAL, now));
        }
        assert!(known.failed(LOCAL, now));
        assert!(!known.failed(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), now));
        assert!(!known.failed(LOCAL, now + MINUTE), "the count begins again");
    }
}
