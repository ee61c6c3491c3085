//! Admission of requests. On TCP a key must be presented, `Host` must be a name of this host's own, and a page's `Origin` must be
//! allowed; on the Unix socket the kernel identifies the client.
//!
//! Router's report of a caller holds for a second. Router and gate check every effect themselves, so a key that was revoked causes none
//! in that second. Before data or a stored answer is shown, router is asked anew, so such a key sees nothing either.

use crate::app_state::AppState;
use crate::fault::{Fault, Kind};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use ipc_proto::api::{Caller, Holder, KEY_PREFIX, Presented};
use ipc_proto::router::{RouterError, method};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a reply under way waits for router's report of its client: less than anybody notices.
const A_WORD: Duration = Duration::from_millis(100);

/// The listener that a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// TCP, from this address.
    Tcp(IpAddr),
    /// The Unix socket, from a process of this uid.
    Unix(u32),
}

/// The client of a request.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    /// Its key or uid, for router and gate.
    pub(crate) caller: Caller,
    /// Its user and rights, as router reports them.
    pub(crate) holder: Arc<Holder>,
}

/// Admits a request that [`host`] has passed, and returns its client.
///
/// # Errors
/// It is not allowed, or its client has no user.
pub(crate) async fn admit(app: &AppState, via: Via, parts: &Parts) -> Result<Who, Fault> {
    let caller = caller(via, &parts.headers)?;
    // A stored answer is sent by this process without another check.
    let acts = parts.method == Method::POST && !parts.headers.contains_key("idempotency-key");
    let holder = holder(app, via, caller, acts).await?;
    let origin = parts.headers.get(header::ORIGIN);
    let allowed = |origin: &HeaderValue| {
        let own = holder.scope.origins.iter().any(|own| own.as_bytes() == origin.as_bytes());
        own || is_configured(app, origin)
    };
    if origin.is_some_and(|origin| !allowed(origin)) {
        return Err(origin_denied());
    }
    Ok(Who { caller, holder })
}

/// Returns true if pages of this origin may ask with any key.
pub(crate) fn is_configured(app: &AppState, origin: &HeaderValue) -> bool {
    app.config.origins.iter().any(|all| all.as_bytes() == origin.as_bytes())
}

/// The refusal of a page whose origin is not allowed.
pub(crate) fn origin_denied() -> Fault {
    Fault::new(Kind::Forbidden, "Pages of this origin may not ask here.").coded("origin_denied")
}

/// The rights of a caller at this moment, for a refusal that lists them.
///
/// # Errors
/// The caller has no user any more, or router is away.
pub(crate) async fn anew(app: &AppState, caller: Caller) -> Result<Holder, Fault> {
    asked(app, caller).await?.map_err(Fault::from)
}

/// Checks that the client of a reply under way still has a user, as router reported within the last second: a key that is revoked or has
/// ended ends the replies that began with it. With router away nobody can revoke one, and a reply goes on; it waits for router no longer
/// than [`A_WORD`].
///
/// # Errors
/// Nobody any more.
pub(crate) async fn still(app: &AppState, caller: Caller) -> Result<(), Fault> {
    if app.known.is_fresh(caller) {
        return Ok(());
    }
    match timeout(A_WORD, asked(app, caller)).await {
        Ok(Ok(Ok(holder))) => app.known.remember(caller, &Arc::new(holder)),
        Ok(Ok(Err(error @ RouterError::NoKey))) => {
            app.known.forget(caller);
            return Err(refused(caller, error));
        }
        // Router is asked again in a second.
        _ => app.known.set_silent(),
    }
    Ok(())
}

/// Router's report of a caller.
pub(crate) async fn asked(app: &AppState, caller: Caller) -> Result<Result<Holder, RouterError>, Fault> {
    let asked = app
        .router
        .call(&method::holder, |router, context| async move { router.holder(context, caller).await });
    asked.await.map_err(|fault| Fault::down("router", fault))
}

/// The refusal of a caller without a user. A client that presented no key gets no error about one.
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

/// Checks that the request names this host: a page whose own name resolves to this address is refused.
///
/// # Errors
/// The request names another host.
pub(crate) fn host(app: &AppState, via: Via, parts: &Parts) -> Result<(), Fault> {
    if matches!(via, Via::Unix(_)) {
        return Ok(());
    }
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    // A request line may name the host too, and then it counts.
    let named = parts.uri.authority().map(axum::http::uri::Authority::as_str).or(named);
    let several = parts.headers.get_all(header::HOST).iter().count() > 1;
    let named = named.filter(|_| !several).map(str::to_ascii_lowercase);
    if named.is_some_and(|named| app.config.hosts.contains(&named)) {
        return Ok(());
    }
    Err(Fault::new(
        Kind::Misdirected,
        "The request names another host; `[gateway] hosts` says which are this one.",
    ))
}

/// The key or uid that a client presents.
///
/// # Errors
/// There is none, on TCP.
fn caller(via: Via, headers: &HeaderMap) -> Result<Caller, Fault> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let key =
        bearer.or_else(|| headers.get("x-api-key").and_then(|value| value.to_str().ok()).map(str::trim));
    match (via, key.filter(|key| !key.is_empty())) {
        // Clients that always need a key send any; the kernel's identity of the peer is the better one.
        (Via::Unix(uid), key) if key.is_none_or(|key| !key.starts_with(KEY_PREFIX)) => Ok(Caller::Peer(uid)),
        (_, Some(key)) => Ok(Caller::Key(Presented(Sha256::digest(key.as_bytes()).into()))),
        (_, None) => {
            let message = "You didn't provide an API key. Send one of `agentctl key create NAME` in an Authorization \
                           header (Authorization: Bearer KEY) or as x-api-key.";
            Err(Fault::new(Kind::NoKey, message))
        }
    }
}

/// The rights of this caller: as reported a moment ago if the request acts, since others check it as well; else asked anew.
async fn holder(app: &AppState, via: Via, caller: Caller, acts: bool) -> Result<Arc<Holder>, Fault> {
    if let Some(holder) = app.known.fresh(caller).filter(|_| acts) {
        return Ok(holder);
    }
    // Router is asked about every key: wrong keys from an address do not keep right ones out.
    match asked(app, caller).await? {
        Ok(holder) => {
            let holder = Arc::new(holder);
            app.known.remember(caller, &holder);
            Ok(holder)
        }
        Err(error) => {
            app.known.forget(caller);
            let fault = refused(caller, error);
            if let (Via::Tcp(address), Kind::NoKey) = (via, fault.kind())
                && app.known.failed(address, Instant::now())
            {
                let message = "Wrong key, and too many of them from this address.";
                return Err(Fault::new(Kind::Often, message).after(60));
            }
            Err(fault)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn on_the_unix_socket_the_uid_counts_unless_a_host_key_is_sent() {
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
}
