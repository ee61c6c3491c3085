//! Logins of OAuth: a secret whose value is a set of tokens. Tokens that are about to end, and those that a service has
//! refused once, are asked for anew; the token server's reply is the one body that credproxy parses.

use crate::address::Address;
use crate::binding::Wanted;
use crate::escape::percent;
use crate::headers;
use crate::keeper::Ask;
use crate::pool::Purpose;
use crate::proxy::{Outside, Proxy, about};
use crate::secret::Secret;
use crate::vault::Fresh;
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Result3};
use ipc_proto::credproxy::{CredError, Grant, Header, LOGIN, Login, LoginInfo, REPLY_BOUND};
use ipc_proto::{List, Text};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Tokens that end within so long are asked for anew, ms.
const EARLY_MS: u64 = 300_000;

/// A login, if the value is one.
pub(crate) fn read(value: &[u8]) -> Option<Login> {
    serde_json::from_slice(value.strip_prefix(LOGIN.as_bytes())?).ok()
}

/// What of a login may be known; nothing is copied of what may not.
#[derive(Deserialize)]
struct Known {
    grant: KnownGrant,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum KnownGrant {
    Code(IgnoredAny),
    Tokens { refresh: Option<IgnoredAny>, until_ms: Option<u64> },
}

/// How long the login holds that this value is, if it is one.
pub(crate) fn standing(value: &Secret) -> Option<LoginInfo> {
    let known: Known = serde_json::from_slice(value.reveal().strip_prefix(LOGIN.as_bytes())?).ok()?;
    match known.grant {
        KnownGrant::Tokens { refresh, until_ms } => Some(LoginInfo { until_ms, renews: refresh.is_some() }),
        KnownGrant::Code(_) => None,
    }
}

/// What of a value must be seen by nobody: each token of a login, or all of it.
pub(crate) fn parts(value: &Secret) -> Vec<Secret> {
    let Some(Login { client_secret, grant, .. }) = read(value.reveal()) else { return own(value) };
    let tokens = match grant {
        Grant::Code { code, verifier, .. } => [Some(code), Some(verifier), client_secret],
        Grant::Tokens { access, refresh, .. } => [Some(access), refresh, client_secret],
    };
    tokens.into_iter().flatten().filter_map(secret).collect()
}

fn own(value: &Secret) -> Vec<Secret> {
    Secret::new(Zeroizing::new(value.reveal().to_vec())).into_iter().collect()
}

fn secret(text: String) -> Option<Secret> {
    Secret::new(Zeroizing::new(text.into_bytes()))
}

/// What a request carries of a login, and whether that can be asked for anew.
pub(crate) struct Bearer {
    /// The token.
    pub(crate) access: Secret,
    /// There is something to ask with.
    pub(crate) renewable: bool,
}

fn bearer(login: &Login) -> Option<Bearer> {
    let Grant::Tokens { access, refresh, .. } = &login.grant else { return None };
    Some(Bearer { access: secret(access.clone())?, renewable: refresh.is_some() })
}

/// Returns whether its token is good for the next while.
fn holds(login: &Login, now_ms: u64) -> bool {
    match &login.grant {
        Grant::Code { .. } => false,
        Grant::Tokens { refresh: None, .. } | Grant::Tokens { until_ms: None, .. } => true,
        Grant::Tokens { until_ms: Some(until), .. } => until.saturating_sub(EARLY_MS) > now_ms,
    }
}

/// Returns whether its token has not ended yet, so that it serves while its server is away.
fn lasts(login: &Login, now_ms: u64) -> bool {
    matches!(login.grant, Grant::Tokens { until_ms: Some(until), .. } if until > now_ms)
}

/// Returns whether a later try may go better, with nothing done by a person.
const fn passes(fault: CredError) -> bool {
    matches!(fault, CredError::Dial(_) | CredError::Tls | CredError::Upstream | CredError::Stalled)
}

/// Whose turn it is: each login is renewed by one request at a time, and one whose server is slow holds up no other.
#[derive(Default)]
pub(crate) struct Turns(RefCell<HashMap<Name, Rc<Mutex<()>>>>);

impl Turns {
    fn of(&self, name: &Name) -> Rc<Mutex<()>> {
        let mut turns = self.0.borrow_mut();
        // What nobody has or waits for is there again when it is asked for.
        turns.retain(|_, turn| Rc::strong_count(turn) > 1);
        Rc::clone(turns.entry(name.clone()).or_default())
    }
}

/// What a token server says, as far as it is looked at.
#[derive(Deserialize)]
struct Given {
    access_token: String,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<u64>,
}

/// Seconds: servers write them as a number, whole or not, or within quotes. What is none of these says nothing, and the
/// token is used until it is refused.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Whole(u64),
        Number(f64),
        Quoted(String),
        Other(IgnoredAny),
    }
    Ok(match Written::deserialize(from)? {
        Written::Whole(seconds) => Some(seconds),
        Written::Number(number) => Duration::try_from_secs_f64(number).ok().map(|span| span.as_secs()),
        Written::Quoted(text) => text.trim().parse().ok(),
        Written::Other(_) => None,
    })
}

impl<O: Outside> Proxy<O> {
    /// The token of a login for this use. `refused` is one that its service took no more: then, as where the token is
    /// about to end, another is asked for, by one request at a time, and used by all that waited. Nobody waits for what
    /// another asks while the token still serves.
    pub(crate) async fn token(
        &self,
        name: &Name,
        wanted: &Wanted,
        login: Login,
        refused: Option<&Secret>,
    ) -> Result<Bearer, CredError> {
        if refused.is_none() && holds(&login, kit::now_ms()) {
            return bearer(&login).ok_or(CredError::Login);
        }
        let turn = self.logins.of(name);
        let _turn = match turn.try_lock() {
            Ok(turn) => turn,
            Err(_) if refused.is_none() && lasts(&login, kit::now_ms()) => {
                return bearer(&login).ok_or(CredError::Login);
            }
            Err(_) => turn.lock().await,
        };
        let now = self.ask(|reply| Ask::Again(name.clone(), wanted.clone(), reply)).await?;
        let login = read(now.reveal()).ok_or(CredError::Login)?;
        let known = bearer(&login).ok_or(CredError::Login)?;
        let refused = refused.is_some_and(|refused| refused.reveal() == known.access.reveal());
        if !refused && holds(&login, kit::now_ms()) {
            return Ok(known);
        }
        let event = about(Action::SecretUsed, Result3::Success, name).because("a login is renewed");
        self.outside.record(event).await?;
        let login = match self.granted(name, login.clone()).await {
            Err(fault) if !refused && passes(fault) && lasts(&login, kit::now_ms()) => return Ok(known),
            granted => granted?,
        };
        let value = written(&login)?;
        self.ask(|reply| Ask::Renew(name.clone(), now, value, reply)).await?;
        bearer(&login).ok_or(CredError::Login)
    }

    /// A fresh login with its code becomes one with tokens, before it is stored.
    pub(crate) async fn logged_in(&self, name: &Name, fresh: Fresh) -> Result<Fresh, CredError> {
        match read(fresh.value().reveal()) {
            Some(login) if matches!(login.grant, Grant::Code { .. }) => {
                let login = self.granted(name, login).await?;
                Ok(fresh.with(written(&login)?))
            }
            _ => Ok(fresh),
        }
    }

    /// The login with the tokens that its server gives for what there is to ask with.
    async fn granted(&self, name: &Name, login: Login) -> Result<Login, CredError> {
        let address = Address::parse(&login.token_url)?;
        if !address.tls && !self.plain_http.contains(&address.target) {
            return Err(CredError::BadUrl);
        }
        let purpose =
            Purpose { secret: Some(name.clone()), target: address.target.clone(), tls: address.tls };
        let (reply, _lease) = self.send(asked(&login, &address)?, &address, purpose).await?;
        let status = reply.status();
        let body = Limited::new(reply.into_body(), REPLY_BOUND).collect();
        let body = timeout(self.limits.stall, body).await.map_err(|_| CredError::Stalled)?;
        let body = Zeroizing::new(body.map_err(|_| CredError::Login)?.to_bytes().to_vec());
        if !status.is_success() {
            tracing::warn!(status = status.as_u16(), "the token server refused");
            // One that is busy or broken has said nothing of the login.
            let away = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            return Err(if away { CredError::Upstream } else { CredError::Login });
        }
        let given: Given = serde_json::from_slice(&body).map_err(|_| CredError::Login)?;
        Ok(with(login, given, kit::now_ms()))
    }
}

fn with(login: Login, given: Given, now_ms: u64) -> Login {
    // A server that gives no new one means the old one to be used again.
    let before = match login.grant {
        Grant::Tokens { refresh, .. } => refresh,
        Grant::Code { .. } => None,
    };
    let until = given.expires_in.map(|seconds| now_ms.saturating_add(seconds.saturating_mul(1000)));
    let grant = Grant::Tokens {
        access: given.access_token,
        refresh: given.refresh_token.filter(|token| !token.is_empty()).or(before),
        until_ms: until,
    };
    Login { grant, ..login }
}

/// As a value; tokens that no header can carry make none.
fn written(login: &Login) -> Result<Secret, CredError> {
    let Grant::Tokens { access, refresh, .. } = &login.grant else { return Err(CredError::Login) };
    let fits = |token: &String| secret(token.clone()).is_some();
    let json = serde_json::to_string(login).map(Zeroizing::new).map_err(|_| CredError::Login)?;
    let value = Secret::new(Zeroizing::new([LOGIN.as_bytes(), json.as_bytes()].concat()));
    value.filter(|_| fits(access) && refresh.as_ref().is_none_or(fits)).ok_or(CredError::Login)
}

/// What a token server is asked.
fn asked(login: &Login, address: &Address) -> Result<http::Request<Full<Bytes>>, CredError> {
    let mut fields = vec![("client_id", login.client_id.as_str())];
    fields.extend(login.client_secret.as_deref().map(|secret| ("client_secret", secret)));
    match &login.grant {
        Grant::Code { code, verifier, redirect_uri } => fields.extend([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect_uri),
        ]),
        Grant::Tokens { refresh, .. } => {
            let refresh = refresh.as_deref().ok_or(CredError::Login)?;
            fields.extend([("grant_type", "refresh_token"), ("refresh_token", refresh)]);
        }
    }
    let mut form = Zeroizing::new(String::new());
    for (name, value) in fields {
        let mark = if form.is_empty() { "" } else { "&" };
        form.push_str(&Zeroizing::new(format!("{mark}{name}={}", *percent(value.as_bytes(), true))));
    }
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let given: List<Header, 2> = List::clip([
        header("content-type", "application/x-www-form-urlencoded"),
        header("accept", "application/json"),
    ]);
    let mut request = http::Request::new(Full::new(Bytes::copy_from_slice(form.as_bytes())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = address.path.parse().map_err(|_| CredError::BadUrl)?;
    *request.headers_mut() = headers::build(&address.to_string(), &given, None)?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(refresh: Option<&str>, until_ms: Option<u64>) -> Login {
        Login {
            token_url: "https://login.test/token".to_owned(),
            client_id: "me".to_owned(),
            client_secret: None,
            grant: Grant::Tokens {
                access: "access-token-1".to_owned(),
                refresh: refresh.map(str::to_owned),
                until_ms,
            },
        }
    }

    #[tokio::test]
    async fn a_login_is_renewed_by_one_at_a_time_and_holds_up_no_other() {
        let (turns, one, other) = (Turns::default(), Name::clip("one"), Name::clip("other"));
        let turn = turns.of(&one);
        let held = turn.lock().await;
        assert!(turns.of(&one).try_lock().is_err());
        assert!(turns.of(&other).try_lock().is_ok());
        drop(held);
        drop(turn);
        assert!(turns.of(&one).try_lock().is_ok());
        assert_eq!(turns.0.borrow().len(), 1, "those that nobody has are forgotten");
    }

    #[test]
    fn a_token_is_renewed_from_five_minutes_before_its_end_where_that_is_possible() {
        let until = 1_000_000;
        for (login, now, good) in [
            (tokens(Some("refresh-1"), Some(until)), until - EARLY_MS - 1, true),
            (tokens(Some("refresh-1"), Some(until)), until - EARLY_MS, false),
            (tokens(Some("refresh-1"), Some(until)), until + 1, false),
            (tokens(Some("refresh-1"), None), until, true),
            (tokens(None, Some(until)), until + 1, true),
        ] {
            assert_eq!(holds(&login, now), good, "{now}");
        }
    }

    #[test]
    fn a_login_is_read_back_as_it_was_written_and_its_tokens_are_what_nobody_may_see() {
        let login = tokens(Some("refresh-token-1"), Some(7));
        let value = written(&login).unwrap();
        assert!(read(value.reveal()).unwrap() == login);
        assert_eq!(standing(&value), Some(LoginInfo { until_ms: Some(7), renews: true }));
        let parts: Vec<String> =
            parts(&value).iter().map(|part| String::from_utf8(part.reveal().to_vec()).unwrap()).collect();
        assert_eq!(parts, ["access-token-1", "refresh-token-1"]);
        let plain = Secret::new(Zeroizing::new(b"just-a-key".to_vec())).unwrap();
        assert!(read(plain.reveal()).is_none() && standing(&plain).is_none());
        assert_eq!(super::parts(&plain)[0].reveal(), b"just-a-key");
    }

    // Holds P4-16.
    #[test]
    fn what_a_token_server_says_of_an_end_is_read_however_it_is_written_or_is_not_known() {
        for (written, seconds) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("\" 3600 \"", Some(3600)),
            ("3599.9", Some(3599)),
            ("-1", None),
            ("1e300", None),
            ("null", None),
            ("\"soon\"", None),
            ("{\"x\":[1]}", None),
        ] {
            let reply = format!(r#"{{"access_token":"access-token-1","expires_in":{written}}}"#);
            let given: Given = serde_json::from_str(&reply).unwrap();
            assert_eq!(given.expires_in, seconds, "{written}");
        }
        let given: Given = serde_json::from_str(r#"{"access_token":"access-token-1"}"#).unwrap();
        assert!(given.expires_in.is_none() && given.refresh_token.is_none());
    }

    #[test]
    fn a_refresh_token_that_is_not_replaced_stays_and_one_that_is_does_not() {
        let given = |refresh: Option<&str>| Given {
            access_token: "access-token-2".to_owned(),
            refresh_token: refresh.map(str::to_owned),
            expires_in: Some(10),
        };
        for (refresh, want) in
            [(None, "refresh-1"), (Some(""), "refresh-1"), (Some("refresh-2"), "refresh-2")]
        {
            let next = with(tokens(Some("refresh-1"), None), given(refresh), 1000);
            let Grant::Tokens { access, refresh, until_ms } = next.grant else { panic!("a code") };
            assert_eq!((access.as_str(), refresh.as_deref()), ("access-token-2", Some(want)));
            assert_eq!(until_ms, Some(11_000));
        }
        let broken = with(
            tokens(None, None),
            Given { access_token: "line\nend".to_owned(), refresh_token: None, expires_in: None },
            0,
        );
        assert!(written(&broken).is_err());
    }
}
